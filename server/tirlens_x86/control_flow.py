"""Basic blocks and natural loops of a function.

A natural loop has one header that dominates all of its blocks, and a jump back to it (Aho, Lam,
Sethi, Ullman, Compilers, 2006, 9.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tirlens_x86.listing import Function


@dataclass(frozen=True)
class Block:
    """Instructions ``start`` to ``end`` (exclusive), and the blocks that may follow.

    The first of `successors` is the target of the jump that ends the block, if it has one.
    """

    start: int
    end: int
    successors: tuple[int, ...]


@dataclass(frozen=True)
class Loop:
    """A natural loop; `parent` is the header of the loop around it, None without one."""

    header: int
    blocks: frozenset[int]
    parent: int | None


@dataclass(frozen=True)
class FlowGraph:
    """The blocks of a function in the order of its code, and its loops by header."""

    blocks: tuple[Block, ...]
    loops: dict[int, Loop]

    def innermost(self, block: int) -> int | None:
        """The header of the innermost loop of a block; None outside of loops."""
        around = [loop for loop in self.loops.values() if block in loop.blocks]
        return min(around, key=lambda loop: len(loop.blocks)).header if around else None


def flow_graph(function: Function) -> FlowGraph:
    """The blocks and loops of a function."""
    blocks = _blocks(function)
    bodies = _loop_bodies(blocks)
    loops: dict[int, Loop] = {}
    for header, body in bodies.items():
        around = [other for other, one in bodies.items() if other != header and header in one]
        parent = min(around, key=lambda other: len(bodies[other]), default=None)
        loops[header] = Loop(header, frozenset(body), parent)
    return FlowGraph(blocks, loops)


def is_jump(mnemonic: str) -> bool:
    """Whether an instruction is a jump."""
    return mnemonic.startswith("j")


def _blocks(function: Function) -> tuple[Block, ...]:
    instructions = function.instructions
    starts = {0, *(at for at in function.labels.values() if at < len(instructions))}
    for number, instruction in enumerate(instructions[:-1]):
        if is_jump(instruction.mnemonic) or instruction.mnemonic.startswith("ret"):
            starts.add(number + 1)
    ordered = sorted(starts)
    number_at = {start: number for number, start in enumerate(ordered)}
    found: list[Block] = []
    for number, start in enumerate(ordered):
        end = ordered[number + 1] if number + 1 < len(ordered) else len(instructions)
        last = instructions[end - 1]
        successors: list[int] = []
        if is_jump(last.mnemonic) and last.operands:
            target = function.labels.get(last.operands[0])
            if target in number_at:
                successors.append(number_at[target])
        falls_through = last.mnemonic != "jmp" and not last.mnemonic.startswith("ret")
        if falls_through and number + 1 < len(ordered):
            successors.append(number + 1)
        found.append(Block(start, end, tuple(successors)))
    return tuple(found)


def _loop_bodies(blocks: Sequence[Block]) -> dict[int, set[int]]:
    predecessors: list[list[int]] = [[] for _ in blocks]
    for number, block in enumerate(blocks):
        for successor in block.successors:
            predecessors[successor].append(number)
    order = _reverse_postorder(blocks)
    dominator = _immediate_dominators(order, predecessors)
    bodies: dict[int, set[int]] = {}
    for number in order:
        for header in blocks[number].successors:
            if not _dominates(header, number, dominator):
                continue
            body = bodies.setdefault(header, {header})
            work = [number]
            while work:
                one = work.pop()
                if one not in body:
                    body.add(one)
                    work += [before for before in predecessors[one] if before in dominator]
    return bodies


def _reverse_postorder(blocks: Sequence[Block]) -> list[int]:
    seen, postorder = {0}, list[int]()
    stack = [(0, iter(blocks[0].successors))]
    while stack:
        number, rest = stack[-1]
        following = next((one for one in rest if one not in seen), None)
        if following is None:
            postorder.append(number)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(blocks[following].successors)))
    return postorder[::-1]


def _immediate_dominators(
    order: Sequence[int], predecessors: Sequence[Sequence[int]]
) -> dict[int, int]:
    """After Cooper, Harvey, Kennedy, A Simple, Fast Dominance Algorithm, 2001."""
    place = {number: index for index, number in enumerate(order)}
    dominator = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for number in order[1:]:
            known = [one for one in predecessors[number] if one in dominator]
            common = known[0]
            for other in known[1:]:
                while common != other:
                    while place[common] > place[other]:
                        common = dominator[common]
                    while place[other] > place[common]:
                        other = dominator[other]
            if dominator.get(number) != common:
                dominator[number] = common
                changed = True
    return dominator


def _dominates(header: int, number: int, dominator: dict[int, int]) -> bool:
    while number != header:
        if dominator[number] == number:
            return False
        number = dominator[number]
    return True
