"""Values that one turn of a loop hands to the next: a chain that no unrolling shortens.

``acc[i] += a[i, k]`` over `k` waits in each turn for the sum of the turn before, and so does
``s[k + 1] = s[k] + a[k]``, through memory.  Sums of floats are not put in another order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tirlens_counting.expressions import simplify, substitute
from tirlens_worker.facts import Access, Expr

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS, EnclosingLoop, LoopContext
from ...tree.node import CostNode

TILE_LOOP_KINDS = frozenset({"parallel", "vectorized"})


@dataclass(frozen=True)
class CarriedDependence:
    """A thread's longest chain through a statement: `turns` links through memory of a `scope`."""

    scope: str
    links: float


def find_carried_dependence(item: CostNode, blocks: int) -> CarriedDependence | None:
    """What a statement hands on from turn to turn; None where no turn waits for another."""
    if not item.count.executions or all(entry.arith.index for entry in item.count.arith):
        return None
    entries = item.count.accesses
    for written in entries:
        for read in entries:
            same = written.access.buffer == read.access.buffer
            if same and (written.access.mode, read.access.mode) == ("write", "read"):
                beside = _independent_chains(read.access, written.access, item.context)
                if beside is not None:
                    return CarriedDependence(
                        read.buffer.scope, sequential_executions(item, blocks) / beside
                    )
    return None


def sequential_executions(item: CostNode, blocks: int) -> float:
    """How many times one thread runs a statement in turn, for each element of a tile loop."""
    threads = item.threads if item.source.per == "thread" else 1
    tiles = (loop.extent or 1 for loop in item.context.loops if loop.kind in TILE_LOOP_KINDS)
    return (item.count.executions or 0) / (blocks * threads * math.prod(tiles))


def _independent_chains(read: Access, written: Access, place: LoopContext) -> int | None:
    """How many chains one thread has side by side, for one element of a tile loop."""
    if read.extents or written.extents or len(read.indices) != len(written.indices):
        return None
    beside = 1
    for loop in reversed(place.loops):
        if loop.kind in GRID_KINDS | CONCURRENT_KINDS:
            continue
        if _reads_previous_iteration(read, written, loop, place):
            return beside
        beside *= loop.extent or 1
    return None


def _reads_previous_iteration(
    read: Access, written: Access, loop: EnclosingLoop, place: LoopContext
) -> bool:
    """Whether the next turn of a loop reads what this one writes."""
    following: Expr = ("+", loop.var, 1)
    return all(
        simplify(substitute(place.resolve(here), {loop.var: following}))
        == simplify(place.resolve(there))
        for here, there in zip(read.indices, written.indices, strict=True)
    )
