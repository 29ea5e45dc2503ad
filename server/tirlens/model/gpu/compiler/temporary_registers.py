"""Registers of loads in flight and of intermediate values.

A thread issues the loads of all of its elements before it uses the first one, each to registers of
its own.  The compiler interleaves the computations of its elements, so their intermediate values
are live at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tirlens_worker.facts import Copy, Evaluate, Gemm, Store

from ...constants import constant
from ...dtypes import is_float
from ...tree.compiled import Instructions
from ...tree.context import dtype_bytes
from ...tree.node import CostNode, Leaf, leaves_of
from ...tree.route import Route
from ...tree.table import Table
from .live_ranges import REGISTER_BYTES, REGISTER_SCOPES

VALUES_PER_ELEMENT: Mapping[str, float] = constant(
    "VALUES_PER_ELEMENT",
    {
        "log": 1.5,
        "log1p": 1.5,
        "log2": 1.5,
        "tanh": 2.0,
        "erf": 3.0,
    },
    kind="compiler",
    unit="values",
    meaning="Live intermediate values of an element, besides its operands, by operation.",
    source=(
        "ptxas 13.0 for sm_90a gives a thread with eight halves 26 registers for exp, 28 for "
        "log, 32 for tanh, 38 to 40 for erf, and 14 for absolute values "
        "(`tests/measured/compiled.csv`)"
    ),
)
LOAD_REGISTERS = constant(
    "LOAD_REGISTERS",
    64,
    kind="compiler",
    unit="registers",
    meaning=(
        "Registers of a thread that can wait for loads at the same time (see `ADDRESS_REGISTERS`)."
    ),
    source="those that ptxas 13.0 keeps for loads in attention over ragged sequences",
)
MAX_INTERLEAVED_ELEMENTS = constant(
    "MAX_INTERLEAVED_ELEMENTS",
    8,
    kind="compiler",
    unit="elements",
    meaning="Elements whose computations are interleaved.",
    source="ptxas 13.0, the eight of the kernels of VALUES_PER_ELEMENT",
)


def count_temporaries(nodes: Sequence[CostNode], instructions: Table[Instructions]) -> int:
    """Registers of the intermediate values of a thread's elements.

    The number of interleaved elements is known for tiles; per-thread code is assumed to have the
    maximum.
    """
    most = 0.0
    for leaf in leaves_of(nodes):
        if leaf.source.per == "thread":
            most = max(most, MAX_INTERLEAVED_ELEMENTS)
            continue
        computed = [entry.arith for entry in leaf.count.arith if is_float(entry.arith.dtype)]
        if not computed or isinstance(leaf.source, Gemm):
            continue
        mapping = instructions[leaf].mapping
        mine = mapping.vector * mapping.repeats
        values = sum(VALUES_PER_ELEMENT.get(arith.op, 0.0) for arith in computed)
        most = max(most, max(values, 1.0) * min(mine, MAX_INTERLEAVED_ELEMENTS))
    return math.ceil(most)


def loading_registers(
    nodes: Sequence[CostNode], instructions: Table[Instructions], routes: Table[Route], most: int
) -> dict[int, float]:
    """The registers in which loads wait for their data, at most `most`, by statement number.

    These are the loads of one tile loop, and of a copy to shared memory by threads.  The registers
    of what is only loaded to a register array are the array's.  A half that is loaded alone takes a
    whole register.
    """
    bodies: dict[tuple[str, ...], list[int]] = {}
    found: dict[int, float] = {}
    for number, leaf in enumerate(leaves_of(nodes)):
        mapping = instructions[leaf].mapping
        is_copy = isinstance(leaf.source, Copy) and routes[leaf].copy == "thread"
        if mapping.is_serial or not (is_copy or isinstance(leaf.source, (Evaluate, Store))):
            continue
        tiles = tuple(loop.var for loop in leaf.context.loops if loop.kind == "parallel")
        if not (is_copy or tiles) or _only_loads_registers(leaf):
            continue
        registers = sum(
            math.ceil(mapping.vector * dtype_bytes(entry.buffer.dtype) / REGISTER_BYTES)
            for entry in leaf.count.accesses
            if entry.access.mode == "read" and entry.buffer.scope == "global"
        )
        found[number] = registers * mapping.repeats
        if not is_copy:
            bodies.setdefault(tiles, []).append(number)
    for numbers in bodies.values():
        together = sum(found[number] for number in numbers)
        found.update(dict.fromkeys(numbers, together))
    return {number: min(registers, most) for number, registers in found.items() if registers}


def _only_loads_registers(leaf: Leaf) -> bool:
    """Whether a statement stores what it loads from memory to registers, and reads no others."""
    scopes = {mode: set[bool]() for mode in ("read", "write", "update")}
    for entry in leaf.count.accesses:
        scopes.setdefault(entry.access.mode, set()).add(
            entry.buffer.scope.startswith(REGISTER_SCOPES)
        )
    return True in scopes["write"] and True not in scopes["read"]
