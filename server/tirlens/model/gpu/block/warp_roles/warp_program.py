"""The program of a warp role: the steps that its warps execute, as the simulation reads them.

A role is the part of a block's code that some of its warps execute (`roles`).  Code without
synchronisation is one step, whose time is that of any other code.  Each asynchronous operation and
each operation on a barrier is a step of its own.  `program_builder` makes the program of a role
from the kernel's tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tirlens_worker.facts import Expr, Signal

from ....tree.node import CostNode, Leaf
from ....tree.timed_node import TimedNode


@dataclass(frozen=True, eq=False)
class StraightCode:
    """Code in which no warp of the role waits for another role.

    `time_s` is its time each time that it is executed, `unit_busy_s` for how long it keeps each
    unit of the SM busy then, `timed` its nodes with their times over all executions in a block.
    """

    timed: tuple[TimedNode, ...]
    time_s: float
    unit_busy_s: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class StatementStep:
    """A statement that a block executes `executions` times.

    `issue_s` is for how long the warps of the role are occupied with it each time.
    """

    node: CostNode
    executions: float
    issue_s: float


@dataclass(frozen=True, eq=False)
class AsyncCopy(StatementStep):
    """An asynchronous copy by TMA, which the role starts here.

    It occupies the port of the SM for `busy_s` and is complete `latency_s` later; the phases of
    `barriers` wait for it.
    """

    busy_s: float
    latency_s: float
    barriers: tuple[Signal, ...]


@dataclass(frozen=True, eq=False)
class MatrixProduct(StatementStep):
    """An asynchronous matrix product, which the role starts here.

    It occupies the tensor cores for `busy_s` and is complete `latency_s` later.
    """

    busy_s: float
    latency_s: float


@dataclass(frozen=True, eq=False)
class BarrierOperation(StatementStep):
    """An operation of `threads` threads on a barrier, or the wait for products of their own.

    An arrival takes effect `arrival_latency_s` later: when the copies before it are complete.
    """

    signal: Signal
    threads: int
    arrival_latency_s: float = 0.0


@dataclass(frozen=True, eq=False)
class LoopStep:
    """A loop; `start` is the first value of its variable, None where it is not known."""

    node: CostNode
    trip_count: float
    body: WarpProgram
    var: str = ""
    start: int | None = None


@dataclass(frozen=True, eq=False)
class BranchStep:
    """A branch that is taken where `condition` holds; where that is None, `then_share` of times.

    `data_limited_loop` is the variable of the loop whose first iterations take the branch, up to a
    number in memory; empty for any other branch.
    """

    node: CostNode
    then_share: float
    then: WarpProgram
    orelse: WarpProgram
    condition: Expr | None
    data_limited_loop: str = ""


Step = StraightCode | AsyncCopy | MatrixProduct | BarrierOperation | LoopStep | BranchStep
WarpProgram = tuple[Step, ...]


def barrier_operations(program: WarpProgram) -> Iterator[BarrierOperation]:
    """Every operation on a barrier, those inside loops and branches too."""
    for step in program:
        if isinstance(step, BarrierOperation):
            yield step
        elif isinstance(step, LoopStep):
            yield from barrier_operations(step.body)
        elif isinstance(step, BranchStep):
            yield from barrier_operations((*step.then, *step.orelse))


def branch_steps(program: WarpProgram) -> Iterator[BranchStep]:
    """Every branch, those inside loops and other branches too."""
    for step in program:
        if isinstance(step, LoopStep):
            yield from branch_steps(step.body)
        elif isinstance(step, BranchStep):
            yield step
            yield from branch_steps((*step.then, *step.orelse))


def loop_steps(program: WarpProgram) -> Iterator[LoopStep]:
    """Every loop, those inside branches and other loops too."""
    for step in program:
        if isinstance(step, LoopStep):
            yield step
            yield from loop_steps(step.body)
        elif isinstance(step, BranchStep):
            yield from loop_steps((*step.then, *step.orelse))


def timed_nodes(program: WarpProgram, mean_wait_s: Callable[[Step], float]) -> Iterator[TimedNode]:
    """The time of each node of a role, whose steps wait for `mean_wait_s` at each execution."""
    for step in program:
        if isinstance(step, StraightCode):
            factor = (step.time_s + mean_wait_s(step)) / step.time_s if step.time_s else 1.0
            yield from (part.scale(factor) for part in step.timed)
        elif isinstance(step, LoopStep):
            yield TimedNode(step.node, 0.0, tuple(timed_nodes(step.body, mean_wait_s)))
        elif isinstance(step, BranchStep):
            parts = tuple(timed_nodes((*step.then, *step.orelse), mean_wait_s))
            if isinstance(step.node, Leaf):
                yield from parts
            else:
                yield TimedNode(step.node, 0.0, parts)
        else:
            yield TimedNode(step.node, step.executions * (step.issue_s + mean_wait_s(step)))
