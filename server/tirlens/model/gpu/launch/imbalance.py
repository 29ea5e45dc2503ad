"""Blocks of one launch that take different times, and what that costs over equal ones.

A loop bound or a condition on the block's index (a causal mask) gives each block its own amount of
work.  The time of the average block is spread over the blocks as those bounds and conditions say,
and the blocks are given in launch order to whichever place on an SM is free first.  The blocks of
a cluster start and end together, and one of them issues the products that two SMs do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace
from typing import Any

import numpy as np
import numpy.typing as npt

from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    free_variables,
    is_data_dependent,
)
from tirlens_worker.facts import Statement

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS, LoopContext, PathStep
from ...tree.node import CostNode
from ...tree.timed_node import TimedNode
from ..memory.l2_sharing import block_order

# More blocks than these even out; more points than these are not looked at one by one, nor more
# turns of the loops that the points of all blocks are looked at in.
MOST_BLOCKS = 20_000
MOST_POINTS = 500_000
MOST_TURNS = 4_000

FloatArray = npt.NDArray[np.float64]


def block_costs(
    timed: TimedNode,
    grid: Sequence[int],
    panel: int | None,
    order: str,
    cluster: Sequence[int] = (),
) -> FloatArray | None:
    """The time of each block in launch order; None where all take the same."""
    blocks = math.prod(grid)
    if not 1 < blocks <= MOST_BLOCKS:
        return None
    leaves: list[tuple[CostNode, float]] = []
    _gather(timed, leaves)
    paths = _paths([item for item, _ in leaves])
    if not any(paths):
        return None
    coordinates = block_order(grid, panel, order)
    weights: dict[tuple[PathStep, ...], FloatArray | None] = {}
    for path, (item, _) in zip(paths, leaves, strict=True):
        if path not in weights:
            weights[path] = _weight(path, item.context, coordinates)
    if all(weight is None or weight.min() == weight.max() for weight in weights.values()):
        return None
    means = {path: None if one is None else float(one.mean()) for path, one in weights.items()}
    costs = np.zeros(blocks)
    for path, (_, seconds) in zip(paths, leaves, strict=True):
        weight, mean = weights[path], means[path]
        costs += seconds * weight / mean if weight is not None and mean else seconds
    if math.prod(cluster) > 1:
        costs = _together(costs, coordinates, grid, cluster)
        if costs.max() <= costs.min() * (1 + 1e-9):
            return None
    return costs


def _paths(items: Sequence[CostNode]) -> list[tuple[PathStep, ...]]:
    """What decides how often each statement is reached; those of one body share their place."""
    found: dict[int, tuple[PathStep, ...]] = {}
    for item in items:
        if id(item.context) not in found:
            found[id(item.context)] = _relevant(item.context)
    return [found[id(item.context)] for item in items]


def _together(
    costs: FloatArray,
    coordinates: tuple[npt.NDArray[np.int64], ...],
    grid: Sequence[int],
    cluster: Sequence[int],
) -> FloatArray:
    """The mean of the blocks of each cluster, for all of them."""
    number = np.zeros(len(costs), dtype=np.int64)
    sizes = zip((*grid, 1, 1)[:3], (*cluster, 1, 1, 1)[:3], strict=True)
    for index, (extent, size) in zip(coordinates, sizes, strict=True):
        number = number * -(-extent // size) + index // size
    mean = np.bincount(number, weights=costs) / np.maximum(np.bincount(number), 1)
    return mean[number]


def stretch(costs: FloatArray, places: int) -> float:
    """The time until all blocks are done over that of as many equal ones, on `places` at a time."""
    equal = math.ceil(len(costs) / places) * float(costs.mean())
    return max(_makespan(costs, places) / equal, 1.0) if equal else 1.0


def _makespan(costs: FloatArray, places: int) -> float:
    """The time until the last block is done, each on the place that is free first."""
    free_at: list[float] = costs[:places].tolist()
    heapify(free_at)
    for cost in costs[places:].tolist():
        heapreplace(free_at, free_at[0] + cost)
    return max(free_at)


def _gather(timed: TimedNode, found: list[tuple[CostNode, float]]) -> None:
    """What takes time, a loop's own share with its first statement."""
    for child in timed.children:
        _gather(child, found)
    if timed.node is None or not timed.own_s:
        return
    if isinstance(timed.node.source, Statement):
        found.append((timed.node, timed.own_s))
    elif inside := timed.node.leaves():
        found.append((inside[0], timed.own_s))


def _relevant(place: LoopContext) -> tuple[PathStep, ...]:
    """The conditions and loops around a statement that depend on the block, and what they use."""
    wanted = {loop.var for loop in place.loops if loop.kind in GRID_KINDS}
    apart = {loop.var for loop in place.loops if loop.kind in CONCURRENT_KINDS}
    found: set[int] = set()
    more = True
    while more:
        more = False
        for number, (name, first, second) in enumerate(place.path):
            names = free_variables(first) | free_variables(second)
            if number in found or names & apart or not (names & wanted or name in wanted):
                continue
            if not is_data_dependent(first) and not is_data_dependent(second):
                found.add(number)
                wanted |= names | ({name} if name else set())
                more = True
    return tuple(place.path[number] for number in sorted(found))


def _weight(
    path: tuple[PathStep, ...], place: LoopContext, coordinates: tuple[npt.NDArray[np.int64], ...]
) -> FloatArray | None:
    """How often each block gets there; None where that is not known or the same for all."""
    if not path:
        return None
    axes = {"blockIdx.x": 0, "blockIdx.y": 1, "blockIdx.z": 2}
    env: dict[str, Any] = {
        loop.var: coordinates[axes[loop.tag]]
        for loop in place.loops
        if loop.kind in GRID_KINDS and loop.tag in axes
    }
    for name, reach in place.ranges.items():
        if name not in env and reach[0] == reach[1] and math.isfinite(reach[0]):
            env[name] = int(reach[0])
    try:
        return _counted(path, env, len(coordinates[0]))
    except (UnknownValueError, TypeError, ZeroDivisionError, OverflowError):
        return None


def _counted(path: tuple[PathStep, ...], env: Mapping[str, Any], blocks: int) -> FloatArray:
    """The sum over the loops of a path of how often each block passes its conditions."""
    found = _passed(path, env, (blocks,))
    return np.array(np.broadcast_to(found, (blocks,)))


def _passed(
    path: tuple[PathStep, ...], env: Mapping[str, Any], shape: tuple[int, ...]
) -> FloatArray:
    """The same along the turns of the loops around, on the axes before that of the blocks."""
    if not path:
        return np.ones(())
    (name, first, second), rest = path[0], path[1:]
    if not name:
        return np.asarray(evaluate(first, env), dtype=float) * _passed(rest, env, shape)
    trips = np.maximum(np.asarray(evaluate(second, env), dtype=float), 0)
    if not any(name in free_variables(part) for step in rest for part in step[1:]):
        return trips * _passed(rest, env, shape)
    most = int(trips.max())
    turns = math.prod(shape[:-1]) * max(most, 1)
    if turns > MOST_TURNS or turns * shape[-1] > MOST_POINTS:
        raise UnknownValueError(name)
    if not most:
        return np.zeros(())
    turn = np.expand_dims(np.arange(most, dtype=np.int64), tuple(range(1, len(shape) + 1)))
    inner = _passed(rest, {**env, name: evaluate(first, env) + turn}, (most, *shape))
    return ((trips > turn) * inner).sum(axis=0)
