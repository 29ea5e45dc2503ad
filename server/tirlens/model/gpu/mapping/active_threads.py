"""The threads of a block, and the lanes of a warp, that execute a statement.

A warp issues an instruction while any of its lanes needs it: the longest trip count of its lanes is
that of the warp, and it executes both sides of a branch that divides its lanes (CUDA C++
Programming Guide, "SIMT Architecture").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, NamedTuple

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

from ...tree.context import CONCURRENT_KINDS, THREADS, LoopContext, PathStep

# Number of samples along a grid axis or loop: the first value, and the middles of equal parts.
# Several sampled variables share it.
MAX_SAMPLES = 8
# The same along the iterations of loops whose trip count differs between threads.
MAX_ITERATION_SAMPLES = 64

# Variables with their first value and their number of values.
Axes = tuple[tuple[str, int, int], ...]
# Values of a variable, and the number of values that each represents.
Samples = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


class ThreadActivity(NamedTuple):
    """Who executes a statement, on average.

    Attributes
    ----------
    threads
        Active threads of a block, over the blocks and iterations in which some are active.
    lanes
        Active lanes of a warp, over the warps, blocks and iterations in which some are active.
    """

    threads: int
    lanes: float


def find_activity(context: LoopContext, threads: int) -> ThreadActivity:
    """Who executes the body of a context, of blocks with so many `threads`.

    A causal mask leaves more active threads in later blocks, a tree reduction fewer in later
    iterations, and a trip count that differs between threads fewer in its last iterations.
    Data-dependent conditions and trip counts, and conditions on no thread, are assumed to hold for
    all.
    """
    axes = _thread_axes(context)
    warp = context.warp_size
    lanes = _all_lanes(math.prod(extent for _, _, extent in axes) if axes else warp, warp)
    dependent = {name for name, _, _ in axes}
    serial_ranges = {
        loop.var: (context.first_values.get(loop.var, 0), loop.extent)
        for loop in context.loops
        if loop.kind not in CONCURRENT_KINDS and loop.extent
    }

    def resolve_others(expr: Expr) -> Expr:
        others = free_variables(expr) - dependent - serial_ranges.keys()
        return substitute(expr, {name: context.first_values.get(name, name) for name in others})

    uneven: list[PathStep] = []
    for name, start, extent in context.path:
        used = free_variables(start) | free_variables(extent)
        is_known = not is_data_dependent(start) and not is_data_dependent(extent)
        if name and is_known and used & dependent:
            uneven.append((name, resolve_others(start), resolve_others(extent)))
            dependent.add(name)
    conditions = tuple(
        resolve_others(node)
        for condition in context.conditions
        for node in conjuncts(condition)
        if free_variables(node) & dependent and not is_data_dependent(node)
    )
    if not conditions and not uneven:
        return ThreadActivity(threads, lanes)
    loops = {name for name, _, _ in uneven}
    used_names = frozenset[str]().union(
        *map(free_variables, conditions),
        *(free_variables(part) for _, start, extent in uneven for part in (start, extent)),
    )
    moving = tuple(
        (name, *reach)
        for name, reach in serial_ranges.items()
        if name in used_names and name not in loops
    )
    return _mean_activity(conditions, tuple(uneven), moving, axes, (threads, warp))


def fullest_warp(context: LoopContext, guard: Expr | None = None) -> Mapping[str, Any]:
    """The values of the thread variables in the active lanes of the warp that has the most of them.

    The other variables have their first values.  Where no lane is active then, the lanes are those
    of the first warp.
    """
    first = context.first_warp
    conditions = [
        node
        for condition in (
            *context.conditions,
            *(() if guard is None else (context.resolve(guard),)),
        )
        for node in conjuncts(condition)
        if not free_variables(node).isdisjoint(first) and not is_data_dependent(node)
    ]
    if not conditions:
        return first
    warp = context.warp_size
    values, exists = _lane_values(_thread_axes(context), warp)
    holds = _where_all_hold(conditions, {**context.first_values, **values}, exists)
    counts = np.reshape(holds, (-1, warp)).sum(axis=-1).tolist()
    most = max(counts)
    if not most:
        return first
    start = counts.index(most) * warp
    chosen = np.flatnonzero(holds[start : start + warp]) + start
    return {name: value[chosen] for name, value in values.items()}


def divides_lanes(guard: Expr, context: LoopContext, sequential: Set[str]) -> bool:
    """Whether a guard depends on threads alone, in every iteration of `sequential` loops alike."""
    used = free_variables(context.resolve(guard))
    return not used.isdisjoint(context.first_warp) and used.isdisjoint(sequential)


def _thread_axes(context: LoopContext) -> Axes:
    """The thread variables of a context, the fastest first."""
    loops = [loop for loop in context.loops if loop.kind == "block"]
    loops.sort(key=lambda loop: THREADS.index(loop.tag) if loop.tag in THREADS else len(THREADS))
    return tuple((loop.var, 0, loop.trip_count) for loop in loops)


def _all_lanes(threads: int, warp: int) -> float:
    """Lanes of a warp of a block whose threads are all active, on average."""
    return threads / math.ceil(threads / warp)


def _lane_values(
    axes: Axes,
    warp: int,
) -> tuple[dict[str, npt.NDArray[np.int64]], npt.NDArray[np.bool_]]:
    """The thread variables in the lanes of all warps of a block, and which lanes have a thread."""
    threads = math.prod(extent for _, _, extent in axes)
    rest = np.arange(math.ceil(threads / warp) * warp, dtype=np.int64)
    exists = rest < threads
    values: dict[str, npt.NDArray[np.int64]] = {}
    for name, _, extent in axes:
        values[name] = rest % extent
        rest = rest // extent
    return values, exists


def _where_all_hold(
    conditions: Sequence[Expr], env: Mapping[str, Any], holds: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    for node in conditions:
        try:
            holds = holds & np.asarray(evaluate(node, env), dtype=bool)
        except UnknownValueError:
            continue
    return holds


@lru_cache(maxsize=512)
def _mean_activity(
    conditions: tuple[Expr, ...],
    uneven: tuple[PathStep, ...],
    moving: Axes,
    axes: Axes,
    block: tuple[int, int],
) -> ThreadActivity:
    """The activity under conditions, inside loops whose trip count is `uneven` between threads.

    The last axis of all arrays is that of the lanes, the first ones those of `moving` variables and
    of the iterations of the uneven loops.
    """
    dimensions = len(moving) + len(uneven)
    weights = np.ones((1,) * dimensions)
    threads, warp = block
    lanes, exists = _lane_values(axes, warp)
    env: dict[str, Any] = dict(lanes)
    parts = max(MAX_SAMPLES // max(len(moving), 1), 2)
    for number, (name, first, extent) in enumerate(moving):
        env[name], weights = _along(
            number, dimensions, _sample_values(first, extent, parts), weights
        )
    holds = exists
    parts = max(int(MAX_ITERATION_SAMPLES ** (1 / max(len(uneven), 1))), 2)
    for number, (name, start, extent) in enumerate(uneven, len(moving)):
        try:
            trips = np.asarray(evaluate(extent, env), dtype=np.int64)
            first = evaluate(start, env)
        except UnknownValueError:
            continue
        samples = _sample_values(0, max(int(trips.max()), 1), parts)
        iteration, weights = _along(number, dimensions, samples, weights)
        env[name] = iteration + first
        holds = holds & (iteration < trips)
    holds = _where_all_hold(conditions, env, holds)
    shape = np.broadcast_shapes(holds.shape, (*weights.shape, 1))
    holds = np.reshape(np.broadcast_to(holds, shape), (*shape[:-1], -1, warp))
    in_warps = holds.sum(axis=-1)
    in_blocks = in_warps.sum(axis=-1)
    active = float((in_blocks * weights).sum())
    if not active:
        return ThreadActivity(1, 1.0)
    warps = float(((in_warps > 0).sum(axis=-1) * weights).sum())
    blocks = float(((in_blocks > 0) * weights).sum())
    all_threads = math.prod(extent for _, _, extent in axes)
    mean_threads = active / blocks * threads / all_threads
    return ThreadActivity(max(round(mean_threads), 1), active / warps)


def _along(
    axis: int, dimensions: int, samples: Samples, weights: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Samples along one axis, with an axis of the lanes, and the weights times theirs."""
    values, standing_for = samples
    shape = [1] * dimensions
    shape[axis] = len(values)
    return np.reshape(values, (*shape, 1)), weights * np.reshape(standing_for, shape)


def _sample_values(first: int, extent: int, parts: int) -> Samples:
    """Sampled values of a variable, and the number of values that each represents."""
    if extent <= parts + 2:
        return first + np.arange(extent), np.ones(extent, dtype=np.int64)
    edges = 1 + (extent - 1) * np.arange(parts + 1) // parts
    middles = (edges[:-1] + edges[1:] - 1) // 2
    return first + np.append(0, middles), np.append(1, np.diff(edges))
