"""The time of a warp that has its scheduler to itself, instruction by instruction.

A warp issues its instructions in order.  The distances between dependent ones of fixed latency are
stall cycles in the encoding, which the hardware does not check; the others report on one of six
barriers, for which later instructions wait (Jia et al., arXiv:1804.06826, section 2.1; R. Huerta
et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025, section 4).
Asynchronous copies and products have groups, for which an instruction waits.

Of a loop a few iterations are executed, and the rest takes as long as the last one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..control_flow import callee_of, reverse_postorder
from ..encoding import BARRIERS
from ..listing import Function
from .latencies import OPERANDS_CYCLES, Latencies
from .steps import Step, step_of

# Iterations of a loop that are executed: more than the usual stages of asynchronous copies.
_ITERATIONS = 4
_INNER_ITERATIONS = 3
# A block of instructions is part of the usual path if it is executed so often in an iteration.
_USUAL = 0.5


@dataclass(frozen=True)
class InstructionTime:
    """The cycles of a warp for all executions of an instruction in a block.

    Parameters
    ----------
    cycles
        Its stalls, and its waits for anything but global memory.
    memory_cycles
        The waits of any instruction for what it loads from global memory.
    """

    cycles: float = 0.0
    memory_cycles: float = 0.0


#: The times of the instructions of each function in a warp, by its name.
WarpTimes: TypeAlias = "Mapping[str, tuple[InstructionTime, ...]]"


def time_warps(
    kernel: Function,
    subroutines: Sequence[Function],
    executions: Mapping[str, Sequence[Sequence[float]]],
    latencies: Latencies,
    architecture: str,
) -> tuple[WarpTimes, ...]:
    """The times of each warp of a block whose executions differ from those of the others.

    Parameters
    ----------
    kernel, subroutines
        The functions of the kernel.
    executions
        How often each warp of a block executes each instruction, by function; one number where all
        warps do the same.
    latencies
        The latencies that the encoding does not have.
    architecture
        The architecture: ``sm_90a``.
    """
    functions = {one.name: one for one in (kernel, *subroutines)}
    paths = {name: _Path(one, latencies, architecture) for name, one in functions.items()}
    found: list[WarpTimes] = []
    for counts in _distinct_warps(functions, executions):
        warp = _Warp(latencies)
        _Walk(paths, counts, warp).call(kernel.name, 1.0, 1.0)
        found.append({name: warp.times(one) for name, one in functions.items()})
    return tuple(found)


def _distinct_warps(
    functions: Mapping[str, Function], executions: Mapping[str, Sequence[Sequence[float]]]
) -> Iterator[Mapping[str, Sequence[float]]]:
    """The executions of the blocks of instructions by warps that differ in them, by function."""
    most = max((len(one) for counts in executions.values() for one in counts), default=1)
    seen: set[tuple[float, ...]] = set()
    for warp in range(most):
        found = {
            name: [
                _of_warp(executions[name][block.first], warp) if name in executions else 0.0
                for block in function.blocks
            ]
            for name, function in functions.items()
        }
        key = tuple(count for counts in found.values() for count in counts)
        if key not in seen:
            seen.add(key)
            yield found


def _of_warp(counts: Sequence[float], warp: int) -> float:
    return counts[warp if len(counts) > 1 else 0] if counts else 0.0


class _Path:
    """The steps of a function, and its blocks and loops in the order of their execution."""

    def __init__(self, function: Function, latencies: Latencies, architecture: str) -> None:
        self.name = function.name
        self.function = function
        self.callees = {
            index: name
            for index, one in enumerate(function.instructions)
            if (name := callee_of(one)) is not None
        }
        self.steps = [
            step_of(index, one, latencies, architecture)
            for index, one in enumerate(function.instructions)
        ]
        self.inside = [self._members(number) for number in range(len(function.loops))]
        self.outermost = self._members(None)

    def _members(self, loop: int | None) -> list[tuple[bool, int]]:
        """The blocks and loops directly inside a loop, or the function: whether a loop, number."""
        innermost: dict[int, int] = {}
        for number, one in enumerate(self.function.loops):
            innermost.update(dict.fromkeys(one.blocks, number))
        found: dict[tuple[bool, int], None] = {}
        for block in reverse_postorder(self.function.blocks):
            inner = innermost.get(block)
            if inner == loop:
                found[False, block] = None
                continue
            while inner is not None and self.function.loops[inner].parent != loop:
                inner = self.function.loops[inner].parent
            if inner is not None:
                found[True, inner] = None
        return list(found)


class _Walk:
    """The execution of the usual path of a warp."""

    def __init__(
        self, paths: Mapping[str, _Path], counts: Mapping[str, Sequence[float]], warp: _Warp
    ) -> None:
        self._paths = paths
        self._counts = counts
        self._warp = warp

    def call(self, name: str, times: float, weight: float) -> None:
        """Execute a function, whose instructions count for `weight` executions each."""
        path = self._paths[name]
        self._pass(path, path.outermost, times, weight)

    def _pass(
        self, path: _Path, members: Sequence[tuple[bool, int]], times: float, weight: float
    ) -> None:
        """Execute `members` once; they are executed so many `times` in all."""
        counts = self._counts[path.name]
        for is_loop, number in members:
            if not is_loop:
                if counts[number] >= _USUAL * times:
                    self._execute(path, number, weight * counts[number] / times)
                continue
            loop = path.function.loops[number]
            total = counts[loop.header]
            trips = total / times
            if trips < _USUAL:
                continue
            most = _ITERATIONS if loop.depth == 1 else _INNER_ITERATIONS
            passes = int(min(most, max(round(trips), 1)))
            for iteration in range(passes):
                is_last = iteration == passes - 1
                rest = trips - passes + 1 if is_last else 1.0
                self._pass(path, path.inside[number], total, weight * rest)

    def _execute(self, path: _Path, number: int, weight: float) -> None:
        block = path.function.blocks[number]
        for index in range(block.first, block.last + 1):
            self._warp.issue(path.name, path.steps[index], weight)
            callee = path.callees.get(index)
            if callee is not None and callee in self._paths and self._counts[callee][0]:
                self.call(callee, self._counts[callee][0], weight)


@dataclass(frozen=True)
class _Report:
    """When a barrier, a copy or a product is released, and the load that it waits for."""

    cycle: float
    load: tuple[str, int] | None = None


_IDLE = _Report(0.0)


class _Warp:
    """The clock of a warp, its barriers and units, and where its cycles went."""

    def __init__(self, latencies: Latencies) -> None:
        self.cycles: dict[tuple[str, int], float] = {}
        self.memory_cycles: dict[tuple[str, int], float] = {}
        self._latencies = latencies
        self._clock = 0.0
        self._barriers = [_IDLE] * BARRIERS
        self._free: dict[str, float] = {}
        self._loaded = 0.0
        self._copies = _IDLE
        self._copy_groups: deque[_Report] = deque()
        self._product_groups: deque[_Report] = deque()

    def times(self, function: Function) -> tuple[InstructionTime, ...]:
        """The time of each instruction of a function."""
        places = [(function.name, index) for index in range(len(function.instructions))]
        return tuple(
            InstructionTime(self.cycles.get(place, 0.0), self.memory_cycles.get(place, 0.0))
            for place in places
        )

    def issue(self, function: str, step: Step, weight: float) -> None:
        """Issue an instruction, which counts for `weight` executions."""
        own = (function, step.index)
        for barrier in step.waits:
            self._wait(self._barriers[barrier], own, weight)
        if step.kind == "copy_wait":
            self._wait_for_groups(self._copy_groups, step.pending, own, weight)
        elif step.kind == "product_wait":
            self._wait_for_groups(self._product_groups, step.pending, own, weight)
        free = self._free.get(step.unit, 0.0)
        if step.kind == "product":
            # The tensor cores queue products, for which the warp does not wait.
            self._free[step.unit] = max(free, self._clock) + step.occupancy
        elif step.occupancy:
            self._wait(_Report(free), own, weight)
            self._free[step.unit] = self._clock + step.occupancy
        self._report(own, step)
        if step.kind == "barrier":
            self._wait(_Report(self._clock + self._latencies.barrier), own, weight)
        self.cycles[own] = self.cycles.get(own, 0.0) + step.stall * weight
        self._clock += step.stall

    def _wait(self, report: _Report, own: tuple[str, int], weight: float) -> None:
        waited = report.cycle - self._clock
        if waited <= 0:
            return
        self._clock = report.cycle
        into = self.cycles if report.load is None else self.memory_cycles
        place = own if report.load is None else report.load
        into[place] = into.get(place, 0.0) + waited * weight

    def _wait_for_groups(
        self, groups: deque[_Report], pending: int, own: tuple[str, int], weight: float
    ) -> None:
        while len(groups) > pending:
            self._wait(groups.popleft(), own, weight)

    def _report(self, own: tuple[str, int], step: Step) -> None:
        """Set the barriers that the instruction releases, and what it starts."""
        release = _Report(self._clock + (step.latency or 0.0))
        if step.latency is None or step.kind == "copy":
            # Data arrive in order, as fast as the port of the SM lets them.
            arrival = max(self._clock + self._latencies.global_memory, self._loaded + step.transfer)
            self._loaded = arrival
            release = _Report(arrival, own)
        if step.kind == "copy":
            self._copies = release
            release = _Report(self._clock + OPERANDS_CYCLES)
        elif step.kind == "commit":
            self._copy_groups.append(self._copies)
        elif step.kind == "product" and step.ends_group:
            done = self._free[step.unit] + self._latencies.product
            self._product_groups.append(_Report(done))
        if step.write_barrier is not None:
            self._release(step.write_barrier, release)
        if step.read_barrier is not None:
            read = self._clock + OPERANDS_CYCLES + step.occupancy
            self._release(step.read_barrier, _Report(read))

    def _release(self, barrier: int, report: _Report) -> None:
        """A barrier counts: it is released by the last instruction that reports on it."""
        if report.cycle >= self._barriers[barrier].cycle:
            self._barriers[barrier] = report
