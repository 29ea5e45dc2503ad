"""How often what stands in a loop or on a side of a branch runs each time, on average."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Branch, Let

from ...tree.context import CONCURRENT_KINDS
from ...tree.node import CostNode


def mean_trips(item: CostNode) -> float:
    """How often a loop turns each time that it runs, on average."""
    count = item.count
    if count.iterations is not None and count.executions:
        return max(count.iterations / count.executions, 0.0)
    return float(count.trips or 1)


def sides(item: CostNode) -> tuple[tuple[CostNode, ...], tuple[CostNode, ...]]:
    """What stands on the two sides of a branch."""
    first = sum(not isinstance(node, Let) for node in item.source.then)
    return item.children[:first], item.children[first:]


def shares(item: CostNode) -> Iterator[tuple[Sequence[CostNode], float]]:
    """What is inside a node and how often that runs of each time: the sides of a branch in part.

    A condition on threads or on elements of a tile keeps no warp from waiting with the others; one
    that holds for the whole block thins its turns.
    """
    node, place = item.source, item.context
    within = {loop.var for loop in place.loops if loop.kind in CONCURRENT_KINDS}
    if not isinstance(node, Branch) or within & free_variables(place.resolve(node.condition)):
        yield item.children, 1.0
        return
    times = _turns_of(item)
    for side in sides(item):
        inside = [_turns_of(child) for child in side]
        known = [number for number in inside if number is not None]
        thinned = times and known and len(known) == len(inside)
        yield side, min(max(known) / times, 1.0) if times and thinned else 1.0


def _turns_of(item: CostNode) -> float | None:
    """How often the blocks get to a node, together; None where only some threads may do so.

    A node is counted by block if all of its statements are, else by thread.
    """
    leaves, number = item.leaves(), item.count.executions
    if number is None or not leaves:
        return None
    kinds = {leaf.source.per for leaf in leaves}
    if kinds == {"block"}:
        return float(number)
    threads = {leaf.threads for leaf in leaves}
    return number / threads.pop() if kinds <= {"block", "thread"} and len(threads) == 1 else None
