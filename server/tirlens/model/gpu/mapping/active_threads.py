"""The number of a block's threads that execute a statement under its conditions."""

from __future__ import annotations

from functools import lru_cache

from tirlens_counting.arrays import np, npt
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

# Number of samples along a grid axis or loop: the first value, and the middles of equal parts.
# Several sampled variables share it.
MAX_SAMPLES = 8

# Variables with their first value and their number of values.
Axes = tuple[tuple[str, int, int], ...]


def count_active_threads(context: LoopContext, threads: int) -> int:
    """The mean number of active threads over the blocks and iterations in which some are active.

    A causal mask leaves more active threads in later blocks, a tree reduction fewer in later
    iterations.  Data-dependent conditions, and conditions on no thread, are assumed to hold.
    """
    if not context.conditions:
        return threads
    axes = tuple((loop.var, 0, loop.extent or 1) for loop in context.loops if loop.kind == "block")
    names = {name for name, _, _ in axes}
    serial_ranges = {
        loop.var: (context.first_values.get(loop.var, 0), loop.extent)
        for loop in context.loops
        if loop.kind not in CONCURRENT_KINDS and loop.extent
    }
    mine = tuple(
        substitute(node, {name: context.first_values.get(name, name) for name in others})
        for condition in context.conditions
        for node in conjuncts(condition)
        if (used := free_variables(node)) & names and not is_data_dependent(node)
        for others in (used - names - serial_ranges.keys(),)
    )
    if not mine:
        return threads
    used_names = frozenset[str]().union(*map(free_variables, mine))
    moving = tuple((name, *reach) for name, reach in serial_ranges.items() if name in used_names)
    return _mean_active_threads(mine, moving, axes, threads)


@lru_cache(maxsize=512)
def _mean_active_threads(
    conditions: tuple[Expr, ...], moving: Axes, axes: Axes, threads: int
) -> int:
    parts = max(MAX_SAMPLES // max(len(moving), 1), 2)
    looked_at = [_sample_values(first, extent, parts) for _, first, extent in moving]
    names = [name for name, _, _ in (*moving, *axes)]
    values = [*(at for at, _ in looked_at), *(np.arange(extent) for _, _, extent in axes)]
    env = dict(zip(names, np.meshgrid(*values, indexing="ij", sparse=True), strict=True))
    holds = np.ones([len(at) for at in values], dtype=bool)
    for node in conditions:
        try:
            holds &= np.asarray(evaluate(node, env), dtype=bool)
        except UnknownValueError:
            continue
    share = np.asarray(holds.mean(axis=tuple(range(len(moving), len(names)))))
    standing_for = np.asarray(share > 0, dtype=np.float64)
    for weights in np.meshgrid(*(weights for _, weights in looked_at), indexing="ij", sparse=True):
        standing_for *= weights
    if not standing_for.any():
        return 1
    return max(round(threads * float(np.average(share, weights=standing_for))), 1)


def _sample_values(
    first: int, extent: int, parts: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Sampled values of a variable, and the number of values that each represents."""
    if extent <= MAX_SAMPLES + 2:
        return first + np.arange(extent), np.ones(extent, dtype=np.int64)
    edges = 1 + (extent - 1) * np.arange(parts + 1) // parts
    middles = (edges[:-1] + edges[1:] - 1) // 2
    return first + np.append(0, middles), np.append(1, np.diff(edges))
