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
from functools import cached_property

from tirlens_worker.facts import Branch, Buffer, Loop, Statement

from ..classes import is_float
from ..dtypes import bits
from ..instructions.places import Around
from ..instructions.work import Item
from .address import Address, address_of

# llvm/lib/Transforms/Scalar/LoopUnrollPass.cpp, getUnrollThreshold at -O3.
UNROLLED_INSTRUCTIONS = 300
# The induction variable: increment, compare, branch.
LOOP_INSTRUCTIONS = 3
# llvm/lib/Target/X86/X86TargetTransformInfo.cpp, getGSVectorCost: beside a move for each element.
GATHER_OVERHEAD = 2
VECTOR_BITS = 256


@dataclass(frozen=True)
class Leaf:
    """A statement with its addresses, and the loops inside its nest: unrolled or vectors."""

    item: Item
    reads: tuple[Address, ...]
    writes: tuple[Address, ...]
    inner: tuple[Around, ...]

    @property
    def executions(self) -> int:
        return int(self.item.count.executions or 0)

    @property
    def addresses(self) -> tuple[Address, ...]:
        return self.reads + self.writes

    @cached_property
    def lanes(self) -> int:
        """Elements of one explicit vector, 1 without."""
        loops = (loop.extent or 1 for loop in self.inner if loop.kind == "vectorized")
        return math.prod(loops)

    @cached_property
    def lane_loop(self) -> str | None:
        return next((loop.var for loop in self.inner[::-1] if loop.kind == "vectorized"), None)

    @cached_property
    def bits(self) -> int:
        """The width of the widest element that the statement touches."""
        widths = [bits(entry.buffer.dtype) or 32 for entry in self.item.count.accesses]
        return max(widths, default=32)

    @cached_property
    def floating(self) -> bool:
        return any(is_float(entry.arith.dtype) for entry in self.item.count.arith)

    def is_parameter(self, address: Address) -> bool:
        return any(
            entry.buffer.is_parameter
            for entry in self.item.count.accesses
            if entry.access.buffer == address.buffer
        )

    def reads_back(self, write: Address) -> bool:
        """Whether the statement reads what it writes."""
        return any(read.buffer == write.buffer and read.terms == write.terms for read in self.reads)

    def accumulates(self, address: Address) -> bool:
        """Whether what is read there is what the statement's last execution wrote."""
        return any(
            other.buffer == address.buffer and other.terms == address.terms for other in self.writes
        )


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
    if not isinstance(item.node, Loop) or item.node.kind == "vectorized":
        return inside
    trips = item.count.trips
    if trips is None or item.node.kind == "parallel":
        return math.inf
    total = trips * (inside + (0 if item.node.kind == "unroll" else LOOP_INSTRUCTIONS))
    if item.node.kind == "unroll" or total <= UNROLLED_INSTRUCTIONS:
        return total
    return math.inf


def operations(item: Item) -> float:
    """Arithmetic operations on data in one execution of a statement."""
    executions = max(item.count.executions or 1, 1)
    return sum(
        (entry.total or 0) / executions for entry in item.count.arith if not entry.arith.index
    )


def vectorisable(loop: Around, leaves: Sequence[Leaf]) -> bool:
    """Whether the compiler runs several iterations of a loop at once by itself."""
    if loop.kind == "vectorized":
        return True
    if any(leaf.lanes > 1 or carried(loop, leaf) for leaf in leaves):
        return False
    scalar = vector = 0.0
    for leaf in leaves:
        elements = VECTOR_BITS / leaf.bits
        compute = operations(leaf.item)
        scalar += elements * (len(leaf.addresses) + compute)
        vector += compute
        for address in leaf.addresses:
            stride = address.stride(loop.var, leaf.item.place.ranges)
            near = stride is not None and abs(stride) <= 4 * address.size
            vector += 1 if near else GATHER_OVERHEAD + elements
    return vector < scalar


def distance(write: Address, read: Address, stride: int, trips: int) -> int:
    """Iterations until what is written is read, 0 if it is not within the loop."""
    steps, rest = divmod(write.constant - read.constant, stride)
    return steps if not rest and 0 < steps < trips else 0


def carried(loop: Around, leaf: Leaf) -> bool:
    """Whether an iteration of a loop needs what the one before it has stored."""
    for write in leaf.writes:
        stride = write.stride(loop.var, leaf.item.place.ranges)
        for read in leaf.reads:
            if read.buffer != write.buffer or read.terms != write.terms:
                continue
            if stride == 0 and leaf.floating:
                return True
            if stride and distance(write, read, stride, loop.extent or 1):
                return True
    return False
