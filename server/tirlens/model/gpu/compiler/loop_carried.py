"""Loop-carried dependences: chains of iterations that unrolling does not shorten.

``acc[i] += a[i, k]`` over `k` needs the sum of the previous iteration; so does
``s[k + 1] = s[k] + a[k]``, through memory.  Compilers do not reorder floating-point sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tirlens_counting.expressions import simplify, substitute
from tirlens_worker.facts import Access, Expr

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS, EnclosingLoop, LoopContext
from ...tree.node import Leaf

TILE_LOOP_KINDS = frozenset({"parallel", "vectorized"})


@dataclass(frozen=True)
class CarriedDependence:
    """A thread's longest chain through a statement: its links, and the scope of its array."""

    scope: str
    links: float


def find_carried_dependence(cost: Leaf, blocks: int) -> CarriedDependence | None:
    """The loop-carried dependence of a statement, or None."""
    if not cost.count.executions or all(entry.arith.index for entry in cost.count.arith):
        return None
    entries = cost.count.accesses
    for written in entries:
        for read in entries:
            same = written.access.buffer == read.access.buffer
            if same and (written.access.mode, read.access.mode) == ("write", "read"):
                chains = _independent_chains(read.access, written.access, cost.context)
                if chains is not None:
                    return CarriedDependence(
                        read.buffer.scope, sequential_executions(cost, blocks) / chains
                    )
    return None


def sequential_executions(cost: Leaf, blocks: int) -> float:
    """Sequential executions of a statement in one thread, for each element of a tile loop."""
    threads = cost.threads if cost.source.per == "thread" else 1
    tiles = (loop.trip_count for loop in cost.context.loops if loop.kind in TILE_LOOP_KINDS)
    return (cost.count.executions or 0) / (blocks * threads * math.prod(tiles))


def _independent_chains(read: Access, written: Access, context: LoopContext) -> int | None:
    """Independent chains of one thread, for one element of a tile loop."""
    if read.extents or written.extents or len(read.indices) != len(written.indices):
        return None
    chains = 1
    for loop in reversed(context.loops):
        if loop.kind in GRID_KINDS | CONCURRENT_KINDS:
            continue
        if _reads_previous_iteration(read, written, loop, context):
            return chains
        chains *= loop.trip_count
    return None


def _reads_previous_iteration(
    read: Access, written: Access, loop: EnclosingLoop, context: LoopContext
) -> bool:
    """Whether each iteration of a loop reads what the previous one writes."""
    following: Expr = ("+", loop.var, 1)
    return all(
        simplify(substitute(context.resolve(here), {loop.var: following}))
        == simplify(context.resolve(there))
        for here, there in zip(read.indices, written.indices, strict=True)
    )
