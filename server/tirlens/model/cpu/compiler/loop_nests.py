"""The innermost loops as the compiler leaves them: what it unrolls, and what runs in vectors.

LLVM unrolls a short loop of known length in full before it vectorises (`unrolling`), so that the
loop around it is then the innermost one.  It vectorises an innermost loop whose iterations are
independent; a sum of floating-point numbers is not, because its order counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Buffer, Loop

from ...tree.context import EnclosingLoop
from ...tree.node import CostNode, leaves_of
from .statements import Address, Leaf, address_of
from .unrolling import Addresses, Unrolling, opened
from .vectorization import vectorisable


@dataclass(frozen=True)
class Nest:
    """Statements that one innermost loop repeats (None: straight-line code in `outer`)."""

    loop: EnclosingLoop | None
    outer: tuple[EnclosingLoop, ...]
    leaves: tuple[Leaf, ...]
    vectorised: bool

    @property
    def trips(self) -> int:
        """How often the innermost loop turns each time; 1 for straight-line code."""
        return (self.loop.extent or 1) if self.loop else 1

    @cached_property
    def in_a_row(self) -> bool:
        """Whether all that the innermost loop moves is one place or follows each other."""
        if self.loop is None:
            return False
        return all(
            abs(address.stride(self.loop.var, leaf.item.context.ranges) or 0) in (0, address.size)
            for leaf in self.leaves
            for address in leaf.addresses
        )


class Reader:
    """Makes nests of a kernel's tree; `shapes` are the arrays' shapes in elements.

    The widest registers have `register_bytes`, the vectors that the compiler makes of loops
    `vector_bytes`; of arrays of the kernel's own the compiler sees `own` elements.
    """

    def __init__(
        self,
        buffers: Mapping[str, Buffer],
        shapes: Mapping[str, Sequence[int]],
        register_bytes: int,
        vector_bytes: int,
        own: Mapping[str, int],
    ) -> None:
        self.buffers = buffers
        self.shapes = shapes
        self.vector_bytes = vector_bytes
        self.own = own
        self._unrolling = Unrolling(self._addresses, register_bytes)
        self._known: dict[int, Addresses] = {}

    def nests(
        self, items: Sequence[CostNode], outer: tuple[EnclosingLoop, ...] = ()
    ) -> Iterator[Nest]:
        """The nests of `items`, which stand in the loops `outer`, in program order."""
        straight: list[CostNode] = []
        for item in opened(items):
            if not isinstance(item.source, Loop) or self._unrolling.unrolled(item):
                straight += item.leaves()
                continue
            yield from self._straight(straight, outer)
            straight = []
            around = _with_loop(item, outer)
            if around is None:
                continue
            if all(map(self._unrolling.unrolled, opened(item.children))):
                leaves = [self.leaf(leaf, len(around)) for leaf in item.leaves()]
                loop = around[len(outer)]
                yield Nest(
                    loop, outer, tuple(leaves), vectorisable(loop, leaves, self.vector_bytes)
                )
            else:
                yield from self.nests(item.children, around)
        yield from self._straight(straight, outer)

    def _straight(
        self, items: Sequence[CostNode], outer: tuple[EnclosingLoop, ...]
    ) -> Iterator[Nest]:
        if items:
            yield Nest(None, outer, tuple(self.leaf(item, len(outer)) for item in items), False)

    def leaf(self, item: CostNode, depth: int) -> Leaf:
        """A statement that stands in `depth` loops outside of its nest."""
        reads, writes = self._addresses(item)
        return Leaf(item, reads, writes, item.context.loops[depth:])

    def _addresses(self, item: CostNode) -> Addresses:
        """What a statement reads and writes."""
        if id(item) not in self._known:
            self._known[id(item)] = self._read(item)
        return self._known[id(item)]

    def _read(self, item: CostNode) -> Addresses:
        reads: list[Address] = []
        writes: list[Address] = []
        for entry in item.count.accesses:
            access = entry.access
            shape = tuple(self.shapes.get(access.buffer, ()))
            if len(shape) != len(access.indices):
                continue
            address = address_of(access, self.buffers[access.buffer], shape, item.context)
            own = self.own.get(access.buffer)
            if own is not None:
                width_bytes = address.size // max(access.lanes, 1)
                array_bytes = min(address.array_bytes, own * width_bytes)
                address = replace(address, array_bytes=array_bytes)
            if access.mode != "write":
                _add(reads, address)
            if access.mode != "read" and address not in writes:
                writes.append(address)
        return tuple(reads), tuple(writes)


def _add(reads: list[Address], address: Address) -> None:
    """Notes what is read; of what is read several times the longest path."""
    if address not in reads:
        reads.append(address)
        return
    known = reads.index(address)
    if len(address.path or ()) > len(reads[known].path or ()):
        reads[known] = address


def _with_loop(
    item: CostNode, outer: tuple[EnclosingLoop, ...]
) -> tuple[EnclosingLoop, ...] | None:
    """`outer` and the loop of `item`; None of a loop with nothing in it."""
    around = item.children[0].context.loops if item.children else ()
    return around[: len(outer) + 1] if len(around) > len(outer) else None


Loops = tuple[EnclosingLoop, ...]


def common_loops(items: Sequence[CostNode], buffers: Mapping[str, Buffer]) -> dict[str, Loops]:
    """The loops that all uses of each own array have in common, in which it is allocated."""
    common: dict[str, Loops] = {}
    for leaf in leaves_of(items):
        for entry in leaf.count.accesses:
            name = entry.access.buffer
            if not buffers[name].is_parameter:
                common[name] = shared(common.get(name, leaf.context.loops), leaf.context.loops)
    return common


def shared(one: Loops, other: Loops) -> Loops:
    """The loops around both of two statements."""
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return one[:same]


def own_elements(
    items: Sequence[CostNode], buffers: Mapping[str, Buffer], common: Mapping[str, Loops]
) -> dict[str, int]:
    """At most so many elements each own array has after TVM's ``CompactBufferAllocation``."""
    most: dict[str, int] = {}
    for leaf in leaves_of(items):
        for entry in leaf.count.accesses:
            name = entry.access.buffer
            if buffers[name].is_parameter:
                continue
            indices = (leaf.context.resolve(index) for index in entry.access.indices)
            names = frozenset[str]().union(*map(free_variables, indices))
            inside = leaf.context.loops[len(common[name]) :]
            elements = math.prod(loop.extent or 1 for loop in inside if loop.var in names)
            most[name] = max(most.get(name, 1), elements)
    return most
