"""Which of a block's threads execute a statement."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tirlens_worker.facts import Expr

from ..expr import (
    UnknownValueError,
    conjuncts,
    evaluate,
    free_variables,
    is_data_dependent,
    substitute,
)
from .places import Place


def active_threads(place: Place, threads: int) -> int:
    """How many of a block's threads meet the conditions around a statement.

    Variables that are not of threads are at their first value: the first block's, whose work the
    others share.  Conditions on data are taken to hold, and so are those on no thread: only blocks
    in which they hold matter.
    """
    if not place.conditions:
        return threads
    axes = tuple((loop.var, loop.extent or 1) for loop in place.around if loop.kind == "block")
    names = {name for name, _ in axes}
    mine = tuple(
        substitute(item, {name: place.first_values.get(name, name) for name in others})
        for condition in place.conditions
        for item in conjuncts(condition)
        if (used := free_variables(item)) & names and not is_data_dependent(item)
        for others in (used - names,)
    )
    return _active(mine, axes, threads) if mine else threads


@lru_cache(maxsize=512)
def _active(conditions: tuple[Expr, ...], axes: tuple[tuple[str, int], ...], threads: int) -> int:
    grid = np.meshgrid(*(np.arange(extent) for _, extent in axes), indexing="ij", sparse=True)
    env = dict(zip((name for name, _ in axes), grid, strict=True))
    holds = np.ones([extent for _, extent in axes], dtype=bool)
    for item in conditions:
        try:
            holds &= np.asarray(evaluate(item, env), dtype=bool)
        except UnknownValueError:
            continue
    return max(round(threads * float(holds.mean())), 1)
