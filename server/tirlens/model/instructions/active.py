"""Which of a block's threads execute a statement."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tirlens_worker.facts import Expr

from ..expr import (
    UnknownValueError,
    conjuncts,
    evaluate,
    free_variables,
    is_data_dependent,
    substitute,
)
from .places import SPATIAL, Place

# Blocks that are looked at along an axis of the grid: the first, and the middle of eight parts.
_PARTS = 8

Axes = tuple[tuple[str, int], ...]


def active_threads(place: Place, threads: int) -> int:
    """How many of a block's threads meet the conditions around a statement.

    It is the average over the blocks in which some do, as a causal mask leaves more of them in
    later blocks.  Variables of loops are at their first value.  Conditions on data are taken to
    hold, and so are those on no thread: only blocks in which they hold matter.
    """
    if not place.conditions:
        return threads
    axes = tuple((loop.var, loop.extent or 1) for loop in place.around if loop.kind == "block")
    grid = {loop.var: loop.extent or 1 for loop in place.around if loop.kind in SPATIAL}
    names = {name for name, _ in axes}
    mine = tuple(
        substitute(item, {name: place.first_values.get(name, name) for name in others})
        for condition in place.conditions
        for item in conjuncts(condition)
        if (used := free_variables(item)) & names and not is_data_dependent(item)
        for others in (used - names - grid.keys(),)
    )
    if not mine:
        return threads
    asked = frozenset[str]().union(*map(free_variables, mine))
    blocks = tuple((name, extent) for name, extent in grid.items() if name in asked)
    return _active(mine, blocks, axes, threads)


@lru_cache(maxsize=512)
def _active(conditions: tuple[Expr, ...], blocks: Axes, axes: Axes, threads: int) -> int:
    looked_at = [_looked_at(extent) for _, extent in blocks]
    names = [name for name, _ in (*blocks, *axes)]
    values = [*(at for at, _ in looked_at), *(np.arange(extent) for _, extent in axes)]
    env = dict(zip(names, np.meshgrid(*values, indexing="ij", sparse=True), strict=True))
    holds = np.ones([len(at) for at in values], dtype=bool)
    for item in conditions:
        try:
            holds &= np.asarray(evaluate(item, env), dtype=bool)
        except UnknownValueError:
            continue
    share = np.asarray(holds.mean(axis=tuple(range(len(blocks), len(names)))))
    standing_for = (share > 0).astype(np.float64)
    for weights in np.meshgrid(*(weights for _, weights in looked_at), indexing="ij", sparse=True):
        standing_for *= weights
    if not standing_for.any():
        return 1
    return max(round(threads * float(np.average(share, weights=standing_for))), 1)


def _looked_at(extent: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Coordinates of blocks along an axis of the grid, and how many each of them stands for."""
    if extent <= _PARTS + 1:
        return np.arange(extent), np.ones(extent, dtype=np.int64)
    edges = 1 + (extent - 1) * np.arange(_PARTS + 1) // _PARTS
    middles = (edges[:-1] + edges[1:] - 1) // 2
    return np.append(0, middles), np.append(1, np.diff(edges))
