"""State of the simulation: barriers, and processes with their simulated and skipped time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tirlens_counting.expressions import UnknownValueError, evaluate
from tirlens_worker.facts import Expr

from ..block_record import StepRun
from .warp_program import AsyncCopy, BranchStep, MatrixProduct, Step

#: A barrier: the array's name, and its index.
BarrierKey = tuple[str, int]
#: For each lockstep group of loops, how often iterations were skipped, and the seconds of those.
Skips = Mapping[int, tuple[int, float]]
NO_SKIPS = (0, 0.0)
#: How often iterations of each group were skipped.
SkipCounts = frozenset[tuple[int, int]]


@dataclass(eq=False)
class Barrier:
    """A barrier: the end of each phase so far, and the arrivals in the current one.

    `phase_skips` are the skipped iterations up to each end, `latest_skips` up to the last arrival.
    """

    arrivals_needed: float
    phase_ends_s: list[float] = field(default_factory=list[float])
    phase_skips: list[Skips] = field(default_factory=list[Skips])
    arrivals: float = 0.0
    latest_s: float = 0.0
    latest_skips: Skips = field(default_factory=dict[int, tuple[int, float]])

    def arrive(self, threads: float, at_s: float, skips: Skips) -> None:
        self.latest_s = max(self.latest_s, at_s)
        self.latest_skips = latest_skips(self.latest_skips, skips)
        self.arrivals += threads
        if self.arrivals >= self.arrivals_needed:
            self.phase_ends_s.append(self.latest_s)
            self.phase_skips.append(self.latest_skips)
            self.arrivals = self.latest_s = 0.0


def latest_skips(mine: Skips, theirs: Skips) -> Skips:
    """The skipped iterations after a synchronisation: of each group the greater."""
    if not theirs or mine is theirs:
        return mine
    return {
        **mine,
        **{group: max(other, mine.get(group, NO_SKIPS)) for group, other in theirs.items()},
    }


@dataclass(eq=False)
class Process:
    """The state of a process of the simulation: of a role, or of one of its `warpgroups`.

    Attributes
    ----------
    own_barriers
        Indices of barriers of which each warpgroup of the role has its own.
    warpgroups, rank
        The number of warpgroups of the role, and which of them this one is.
    records_steps
        Whether `steps` has each simulated step.
    clock_s
        The time at which the process is.
    skips
        The iterations that were skipped until then.
    product_ends_s
        When each product is complete that the process has started and not waited for.
    loop_values
        The values of the variables of the loops around the current step.
    operations
        How many operations of a kind there were on a barrier.
    next_phase
        The phase that the next wait for a barrier is for.
    remainders
        What rounding average numbers to whole ones has left over, by step.
    waits_s
        The waits of each step, one for each execution.
    steps
        The simulated steps in the order of their ends, if they are recorded.
    """

    own_barriers: Mapping[Expr, int]
    warpgroups: int
    rank: int
    records_steps: bool = False
    clock_s: float = 0.0
    skips: Skips = field(default_factory=dict[int, tuple[int, float]])
    product_ends_s: list[float] = field(default_factory=list[float])
    loop_values: dict[str, int] = field(default_factory=dict[str, int])
    operations: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    next_phase: dict[BarrierKey, int] = field(default_factory=dict[BarrierKey, int])
    remainders: dict[Step, float] = field(default_factory=dict[Step, float])
    waits_s: dict[Step, list[float]] = field(default_factory=dict[Step, list[float]])
    steps: list[StepRun] = field(default_factory=list[StepRun])

    @property
    def skip_counts(self) -> SkipCounts:
        """How often iterations were skipped: a process that skipped fewer is behind."""
        return frozenset((group, number) for group, (number, _) in self.skips.items())

    def simulated_s(self, group: int) -> float:
        """The current time less that of the skipped iterations of a group of loops."""
        return self.clock_s - self.skips.get(group, NO_SKIPS)[1]

    def skip(self, group: int, number: int, until_s: float) -> None:
        """Skip iterations for the `number`-th time.

        Nothing happens if the process has learnt of that skip from another one, at a barrier.
        """
        so_far = self.skips.get(group, NO_SKIPS)
        if (number, until_s) > so_far:
            self.clock_s += max(until_s - so_far[1], 0.0)
            self.skips = {**self.skips, group: (number, max(until_s, so_far[1]))}

    def round_on_average(self, step: Step, times: float) -> int:
        """A whole number whose mean over the executions of `step` is `times`."""
        total = self.remainders.get(step, 0.5) + times
        self.remainders[step] = total - int(total)
        return int(total)

    def takes_branch(self, step: BranchStep) -> bool:
        """Whether the process takes the first side of a branch this time."""
        if step.condition is not None:
            try:
                return bool(evaluate(step.condition, self.loop_values))
            except UnknownValueError:
                pass
        return self.round_on_average(step, step.then_share) > 0

    def record_wait(self, step: Step, begin_s: float, duration_s: float) -> None:
        """Record that `step` began at `begin_s` and would take `duration_s` without waits."""
        wait_s = max(self.clock_s - begin_s - duration_s, 0.0)
        self.waits_s.setdefault(step, []).append(wait_s)
        if self.records_steps:
            self.steps.append(StepRun(step, begin_s, self.clock_s, wait_s))

    def record_unit(
        self, step: AsyncCopy | MatrixProduct, unit: str, begin_s: float, complete_s: float
    ) -> None:
        """Record that `step` occupies a unit from `begin_s` on, and is complete at `complete_s`."""
        if self.records_steps:
            end_s = begin_s + step.busy_s
            self.steps.append(StepRun(step, begin_s, end_s, unit=unit, complete_s=complete_s))
