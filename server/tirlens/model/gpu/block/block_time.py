"""The time of one block on its SM, node by node of the kernel's tree.

The parts of a body run one after the other, except for warp roles (`warp_roles`), asynchronous
operations (`overlap`), the loads of pipelined loops (`software_pipeline`) and interleaved code
(`dependency_chains`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tirlens_worker.facts import Gemm

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS, WARPGROUP
from ...tree.node import BranchCost, CostNode, Leaf, LoopCost, WhileCost, leaves_of
from ...tree.timed_node import TimedNode
from ...tree.traits import LOADS, ORDERED, PURE_LOAD, STORES, only, some
from ...tree.trip_counts import branch_sides, execution_shares, mean_trip_count
from .code_time import code_time_s, has_machine_code
from .dependency_chains import interleave, is_thread_code
from .exposed_latency import exposed_latency_s
from .memory_parallelism import (
    address_arrays,
    can_batch_loads,
    has_arithmetic_branches,
    is_entered_once,
    is_straight_line,
    issues_loads_first,
    load_batches,
    loaded_arrays,
)
from .overlap import (
    overlap_asynchronous,
    overlap_products_with_loop,
    overlap_warpgroups,
    register_prefetches,
    wait_for_copies,
)
from .software_pipeline import burst_share, prefetched_share, tile_loads, time_pipelined_loop
from .throughput import BlockContext, busy_time
from .warp_roles import RoleCosts, concurrent_groups, divides_warps, simulate_roles

# Loops whose iterations different threads or blocks execute.
_NOT_SEQUENTIAL = GRID_KINDS | CONCURRENT_KINDS


@dataclass(frozen=True)
class BlockTime:
    """The time of an average block, without other blocks on its SM.

    Attributes
    ----------
    root : TimedNode
        The time, node by node; the root has no node of its own.
    prefetched_share : float
        The share of the traffic to L2 that is loaded ahead of its use.
    burst_share : float
        The share of the traffic to L2 that a block requests at once, not iteration by iteration.
    """

    root: TimedNode
    prefetched_share: float
    burst_share: float

    @property
    def total_s(self) -> float:
        """Seconds that the block takes."""
        return self.root.total_s


def time_block(tree: Sequence[CostNode], context: BlockContext) -> BlockTime:
    """The time of an average block, without other blocks on its SM.

    Parameters
    ----------
    tree : sequence of CostNode
        The tree of the kernel.
    context : BlockContext
        The device and the launch, and what the stages before find of the statements.
    """
    if has_machine_code(context) and not _takes_code_time(tree, context):
        context = replace(context, compiled=replace(context.compiled, code_clocks=None))
    root = TimedNode(None, 0.0, _time_siblings(tree, context, 1.0))
    leaves = leaves_of(tree)
    return BlockTime(
        root,
        prefetched_share(leaves, context.moved, context.compiled.routes),
        burst_share(leaves, context.moved),
    )


def _takes_code_time(tree: Sequence[CostNode], context: BlockContext) -> bool:
    """Whether the code of a warp says how long a block takes.

    Warps with different statements are simulated, with their barriers.
    """
    return not _has_roles(tree) and not (context.has_producer and _is_measured_loop(tree))


def _is_measured_loop(tree: Sequence[CostNode]) -> bool:
    """Whether the times of loops that a producer feeds are measured ones, not those of one warp.

    From one product to the next of a loop without other arithmetic, the hand-over of buffers
    included, that is `Microarchitecture.product_restart_clk`; of two warpgroups or more it is
    `WARPGROUP_OVERLAP`.
    """
    leaves = [leaf for leaf in leaves_of(tree) if leaf.context.sequential_iterations > 1]
    if max((leaf.threads for leaf in leaves), default=0) >= 2 * WARPGROUP:
        return True
    return not any(leaf.source.arith for leaf in leaves if not isinstance(leaf.source, Gemm))


def _has_roles(nodes: Sequence[CostNode]) -> bool:
    """Whether warps of a block have different statements."""
    if any(len(group) > 1 for group in concurrent_groups(nodes)):
        return True
    return any(
        (isinstance(node, BranchCost) and divides_warps(node)) or _has_roles(node.children)
        for node in nodes
        if not isinstance(node, Leaf)
    )


def _time_siblings(
    nodes: Sequence[CostNode],
    context: BlockContext,
    executions: float,
    interleaves: bool = True,
    loads_in_flight: bool = False,
) -> tuple[TimedNode, ...]:
    """The times of siblings, which a block executes so many times.

    Loads in a row wait for their data together, and so do all loads of straight-line code.  The
    compiler issues them first, except for loads whose address another load returns.

    Parameters
    ----------
    nodes : sequence of CostNode
        The siblings.
    context : BlockContext
        The device and the launch.
    executions : float
        How often a block executes them.
    interleaves : bool
        Whether code that uses different units is interleaved here.  Where the whole body is such
        code, its caller interleaves it.
    loads_in_flight : bool
        Whether loads of the code before are in flight, with which the first one waits.
    """
    instructions = context.compiled.instructions
    if len(nodes) == 1:
        node = next(iter(nodes))
        is_code = is_thread_code(node) and is_straight_line(node, instructions)
        continues = only(node, PURE_LOAD) or is_code
        joins = loads_in_flight and (continues or is_entered_once(node))
        alone = (_time_node(node, context, executions, waits=not joins),)
        if not interleaves or isinstance(node, Leaf):
            return alone
        return interleave(alone, context)
    timed: list[TimedNode] = []
    arrays_in_flight: set[str] = set()
    has_stored = False
    for group in concurrent_groups(nodes):
        if len(group) > 1:
            simulated = simulate_roles(group, _role_costs(context), executions)
            timed.extend(
                simulated
                or _overlap_roles([(_time_node(node, context, executions),) for node in group])
            )
            loads_in_flight = False
            continue
        node = next(iter(group))
        is_code = is_thread_code(node) and is_straight_line(node, instructions)
        is_load = only(node, PURE_LOAD)
        continues = is_load or is_code or is_entered_once(node)
        joins = continues and loads_in_flight and not (has_stored and some(node, ORDERED))
        joins = joins and not (arrays_in_flight and address_arrays(node) & arrays_in_flight)
        timed.append(_time_node(node, context, executions, waits=not joins))
        loads_in_flight = is_load or (is_code and (loads_in_flight or some(node, LOADS)))
        if loads_in_flight:
            before = arrays_in_flight if joins else set[str]()
            arrays_in_flight = before | loaded_arrays(node)
        else:
            arrays_in_flight = set()
        has_stored = some(node, STORES) or (has_stored and joins)
    if has_machine_code(context):
        return tuple(_wait_for_bulk_copies(nodes, timed, context, executions))
    parts = _interleave_siblings(nodes, timed, context) if interleaves else timed
    return overlap_asynchronous(nodes, parts, context.memory, executions)


def _interleave_siblings(
    nodes: Sequence[CostNode], timed: Sequence[TimedNode], context: BlockContext
) -> Sequence[TimedNode]:
    """The times of siblings with their thread code interleaved, but for loads ahead of their use.

    The wait of such a load is no link of a chain: the interleaved code after it overlaps it.
    """
    ahead = register_prefetches(nodes)
    others = iter(
        interleave([part for number, part in enumerate(timed) if number not in ahead], context)
    )
    return [part if number in ahead else next(others) for number, part in enumerate(timed)]


def _wait_for_bulk_copies(
    nodes: Sequence[CostNode],
    timed: Sequence[TimedNode],
    context: BlockContext,
    executions: float,
) -> Sequence[TimedNode]:
    """The times of machine code with the latency of TMA's copies, for which it polls a barrier."""
    routes = context.compiled.routes

    def is_copy(node: CostNode) -> bool:
        return isinstance(node, Leaf) and routes[node].copy == "tma" and some(node, LOADS)

    return wait_for_copies(nodes, timed, context.memory, executions, is_copy)


def _time_node(
    node: CostNode, context: BlockContext, executions: float, waits: bool = True
) -> TimedNode:
    """The time of a node; `waits`: its first loads wait for memory, and not with earlier ones."""
    if isinstance(node, Leaf):
        code_s = code_time_s(node, context)
        if code_s is not None:
            return TimedNode(node, code_s)
        busy_s = busy_time(node, context).longest_s
        return TimedNode(node, busy_s + exposed_latency_s(node, context, executions, waits))
    if isinstance(node, BranchCost) and divides_warps(node):
        return _time_divided_branch(node, context, executions)
    inner = executions
    compiled = context.compiled
    if isinstance(node, LoopCost) and node.source.kind not in _NOT_SEQUENTIAL:
        # No instruction is moved across a branch of another iteration, even in an unrolled loop.
        has_branches = has_arithmetic_branches(node, compiled.instructions, context.device)
        if has_branches or not issues_loads_first(node):
            trip_count = mean_trip_count(node)
            is_pipelined = node.source.kind == "pipelined" and _runs_ahead(node, context)
            is_serial = node.source.kind in ("serial", "pipelined") and not is_pipelined
            if is_serial and not has_branches and can_batch_loads(node, compiled.instructions):
                trip_count = load_batches(node.source, trip_count)
            inner = executions * trip_count
            if is_pipelined:
                return time_pipelined_loop(
                    node,
                    context,
                    executions,
                    trip_count,
                    lambda child, times: _time_node(child, context, times),
                )
    if isinstance(node, WhileCost):
        inner = executions * mean_trip_count(node)
    interleaves = not is_thread_code(node)
    children = tuple(
        part
        for side, share in execution_shares(node)
        for part in _time_siblings(
            side, context, inner * share, interleaves, loads_in_flight=not waits
        )
    )
    timed = overlap_warpgroups(node, TimedNode(node, 0.0, children), context)
    return overlap_products_with_loop(timed) if _is_outermost_loop(node) else timed


def _runs_ahead(loop: LoopCost, context: BlockContext) -> bool:
    """Whether loads of a pipelined loop run ahead of the time of its other statements.

    That of machine code has the waits for copies by its own warps.
    """
    loads = tile_loads(loop, context.compiled.routes)
    if has_machine_code(context) and not context.has_producer:
        return any(context.compiled.routes[leaf].copy == "tma" for leaf in loads)
    return bool(loads)


def _is_outermost_loop(node: CostNode) -> bool:
    """Whether a node is a sequential loop that is in no other one."""
    if not isinstance(node, (LoopCost, WhileCost)):
        return False
    if isinstance(node, LoopCost) and node.source.kind in _NOT_SEQUENTIAL:
        return False
    return all(loop.kind in _NOT_SEQUENTIAL for loop in node.context.loops)


def _time_divided_branch(branch: BranchCost, context: BlockContext, executions: float) -> TimedNode:
    """The time of a branch whose sides different warps of a block execute at the same time."""
    simulated = simulate_roles((branch,), _role_costs(context), executions)
    if simulated is not None:
        return simulated[0]
    roles = [_time_siblings(side, context, executions) for side in branch_sides(branch)]
    return TimedNode(branch, 0.0, tuple(_overlap_roles(roles)))


def _role_costs(context: BlockContext) -> RoleCosts:
    return RoleCosts(
        context,
        context.blocks,
        lambda nodes, executions: _time_siblings(nodes, context, executions),
    )


def _overlap_roles(roles: Sequence[tuple[TimedNode, ...]]) -> list[TimedNode]:
    """Roles of which the longest one has the time; the others are overlapped and have none."""
    times_s = [sum(part.total_s for part in role) for role in roles]
    longest = times_s.index(max(times_s))
    return [
        part if number == longest else part.scale(0.0)
        for number, role in enumerate(roles)
        for part in role
    ]
