"""The program of a warp role, built from its part of the kernel's tree (see `warp_program`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tirlens_counting.expressions import (
    UnknownValueError,
    conjuncts,
    evaluate,
    free_variables,
    is_data_dependent,
)
from tirlens_worker.facts import THREADS_TOGETHER, Expr, Gemm, Loop, Signal

from ....constants import constant
from ....counting.data_conditions import data_limit
from ....tree.node import BranchCost, CostNode, Leaf
from ....tree.timed_node import TimedNode
from ....tree.traits import EVENT, some, starts_product
from ....tree.trip_counts import branch_sides, mean_trip_count
from ..exposed_latency import load_latency_s, product_latency_s
from ..throughput import BlockContext, busy_time
from .warp_program import (
    AsyncCopy,
    BarrierOperation,
    BranchStep,
    LoopStep,
    MatrixProduct,
    Step,
    StraightCode,
    WarpProgram,
    branch_steps,
)

# Units that the warps of a block share.  The simulation leaves out DRAM and L2, which the blocks of
# all SMs share.
SHARED_UNITS = frozenset({"fp32", "fp64", "int", "sfu", "issue", "shared", "tensor"})
LARGEST_CLUSTER_BLOCKS = constant(
    "LARGEST_CLUSTER_BLOCKS",
    16,
    kind="isa",
    unit="blocks",
    meaning="The most blocks of a cluster: 8, and 16 where a kernel asks for it.",
    source='CUDA C++ Programming Guide, "Thread Block Clusters", non-portable size',
)
_SEQUENTIAL_KINDS = frozenset({"serial", "pipelined", "unroll"})


class UnknownCountError(Exception):
    """How often something in a role is executed is not known."""


@dataclass(frozen=True)
class RoleCosts:
    """The time of code in which no role waits for another.

    Attributes
    ----------
    context : BlockContext
        The device and the launch.
    blocks : float
        How many blocks of the launch execute the code.
    time_siblings : callable
        The times of siblings that are executed so many times in a block.
    """

    context: BlockContext
    blocks: float
    time_siblings: Callable[[Sequence[CostNode], float], tuple[TimedNode, ...]]


def build_program(nodes: Sequence[CostNode], costs: RoleCosts, executions: float) -> WarpProgram:
    """The program of siblings that a block executes `executions` times.

    Raises
    ------
    UnknownCountError
        If it is not known how often a statement is executed.
    """
    return tuple(_steps(nodes, costs, executions))


def _steps(nodes: Sequence[CostNode], costs: RoleCosts, executions: float) -> Iterator[Step]:
    run: list[CostNode] = []
    for node in nodes:
        if not some(node, EVENT):
            run.append(node)
            continue
        yield from _straight_code(run, costs, executions)
        run = []
        if isinstance(node, Leaf):
            yield from _statement_steps(node, costs)
        elif isinstance(node, BranchCost):
            yield _branch_step(node, costs, executions)
        else:
            yield _loop_step(node, costs, executions)
    yield from _straight_code(run, costs, executions)


def _straight_code(
    nodes: Sequence[CostNode], costs: RoleCosts, executions: float
) -> Iterator[StraightCode]:
    if not nodes or not executions:
        return
    timed = costs.time_siblings(nodes, executions)
    share = costs.context.device.sm_count / costs.blocks / executions
    unit_busy_s: dict[str, float] = {}
    for node in nodes:
        for leaf in node.leaves():
            for unit, busy_s in costs.context.busy.unit_s[leaf].items():
                if unit in SHARED_UNITS:
                    unit_busy_s[unit] = unit_busy_s.get(unit, 0.0) + busy_s * share
    yield StraightCode(timed, sum(part.total_s for part in timed) / executions, unit_busy_s)


def _branch_step(node: BranchCost, costs: RoleCosts, executions: float) -> BranchStep:
    sides = branch_sides(node)
    leader_costs = with_leader_share(node, costs)
    if leader_costs is not costs:
        return BranchStep(node, 1.0, build_program(sides[0], leader_costs, executions), (), None)
    shares = [
        min(_executions_of_siblings(side, costs) / executions, 1.0) if executions else 0.0
        for side in sides
    ]
    then, orelse = (
        build_program(side, costs, executions * share)
        for side, share in zip(sides, shares, strict=True)
    )
    condition = node.context.resolve(node.source.condition)
    known = condition if _depends_on_loops_only(condition, node) else None
    return BranchStep(node, shares[0], then, orelse, known, _data_limited_loop(node))


def _loop_step(node: CostNode, costs: RoleCosts, executions: float) -> LoopStep:
    loop = node.source
    trip_count = mean_trip_count(node)
    body = build_program(node.children, costs, executions * trip_count)
    if not isinstance(loop, Loop):
        return LoopStep(node, trip_count, body)
    trip_count, body = _trim_to_data_limit(trip_count, body, loop.var)
    if node.context.value_in_iteration(loop) is not None:
        return LoopStep(node, trip_count, body, loop.var, 0)
    start = node.context.resolve(loop.start)
    if isinstance(start, int) and loop.step == 1:
        return LoopStep(node, trip_count, body, loop.var, start)
    return LoopStep(node, trip_count, body)


def _statement_steps(node: Leaf, costs: RoleCosts) -> Iterator[Step]:
    """The copy or product that a statement starts, and then its operations on barriers."""
    executions = _executions_per_block(node, costs)
    if not executions:
        return
    device = costs.context.device
    sm = device.microarchitecture
    issue_s = sm.arrival_clk / device.clock_hz
    copies = tuple(signal for signal in node.source.signals if signal.kind == "bring")
    busy = busy_time(node, costs.context)
    if copies:
        latency_s = load_latency_s(node, costs.context)
        yield AsyncCopy(node, executions, issue_s, busy.longest_s / executions, latency_s, copies)
    elif starts_product(node):
        if isinstance(node.source, Gemm):
            product_s = product_latency_s(node, costs.context)
        else:
            product_s = sm.asynchronous_product_clk / device.clock_hz
        busy_s = max(busy.unit_s.get("tensor", 0.0), busy.unit_s.get("shared", 0.0)) / executions
        yield MatrixProduct(node, executions, issue_s, busy_s, product_s)
    for signal in node.source.signals:
        if signal.kind != "bring":
            yield _barrier_step(node, signal, executions, costs)


def _barrier_step(node: Leaf, signal: Signal, executions: float, costs: RoleCosts) -> Step:
    timed = costs.time_siblings((node,), executions)
    time_s = sum(part.total_s for part in timed) / executions
    issue_s = 0.0 if starts_product(node) else time_s
    latency_s = costs.context.memory.dram_latency_s if signal.kind == "fetch" else 0.0
    operation = BarrierOperation(node, executions, issue_s, signal, node.threads, latency_s)
    condition = None if signal.guard is None else _loop_condition(node, signal.guard)
    if condition is None:
        return operation
    return BranchStep(node, 1.0, (operation,), (), condition)


def _loop_condition(node: CostNode, guard: Expr) -> Expr | None:
    """The terms of a guard that depend on loop variables only; others elect a thread."""
    terms = [
        term
        for term in conjuncts(node.context.resolve(guard))
        if _depends_on_loops_only(term, node)
    ]
    return ("and", *terms) if len(terms) > 1 else terms[0] if terms else None


def _depends_on_loops_only(condition: Expr, node: CostNode) -> bool:
    """Whether a condition is the same in all blocks and threads, and follows from the loops."""
    sequential = {loop.var for loop in node.context.loops if loop.kind in _SEQUENTIAL_KINDS}
    return not is_data_dependent(condition) and free_variables(condition) <= sequential


def _data_limited_loop(node: BranchCost) -> str:
    """The variable of the loop whose first iterations enter a branch, up to a number in memory.

    Empty where the branch has another condition.
    """
    condition = node.context.resolve(node.source.condition)
    if node.source.orelse or data_limit(condition) is None:
        return ""
    sequential = {loop.var for loop in node.context.loops if loop.kind in _SEQUENTIAL_KINDS}
    found = free_variables(condition) & sequential
    return next(iter(found)) if len(found) == 1 else ""


def _trim_to_data_limit(
    trip_count: float, body: WarpProgram, var: str
) -> tuple[float, WarpProgram]:
    """A loop without the iterations in which none of its data-limited branches is taken.

    All roles take these branches in the same iterations, so that the others are the last ones.
    """
    shares = [step.then_share for step in branch_steps(body) if step.data_limited_loop == var]
    if not shares or not max(shares):
        return trip_count, body
    return trip_count * max(shares), _scale_shares(body, var, 1 / max(shares))


def _scale_shares(body: WarpProgram, var: str, factor: float) -> WarpProgram:
    """A loop body whose data-limited branches are taken `factor` times as often."""

    def scale(step: Step) -> Step:
        if isinstance(step, LoopStep):
            return replace(step, body=_scale_shares(step.body, var, factor))
        if not isinstance(step, BranchStep):
            return step
        then, orelse = (_scale_shares(side, var, factor) for side in (step.then, step.orelse))
        is_limited = step.data_limited_loop == var
        then_share = min(step.then_share * factor, 1.0) if is_limited else step.then_share
        return replace(step, then_share=then_share, then=then, orelse=orelse)

    return tuple(map(scale, body))


def with_leader_share(branch: BranchCost, costs: RoleCosts) -> RoleCosts:
    """The costs inside a branch, which only the first block of each cluster may execute."""
    share = cluster_leader_share(branch)
    return replace(costs, blocks=costs.blocks * share) if share else costs


def cluster_leader_share(branch: BranchCost) -> float:
    """The share of the blocks that execute a branch for the leader of a cluster, its first block.

    The blocks of a cluster are consecutive in the grid (CUDA C++ Programming Guide, "Thread Block
    Clusters").  The condition is evaluated at the first `LARGEST_CLUSTER_BLOCKS` blocks and at as
    many blocks after them.  It elects a leader where it holds for the first block, not for all, and
    equally in both.

    Returns
    -------
    float
        The share, below 1; 0 for any other branch.
    """
    if branch.source.orelse:
        return 0.0
    grid = {loop.var for loop in branch.context.loops if loop.kind == "grid"}
    share = 1.0
    for term in conjuncts(branch.context.resolve(branch.source.condition)):
        names = free_variables(term)
        if is_data_dependent(term) or not names or not names <= grid:
            continue
        try:
            holds = [
                [
                    bool(evaluate(term, dict.fromkeys(names, first + rank)))
                    for rank in range(LARGEST_CLUSTER_BLOCKS)
                ]
                for first in (0, LARGEST_CLUSTER_BLOCKS)
            ]
        except UnknownValueError:
            continue
        if holds[0] == holds[1] and holds[0][0]:
            share *= sum(holds[0]) / LARGEST_CLUSTER_BLOCKS
    return share if share < 1.0 else 0.0


def _executions_per_block(leaf: Leaf, costs: RoleCosts) -> float:
    """How often a block executes a statement, whose threads execute it together."""
    if leaf.count.executions is None:
        raise UnknownCountError
    together = THREADS_TOGETHER.get(leaf.source.per)
    groups = 1.0 if together is None else max(leaf.threads / together, 1.0)
    return leaf.count.executions / costs.blocks / groups


def _executions_of_siblings(nodes: Sequence[CostNode], costs: RoleCosts) -> float:
    """How often a block reaches siblings: as often as it executes the most frequent of them."""
    most = 0.0
    for node in nodes:
        if isinstance(node, Leaf):
            most = max(most, _executions_per_block(node, costs))
        elif isinstance(node, BranchCost):
            sides = branch_sides(node)
            most = max(most, sum(_executions_of_siblings(side, costs) for side in sides))
        else:
            trip_count = mean_trip_count(node)
            executions = _executions_of_siblings(node.children, costs)
            most = max(most, executions / trip_count if trip_count else 0.0)
    return most
