"""Which iterations of the roles' loops are simulated; those extrapolate to the others.

Roles that wait for each other run in lockstep, so that the same number of iterations is skipped in
each of their loops.  A loop of half the trip count whose body has twice as many operations on a
barrier is unrolled by two, by its author or by a compiler: half as many of its iterations are
skipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from tirlens_counting.expressions import free_variables, is_data_dependent

from .warp_program import (
    AsyncCopy,
    BarrierOperation,
    BranchStep,
    LoopStep,
    MatrixProduct,
    StraightCode,
    WarpProgram,
    barrier_operations,
    loop_steps,
)

# Iterations of a loop that are simulated in the steady state, after a ring of buffers is full: four
# show a pattern with a period of two.
MAX_SAMPLED_ITERATIONS = 4
# The same of a loop around other long loops.
MAX_SAMPLED_OUTER_ITERATIONS = 2
# Iterations at the end of a loop that are simulated: there, roles signal the end of all of it.
LAST_ITERATIONS = 1
# By how many iterations the loops of roles in lockstep may differ: those peeled off before or after
# one of them.
MAX_PEELED_ITERATIONS = 2
# Loops of no more iterations are simulated as a whole.
MAX_SHORT_TRIP_COUNT = 4
# The greatest factor by which one of two loops in lockstep is unrolled.
MAX_UNROLL_FACTOR = 8

_Operation = AsyncCopy | BarrierOperation | MatrixProduct | StraightCode


@dataclass(frozen=True)
class IterationSample:
    """Which iterations of a loop are simulated.

    Attributes
    ----------
    sampled : int
        The last so many iterations before the skipped ones, whose mean is the time of each of
        those.
    skipped : int
        Iterations that are skipped.
    skip_at : int
        The iteration at which they are skipped.
    group : int
        The same for all loops that run in lockstep.
    """

    sampled: int
    skipped: int
    skip_at: int
    group: int


EVERY_ITERATION = IterationSample(sampled=1, skipped=0, skip_at=0, group=-1)


def step_count(program: WarpProgram) -> float:
    """About how many steps the execution of a program has."""
    return _sum_over_steps(program, lambda _: 1.0)


def serial_time_s(program: WarpProgram) -> float:
    """Seconds that the execution of a program takes if none of its steps overlap."""
    return _sum_over_steps(program, _serial_step_s)


def _sum_over_steps(program: WarpProgram, value: Callable[[_Operation], float]) -> float:
    total = 0.0
    for step in program:
        if isinstance(step, LoopStep):
            total += step.trip_count * _sum_over_steps(step.body, value)
        elif isinstance(step, BranchStep):
            then, orelse = _sum_over_steps(step.then, value), _sum_over_steps(step.orelse, value)
            total += step.then_share * then + (1 - step.then_share) * orelse
        else:
            total += value(step)
    return total


def _serial_step_s(step: _Operation) -> float:
    if isinstance(step, StraightCode):
        return max(step.time_s, *step.unit_busy_s.values(), 0.0)
    if isinstance(step, BarrierOperation):
        return step.issue_s + step.arrival_latency_s
    return step.issue_s + step.busy_s + step.latency_s


def sample_iterations(programs: Sequence[WarpProgram]) -> dict[LoopStep, IterationSample]:
    """Which iterations are simulated of each loop of the roles' programs.

    The loops of a lockstep group skip the same number of iterations.  Otherwise one role would wait
    for iterations of another that are not simulated.
    """
    depth, period = _ring_depth(programs), _ring_period(programs)
    samples: dict[LoopStep, IterationSample] = {}
    for group, factors in enumerate(_lockstep_groups(programs)):
        trip_count = int(min(loop.trip_count * factor for loop, factor in factors.items()))
        is_outer = any(_has_long_loops(loop.body) for loop in factors)
        sampled = MAX_SAMPLED_OUTER_ITERATIONS if is_outer else max(MAX_SAMPLED_ITERATIONS, depth)
        # A role that works ahead has to see that the end is near.
        tests_variable = any(_tests_loop_variable(loop) for loop in factors)
        last = depth if tests_variable else LAST_ITERATIONS
        simulated = sampled + (2 if is_outer else depth + 2) + last
        multiple = math.lcm(*factors.values(), period)
        skipped = max(trip_count - simulated, 0) // multiple * multiple
        skip_at = trip_count - skipped - last
        for loop, factor in factors.items():
            samples[loop] = IterationSample(
                max(sampled // factor, 1), skipped // factor, skip_at // factor, group
            )
    return samples


def _ring_depth(programs: Sequence[WarpProgram]) -> int:
    """The greatest number of barriers in a ring."""
    signals = (step.signal for program in programs for step in barrier_operations(program))
    return max((signal.slots for signal in signals if isinstance(signal.slots, int)), default=1)


def _ring_period(programs: Sequence[WarpProgram]) -> int:
    """The number of iterations of which a multiple is skipped: whole rounds of every ring.

    It concerns rings whose barrier follows from the loop's variable; where a counter in memory
    selects it, the next barrier follows the last one anyway.  Iterations may also alternate.
    """
    signals = (step.signal for program in programs for step in barrier_operations(program))
    depths = [
        signal.slots
        for signal in signals
        if isinstance(signal.slots, int) and not is_data_dependent(signal.index)
    ]
    return math.lcm(2, *depths)


def _lockstep_groups(programs: Sequence[WarpProgram]) -> Iterator[dict[LoopStep, int]]:
    """Groups of loops in lockstep, each loop with its unroll factor relative to the others."""
    links = _lockstep_links(programs)
    seen: set[LoopStep] = set()
    for loop in links:
        if loop in seen:
            continue
        ratios = {loop: Fraction(1)}
        pending = [loop]
        while pending:
            one = pending.pop()
            for other, ratio in links[one].items():
                if other not in ratios:
                    ratios[other] = ratios[one] * ratio
                    pending.append(other)
        denominator = math.lcm(*(ratio.denominator for ratio in ratios.values()))
        factors = {one: int(ratio * denominator) for one, ratio in ratios.items()}
        divisor = math.gcd(*factors.values())
        seen |= factors.keys()
        yield {one: factor // divisor for one, factor in factors.items()}


def _lockstep_links(
    programs: Sequence[WarpProgram],
) -> Mapping[LoopStep, Mapping[LoopStep, Fraction]]:
    """The loops of other roles that each loop runs in lockstep with, and their iterations to it.

    Two loops run in lockstep where they take part in phases of the same barrier and their trip
    counts are in the inverse ratio of the phases of an iteration.
    """
    loops = [(role, loop) for role, program in enumerate(programs) for loop in loop_steps(program)]
    phases = {loop: _phases_per_iteration(loop.body) for _, loop in loops}
    links: dict[LoopStep, dict[LoopStep, Fraction]] = {loop: {} for loop in phases}
    for (role, one), (other_role, other) in combinations(loops, 2):
        if role == other_role or min(one.trip_count, other.trip_count) <= MAX_SHORT_TRIP_COUNT:
            continue
        for barrier in (name for name in phases[one] if name in phases[other]):
            ratio = Fraction(phases[one][barrier] / phases[other][barrier])
            ratio = ratio.limit_denominator(MAX_UNROLL_FACTOR)
            mine, theirs = ratio.numerator, ratio.denominator
            difference = abs(one.trip_count * mine - other.trip_count * theirs)
            if mine and difference <= MAX_PEELED_ITERATIONS * min(mine, theirs):
                links[one][other], links[other][one] = 1 / ratio, ratio
                break
    return links


def _phases_per_iteration(body: WarpProgram) -> Mapping[str, float]:
    """The phases of each barrier that an iteration waits for, or arrives at if it never waits."""
    waits: dict[str, float] = {}
    arrivals: dict[str, float] = {}

    def count(steps: WarpProgram, times: float) -> None:
        for step in steps:
            if isinstance(step, LoopStep):
                count(step.body, times * step.trip_count)
            elif isinstance(step, BranchStep):
                count(step.then, times * step.then_share)
                count(step.orelse, times * (1 - step.then_share))
            elif isinstance(step, BarrierOperation) and step.signal.kind != "drain":
                is_wait = step.signal.kind in ("wait", "sync")
                phases, name = waits if is_wait else arrivals, step.signal.barrier
                phases[name] = phases.get(name, 0.0) + times

    count(body, 1.0)
    return {name: phases for name, phases in {**arrivals, **waits}.items() if phases}


def _has_long_loops(body: WarpProgram) -> bool:
    """Whether a loop body has loops that may run in lockstep with those of other roles."""
    return any(
        loop.trip_count > MAX_SHORT_TRIP_COUNT
        and next(barrier_operations(loop.body), None) is not None
        for loop in loop_steps(body)
    )


def _tests_loop_variable(loop: LoopStep) -> bool:
    """Whether the condition of a branch in a loop depends on the loop's variable."""

    def tests(body: WarpProgram) -> bool:
        return any(
            (isinstance(step, LoopStep) and tests(step.body))
            or (
                isinstance(step, BranchStep)
                and (
                    (step.condition is not None and loop.var in free_variables(step.condition))
                    or tests((*step.then, *step.orelse))
                )
            )
            for step in body
        )

    return tests(loop.body)
