"""What counting gives: a mirror of the facts with a number on everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tirlens_worker.facts import Access, Arith, Buffer, Caveat, Node, Statement


@dataclass(frozen=True)
class ArithCount:
    """`total` operations over the whole launch; a guard on them is respected.

    `useful` of them contribute to the result; masks, and not the edges of arrays, hide `masked`.
    """

    arith: Arith
    total: int | None
    useful: int | None = None
    masked: int | None = None


@dataclass(frozen=True)
class AccessCount:
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

    node: Node
    trips: int | None
    executions: int | None
    arith: tuple[ArithCount, ...] = ()
    accesses: tuple[AccessCount, ...] = ()
    children: tuple[NodeCount, ...] = ()
    iterations: int | None = None


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
        return leaves(self.root)


def leaves(nodes: Iterable[NodeCount]) -> Iterator[NodeCount]:
    """The statements under `nodes`, in program order."""
    left = [iter(nodes)]
    while left:
        for item in left[-1]:
            if item.children:
                left.append(iter(item.children))
                break
            if isinstance(item.node, Statement):
                yield item
        else:
            left.pop()
