"""The innermost loops as the compiler leaves them: what it unrolls, and what runs in vectors.

LLVM unrolls a short loop of known length in full before it vectorises, so that the loop around it
is then the innermost one (``LoopFullUnrollPass`` before ``LoopVectorizePass``; a loop is short if
all its iterations have at most `UNROLLED_INSTRUCTIONS`).  It vectorises an innermost loop whose
iterations are independent; a sum of floating-point numbers is not, because its order counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tirlens_worker.facts import Branch, Buffer, Loop, Statement

from ..instructions.places import Around
from ..instructions.work import Item
from .address import Address, address_of
from .leaves import Leaf, chosen, operations
from .vectorising import vectorisable

# llvm/lib/Transforms/Scalar/LoopUnrollPass.cpp, getUnrollThreshold at -O3.
UNROLLED_INSTRUCTIONS = 300
# The induction variable: increment, compare, branch.
LOOP_INSTRUCTIONS = 3


@dataclass(frozen=True)
class Nest:
    """Statements that one innermost loop repeats (None: straight-line code in `outer`)."""

    loop: Around | None
    outer: tuple[Around, ...]
    leaves: tuple[Leaf, ...]
    vectorised: bool

    @property
    def trips(self) -> int:
        return (self.loop.extent or 1) if self.loop else 1


class Reader:
    """Makes nests of a kernel's tree; `shapes` are the arrays' shapes in elements."""

    def __init__(self, buffers: Mapping[str, Buffer], shapes: Mapping[str, Sequence[int]]) -> None:
        self.buffers = buffers
        self.shapes = shapes

    def nests(self, items: Sequence[Item], outer: tuple[Around, ...] = ()) -> Iterator[Nest]:
        """The nests of `items`, which stand in the loops `outer`, in program order."""
        straight: list[Item] = []
        for item in opened(items):
            if instructions(item) <= UNROLLED_INSTRUCTIONS or not isinstance(item.node, Loop):
                straight += item.leaves()
                continue
            yield from self._straight(straight, outer)
            straight = []
            around = _with_loop(item, outer)
            if around is None:
                continue
            if all(instructions(child) < math.inf for child in opened(item.children)):
                leaves = [self.leaf(leaf, len(around)) for leaf in item.leaves()]
                loop = around[len(outer)]
                yield Nest(loop, outer, tuple(leaves), vectorisable(loop, leaves))
            else:
                yield from self.nests(item.children, around)
        yield from self._straight(straight, outer)

    def _straight(self, items: Sequence[Item], outer: tuple[Around, ...]) -> Iterator[Nest]:
        if items:
            yield Nest(None, outer, tuple(self.leaf(item, len(outer)) for item in items), False)

    def leaf(self, item: Item, depth: int) -> Leaf:
        reads: list[Address] = []
        writes: list[Address] = []
        for entry in item.count.accesses:
            access = entry.access
            shape = tuple(self.shapes.get(access.buffer, ()))
            if len(shape) != len(access.indices):
                continue
            address = address_of(access, self.buffers[access.buffer], shape, item.place)
            if access.mode != "write" and address not in reads:
                reads.append(address)
            if access.mode != "read" and address not in writes:
                writes.append(address)
        return Leaf(item, tuple(reads), tuple(writes), item.place.around[depth:])


def _with_loop(item: Item, outer: tuple[Around, ...]) -> tuple[Around, ...] | None:
    """`outer` and the loop of `item`; None of a loop with nothing in it."""
    around = item.children[0].place.around if item.children else ()
    return around[: len(outer) + 1] if len(around) > len(outer) else None


def opened(items: Sequence[Item]) -> Iterator[Item]:
    """The items with branches replaced by what is in them."""
    for item in items:
        if isinstance(item.node, Branch):
            yield from opened(item.children)
        else:
            yield item


def instructions(item: Item) -> float:
    """Instructions of a node when all loops in it are unrolled; infinite if they will not be."""
    if isinstance(item.node, Statement):
        return len(item.count.accesses) + operations(item)
    inside = sum(instructions(child) for child in item.children)
    if not isinstance(item.node, Loop):
        return inside
    if item.node.kind == "vectorized" and not any(
        chosen(leaf, item.node.var) for leaf in item.leaves()
    ):
        return inside
    trips = item.count.trips
    if trips is None or item.node.kind == "parallel":
        return math.inf
    total = trips * (inside + (0 if item.node.kind == "unroll" else LOOP_INSTRUCTIONS))
    if item.node.kind == "unroll" or total <= UNROLLED_INSTRUCTIONS:
        return total
    return math.inf
