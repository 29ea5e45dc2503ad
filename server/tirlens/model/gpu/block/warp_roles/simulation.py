"""Discrete event simulation of the warp roles of a block, which synchronise at barriers.

Each role executes its program (`warp_program`).  An asynchronous copy occupies the port of the SM,
one after the other, and is complete after a latency; an asynchronous product occupies the tensor
cores likewise.  A barrier ends a phase when enough threads have arrived and the copies that the
phase tracks are complete (PTX ISA, "mbarrier" and "bar").  The n-th wait of a role for a barrier
is for the n-th phase, or for the one before where the first wait is for the parity of the phase
before the first (parity 1).  Roles that use another unit at the same time share it equally.

Of a loop with many iterations some are simulated, and the others take the mean time of those
(`iteration_sampling`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import mean

from tirlens_counting.expressions import UnknownValueError, evaluate
from tirlens_worker.facts import Expr, Signal

from ..block_record import StepRun
from .iteration_sampling import (
    EVERY_ITERATION,
    IterationSample,
    sample_iterations,
    serial_time_s,
    step_count,
)
from .simulation_state import NO_SKIPS, Barrier, BarrierKey, Process, SkipCounts, latest_skips
from .warp_program import (
    AsyncCopy,
    BarrierOperation,
    BranchStep,
    LoopStep,
    MatrixProduct,
    Step,
    StraightCode,
    WarpProgram,
    barrier_operations,
)

# Programs of no more steps are simulated whole, without skipped iterations.
MAX_WHOLE_STEPS = 2_000
# The most steps that a simulation takes.
MAX_STEPS = 30_000

#: The number of threads whose arrivals end a phase of a barrier.
ArrivalsNeeded = Callable[[BarrierKey], float]

# Units that execute asynchronous operations one after the other.
_QUEUES = ("tensor", "port")
# What a process yields: a barrier and the phase whose end it waits for, or None to be continued.
_Wait = tuple[Barrier, int] | None


@dataclass(frozen=True)
class RoleTiming:
    """The result for one role: the time of its end, and the waits of each step.

    `waits_s` has an entry for each execution of a step.  `steps` are the simulated steps in order,
    if they are recorded.
    """

    end_s: float
    waits_s: Mapping[Step, Sequence[float]]
    steps: Sequence[StepRun] = ()

    def mean_wait_s(self, step: Step) -> float:
        """Seconds that an execution of `step` waits for other roles, on average."""
        waits_s = self.waits_s.get(step, ())
        return sum(waits_s) / len(waits_s) if waits_s else 0.0


def simulate(
    programs: Sequence[WarpProgram], arrivals_needed: ArrivalsNeeded, records_steps: bool = False
) -> list[RoleTiming] | None:
    """Simulate the roles of a block side by side.

    Parameters
    ----------
    programs : sequence of WarpProgram
        The program of each role.
    arrivals_needed : callable
        The number of threads that have to arrive at a barrier to end a phase.
    records_steps : bool
        Whether the timings have each simulated step.

    Returns
    -------
    list of RoleTiming or None
        The timing of each role; None where the roles deadlock or their programs are too long.

    Notes
    -----
    Iterations are skipped in long programs.  Where such a simulation deadlocks, or takes longer
    than all steps in series, the programs are simulated whole.
    """
    steps = sum(map(step_count, programs))
    if steps > MAX_WHOLE_STEPS:
        timings = _simulate(programs, arrivals_needed, sample_iterations(programs), records_steps)
        groups = [_warpgroup_count(program) for program in programs]
        serial_s = sum(groups) * sum(map(serial_time_s, programs))
        if timings is not None and max(timing.end_s for timing in timings) <= serial_s:
            return timings
        if steps > MAX_STEPS:
            return None
    return _simulate(programs, arrivals_needed, {}, records_steps)


def _simulate(
    programs: Sequence[WarpProgram],
    arrivals_needed: ArrivalsNeeded,
    samples: Mapping[LoopStep, IterationSample],
    records_steps: bool,
) -> list[RoleTiming] | None:
    processes: list[Process] = []
    running: list[Iterator[_Wait]] = []
    block = _Block(arrivals_needed, sum(map(_warpgroup_count, programs)), samples)
    for program in programs:
        barriers, count = _warpgroup_barriers(program), _warpgroup_count(program)
        for rank in range(count):
            processes.append(Process(barriers, count, rank, records_steps))
            running.append(block.execute(processes[-1], program))
    waits: dict[int, _Wait] = dict.fromkeys(range(len(running)))
    releases = 0
    for _ in range(MAX_STEPS):
        ready = [number for number, wait in waits.items() if _is_over(wait)]
        if not ready:
            ready = [number for number, wait in waits.items() if _may_be_for_previous(wait)]
            releases += 1
        if not ready or releases > len(processes):
            break
        number = min(ready, key=lambda one: processes[one].clock_s)
        try:
            waits[number] = next(running[number])
        except StopIteration:
            del waits[number]
    if waits:
        return None
    ended = iter(processes)
    return [
        max(
            (
                RoleTiming(process.clock_s, process.waits_s, process.steps)
                for process in islice(ended, _warpgroup_count(program))
            ),
            key=lambda timing: timing.end_s,
        )
        for program in programs
    ]


def _is_over(wait: _Wait) -> bool:
    return wait is None or len(wait[0].phase_ends_s) > wait[1]


def _may_be_for_previous(wait: _Wait) -> bool:
    """Whether a wait that never ends may be for the previous phase, which is over.

    That is so where the parity changes in a way that the simulation does not see, after a loop for
    example.  Kernels do not deadlock, and a wait for the previous phase does not block (PTX ISA,
    "mbarrier.try_wait").
    """
    if wait is None:
        return False
    barrier, phase = wait
    return len(barrier.phase_ends_s) == phase > 0 and not barrier.arrivals


def _warpgroup_barriers(program: WarpProgram) -> dict[Expr, int]:
    """Indices of barriers of which each warpgroup of a role has its own, and how many do.

    The role has as many times the threads whose arrival ends a phase: each of its warpgroups takes
    the next barrier of a ring, by a counter in memory.
    """
    counts: dict[Expr, int] = {}
    for step in barrier_operations(program):
        count, index = step.signal.count, step.signal.index
        is_counter = isinstance(index, tuple) and index[0] == "load"
        is_arrival = step.signal.kind == "arrive" and is_counter
        if is_arrival and isinstance(count, int) and 0 < count < step.threads:
            counts[index] = step.threads // count
    return counts


def _warpgroup_count(program: WarpProgram) -> int:
    """The number of warpgroups of a role that are simulated apart."""
    return max(_warpgroup_barriers(program).values(), default=1)


class _Block:
    """The barriers and units that the processes of a block share."""

    def __init__(
        self,
        arrivals_needed: ArrivalsNeeded,
        processes: int,
        samples: Mapping[LoopStep, IterationSample],
    ) -> None:
        self._arrivals_needed = arrivals_needed
        self._other_processes = processes - 1
        self._samples = samples
        self._barriers: dict[BarrierKey, Barrier] = {}
        # When each unit is free, for processes that have skipped as many iterations.
        self._free_s: dict[tuple[str, SkipCounts], float] = {}

    def execute(self, process: Process, program: WarpProgram) -> Iterator[_Wait]:
        """Execute a program, and yield after each step and at each wait."""
        for step in program:
            if isinstance(step, LoopStep):
                yield from self._execute_loop(process, step)
            elif isinstance(step, BranchStep):
                taken = step.then if process.takes_branch(step) else step.orelse
                yield from self.execute(process, taken)
            elif isinstance(step, BarrierOperation):
                yield from self._operate_on_barrier(process, step)
            else:
                begin_s = process.clock_s
                if isinstance(step, StraightCode):
                    self._execute(process, step)
                    process.record_wait(step, begin_s, step.time_s)
                else:
                    self._start(process, step)
                    process.record_wait(step, begin_s, step.issue_s)
                yield None

    def _execute_loop(self, process: Process, loop: LoopStep) -> Iterator[_Wait]:
        trip_count = process.round_on_average(loop, loop.trip_count)
        sample = self._samples.get(loop, EVERY_ITERATION)
        skipped = min(sample.skipped, max(trip_count - sample.skip_at, 0))
        skips, skipped_s = process.skips.get(sample.group, NO_SKIPS)
        times_s: list[float] = []
        for iteration in range(trip_count - skipped):
            if iteration == sample.skip_at and skipped:
                until_s = skipped_s + skipped * mean(times_s[-sample.sampled :])
                self._skip(process, sample.group, skips + 1, until_s)
            begin_s = process.simulated_s(sample.group)
            if loop.start is not None:
                passed = iteration if iteration < sample.skip_at else iteration + skipped
                process.loop_values[loop.var] = loop.start + passed
            yield from self.execute(process, loop.body)
            times_s.append(process.simulated_s(sample.group) - begin_s)
        process.loop_values.pop(loop.var, None)

    def _skip(self, process: Process, group: int, number: int, until_s: float) -> None:
        """Skip iterations, and move what is in the queues of asynchronous operations along."""
        before, begin_s = process.skip_counts, process.clock_s
        process.skip(group, number, until_s)
        for unit in _QUEUES:
            moved_s = self._free_s.get((unit, before), 0.0) + process.clock_s - begin_s
            after = unit, process.skip_counts
            self._free_s[after] = max(self._free_s.get(after, 0.0), moved_s)

    def _execute(self, process: Process, step: StraightCode) -> None:
        begin_s, skips = process.clock_s, process.skip_counts
        end_s = begin_s + step.time_s
        for unit, unit_busy_s in step.unit_busy_s.items():
            busy_s = unit_busy_s / process.warpgroups
            free_s = max(self._free_s.get((unit, skips), 0.0), begin_s)
            # The others have equal shares of the unit, and no more.
            delay_s = min(free_s - begin_s, self._other_processes * busy_s)
            end_s = max(end_s, begin_s + busy_s + delay_s)
            self._free_s[unit, skips] = free_s + busy_s
        process.clock_s = end_s

    def _start(self, process: Process, step: AsyncCopy | MatrixProduct) -> None:
        unit = ("tensor" if isinstance(step, MatrixProduct) else "port"), process.skip_counts
        begin_s = max(process.clock_s, self._free_s.get(unit, 0.0))
        self._free_s[unit] = begin_s + step.busy_s
        end_s = begin_s + step.busy_s + step.latency_s
        process.record_unit(step, unit[0], begin_s, end_s)
        if isinstance(step, MatrixProduct):
            process.product_ends_s.append(end_s)
        else:
            for signal in step.barriers:
                barrier = self._barrier(self._barrier_key(process, signal))
                barrier.latest_s = max(barrier.latest_s, end_s)
        process.clock_s += step.issue_s

    def _operate_on_barrier(self, process: Process, step: BarrierOperation) -> Iterator[_Wait]:
        begin_s = process.clock_s
        process.clock_s += step.issue_s
        if step.signal.kind == "drain":
            _wait_for_products(process, step.signal)
        else:
            yield from self._arrive_and_wait(process, step)
        process.record_wait(step, begin_s, step.issue_s)
        yield None

    def _arrive_and_wait(self, process: Process, step: BarrierOperation) -> Iterator[_Wait]:
        signal = step.signal
        key = self._barrier_key(process, signal)
        barrier = self._barrier(key)
        phase = len(barrier.phase_ends_s)
        threads = step.threads / process.warpgroups
        if signal.kind == "wait":
            phase = process.next_phase.get(key, -1 if signal.parity else 0)
            process.next_phase[key] = phase + 1
        elif signal.kind == "commit":
            at_s = max(process.product_ends_s, default=process.clock_s)
            barrier.arrive(threads, at_s, process.skips)
        else:
            at_s = process.clock_s + step.arrival_latency_s
            barrier.arrive(threads, at_s, process.skips)
        if signal.kind in ("wait", "sync") and phase >= 0:
            yield barrier, phase
            if phase >= len(barrier.phase_ends_s):  # it is for the previous phase
                process.next_phase[key] = phase
                phase -= 1
            process.clock_s = max(process.clock_s, barrier.phase_ends_s[phase])
            process.skips = latest_skips(process.skips, barrier.phase_skips[phase])

    def _barrier_key(self, process: Process, signal: Signal) -> BarrierKey:
        """The barrier that a signal is for; in a ring by data each is followed by the next."""
        if isinstance(signal.index, int):
            return signal.barrier, signal.index
        try:
            return signal.barrier, int(evaluate(signal.index, process.loop_values))
        except UnknownValueError:
            counter = signal.barrier, signal.kind
            number = process.operations.get(counter, 0)
            if signal.kind == "bring":
                number = process.operations.get((signal.barrier, "arrive"), 0)
            else:
                process.operations[counter] = number + 1
            if signal.index in process.own_barriers:
                number = number * process.warpgroups + process.rank
            slots = signal.slots if isinstance(signal.slots, int) else 1
            return signal.barrier, number % max(slots, 1)

    def _barrier(self, key: BarrierKey) -> Barrier:
        barrier = self._barriers.get(key)
        if barrier is None:
            barrier = self._barriers[key] = Barrier(self._arrivals_needed(key))
        return barrier


def _wait_for_products(process: Process, signal: Signal) -> None:
    """Wait for all products that the process has started but the last `signal.count`."""
    pending = signal.count if isinstance(signal.count, int) else 0
    complete = max(len(process.product_ends_s) - pending, 0)
    process.clock_s = max(process.clock_s, *process.product_ends_s[:complete], 0.0)
    del process.product_ends_s[:complete]
