"""Parts of a block that run at the same time because different warps execute them.

A branch on the thread's index gives its two sides to different warps, and so do several branches
after each other whose conditions no warp meets together: a producer, a consumer, an epilogue.
Where they wait for each other at barriers, they are followed event by event (`events`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tirlens_counting.expressions import (
    UnknownValueError,
    conjuncts,
    evaluate,
    free_variables,
    is_data_dependent,
)
from tirlens_worker.facts import Branch, Expr

from ...tree.context import LoopContext
from ...tree.node import CostNode
from ...tree.timed_node import TimedNode
from ...tree.trip_counts import branch_sides
from ..mapping.spread import WARP
from .events import follow
from .program import Costs, NotKnownError, led, program
from .role_steps import Body, Choice, Meet, meetings, retimed


def splits_the_block(item: CostNode) -> bool:
    """Whether a branch gives the warps of a block different roles that run at the same time."""
    threads = {loop.var for loop in item.context.loops if loop.kind == "block"}
    condition = item.context.resolve(item.source.condition)
    return bool(item.source.orelse) and bool(free_variables(condition) & threads)


def concurrent(items: Sequence[CostNode]) -> Iterator[tuple[CostNode, ...]]:
    """The items in groups: a group's run at the same time, the groups one after the other."""
    if not any(isinstance(item.source, Branch) for item in items):
        yield from ((item,) for item in items)
        return
    group: list[CostNode] = []
    taken: frozenset[int] = frozenset()
    for item in items:
        mine = _warps_of(item)
        if group and (mine is None or not taken or mine & taken):
            yield tuple(group)
            group, taken = [], frozenset()
        group.append(item)
        taken = frozenset() if mine is None else taken | mine
    if group:
        yield tuple(group)


def _warps_of(item: CostNode) -> frozenset[int] | None:
    """The warps that enter a branch which has one side only; None for everything else."""
    if not isinstance(item.source, Branch) or item.source.orelse:
        return None
    condition = item.context.resolve(item.source.condition)
    return _warps(condition, _axes(item.context))


def _axes(place: LoopContext) -> tuple[tuple[str, int], ...]:
    loops = [loop for loop in place.loops if loop.kind == "block"]
    loops.sort(key=lambda loop: loop.tag or "")
    return tuple((loop.var, loop.extent or 1) for loop in loops)


@lru_cache(maxsize=512)
def _warps(condition: Expr, axes: tuple[tuple[str, int], ...]) -> frozenset[int] | None:
    known = {name for name, _ in axes}
    # What else the condition asks, of the block or of data, no warp more meets.
    parts = [
        part
        for part in conjuncts(condition)
        if free_variables(part) and free_variables(part) <= known and not is_data_dependent(part)
    ]
    if not parts:
        return None
    index = np.arange(int(np.prod([extent for _, extent in axes])))
    env: dict[str, Any] = {}
    rest = index
    for name, extent in axes:
        env[name] = rest % extent
        rest = rest // extent
    try:
        holds = np.all(
            [np.broadcast_to(np.asarray(evaluate(part, env), bool), index.shape) for part in parts],
            axis=0,
        )
    except UnknownValueError:
        return None
    warps = frozenset(np.flatnonzero(np.bincount(index[holds] // WARP)).tolist())
    # All warps take part: no role of its own.
    return warps if len(warps) * WARP < len(index) else None


def at_barriers(
    items: Sequence[CostNode], costs: Costs, entries: float
) -> tuple[TimedNode, ...] | None:
    """The times of roles that wait for each other; None where they do not, or not as is known.

    `items` give the warps of a block their roles, `entries` times in a block.
    """
    try:
        roles = _roles(items, costs, entries)
    except NotKnownError:
        return None
    met = [tuple(meetings(role)) for role in roles]
    if not _linked(met):
        return None
    followed = follow(roles, _Needed(met).threads)
    if followed is None:
        return None
    ends = [one.end_s for one in followed]
    last = ends.index(max(ends))
    parts: list[TimedNode] = []
    for number, (role, one) in enumerate(zip(roles, followed, strict=True)):
        timed = tuple(retimed(role, one.waited_s))
        spent = sum(part.total_s for part in timed)
        # The others are hidden behind the one that ends last.
        factor = one.end_s * entries / spent if number == last and spent else 0.0
        parts.extend(part.scale(factor) for part in timed)
    return _merged(parts)


def _roles(items: Sequence[CostNode], costs: Costs, entries: float) -> list[Body]:
    """What each role does, with what all of them do before and after."""
    position = 0
    for group in concurrent(items):
        before, after = items[:position], items[position + len(group) :]
        position += len(group)
        if len(group) > 1 or any(_splits(item) for item in group):
            first = program(before, costs, entries)
            last = program(after, costs, entries)
            return [
                (*first, Choice(item, 1.0, role, (), None), *last)
                for item in group
                for side in branch_sides(item)
                if side
                for role in _roles(side, led(item, costs), entries)
            ]
    return [program(items, costs, entries)]


def _splits(item: CostNode) -> bool:
    return isinstance(item.source, Branch) and splits_the_block(item)


def _linked(met: Sequence[Sequence[Meet]]) -> bool:
    """Whether a role waits where another arrives."""
    waits = [{one.signal.barrier for one in role if one.signal.kind in _WAITS} for role in met]
    told = [{one.signal.barrier for one in role if one.signal.kind in _TELLS} for role in met]
    return any(
        waits[one] & told[other]
        for one in range(len(met))
        for other in range(len(met))
        if one != other
    )


_WAITS = frozenset({"wait", "sync"})
_TELLS = frozenset({"arrive", "commit", "fetch", "sync"})


class _Needed:
    """How many threads have to arrive at a barrier: as it was made, else all that ever do."""

    def __init__(self, met: Sequence[Sequence[Meet]]) -> None:
        self._counts: dict[tuple[str, int], int] = {}
        self._all: dict[str, int] = {}
        for role in met:
            most: dict[str, int] = {}
            for one in role:
                signal = one.signal
                if isinstance(signal.count, int) and signal.kind != "drain":
                    index = signal.index if isinstance(signal.index, int) else -1
                    self._counts[signal.barrier, index] = signal.count
                if signal.kind in _TELLS:
                    most[signal.barrier] = max(most.get(signal.barrier, 0), one.threads)
            for name, threads in most.items():
                self._all[name] = self._all.get(name, 0) + threads

    def threads(self, place: tuple[str, int]) -> float:
        name, index = place
        every = self._all.get(name, 1)
        found = self._counts.get((name, index), self._counts.get((name, -1), every))
        # More than ever arrive here come from other blocks of the cluster.
        return min(found, every)


def _merged(parts: Sequence[TimedNode]) -> tuple[TimedNode, ...]:
    """The times of several roles as one: what all of them execute stands there once."""
    together: dict[int, list[TimedNode]] = {}
    for part in parts:
        together.setdefault(id(part.node), []).append(part)
    return tuple(
        same[0]
        if len(same) == 1
        else TimedNode(
            same[0].node,
            sum(one.own_s for one in same),
            _merged([child for one in same for child in one.children]),
        )
        for same in together.values()
    )
