"""What one role of a block does, step by step: its part of the kernel's tree as `role_steps`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tirlens.hardware.spec import Device
from tirlens_counting.expressions import (
    UnknownValueError,
    conjuncts,
    evaluate,
    free_variables,
    is_data_dependent,
)
from tirlens_worker.facts import THREADS_TOGETHER, Branch, Expr, Loop, Statement

from ...counting.data_conditions import data_limit
from ...tree.node import CostNode
from ...tree.timed_node import BusyOf, TimedNode
from ...tree.traits import EVENT, some, starts_product
from ...tree.trip_counts import branch_sides, mean_trip_count
from .role_steps import Body, Bring, Choice, Meet, Multiply, Repeat, Run, Step, choices
from .steps import ARRIVAL_CLOCKS, MATRIX_CLOCKS, TCGEN05_CLOCKS, load_latency_s

# Units that the warps of a block share; what it shares with other blocks is not among them.
UNITS = frozenset({"fp32", "fp64", "int", "sfu", "issue", "shared", "tensor"})


# Of a cluster: 8, and 16 where a kernel asks for it (CUDA C++ Programming Guide, "Thread Block
# Clusters", non-portable size).
MOST_BLOCKS = 16
_IN_TURN = frozenset({"serial", "pipelined", "unroll"})


class NotKnownError(Exception):
    """How often something in a role is executed is not known."""


@dataclass(frozen=True)
class Costs:
    """How long code takes in which no role waits for another.

    `run` gives the times of siblings that are executed so many times in a block, `busy` how long
    one block's share of a leaf keeps each unit busy.
    """

    device: Device
    blocks: float
    run: Callable[[Sequence[CostNode], float], tuple[TimedNode, ...]]
    busy: BusyOf


def program(items: Sequence[CostNode], costs: Costs, entries: float) -> Body:
    """The steps of siblings that are executed `entries` times in a block.

    Raises:
        NotKnownError: a count is not known.
    """
    return tuple(_steps(items, costs, entries))


def _steps(items: Sequence[CostNode], costs: Costs, entries: float) -> Iterator[Step]:
    run: list[CostNode] = []
    for item in items:
        if not some(item, EVENT):
            run.append(item)
            continue
        yield from _run(run, costs, entries)
        run = []
        yield from _event(item, costs, entries)
    yield from _run(run, costs, entries)


def _run(items: Sequence[CostNode], costs: Costs, entries: float) -> Iterator[Run]:
    if not items or not entries:
        return
    timed = costs.run(items, entries)
    share = costs.device.sm_count / costs.blocks / entries
    units: dict[str, float] = {}
    for item in items:
        for leaf in item.leaves():
            for unit, seconds in leaf.busy_s.items():
                if unit in UNITS:
                    units[unit] = units.get(unit, 0.0) + seconds * share
    yield Run(timed, sum(part.total_s for part in timed) / entries, units)


def _event(item: CostNode, costs: Costs, entries: float) -> Iterator[Step]:
    node = item.source
    if isinstance(node, Statement):
        yield from _actions(item, costs)
    elif isinstance(node, Branch):
        both = branch_sides(item)
        leads = led(item, costs)
        if leads is not costs:
            yield Choice(item, 1.0, program(both[0], leads, entries), (), None)
            return
        shares = [min(_entered(side, costs) / entries, 1.0) if entries else 0.0 for side in both]
        then, orelse = (
            program(side, costs, entries * share) for side, share in zip(both, shares, strict=True)
        )
        yield Choice(item, shares[0], then, orelse, _decided(item), _until(item))
    else:
        trips = mean_trip_count(item)
        body = program(item.children, costs, entries * trips)
        if isinstance(node, Loop):
            trips, body = _ended(trips, body, node.var)
        if isinstance(node, Loop):
            start, stride = item.context.resolve(node.start), item.context.resolve(node.step)
            if isinstance(start, int) and isinstance(stride, int):
                yield Repeat(item, trips, body, node.var, start, stride)
            else:
                yield Repeat(item, trips, body)
        else:
            yield Repeat(item, trips, body)


def _actions(item: CostNode, costs: Costs) -> Iterator[Step]:
    """A statement's copy or product, and then what it does to barriers."""
    runs = _runs(item, costs)
    device = costs.device
    told = ARRIVAL_CLOCKS / device.clock_hz
    brings = tuple(signal for signal in item.source.signals if signal.kind == "bring")
    busy = costs.busy(item)
    if not runs:
        return
    if brings:
        seconds = busy.longest_s / runs
        yield Bring(item, runs, told, seconds, load_latency_s(item, device), brings)
    elif starts_product(item):
        gemm = item.source.op == "gemm"
        clocks = MATRIX_CLOCKS["wgmma" in device.features] if gemm else TCGEN05_CLOCKS
        seconds = max(busy.units.get("tensor", 0.0), busy.units.get("shared", 0.0)) / runs
        yield Multiply(item, runs, told, seconds, clocks / device.clock_hz)
    for signal in item.source.signals:
        if signal.kind != "bring":
            seconds = sum(part.total_s for part in costs.run((item,), runs)) / runs
            own = 0.0 if starts_product(item) else seconds
            after = device.dram.latency_s if signal.kind == "fetch" else 0.0
            meet = Meet(item, runs, own, signal, item.threads, after)
            guard = None if signal.guard is None else _by_turns(item, signal.guard)
            yield meet if guard is None else Choice(item, 1.0, (meet,), (), guard)


def _by_turns(item: CostNode, guard: Expr) -> Expr | None:
    """What the loops around it decide of a predicate; which thread is elected, it tells besides."""
    parts = [part for part in conjuncts(item.context.resolve(guard)) if _is_of_turns(part, item)]
    return ("and", *parts) if len(parts) > 1 else parts[0] if parts else None


def _decided(item: CostNode) -> Expr | None:
    """A condition that the loops around it decide, in the same way in all blocks and threads."""
    condition = item.context.resolve(item.source.condition)
    return condition if _is_of_turns(condition, item) else None


def _until(item: CostNode) -> str:
    """The one loop around a branch whose turns it lets go up to a number in memory, or ""."""
    condition = item.context.resolve(item.source.condition)
    if item.source.orelse or data_limit(condition) is None:
        return ""
    turning = {loop.var for loop in item.context.loops if loop.kind in _IN_TURN}
    found = free_variables(condition) & turning
    return next(iter(found)) if len(found) == 1 else ""


def _ended(trips: float, body: Body, var: str) -> tuple[float, Body]:
    """A loop to the turn at which its branches that go up to a number in memory end.

    Roles decide alike in each turn: the turns that none of them takes are the last ones.
    """
    shares = [step.share for step in choices(body) if step.until == var]
    if not shares or not max(shares):
        return trips, body
    return trips * max(shares), _taken_more_often(body, var, 1 / max(shares))


def _taken_more_often(body: Body, var: str, times: float) -> Body:
    def longer(step: Step) -> Step:
        if isinstance(step, Repeat):
            return replace(step, body=_taken_more_often(step.body, var, times))
        if not isinstance(step, Choice):
            return step
        then, orelse = (_taken_more_often(side, var, times) for side in (step.then, step.orelse))
        share = min(step.share * times, 1.0) if step.until == var else step.share
        return replace(step, share=share, then=then, orelse=orelse)

    return tuple(map(longer, body))


def _is_of_turns(condition: Expr, item: CostNode) -> bool:
    turning = {loop.var for loop in item.context.loops if loop.kind in _IN_TURN}
    return not is_data_dependent(condition) and free_variables(condition) <= turning


def led(item: CostNode, costs: Costs) -> Costs:
    """The costs inside a branch, where one block of a cluster may work for the others."""
    share = led_share(item)
    return replace(costs, blocks=costs.blocks * share) if share else costs


def led_share(item: CostNode) -> float:
    """The share of the blocks for which a one-sided branch is the work of the first of a cluster.

    The blocks of a cluster follow each other in the grid (CUDA C++ Programming Guide, "Thread Block
    Clusters"), at most 16 of them.  Which share holds, the conditions on a block's place in it tell
    that hold for the first and not for all.  0 for any other branch.
    """
    if item.source.orelse:
        return 0.0
    grid = {loop.var for loop in item.context.loops if loop.kind == "grid"}
    share = 1.0
    for part in conjuncts(item.context.resolve(item.source.condition)):
        names = free_variables(part)
        if is_data_dependent(part) or not names or not names <= grid:
            continue
        try:
            ranks = [
                [
                    bool(evaluate(part, dict.fromkeys(names, turn * MOST_BLOCKS + rank)))
                    for rank in range(MOST_BLOCKS)
                ]
                for turn in (0, 1)
            ]
        except UnknownValueError:
            continue
        if ranks[0] == ranks[1] and ranks[0][0]:
            share *= sum(ranks[0]) / MOST_BLOCKS
    return share if share < 1.0 else 0.0


def _runs(leaf: CostNode, costs: Costs) -> float:
    """How often a block executes a statement."""
    if leaf.count.executions is None:
        raise NotKnownError(leaf.source.label)
    together = THREADS_TOGETHER.get(leaf.source.per)
    each = 1.0 if together is None else max(leaf.threads / together, 1.0)
    return leaf.count.executions / costs.blocks / each


def _entered(items: Sequence[CostNode], costs: Costs) -> float:
    """How often a block gets to siblings, by the one that it executes most often."""
    most = 0.0
    for item in items:
        if isinstance(item.source, Statement):
            most = max(most, _runs(item, costs))
        elif isinstance(item.source, Branch):
            most = max(most, sum(_entered(side, costs) for side in branch_sides(item)))
        else:
            trips = mean_trip_count(item)
            most = max(most, _entered(item.children, costs) / trips if trips else 0.0)
    return most
