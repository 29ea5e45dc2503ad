"""Warp roles: parts of a block that different warps execute at the same time.

A branch on the thread's index gives its two sides to different warps (warp specialisation).  So do
consecutive branches whose conditions no warp meets together: a producer, a consumer, an epilogue.
Where roles synchronise at barriers, their time is that of a simulation (`simulation`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from tirlens_counting.arrays import np
from tirlens_counting.expressions import (
    UnknownValueError,
    conjuncts,
    evaluate,
    free_variables,
    is_data_dependent,
)
from tirlens_worker.facts import Expr

from ....tree.context import LoopContext
from ....tree.node import BranchCost, CostNode
from ....tree.timed_node import TimedNode
from ....tree.trip_counts import branch_sides
from ..block_record import RoleRun
from .program_builder import RoleCosts, UnknownCountError, build_program, with_leader_share
from .simulation import simulate
from .simulation_state import BarrierKey
from .warp_program import BarrierOperation, BranchStep, WarpProgram, barrier_operations, timed_nodes

# Kinds of signals that wait for the end of a phase, and those that contribute to it.
_WAITS = frozenset({"wait", "sync"})
_ARRIVALS = frozenset({"arrive", "commit", "fetch", "sync"})


def divides_warps(branch: BranchCost) -> bool:
    """Whether a branch gives different warps of the block its two sides."""
    threads = {loop.var for loop in branch.context.loops if loop.kind == "block"}
    condition = branch.context.resolve(branch.source.condition)
    return bool(branch.source.orelse) and bool(free_variables(condition) & threads)


def concurrent_groups(nodes: Sequence[CostNode]) -> Iterator[tuple[CostNode, ...]]:
    """Siblings in groups: the nodes of a group run at the same time, the groups in order."""
    if not any(isinstance(node, BranchCost) for node in nodes):
        yield from ((node,) for node in nodes)
        return
    group: list[CostNode] = []
    group_warps: frozenset[int] = frozenset()
    for node in nodes:
        warps = _role_warps(node)
        if group and (warps is None or not group_warps or warps & group_warps):
            yield tuple(group)
            group, group_warps = [], frozenset()
        group.append(node)
        group_warps = frozenset() if warps is None else group_warps | warps
    if group:
        yield tuple(group)


def _role_warps(node: CostNode) -> frozenset[int] | None:
    """The warps that enter a one-sided branch; None for any other node, or if all warps do."""
    if not isinstance(node, BranchCost) or node.source.orelse:
        return None
    condition = node.context.resolve(node.source.condition)
    return _warps_satisfying(condition, _thread_axes(node.context), node.context.warp_size)


def _thread_axes(context: LoopContext) -> tuple[tuple[str, int], ...]:
    """The thread variables and their extents, the fastest one first."""
    loops = [loop for loop in context.loops if loop.kind == "block"]
    loops.sort(key=lambda loop: loop.tag or "")
    return tuple((loop.var, loop.trip_count) for loop in loops)


@lru_cache(maxsize=512)
def _warps_satisfying(
    condition: Expr, axes: tuple[tuple[str, int], ...], warp_size: int
) -> frozenset[int] | None:
    """The warps of which a thread may satisfy `condition`; None if all, or if that is not known."""
    known = {name for name, _ in axes}
    # Terms on the block or on data do not tell warps apart.
    terms = [
        term
        for term in conjuncts(condition)
        if free_variables(term) and free_variables(term) <= known and not is_data_dependent(term)
    ]
    if not terms:
        return None
    index = np.arange(int(np.prod([extent for _, extent in axes])))
    values: dict[str, Any] = {}
    rest = index
    for name, extent in axes:
        values[name] = rest % extent
        rest = rest // extent
    try:
        holds = np.all(
            [
                np.broadcast_to(np.asarray(evaluate(term, values), bool), index.shape)
                for term in terms
            ],
            axis=0,
        )
    except UnknownValueError:
        return None
    warps = frozenset(np.flatnonzero(np.bincount(index[holds] // warp_size)).tolist())
    return warps if len(warps) * warp_size < len(index) else None


def simulate_roles(
    nodes: Sequence[CostNode], costs: RoleCosts, executions: float
) -> tuple[TimedNode, ...] | None:
    """The time of nodes that give the warps of a block their roles.

    Parameters
    ----------
    nodes : sequence of CostNode
        Siblings that run at the same time, or one branch whose sides do.
    costs : RoleCosts
        The time of code without synchronisation.
    executions : float
        How often a block executes them.

    Returns
    -------
    tuple of TimedNode or None
        The role that ends last has the time, the others are overlapped by it and have none.  None
        where the roles do not synchronise, or something that the simulation needs is not known.
    """
    try:
        programs = _role_programs(nodes, costs, executions)
    except UnknownCountError:
        return None
    operations = [tuple(barrier_operations(program)) for program in programs]
    if not _synchronise(operations):
        return None
    record = costs.context.record
    timings = simulate(programs, _ArrivalCounts(operations).needed_arrivals, record is not None)
    if timings is None:
        return None
    if record is not None:
        record.roles.append([RoleRun(timing.end_s, timing.steps) for timing in timings])
    ends_s = [timing.end_s for timing in timings]
    last = ends_s.index(max(ends_s))
    parts: list[TimedNode] = []
    for number, (program, timing) in enumerate(zip(programs, timings, strict=True)):
        timed = tuple(timed_nodes(program, timing.mean_wait_s))
        sum_s = sum(part.total_s for part in timed)
        factor = timing.end_s * executions / sum_s if number == last and sum_s else 0.0
        parts.extend(part.scale(factor) for part in timed)
    return _merge_by_node(parts)


def _role_programs(
    nodes: Sequence[CostNode], costs: RoleCosts, executions: float
) -> list[WarpProgram]:
    """The program of each role, with the code before and after that all roles execute."""
    position = 0
    for group in concurrent_groups(nodes):
        before, after = nodes[:position], nodes[position + len(group) :]
        position += len(group)
        if len(group) > 1 or any(_is_divided(node) for node in group):
            prologue = build_program(before, costs, executions)
            epilogue = build_program(after, costs, executions)
            return [
                (*prologue, BranchStep(node, 1.0, program, (), None), *epilogue)
                for node in group
                if isinstance(node, BranchCost)
                for side in branch_sides(node)
                if side
                for program in _role_programs(side, with_leader_share(node, costs), executions)
            ]
    return [build_program(nodes, costs, executions)]


def _is_divided(node: CostNode) -> bool:
    return isinstance(node, BranchCost) and divides_warps(node)


def _synchronise(operations: Sequence[Sequence[BarrierOperation]]) -> bool:
    """Whether a role waits for a barrier at which another role arrives."""
    waits, arrivals = (
        [{one.signal.barrier for one in role if one.signal.kind in kinds} for role in operations]
        for kinds in (_WAITS, _ARRIVALS)
    )
    return any(
        waits[one] & arrivals[other]
        for one in range(len(operations))
        for other in range(len(operations))
        if one != other
    )


class _ArrivalCounts:
    """The arrivals that end a phase of each barrier: its declared count, else all that occur."""

    def __init__(self, operations: Sequence[Sequence[BarrierOperation]]) -> None:
        self._declared: dict[BarrierKey, int] = {}
        self._arriving_threads: dict[str, int] = {}
        for role in operations:
            most: dict[str, int] = {}
            for operation in role:
                signal = operation.signal
                if isinstance(signal.count, int) and signal.kind != "drain":
                    index = signal.index if isinstance(signal.index, int) else -1
                    self._declared[signal.barrier, index] = signal.count
                if signal.kind in _ARRIVALS:
                    most[signal.barrier] = max(most.get(signal.barrier, 0), operation.threads)
            for name, threads in most.items():
                self._arriving_threads[name] = self._arriving_threads.get(name, 0) + threads

    def needed_arrivals(self, key: BarrierKey) -> float:
        """The number of arrivals that end a phase of a barrier.

        Where the barrier's count is greater than the arrivals that occur, the other ones come from
        other blocks of the cluster.
        """
        name, index = key
        arriving = self._arriving_threads.get(name, 1)
        declared = self._declared.get((name, index), self._declared.get((name, -1), arriving))
        return min(declared, arriving)


def _merge_by_node(parts: Sequence[TimedNode]) -> tuple[TimedNode, ...]:
    """The times of several roles, with one entry for each node that several of them execute."""
    by_node: dict[int, list[TimedNode]] = {}
    for part in parts:
        by_node.setdefault(id(part.node), []).append(part)
    return tuple(
        same[0]
        if len(same) == 1
        else TimedNode(
            same[0].node,
            sum(one.own_s for one in same),
            _merge_by_node([child for one in same for child in one.children]),
        )
        for same in by_node.values()
    )
