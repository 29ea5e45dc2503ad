"""What one role of a block does, step by step: straight code, copies, products, barriers, loops.

A role is the part of a block's code that some of its warps execute (`roles`).  Straight code is
timed as anywhere else; what others wait for, or what waits for others, is a step of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tirlens.hardware.spec import Device
from tirlens_worker.facts import THREADS_TOGETHER, Branch, Expr, Let, Loop, Signal, Statement

from ..expr import free_variables, is_data_dependent
from ..instructions.work import Item
from .steps import ARRIVAL_CLOCKS, MATRIX_CLOCKS, load_latency_s
from .timed import Timed

# Units that the warps of a block share; what it shares with other blocks is not among them.
UNITS = frozenset({"fp32", "fp64", "int", "sfu", "issue", "shared", "tensor"})


_IN_TURN = frozenset({"serial", "pipelined", "unroll"})


class NotKnownError(Exception):
    """How often something in a role is executed is not known."""


@dataclass(frozen=True, eq=False)
class Run:
    """Straight code: it takes `seconds` each time and keeps units busy for some of them."""

    timed: tuple[Timed, ...]
    seconds: float
    units: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Action:
    """A statement that is executed `runs` times in a block and takes `seconds` of its warps."""

    item: Item
    runs: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Bring(Action):
    """A copy by TMA that is started here; `barriers` tell its end."""

    busy_s: float
    latency_s: float
    barriers: tuple[Signal, ...]


@dataclass(frozen=True, eq=False)
class Multiply(Action):
    """A product that is started here."""

    busy_s: float
    latency_s: float


@dataclass(frozen=True, eq=False)
class Meet(Action):
    """What `threads` do to a barrier, or to the products that they have started.

    An arrival counts `after_s` later, when what they copy is there.
    """

    signal: Signal
    threads: int
    after_s: float = 0.0


@dataclass(frozen=True, eq=False)
class Repeat:
    """`start` is the variable's first value, None where it is not known."""

    item: Item
    trips: float
    body: Body
    var: str = ""
    start: int | None = None
    stride: int = 1


@dataclass(frozen=True, eq=False)
class Choice:
    """A branch that is taken by its `condition`, or `share` of the times where that is None."""

    item: Item
    share: float
    then: Body
    orelse: Body
    condition: Expr | None


Step = Run | Bring | Multiply | Meet | Repeat | Choice
Body = tuple[Step, ...]


@dataclass(frozen=True)
class Costs:
    """How long code takes in which no role waits for another.

    `run` gives the times of siblings that are executed so many times in a block, `busy` how long
    one block's share of a leaf keeps each unit busy.
    """

    device: Device
    blocks: int
    run: Callable[[Sequence[Item], float], tuple[Timed, ...]]
    busy: Callable[[Item], Mapping[str, float]]


def program(items: Sequence[Item], costs: Costs, entries: float) -> Body:
    """The steps of siblings that are executed `entries` times in a block.

    Raises:
        NotKnownError: a count is not known.
    """
    return tuple(_steps(items, costs, entries))


def sides(item: Item) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """What stands on the two sides of a branch."""
    first = sum(not isinstance(node, Let) for node in item.node.then)
    return item.children[:first], item.children[first:]


def meetings(body: Body) -> Iterator[Meet]:
    for step in body:
        if isinstance(step, Meet):
            yield step
        elif isinstance(step, Repeat):
            yield from meetings(step.body)
        elif isinstance(step, Choice):
            yield from meetings((*step.then, *step.orelse))


def retimed(body: Body, waited: Callable[[Step], float]) -> Iterator[Timed]:
    """The times of a role whose steps wait so long on average, each time."""
    for step in body:
        if isinstance(step, Run):
            longer = (step.seconds + waited(step)) / step.seconds if step.seconds else 1.0
            yield from (part.scaled(longer) for part in step.timed)
        elif isinstance(step, Repeat):
            yield Timed(step.item, 0.0, tuple(retimed(step.body, waited)))
        elif isinstance(step, Choice):
            yield Timed(step.item, 0.0, tuple(retimed((*step.then, *step.orelse), waited)))
        else:
            yield Timed(step.item, step.runs * (step.seconds + waited(step)))


def _steps(items: Sequence[Item], costs: Costs, entries: float) -> Iterator[Step]:
    run: list[Item] = []
    for item in items:
        if not any(map(_is_event, item.leaves())):
            run.append(item)
            continue
        yield from _run(run, costs, entries)
        run = []
        yield from _event(item, costs, entries)
    yield from _run(run, costs, entries)


def _run(items: Sequence[Item], costs: Costs, entries: float) -> Iterator[Run]:
    if not items or not entries:
        return
    timed = costs.run(items, entries)
    share = costs.device.sm_count / costs.blocks / entries
    units: dict[str, float] = {}
    for item in items:
        for leaf in item.leaves():
            for unit in UNITS & leaf.seconds.keys():
                units[unit] = units.get(unit, 0.0) + leaf.seconds[unit] * share
    yield Run(timed, sum(part.total_s for part in timed) / entries, units)


def _event(item: Item, costs: Costs, entries: float) -> Iterator[Step]:
    node = item.node
    if isinstance(node, Statement):
        yield from _actions(item, costs)
    elif isinstance(node, Branch):
        both = sides(item)
        shares = [min(_entered(side, costs) / entries, 1.0) if entries else 0.0 for side in both]
        then, orelse = (
            program(side, costs, entries * share) for side, share in zip(both, shares, strict=True)
        )
        yield Choice(item, shares[0], then, orelse, _decided(item))
    else:
        trips = mean_trips(item)
        body = program(item.children, costs, entries * trips)
        if isinstance(node, Loop):
            start, stride = item.place.resolve(node.start), item.place.resolve(node.step)
            if isinstance(start, int) and isinstance(stride, int):
                yield Repeat(item, trips, body, node.var, start, stride)
            else:
                yield Repeat(item, trips, body)
        else:
            yield Repeat(item, trips, body)


def _actions(item: Item, costs: Costs) -> Iterator[Step]:
    """A statement's copy or product, and then what it does to barriers."""
    runs = _runs(item, costs)
    device = costs.device
    told = ARRIVAL_CLOCKS / device.clock_hz
    brings = tuple(signal for signal in item.node.signals if signal.kind == "bring")
    busy = costs.busy(item)
    if not runs:
        return
    if brings:
        seconds = max(busy.values(), default=0.0) / runs
        yield Bring(item, runs, told, seconds, load_latency_s(item, device), brings)
    elif _is_product(item):
        clocks = MATRIX_CLOCKS["wgmma" in device.features] if item.node.op == "gemm" else 0.0
        seconds = max(busy.get("tensor", 0.0), busy.get("shared", 0.0)) / runs
        yield Multiply(item, runs, told, seconds, clocks / device.clock_hz)
    for signal in item.node.signals:
        if signal.kind != "bring":
            seconds = sum(part.total_s for part in costs.run((item,), runs)) / runs
            own = 0.0 if _is_product(item) else seconds
            after = device.dram.latency_s if signal.kind == "fetch" else 0.0
            yield Meet(item, runs, own, signal, item.threads, after)


def _is_event(leaf: Item) -> bool:
    return bool(leaf.node.signals) or _is_product(leaf)


def _is_product(leaf: Item) -> bool:
    """Whether a leaf starts a product that something else waits for."""
    attributes: Mapping[str, Any] = leaf.node.attributes
    return attributes.get("wg_wait") == -1 or bool(attributes.get("asynchronous"))


def _decided(item: Item) -> Expr | None:
    """A condition that the loops around it decide, in the same way in all blocks and threads."""
    condition = item.place.resolve(item.node.condition)
    turning = {
        loop.var for loop in item.place.around if loop.kind in ("serial", "pipelined", "unroll")
    }
    if is_data_dependent(condition) or not free_variables(condition) <= turning:
        return None
    return condition


def mean_trips(item: Item) -> float:
    count = item.count
    if count.iterations is not None and count.executions:
        return max(count.iterations / count.executions, 0.0)
    return float(count.trips or 1)


def _runs(leaf: Item, costs: Costs) -> float:
    """How often a block executes a statement."""
    if leaf.count.executions is None:
        raise NotKnownError(leaf.node.label)
    together = THREADS_TOGETHER.get(leaf.node.per)
    each = 1.0 if together is None else max(leaf.threads / together, 1.0)
    return leaf.count.executions / costs.blocks / each


def _entered(items: Sequence[Item], costs: Costs) -> float:
    """How often a block gets to siblings, by the one that it executes most often."""
    most = 0.0
    for item in items:
        if isinstance(item.node, Statement):
            most = max(most, _runs(item, costs))
        elif isinstance(item.node, Branch):
            most = max(most, sum(_entered(side, costs) for side in sides(item)))
        else:
            trips = mean_trips(item)
            most = max(most, _entered(item.children, costs) / trips if trips else 0.0)
    return most
