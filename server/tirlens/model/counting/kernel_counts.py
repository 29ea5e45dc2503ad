"""The counts of a kernel: a tree that mirrors the facts, with exact numbers on every node.

All numbers are totals over the whole launch.  None means that a number is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from tirlens_worker.facts import Access, Arith, Buffer, Caveat, KernelFacts, Node, Statement

from .data_extents import LengthEstimate
from .operation_classes import sum_operations


class ArithCount(NamedTuple):
    """Operations of one kind.

    `total` respects the operations' own guard.  `useful` of them contribute to the result.  A mask,
    not the edge of an array, discards the results of `masked` more.
    """

    arith: Arith
    total: int | None
    useful: int | None = None
    masked: int | None = None


class AccessCount(NamedTuple):
    """Executions of one access, and the elements and bytes that it issues."""

    access: Access
    buffer: Buffer
    executions: int | None
    elements: int | None
    bytes: int | None


@dataclass(frozen=True)
class NodeCount:
    """Counts of one node of the facts.

    `executions` is how often control reaches the node.  For a loop, `iterations` is how often its
    body runs in total, and `trips` the largest trip count of one execution:
    ``iterations == executions * trips`` unless the extent varies.
    """

    source: Node
    trips: int | None
    executions: int | None
    arith: tuple[ArithCount, ...] = ()
    accesses: tuple[AccessCount, ...] = ()
    children: tuple[NodeCount, ...] = ()
    iterations: int | None = None

    @cached_property
    def cost(self) -> SubtreeCost:
        """The cost of all statements inside."""
        return subtree_cost(self.children) if self.children else _statement_cost(self)


class SubtreeCost(NamedTuple):
    """FLOP, issued bytes of global memory, and executions of statements; None where not known."""

    flop: int | None
    global_bytes: int | None
    executions: int


def subtree_cost(nodes: Iterable[NodeCount]) -> SubtreeCost:
    """The cost of some subtrees together."""
    flop: int | None = 0
    moved: int | None = 0
    executions = 0
    for node in nodes:
        mine = node.cost if node.children else _statement_cost(node)
        flop = None if flop is None or mine.flop is None else flop + mine.flop
        known = mine.global_bytes
        moved = None if moved is None or known is None else moved + known
        executions += mine.executions
    return SubtreeCost(flop, moved, executions)


def _statement_cost(node: NodeCount) -> SubtreeCost:
    """The cost of one statement; an empty loop or branch costs nothing."""
    if not isinstance(node.source, Statement):
        return SubtreeCost(0, 0, 0)
    flop: int | None = 0
    for item in node.arith:
        arith = item.arith
        if not arith.index and flop is not None:
            each = _flop(arith.op, arith.dtype, arith.sparsity)
            flop = None if item.total is None else flop + each * item.total // arith.sparsity
    moved: int | None = 0
    for entry in node.accesses:
        if entry.buffer.scope == "global" and moved is not None:
            moved = None if entry.bytes is None else moved + entry.bytes
    return SubtreeCost(flop, moved, node.executions or 0)


@lru_cache(maxsize=1024)
def _flop(op: str, dtype: str, sparsity: int) -> int:
    """FLOP of `sparsity` operations of one kind, which is a whole number."""
    return sum_operations([(Arith(op, dtype, sparsity=sparsity), sparsity)]).flop


@dataclass(frozen=True)
class LaunchCount:
    """Extents of the launch: empty where the facts give none, None where one is not known."""

    grid: tuple[int, ...] | None
    threads: tuple[int, ...] | None
    cluster: tuple[int, ...] | None


@dataclass(frozen=True)
class BufferCount:
    """Shape and size in bytes of a buffer; None where a dimension is not known."""

    buffer: Buffer
    shape: tuple[int, ...] | None
    bytes: int | None


@dataclass(frozen=True)
class Counts:
    """The counts of a kernel; `root` mirrors `facts.body`.

    `needs` lists the variables to bind before every number is known.  `outside` are the accesses
    that provably leave their arrays; they are no caveats of the counts.
    """

    root: tuple[NodeCount, ...]
    launch: LaunchCount
    buffers: Mapping[str, BufferCount]
    caveats: tuple[Caveat, ...] = ()
    needs: tuple[str, ...] = ()
    outside: tuple[Caveat, ...] = ()

    def statements(self) -> Iterator[NodeCount]:
        """The leaves, in program order."""
        return statement_counts(self.root)


@dataclass(frozen=True)
class ArrayBytes:
    """Distinct bytes that a kernel reads and writes, by array.

    `exact` is False where some are an upper bound, `bounded` has the arrays whose accesses are not
    known.  The bytes of other arrays are those of the iterations that are counted.
    """

    read: Mapping[str, int]
    written: Mapping[str, int]
    exact: bool = True
    bounded: frozenset[str] = frozenset()

    @property
    def bytes(self) -> int:
        """Distinct bytes read plus distinct bytes written."""
        return sum(self.read.values()) + sum(self.written.values())


@dataclass(frozen=True)
class Footprint:
    """The distinct bytes that a kernel reads and writes.

    Attributes
    ----------
    elements
        The bytes of the elements that it accesses.
    least_by_array
        The bytes that any cache moves at least: without elements that the kernel reads after it
        has written them.  They are no lower bound where `elements` is not exact.
    in_sectors
        The bytes of the aligned sectors with these elements, by the bytes of a sector.
    """

    elements: ArrayBytes
    least_by_array: Mapping[str, int]
    in_sectors: Callable[[int], ArrayBytes] = field(repr=False, compare=False)

    @property
    def bytes(self) -> int:
        """Distinct bytes read plus distinct bytes written."""
        return self.elements.bytes

    @property
    def least_bytes(self) -> int:
        """The bytes that any cache moves at least."""
        return sum(self.least_by_array.values())

    def unavoidable(self, names: Collection[str]) -> Footprint:
        """The bytes of some arrays that any cache moves."""
        least = {name: size for name, size in self.least_by_array.items() if name in names}
        written = {name: self.elements.written.get(name, 0) for name in least}
        fetched = {name: size - written[name] for name, size in least.items()}

        def in_sectors(sector_bytes: int) -> ArrayBytes:
            found = self.in_sectors(sector_bytes)
            read = {name: size for name, size in found.read.items() if fetched.get(name)}
            kept = {name: size for name, size in found.written.items() if name in names}
            return ArrayBytes(read, kept, found.exact, found.bounded)

        elements = ArrayBytes(fetched, written, self.elements.exact, self.elements.bounded)
        return Footprint(elements, least, in_sectors)

    def known_bytes(self, sector_bytes: int) -> ArrayBytes:
        """The bytes of the arrays whose accesses are known, in sectors where these are exact."""
        sectors, elements = self.in_sectors(sector_bytes), self.elements
        read, written = (
            {
                array: in_elements if array in sectors.bounded else in_sectors[array]
                for array, in_elements in counted.items()
                if array not in elements.bounded & sectors.bounded
            }
            for counted, in_sectors in (
                (elements.read, sectors.read),
                (elements.written, sectors.written),
            )
        )
        return ArrayBytes(read, written)

    @property
    def exact(self) -> bool:
        """Whether the bytes are exact, not an upper bound."""
        return self.elements.exact


@dataclass(frozen=True)
class KernelCounts:
    """The result of counting a kernel.

    `facts` are the facts that were counted: where an array of lengths bounds a loop, its elements
    are replaced by the numbers of `lengths`.  `footprint` is None, and `formula` lacks a key, where
    they are not known.  The keys of `formula` are ``flop`` and ``global_bytes``.
    """

    facts: KernelFacts
    bindings: Mapping[str, int]
    counts: Counts
    footprint: Footprint | None
    formula: Mapping[str, str]
    lengths: Mapping[str, LengthEstimate] = field(
        default_factory=dict[str, LengthEstimate], repr=False
    )


def statement_counts(nodes: Iterable[NodeCount]) -> Iterator[NodeCount]:
    """The statements under `nodes`, in program order."""
    left = [iter(nodes)]
    while left:
        for item in left[-1]:
            if item.children:
                left.append(iter(item.children))
                break
            if isinstance(item.source, Statement):
                yield item
        else:
            left.pop()


Side = Sequence[NodeCount]


def cost_range(then: Side, orelse: Side) -> str:
    """The cost of a data-dependent branch that is never or always taken.

    For example ``0 to 1,024 FLOP, 0 to 512 B of global memory``.  Empty if a cost is not known, or
    if both sides cost the same.
    """
    one, other = subtree_cost(then), subtree_cost(orelse)
    ranges: list[str] = []
    for unit, sides in (
        ("FLOP", (one.flop, other.flop)),
        ("B of global memory", (one.global_bytes, other.global_bytes)),
    ):
        if None in sides:
            return ""
        low, high = sorted(side or 0 for side in sides)
        if low != high:
            ranges.append(f"{low:,} to {high:,} {unit}")
    return ", ".join(ranges)


def is_costlier(one: Side, other: Side) -> bool:
    """Whether `one` side of a branch costs more than the `other`.

    Sides compare by the sum of FLOP and bytes, then by executions.  An unknown cost is the highest.
    """
    return _weight(one) > _weight(other)


def _weight(side: Side) -> tuple[float, int]:
    flop, moved, executions = subtree_cost(side)
    known = None if flop is None or moved is None else flop + moved
    return (float("inf") if known is None else known, executions)
