"""Load imbalance: blocks of one launch that take different times.

A loop bound or a condition on the block index (a causal mask) gives each block its own amount of
work.  The time of the mean block is distributed over the blocks in proportion to the executions of
their statements; the start of a block and of a software pipeline is the same in all.  Blocks are
then scheduled in launch order, each on the first free slot of an SM (list scheduling; R. L. Graham,
"Bounds on Multiprocessing Timing Anomalies", 1969).  The blocks of a cluster have equal times: one
of them issues the products that two SMs execute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace
from typing import Any

from tirlens_counting.arrays import np, npt
from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    free_variables,
    is_data_dependent,
)

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS, LoopContext, PathStep
from ...tree.node import CostNode
from ...tree.timed_node import TimedNode
from ..memory.l2_sharing import block_order

# Limits of the enumeration.  With more blocks the imbalance is negligible; more points (executions
# of all blocks) or more loop iterations are not enumerated.
MAX_BLOCKS = 20_000
MAX_POINTS = 500_000
MAX_ITERATIONS = 4_000

FloatArray = npt.NDArray[np.float64]


def block_times_s(
    timed: TimedNode,
    grid: Sequence[int],
    panel: int | None,
    order: str,
    cluster: Sequence[int] = (),
) -> FloatArray | None:
    """The time of each block in launch order in seconds; None if all are equal."""
    blocks = math.prod(grid)
    if not 1 < blocks <= MAX_BLOCKS:
        return None
    leaves: list[tuple[CostNode, float, float]] = []
    _collect_leaf_times(timed, leaves)
    paths = _block_dependent_paths([node for node, _, _ in leaves])
    if not any(paths):
        return None
    coordinates = block_order(grid, panel, order)
    weights: dict[tuple[PathStep, ...], FloatArray | None] = {}
    for path, (node, _, _) in zip(paths, leaves, strict=True):
        if path not in weights:
            weights[path] = _executions_by_block(path, node.context, coordinates)
    if all(weight is None or weight.min() == weight.max() for weight in weights.values()):
        return None
    means = {path: None if one is None else float(one.mean()) for path, one in weights.items()}
    costs = np.zeros(blocks)
    for path, (_, seconds, startup_s) in zip(paths, leaves, strict=True):
        weight, mean = weights[path], means[path]
        if weight is None or not mean:
            costs += seconds
        else:
            starts = weight > 0
            costs += (seconds - startup_s) * weight / mean + startup_s * starts / starts.mean()
    if math.prod(cluster) > 1:
        costs = _average_clusters(costs, coordinates, grid, cluster)
        if costs.max() <= costs.min() * (1 + 1e-9):
            return None
    return costs


def _block_dependent_paths(nodes: Sequence[CostNode]) -> list[tuple[PathStep, ...]]:
    """The block-dependent loops and conditions of each statement; one body shares a context."""
    found: dict[int, tuple[PathStep, ...]] = {}
    for node in nodes:
        if id(node.context) not in found:
            found[id(node.context)] = _block_dependent_path(node.context)
    return [found[id(node.context)] for node in nodes]


def _average_clusters(
    costs: FloatArray,
    coordinates: tuple[npt.NDArray[np.int64], ...],
    grid: Sequence[int],
    cluster: Sequence[int],
) -> FloatArray:
    """The times with the blocks of each cluster at their mean."""
    number = np.zeros(len(costs), dtype=np.int64)
    sizes = zip((*grid, 1, 1)[:3], (*cluster, 1, 1, 1)[:3], strict=True)
    for index, (extent, size) in zip(coordinates, sizes, strict=True):
        number = number * -(-extent // size) + index // size
    mean = np.bincount(number, weights=costs) / np.maximum(np.bincount(number), 1)
    return mean[number]


def imbalance_factor(costs: FloatArray, resident_blocks: int) -> float:
    """The makespan of all blocks over that of as many equal ones, in `resident_blocks` slots."""
    equal = math.ceil(len(costs) / resident_blocks) * float(costs.mean())
    return max(_makespan_s(costs, resident_blocks) / equal, 1.0) if equal else 1.0


def _makespan_s(costs: FloatArray, resident_blocks: int) -> float:
    """The time until the last block ends, each on the first free slot."""
    free_at: list[float] = costs[:resident_blocks].tolist()
    heapify(free_at)
    for cost in costs[resident_blocks:].tolist():
        heapreplace(free_at, free_at[0] + cost)
    return max(free_at)


def _collect_leaf_times(timed: TimedNode, found: list[tuple[CostNode, float, float]]) -> None:
    """Collect statements with their times, and the part of them that starts a loop.

    A loop's own time counts with its first statement.
    """
    for child in timed.children:
        _collect_leaf_times(child, found)
    if timed.node is None or not timed.own_s:
        return
    if inside := timed.node.leaves():
        found.append((inside[0], timed.own_s, timed.startup_s))


def _block_dependent_path(context: LoopContext) -> tuple[PathStep, ...]:
    """The conditions and loops around a statement that depend on the block index."""
    dependent = {loop.var for loop in context.loops if loop.kind in GRID_KINDS}
    concurrent = {loop.var for loop in context.loops if loop.kind in CONCURRENT_KINDS}
    found: set[int] = set()
    changed = True
    while changed:
        changed = False
        for number, (name, first, second) in enumerate(context.path):
            names = free_variables(first) | free_variables(second)
            if (
                number in found
                or names & concurrent
                or not (names & dependent or name in dependent)
            ):
                continue
            if not is_data_dependent(first) and not is_data_dependent(second):
                found.add(number)
                dependent |= names | ({name} if name else set())
                changed = True
    return tuple(context.path[number] for number in sorted(found))


def _executions_by_block(
    path: tuple[PathStep, ...], context: LoopContext, coordinates: tuple[npt.NDArray[np.int64], ...]
) -> FloatArray | None:
    """The executions in each block; None where they are not known or all the same."""
    if not path:
        return None
    axes = {"blockIdx.x": 0, "blockIdx.y": 1, "blockIdx.z": 2}
    env: dict[str, Any] = {
        loop.var: coordinates[axes[loop.tag]]
        for loop in context.loops
        if loop.kind in GRID_KINDS and loop.tag in axes
    }
    for name, reach in context.ranges.items():
        if name not in env and reach[0] == reach[1] and math.isfinite(reach[0]):
            env[name] = int(reach[0])
    try:
        return _count_executions(path, env, len(coordinates[0]))
    except (UnknownValueError, TypeError, ZeroDivisionError, OverflowError):
        return None


def _count_executions(
    path: tuple[PathStep, ...], env: Mapping[str, Any], blocks: int
) -> FloatArray:
    """The executions of a path in each block, summed over its loops."""
    found = _count_in_loops(path, env, (blocks,))
    return np.array(np.broadcast_to(found, (blocks,)))


def _count_in_loops(
    path: tuple[PathStep, ...], env: Mapping[str, Any], shape: tuple[int, ...]
) -> FloatArray:
    """The executions by iteration of enclosing loops (leading axes) and by block (last axis)."""
    if not path:
        return np.ones(())
    (name, first, second), rest = path[0], path[1:]
    if not name:
        return np.asarray(evaluate(first, env), dtype=float) * _count_in_loops(rest, env, shape)
    trips = np.asarray(np.maximum(np.asarray(evaluate(second, env), dtype=float), 0))
    if not any(name in free_variables(part) for step in rest for part in step[1:]):
        return trips * _count_in_loops(rest, env, shape)
    most = int(trips.max())
    iterations = math.prod(shape[:-1]) * max(most, 1)
    if iterations > MAX_ITERATIONS or iterations * shape[-1] > MAX_POINTS:
        raise UnknownValueError(name)
    if not most:
        return np.zeros(())
    iteration = np.expand_dims(np.arange(most, dtype=np.int64), tuple(range(1, len(shape) + 1)))
    inner = _count_in_loops(rest, {**env, name: evaluate(first, env) + iteration}, (most, *shape))
    return ((trips > iteration) * inner).sum(axis=0)
