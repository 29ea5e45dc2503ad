"""Blocks that only report an error: those of the checks of a kernel's arguments."""

from __future__ import annotations

from tirlens_x86.control_flow import FlowGraph
from tirlens_x86.listing import Function

#: Beginnings of the names of functions that report an error.
RAISES = ("__tvm_set_raised", "TVMFFIErrorSetRaised", "TVMAPISetLastError")


def error_paths(function: Function, graph: FlowGraph) -> frozenset[int]:
    """Blocks from which all ways lead to the report of an error."""
    raising = {
        number
        for number, block in enumerate(graph.blocks)
        for one in function.instructions[block.start : block.end]
        if one.mnemonic.startswith(("call", "jmp")) and one.operands and _is_raise(one.operands[0])
    }
    good = {
        number
        for number, block in enumerate(graph.blocks)
        if number not in raising and function.instructions[block.end - 1].mnemonic.startswith("ret")
    }
    changed = True
    while changed:
        changed = False
        for number in range(len(graph.blocks) - 1, -1, -1):
            if number in good or number in raising:
                continue
            if any(one in good for one in graph.blocks[number].successors):
                good.add(number)
                changed = True
    return frozenset(range(len(graph.blocks))) - good


def _is_raise(operand: str) -> bool:
    return operand.lstrip("*").startswith(RAISES)
