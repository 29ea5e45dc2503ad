"""Which of a block's threads execute a statement."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tirlens_counting.expressions import (
    UnknownValueError,
    conjuncts,
    evaluate,
    free_variables,
    is_data_dependent,
    substitute,
)
from tirlens_worker.facts import Expr

from ...tree.context import CONCURRENT_KINDS, LoopContext

# What is looked at of an axis of the grid, or of a loop: the first, and the middle of eight parts;
# of fewer where there are several of them.
_SAMPLES = 8

# Each variable with the first of its values and their number.
Axes = tuple[tuple[str, int, int], ...]


def count_active_threads(place: LoopContext, threads: int) -> int:
    """How many of a block's threads meet the conditions around a statement.

    It is the average over the blocks, and the turns of loops, in which some do: a causal mask
    leaves more of them in later blocks, a tree of sums fewer in later turns.  Conditions on data
    are taken to hold, and so are those on no thread: only blocks in which they hold matter.
    """
    if not place.conditions:
        return threads
    axes = tuple((loop.var, 0, loop.extent or 1) for loop in place.loops if loop.kind == "block")
    names = {name for name, _, _ in axes}
    turning = {
        loop.var: (place.first_values.get(loop.var, 0), loop.extent)
        for loop in place.loops
        if loop.kind not in CONCURRENT_KINDS and loop.extent
    }
    mine = tuple(
        substitute(item, {name: place.first_values.get(name, name) for name in others})
        for condition in place.conditions
        for item in conjuncts(condition)
        if (used := free_variables(item)) & names and not is_data_dependent(item)
        for others in (used - names - turning.keys(),)
    )
    if not mine:
        return threads
    asked = frozenset[str]().union(*map(free_variables, mine))
    moving = tuple((name, *reach) for name, reach in turning.items() if name in asked)
    return _mean_active_threads(mine, moving, axes, threads)


@lru_cache(maxsize=512)
def _mean_active_threads(
    conditions: tuple[Expr, ...], moving: Axes, axes: Axes, threads: int
) -> int:
    parts = max(_SAMPLES // max(len(moving), 1), 2)
    looked_at = [_sample_values(first, extent, parts) for _, first, extent in moving]
    names = [name for name, _, _ in (*moving, *axes)]
    values = [*(at for at, _ in looked_at), *(np.arange(extent) for _, _, extent in axes)]
    env = dict(zip(names, np.meshgrid(*values, indexing="ij", sparse=True), strict=True))
    holds = np.ones([len(at) for at in values], dtype=bool)
    for item in conditions:
        try:
            holds &= np.asarray(evaluate(item, env), dtype=bool)
        except UnknownValueError:
            continue
    share = np.asarray(holds.mean(axis=tuple(range(len(moving), len(names)))))
    standing_for = (share > 0).astype(np.float64)
    for weights in np.meshgrid(*(weights for _, weights in looked_at), indexing="ij", sparse=True):
        standing_for *= weights
    if not standing_for.any():
        return 1
    return max(round(threads * float(np.average(share, weights=standing_for))), 1)


def _sample_values(
    first: int, extent: int, parts: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Values of a variable that are looked at, and how many each of them stands for."""
    if extent <= _SAMPLES + 2:
        return first + np.arange(extent), np.ones(extent, dtype=np.int64)
    edges = 1 + (extent - 1) * np.arange(parts + 1) // parts
    middles = (edges[:-1] + edges[1:] - 1) // 2
    return first + np.append(0, middles), np.append(1, np.diff(edges))
