"""Parts of a block that run at the same time because different warps execute them.

A branch on the thread's index gives its two sides to different warps, and so do several branches
after each other whose conditions no warp meets together: a producer, a consumer, an epilogue.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tirlens_worker.facts import Branch, Expr

from .expr import UnknownValueError, evaluate, free_variables, is_data_dependent
from .places import Place
from .spread import WARP
from .work import Item


def splits_the_block(item: Item) -> bool:
    """Whether a branch gives the warps of a block different roles that run at the same time."""
    threads = {loop.var for loop in item.place.around if loop.kind == "block"}
    condition = item.place.resolve(item.node.condition)
    return bool(item.node.orelse) and bool(free_variables(condition) & threads)


def concurrent(items: Sequence[Item]) -> Iterator[tuple[Item, ...]]:
    """The items in groups: a group's run at the same time, the groups one after the other."""
    group: list[Item] = []
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


def _warps_of(item: Item) -> frozenset[int] | None:
    """The warps that enter a branch which has one side only; None for everything else."""
    if not isinstance(item.node, Branch) or item.node.orelse:
        return None
    condition = item.place.resolve(item.node.condition)
    return _warps(condition, _axes(item.place))


def _axes(place: Place) -> tuple[tuple[str, int], ...]:
    loops = [loop for loop in place.around if loop.kind == "block"]
    loops.sort(key=lambda loop: loop.tag or "")
    return tuple((loop.var, loop.extent or 1) for loop in loops)


@lru_cache(maxsize=512)
def _warps(condition: Expr, axes: tuple[tuple[str, int], ...]) -> frozenset[int] | None:
    names = free_variables(condition)
    known = {name for name, _ in axes}
    if not names or is_data_dependent(condition) or any(name not in known for name in names):
        return None
    index = np.arange(int(np.prod([extent for _, extent in axes])))
    env: dict[str, Any] = {}
    rest = index
    for name, extent in axes:
        env[name] = rest % extent
        rest = rest // extent
    try:
        holds = np.broadcast_to(np.asarray(evaluate(condition, env), dtype=bool), index.shape)
    except UnknownValueError:
        return None
    warps = frozenset(np.flatnonzero(np.bincount(index[holds] // WARP)).tolist())
    # All warps take part: no role of its own.
    return warps if len(warps) * WARP < len(index) else None
