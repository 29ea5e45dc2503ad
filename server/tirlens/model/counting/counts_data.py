"""What counting gives: a mirror of the facts with a number on everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from tirlens_worker.facts import Access, Arith, Buffer, Caveat, Node, Statement

from .operation_classes import totals


class ArithCount(NamedTuple):
    """`total` operations over the whole launch; a guard on them is respected.

    `useful` of them contribute to the result; masks, and not the edges of arrays, hide `masked`.
    """

    arith: Arith
    total: int | None
    useful: int | None = None
    masked: int | None = None


class AccessCount(NamedTuple):
    """`executions` of the access, `elements` and `bytes` touched, over the whole launch."""

    access: Access
    buffer: Buffer
    executions: int | None
    elements: int | None
    bytes: int | None


@dataclass(frozen=True)
class NodeCount:
    """`executions`: how often `node` is entered; of a statement, how often it runs.

    Of a loop, `iterations` is how often its body runs in all and `trips` the most iterations of
    one entry, so that ``iterations == executions * trips`` unless the extent varies.
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
        """What all statements in it cost together."""
        return subtree_cost(self.children) if self.children else _statement_cost(self)


class SubtreeCost(NamedTuple):
    """FLOP and bytes of global memory, None where not known, and how often statements run."""

    flop: int | None
    global_bytes: int | None
    executions: int


def subtree_cost(nodes: Iterable[NodeCount]) -> SubtreeCost:
    """What some nodes cost together."""
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
    """What one statement costs; a loop or branch without any in it costs nothing."""
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
    """FLOP of as many operations of a kind as its sparsity is, so that the number is whole."""
    return totals([(Arith(op, dtype, sparsity=sparsity), sparsity)]).flop


@dataclass(frozen=True)
class LaunchCount:
    """The launch in numbers, each tuple empty where the facts give none and None if not known."""

    grid: tuple[int, ...] | None
    threads: tuple[int, ...] | None
    cluster: tuple[int, ...] | None


@dataclass(frozen=True)
class BufferCount:
    """The shape of a buffer and its size in bytes, None where a dimension is not known."""

    buffer: Buffer
    shape: tuple[int, ...] | None
    bytes: int | None


@dataclass(frozen=True)
class Counts:
    """The counts of a kernel; `root` mirrors `facts.body`.

    `needs` are the variables that must be bound before everything is known.
    """

    root: tuple[NodeCount, ...]
    launch: LaunchCount
    buffers: Mapping[str, BufferCount]
    caveats: tuple[Caveat, ...] = ()
    needs: tuple[str, ...] = ()

    def statements(self) -> Iterator[NodeCount]:
        """The leaves, in program order."""
        return statement_counts(self.root)


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
