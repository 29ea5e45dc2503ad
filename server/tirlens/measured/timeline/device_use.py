"""The time of one device: the union of its operations, the part of each in it, and the gaps."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tirlens.measured.performance.categories import CATEGORIES, Category
from tirlens.measured.timeline.step import DeviceTime, Gap

# The sum of a begin and a time may round to just before the next begin.
_ROUNDING_S = 1e-12
# The longest gaps of a device that are kept with their neighbours.
_MOST_GAPS = 50
#: The begin of a launch that the trace does not have.
NOT_LAUNCHED = float("inf")


@dataclass(slots=True)
class DeviceOperations:
    """The operations of a device, each an element of every array: at most 48 bytes."""

    starts: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))
    launched: array[float] = field(default_factory=lambda: array("d"))
    kernels: array[int] = field(default_factory=lambda: array("L"))
    streams: array[int] = field(default_factory=lambda: array("L"))
    graphs: array[int] = field(default_factory=lambda: array("L"))


@dataclass(frozen=True)
class DeviceUse:
    """The time of a device, with the kernels of its gaps as `DeviceOperations` numbers them.

    Attributes
    ----------
    part_s
        For each kernel its part of the busy time, of which operations that run at the same time
        have equal parts.
    alone_s
        For each category the time in which no operation of another one runs.
    """

    time: DeviceTime
    part_s: dict[int, float]
    alone_s: dict[Category, float]


def device_use(
    name: str | None, operations: DeviceOperations, categories: Sequence[Category], origin_s: float
) -> DeviceUse:
    """The time of a device in a step that begins at `origin_s`; `categories` are by kernel."""
    gaps = _Gaps(operations, origin_s)
    part_s: dict[int, float] = dict.fromkeys(operations.kernels, 0.0)
    alone_s: dict[Category, float] = dict.fromkeys(CATEGORIES, 0.0)
    busy_s = 0.0
    # The integral of one over the number of operations that run: the part of an operation is its
    # difference from the operation's begin to its end.
    integral_s = 0.0
    begun_s = array("d", bytes(8 * len(operations.starts)))
    running = 0
    of_category: dict[Category, int] = dict.fromkeys(CATEGORIES, 0)
    distinct = 0
    at_s = gaps.first_s
    for moment_s, is_start, number in _moments(operations):
        passed_s = moment_s - at_s
        kernel = operations.kernels[number]
        category = categories[kernel]
        if running:
            busy_s += passed_s
            integral_s += passed_s / running
            if distinct == 1:
                alone_s[_only(of_category)] += passed_s
        elif is_start and passed_s > _ROUNDING_S:
            gaps.add(at_s, moment_s, number)
        if is_start:
            begun_s[number] = integral_s
            running += 1
            of_category[category] += 1
            distinct += of_category[category] == 1
        else:
            part_s[kernel] += integral_s - begun_s[number]
            running -= 1
            of_category[category] -= 1
            distinct -= of_category[category] == 0
            gaps.last = number
        at_s = moment_s
    sum_s = sum(end - start for start, end in zip(operations.starts, operations.ends, strict=True))
    time = DeviceTime(
        name,
        at_s - gaps.first_s,
        busy_s,
        max(sum_s - busy_s, 0.0),
        gaps.count,
        gaps.graph_s,
        gaps.late_s if gaps.has_launches else None,
        gaps.longest,
    )
    return DeviceUse(time, part_s, alone_s)


class _Gaps:
    """The gaps of a device."""

    def __init__(self, placed: DeviceOperations, origin_s: float) -> None:
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
        if launched_s == NOT_LAUNCHED:
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


def _moments(placed: DeviceOperations) -> Iterator[tuple[float, bool, int]]:
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


def _only(of_category: dict[Category, int]) -> Category:
    return next(category for category, running in of_category.items() if running)
