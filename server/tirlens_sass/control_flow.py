"""Basic blocks, the edges between them, dominators and the loop nest.

A loop is natural: the blocks that reach a back edge (an edge to a dominator of its source) without
passing the header. Source: Muchnick, Advanced Compiler Design and Implementation, 1997, chapter 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .instruction import Instruction

_JUMPS = frozenset(("BRA", "JMP", "BRX", "BRXU", "JMX", "JMXU"))
_INDIRECT = frozenset(("BRX", "BRXU", "JMX", "JMXU"))
_ENDS = frozenset(("EXIT", "RET", "KILL", "RTT"))


@dataclass(frozen=True)
class Block:
    """A basic block: instructions `first` to `last` of its function, both included.

    `successors` are the indices of the blocks that may follow, in the order: the next block, then
    targets of branches. With `has_unknown_target` there may be others.
    """

    index: int
    first: int
    last: int
    successors: tuple[int, ...]
    has_unknown_target: bool = False

    def __len__(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True)
class Loop:
    """A natural loop.

    `header` is the block that all entries pass, `blocks` are those of the loop and of the loops
    in it, `latches` the blocks that branch back; `parent` is the index of the enclosing loop in
    `Function.loops`, `depth` is 1 for an outermost one.
    """

    header: int
    blocks: frozenset[int]
    latches: tuple[int, ...]
    parent: int | None
    depth: int


def find_blocks(
    instructions: Sequence[Instruction], labels: Mapping[str, int]
) -> tuple[Block, ...]:
    """The basic blocks of a function; `labels` has the index of the instruction after each."""
    starts = {0, *(labels[t] for one in instructions for t in one.targets if t in labels)}
    starts |= {index + 1 for index, one in enumerate(instructions) if _transfers(one)}
    firsts = sorted(start for start in starts if start < len(instructions))
    ends = [*firsts[1:], len(instructions)]
    block_at = {first: index for index, first in enumerate(firsts)}
    blocks: list[Block] = []
    for index, (first, end) in enumerate(zip(firsts, ends, strict=True)):
        last = instructions[end - 1]
        targets = [block_at[labels[t]] for t in last.targets if t in labels]
        successors = dict.fromkeys(
            [index + 1] * (_falls_through(last) and end < len(instructions)) + targets
        )
        is_unknown = last.name in _INDIRECT and not last.targets
        blocks.append(Block(index, first, end - 1, tuple(successors), is_unknown))
    return tuple(blocks)


def _transfers(instruction: Instruction) -> bool:
    name = instruction.name
    return name in _JUMPS or name in _ENDS or (name == "CALL" and bool(instruction.targets))


def _falls_through(instruction: Instruction) -> bool:
    """Whether the next instruction may follow."""
    if not _transfers(instruction) or instruction.guard is not None:
        return True
    # The condition of a branch is a guard, or an operand: BRA.U UP0, BRA.DIV UR4.
    return instruction.name not in _ENDS and any(
        register.file in ("P", "UP") or "DIV" in instruction.modifiers
        for operand in instruction.operands
        for register in operand.registers
        if instruction.name not in _INDIRECT
    )


def reverse_postorder(blocks: Sequence[Block]) -> list[int]:
    """The blocks that the first one reaches, each before its successors but for back edges."""
    seen: set[int] = set()
    order: list[int] = []
    stack = [(0, iter(blocks[0].successors))] if blocks else []
    seen.add(0)
    while stack:
        index, successors = stack[-1]
        following = next((one for one in successors if one not in seen), None)
        if following is None:
            order.append(index)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(blocks[following].successors)))
    return order[::-1]


def immediate_dominators(blocks: Sequence[Block]) -> dict[int, int]:
    """The immediate dominator of each reachable block; the first block is its own.

    Source: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", 2001.
    """
    order = reverse_postorder(blocks)
    rank = {block: number for number, block in enumerate(order)}
    before: dict[int, list[int]] = {block: [] for block in order}
    for block in order:
        for successor in blocks[block].successors:
            before[successor].append(block)
    found = {order[0]: order[0]} if order else {}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            candidates = [one for one in before[block] if one in found]
            best = candidates[0]
            for other in candidates[1:]:
                while best != other:
                    if rank[best] > rank[other]:
                        best = found[best]
                    else:
                        other = found[other]
            if found.get(block) != best:
                found[block] = best
                changed = True
    return found


def find_loops(blocks: Sequence[Block]) -> tuple[Loop, ...]:
    """The natural loops, outer ones before those in them."""
    dominators = immediate_dominators(blocks)
    before: dict[int, list[int]] = {block: [] for block in dominators}
    latches: dict[int, list[int]] = {}
    for block in dominators:
        for successor in blocks[block].successors:
            before[successor].append(block)
            if _dominates(successor, block, dominators):
                latches.setdefault(successor, []).append(block)
    bodies = {header: _body(header, ends, before) for header, ends in latches.items()}
    headers = sorted(bodies, key=lambda header: (-len(bodies[header]), header))
    loops: list[Loop] = []
    for header in headers:
        enclosing = [n for n, loop in enumerate(loops) if header in loop.blocks]
        parent = enclosing[-1] if enclosing else None
        depth = loops[parent].depth + 1 if parent is not None else 1
        ends = tuple(sorted(latches[header]))
        loops.append(Loop(header, frozenset(bodies[header]), ends, parent, depth))
    return tuple(loops)


def retreating_edges_without_loop(blocks: Sequence[Block]) -> tuple[tuple[int, int], ...]:
    """Edges that go back to a block which does not dominate them: of irreducible control flow."""
    order = reverse_postorder(blocks)
    rank = {block: number for number, block in enumerate(order)}
    dominators = immediate_dominators(blocks)
    return tuple(
        (block, successor)
        for block in order
        for successor in blocks[block].successors
        if rank[successor] <= rank[block] and not _dominates(successor, block, dominators)
    )


def _dominates(block: int, other: int, dominators: Mapping[int, int]) -> bool:
    while other != block and dominators[other] != other:
        other = dominators[other]
    return other == block


def _body(header: int, ends: Sequence[int], before: Mapping[int, Sequence[int]]) -> set[int]:
    body = {header}
    pending = [end for end in ends if end not in body]
    while pending:
        block = pending.pop()
        if block not in body:
            body.add(block)
            pending += before[block]
    return body


def callee_of(instruction: Instruction) -> str | None:
    """The name of the function that an instruction calls; None if it is no call of a name."""
    if instruction.name != "CALL" or instruction.targets:
        return None
    return next((one.label for one in instruction.operands if one.label), None)


def is_slow_path(function: str) -> bool:
    """Whether a function is a subroutine of a library for rare values, by its name."""
    return "slowpath" in function
