"""A step of a model as measured: what ran when on each device, and what the gaps cost.

Operations of several streams, and those of programmatic dependent launch, run at the same time.
The time of a device is therefore the union of its operations, and each instant of it belongs in
equal parts to the operations that run then: the parts of all kernels and the idle time are the
device's wall time.

Files have clocks of their own: a device is one of a file, and each file begins at 0.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import PurePath
from typing import Literal, TypeAlias

from tirlens.measured.performance.categories import CATEGORIES, Category, category_of
from tirlens.measured.records import Operation

#: ``trace``: operations are where the trace says; ``order``: one after the other in the order of
#: the rows with the gaps that the trace states; ``none``: the trace has neither, or rows that sum
#: several executions.
Clock: TypeAlias = Literal["trace", "order", "none"]

# The sum of a begin and a time may round to just before the next begin.
_ROUNDING_S = 1e-12
# The longest gaps of a device that are kept with their neighbours.
_MOST_GAPS = 50


@dataclass(frozen=True, slots=True)
class Lane:
    """The operations of a stream of a device in the order of their begins.

    `kernels` are indices of `Step.kernels`.  The begin of the step is 0.
    """

    device: str | None
    stream: str | None
    starts_s: Sequence[float]
    ends_s: Sequence[float]
    kernels: Sequence[int]


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which a device ran nothing.

    Attributes
    ----------
    before, after
        Indices of `Step.kernels`: what ended last and what begins next.
    is_in_graph
        Both are of one launch of a graph, so the host had no part in it.
    late_launch_s
        The part of it before the host began to launch what comes next, where the trace says so.
    """

    start_s: float
    end_s: float
    before: int
    after: int
    is_in_graph: bool = False
    late_launch_s: float | None = None

    @property
    def length_s(self) -> float:
        """Its length."""
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True)
class DeviceTime:
    """The time of a device from its first to its last operation.

    Attributes
    ----------
    wall_s, busy_s
        From the begin of the first to the end of the last; the part in which something runs.
    overlapped_s
        The sum of the times of the operations less `busy_s`: what ran beside something else.
    gaps
        How many gaps there are.
    graph_gap_s
        Of the idle time, the gaps within one launch of a graph.
    late_launch_s
        Of the idle time, what passed before the host began the launch; None where the trace has no
        launches.
    longest
        The longest gaps, the longest first.
    """

    device: str | None
    wall_s: float
    busy_s: float
    overlapped_s: float
    gaps: int
    graph_gap_s: float
    late_launch_s: float | None
    longest: tuple[Gap, ...]

    @property
    def idle_s(self) -> float:
        """The time in which nothing ran."""
        return self.wall_s - self.busy_s if self.gaps else 0.0


@dataclass(frozen=True, slots=True)
class KernelTime:
    """All executions of the operations of one name.

    Attributes
    ----------
    sum_s
        The sum of their times.
    part_s
        Their part of the devices' busy time, of which operations that run at the same time have
        equal parts; None without a clock.
    reachable_s, reachable_of_s
        What those executions would take at their reachable time for which one is known, and what
        they took; None where none has one.
    """

    name: str
    category: Category
    executions: int
    sum_s: float
    part_s: float | None
    reachable_s: float | None
    reachable_of_s: float | None


@dataclass(frozen=True, slots=True)
class CategoryTime:
    """All operations of one category; `alone_s` is the time with none of another on the device."""

    category: Category
    executions: int
    sum_s: float
    part_s: float | None
    alone_s: float | None


@dataclass(frozen=True, slots=True)
class Step:
    """A step: its lanes, and where its time goes.

    Attributes
    ----------
    kernels, categories
        Those with the most time first.
    untimed
        Operations without a time, which are in no sum.
    unplaced
        Operations without a begin in a trace that has begins, which are in no lane.
    unknown_gaps
        Gaps that a trace without begins does not state: idle time is at least what is said.
    """

    clock: Clock
    lanes: tuple[Lane, ...]
    devices: tuple[DeviceTime, ...]
    kernels: tuple[KernelTime, ...]
    categories: tuple[CategoryTime, ...]
    untimed: int = 0
    unplaced: int = 0
    unknown_gaps: int = 0

    @property
    def executions(self) -> int:
        """How many executions are in the sums."""
        return sum(kernel.executions for kernel in self.kernels)

    @property
    def sum_s(self) -> float:
        """The sum of the times of all operations."""
        return sum(kernel.sum_s for kernel in self.kernels)

    @property
    def wall_s(self) -> float | None:
        """The wall times of all devices together; None without a clock."""
        return sum(device.wall_s for device in self.devices) if self.devices else None

    @property
    def busy_s(self) -> float | None:
        """The busy times of all devices together; None without a clock."""
        return sum(device.busy_s for device in self.devices) if self.devices else None

    @property
    def idle_s(self) -> float | None:
        """The idle times of all devices together; None without a clock."""
        return sum(device.idle_s for device in self.devices) if self.devices else None

    def share(self, kernel: KernelTime | CategoryTime) -> float | None:
        """The part of the wall time, or without a clock of the sum of all times."""
        if kernel.part_s is not None and self.wall_s:
            return kernel.part_s / self.wall_s
        return kernel.sum_s / self.sum_s if self.sum_s and self.clock == "none" else None


@dataclass(slots=True)
class _Sum:
    name: str
    category: Category
    executions: int = 0
    sum_s: float = 0.0
    part_s: float = 0.0
    reachable_s: float = 0.0
    reachable_of_s: float = 0.0


@dataclass(slots=True)
class _DeviceOperations:
    """The operations of a device, each a place in some arrays: 40 bytes."""

    starts: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))
    launched: array[float] = field(default_factory=lambda: array("d"))
    kernels: array[int] = field(default_factory=lambda: array("L"))
    streams: array[int] = field(default_factory=lambda: array("H"))
    graphs: array[int] = field(default_factory=lambda: array("L"))


_NOT_LAUNCHED = float("inf")
# The file, and the device as the file names it.
_DeviceKey: TypeAlias = tuple[str, str | None]


def step_of(
    operations: Iterable[Operation], reachable_s: Iterable[float | None] = repeat(None)
) -> Step:
    """The step of some operations, in memory of some dozen bytes for each.

    Parameters
    ----------
    operations
        In the order of the trace; those of hosts are left out.
    reachable_s
        For each of them the least time that it can take, of all its executions; None where that
        is not known.
    """
    return _Collector().step(operations, reachable_s)


class _Collector:
    def __init__(self) -> None:
        self._sums: list[_Sum] = []
        self._numbers: dict[tuple[str, Category], int] = {}
        self._streams: dict[str | None, int] = {}
        self._graphs: dict[str, int] = {}
        self._placed: dict[_DeviceKey, _DeviceOperations] = {}
        self._in_order: dict[_DeviceKey, _DeviceOperations] = {}
        self._untimed = self._unplaced = self._unknown_gaps = 0
        self._has_sums = self._has_gaps = False

    def step(self, operations: Iterable[Operation], reachable_s: Iterable[float | None]) -> Step:
        for operation, least_s in zip(operations, reachable_s, strict=False):
            if operation.kind != "host":
                self._add(operation, least_s)
        has_starts = any(found.starts for found in self._placed.values())
        clock: Clock = "none"
        found: dict[_DeviceKey, _DeviceOperations] = {}
        if has_starts and not self._has_sums:
            clock, found = "trace", self._placed
        elif self._has_gaps and not self._has_sums:
            clock, found = "order", self._in_order
        origins_s: dict[str, float] = {}
        for (path, _), one in found.items():
            origins_s[path] = min(origins_s.get(path, math.inf), *one.starts)
        names = _device_names(found)
        alone: dict[Category, float] = dict.fromkeys(CATEGORIES, 0.0)
        devices = [
            self._device(names[key], one, origins_s[key[0]], alone) for key, one in found.items()
        ]
        order = sorted(range(len(self._sums)), key=self._rank)
        places = {number: place for place, number in enumerate(order)}
        has_clock = bool(devices)
        return Step(
            clock if has_clock else "none",
            tuple(
                lane
                for key, one in found.items()
                for lane in self._lanes(names[key], one, places, origins_s[key[0]])
            ),
            tuple(_renumber(device, places) for device in devices),
            tuple(_kernel_time(self._sums[number], has_clock) for number in order),
            self._categories(alone if has_clock else None),
            self._untimed,
            self._unplaced if clock == "trace" else 0,
            self._unknown_gaps if clock == "order" else 0,
        )

    def _rank(self, number: int) -> tuple[float, float, str]:
        found = self._sums[number]
        return (-found.part_s, -found.sum_s, found.name)

    def _add(self, operation: Operation, reachable_s: float | None) -> None:
        if operation.time_s is None:
            self._untimed += 1
            return
        number = self._number(operation)
        found = self._sums[number]
        found.executions += operation.executions
        found.sum_s += operation.time_s
        if reachable_s is not None:
            found.reachable_s += reachable_s
            found.reachable_of_s += operation.time_s
        if operation.executions != 1:
            self._has_sums = True
        elif not self._has_sums:
            self._place(operation, operation.time_s, number)

    def _number(self, operation: Operation) -> int:
        key = (operation.name, category_of(operation.name, operation.kind))
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._sums)
            self._sums.append(_Sum(*key))
        return number

    def _place(self, operation: Operation, time_s: float, number: int) -> None:
        key = (operation.position.path, operation.device)
        if operation.start_s is None:
            self._unplaced += 1
            placed = self._in_order.setdefault(key, _DeviceOperations())
            if operation.gap_s is not None:
                self._has_gaps = True
            elif placed.ends:
                self._unknown_gaps += 1
            # A gap before the first has nothing before it.
            gap_s = (operation.gap_s or 0.0) if placed.ends else 0.0
            start_s = (placed.ends[-1] if placed.ends else 0.0) + gap_s
        else:
            placed = self._placed.setdefault(key, _DeviceOperations())
            start_s = operation.start_s
        placed.starts.append(start_s)
        placed.ends.append(start_s + time_s)
        launched_s = operation.launched_s
        placed.launched.append(_NOT_LAUNCHED if launched_s is None else launched_s)
        placed.kernels.append(number)
        stream = self._streams.setdefault(operation.stream, len(self._streams))
        placed.streams.append(min(stream, 0xFFFF))
        graph = operation.graph_launch
        placed.graphs.append(
            0 if graph is None else self._graphs.setdefault(graph, len(self._graphs) + 1)
        )

    def _device(
        self,
        name: str | None,
        placed: _DeviceOperations,
        origin_s: float,
        alone: dict[Category, float],
    ) -> DeviceTime:
        """The union of the operations of a device, and the part of each kernel in it."""
        gaps = _Gaps(placed, origin_s)
        busy_s = 0.0
        # The integral of one over the number of operations that run: the part of an operation is
        # its difference from the operation's begin to its end.
        integral_s = 0.0
        begun_s = array("d", bytes(8 * len(placed.starts)))
        running = 0
        of_category: dict[Category, int] = dict.fromkeys(CATEGORIES, 0)
        distinct = 0
        at_s = gaps.first_s
        for moment_s, is_start, number in _moments(placed):
            passed_s = moment_s - at_s
            category = self._sums[placed.kernels[number]].category
            if running:
                busy_s += passed_s
                integral_s += passed_s / running
                if distinct == 1:
                    alone[_only(of_category)] += passed_s
            elif is_start and passed_s > _ROUNDING_S:
                gaps.add(at_s, moment_s, number)
            if is_start:
                begun_s[number] = integral_s
                running += 1
                of_category[category] += 1
                distinct += of_category[category] == 1
            else:
                self._sums[placed.kernels[number]].part_s += integral_s - begun_s[number]
                running -= 1
                of_category[category] -= 1
                distinct -= of_category[category] == 0
                gaps.last = number
            at_s = moment_s
        sum_s = sum(end - start for start, end in zip(placed.starts, placed.ends, strict=True))
        return DeviceTime(
            name,
            at_s - gaps.first_s,
            busy_s,
            max(sum_s - busy_s, 0.0),
            gaps.count,
            gaps.graph_s,
            gaps.late_s if gaps.has_launches else None,
            gaps.longest,
        )

    def _lanes(
        self, device: str | None, placed: _DeviceOperations, places: dict[int, int], origin_s: float
    ) -> Iterator[Lane]:
        names = list(self._streams)
        by_stream: dict[int, list[int]] = {}
        for number in sorted(range(len(placed.starts)), key=placed.starts.__getitem__):
            by_stream.setdefault(placed.streams[number], []).append(number)
        for stream, numbers in sorted(by_stream.items()):
            yield Lane(
                device,
                names[stream],
                array("d", [placed.starts[number] - origin_s for number in numbers]),
                array("d", [placed.ends[number] - origin_s for number in numbers]),
                array("L", [places[placed.kernels[number]] for number in numbers]),
            )

    def _categories(self, alone: dict[Category, float] | None) -> tuple[CategoryTime, ...]:
        found: list[CategoryTime] = []
        for category in CATEGORIES:
            sums = [one for one in self._sums if one.category == category]
            if sums:
                found.append(
                    CategoryTime(
                        category,
                        sum(one.executions for one in sums),
                        sum(one.sum_s for one in sums),
                        None if alone is None else sum(one.part_s for one in sums),
                        None if alone is None else alone[category],
                    )
                )
        return tuple(sorted(found, key=lambda one: (-(one.part_s or 0.0), -one.sum_s)))


class _Gaps:
    """The gaps of a device."""

    def __init__(self, placed: _DeviceOperations, origin_s: float) -> None:
        self._placed = placed
        self._origin_s = origin_s
        self._heap: list[tuple[float, float, int, int]] = []
        self.first_s = min(placed.starts)
        self.has_launches = False
        self.last = 0
        self.count = 0
        self.graph_s = 0.0
        self.late_s = 0.0

    def add(self, start_s: float, end_s: float, after: int) -> None:
        self.count += 1
        length_s = end_s - start_s
        if self._is_in_graph(self.last, after):
            self.graph_s += length_s
        elif (late_s := self._late_s(start_s, end_s, after)) is not None:
            self.has_launches = True
            self.late_s += late_s
        found = (length_s, start_s, self.last, after)
        if len(self._heap) < _MOST_GAPS:
            heapq.heappush(self._heap, found)
        else:
            heapq.heappushpop(self._heap, found)

    def _is_in_graph(self, before: int, after: int) -> bool:
        graphs = self._placed.graphs
        return bool(graphs[after]) and graphs[before] == graphs[after]

    def _late_s(self, start_s: float, end_s: float, after: int) -> float | None:
        launched_s = self._placed.launched[after]
        if launched_s == _NOT_LAUNCHED:
            return None
        return min(max(launched_s - start_s, 0.0), end_s - start_s)

    @property
    def longest(self) -> tuple[Gap, ...]:
        kernels = self._placed.kernels
        return tuple(
            Gap(
                start_s - self._origin_s,
                start_s + length_s - self._origin_s,
                kernels[before],
                kernels[after],
                self._is_in_graph(before, after),
                None
                if self._is_in_graph(before, after)
                else self._late_s(start_s, start_s + length_s, after),
            )
            for length_s, start_s, before, after in sorted(self._heap, reverse=True)
        )


def _moments(placed: _DeviceOperations) -> Iterator[tuple[float, bool, int]]:
    """The begins and ends in their order; of those at one moment, the ends come first."""
    count = len(placed.starts)
    # Of operations that begin at one moment, those without a length come first.
    by_start = sorted(range(count), key=lambda number: (placed.starts[number], placed.ends[number]))
    by_end = sorted(range(count), key=lambda number: (placed.ends[number], placed.starts[number]))
    at = 0
    for number in by_end:
        end_s = placed.ends[number]
        while at < count and (
            placed.starts[by_start[at]] < end_s
            # An operation without a length begins before it ends.
            or placed.starts[by_start[at]] == end_s == placed.ends[by_start[at]]
        ):
            yield placed.starts[by_start[at]], True, by_start[at]
            at += 1
        yield end_s, False, number


def _device_names(keys: Iterable[_DeviceKey]) -> dict[_DeviceKey, str | None]:
    """The names of devices, with their files if there are several."""
    keys = list(keys)
    if len({path for path, _ in keys}) < 2:
        return {key: key[1] for key in keys}
    return {
        (path, device): PurePath(path).name
        if device is None
        else f"{device}, {PurePath(path).name}"
        for path, device in keys
    }


def _only(of_category: dict[Category, int]) -> Category:
    return next(category for category, running in of_category.items() if running)


def _kernel_time(found: _Sum, has_clock: bool) -> KernelTime:
    has_reachable = found.reachable_of_s > 0
    return KernelTime(
        found.name,
        found.category,
        found.executions,
        found.sum_s,
        found.part_s if has_clock else None,
        found.reachable_s if has_reachable else None,
        found.reachable_of_s if has_reachable else None,
    )


def _renumber(device: DeviceTime, places: dict[int, int]) -> DeviceTime:
    longest = tuple(
        Gap(
            gap.start_s,
            gap.end_s,
            places[gap.before],
            places[gap.after],
            gap.is_in_graph,
            gap.late_launch_s,
        )
        for gap in device.longest
    )
    return DeviceTime(
        device.device,
        device.wall_s,
        device.busy_s,
        device.overlapped_s,
        device.gaps,
        device.graph_gap_s,
        device.late_launch_s,
        longest,
    )
