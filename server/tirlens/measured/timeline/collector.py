"""The step of some operations, from arrays of their begins and ends."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import PurePath
from typing import TypeAlias

from tirlens.measured.performance.categories import CATEGORIES, Category, category_of
from tirlens.measured.records import Operation
from tirlens.measured.timeline.device_use import (
    NOT_LAUNCHED,
    DeviceOperations,
    DeviceUse,
    device_use,
)
from tirlens.measured.timeline.step import CategoryTime, Clock, DeviceTime, KernelTime, Lane, Step

# The file, and the device as the file names it.
_DeviceKey: TypeAlias = tuple[str, str | None]


@dataclass(slots=True)
class _Sum:
    name: str
    category: Category
    executions: int = 0
    sum_s: float = 0.0
    part_s: float = 0.0
    reachable_s: float = 0.0
    reachable_of_s: float = 0.0


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
        self._placed: dict[_DeviceKey, DeviceOperations] = {}
        self._in_order: dict[_DeviceKey, DeviceOperations] = {}
        self._untimed = self._unplaced = self._unknown_gaps = 0
        self._has_sums = self._has_gaps = False

    def step(self, operations: Iterable[Operation], reachable_s: Iterable[float | None]) -> Step:
        for operation, least_s in zip(operations, reachable_s, strict=False):
            if operation.kind != "host":
                self._add(operation, least_s)
        has_starts = any(found.starts for found in self._placed.values())
        clock: Clock = "none"
        found: dict[_DeviceKey, DeviceOperations] = {}
        if has_starts and not self._has_sums:
            clock, found = "trace", self._placed
        elif self._has_gaps and not self._has_sums:
            clock, found = "order", self._in_order
        origins_s: dict[str, float] = {}
        for (path, _), one in found.items():
            origins_s[path] = min(origins_s.get(path, math.inf), min(one.starts))
        names = _device_names(found)
        categories: list[Category] = [one.category for one in self._sums]
        uses = [
            device_use(names[key], one, categories, origins_s[key[0]]) for key, one in found.items()
        ]
        for use in uses:
            for number, part_s in use.part_s.items():
                self._sums[number].part_s += part_s
        order = sorted(range(len(self._sums)), key=self._rank)
        places = {number: position for position, number in enumerate(order)}
        has_clock = bool(uses)
        return Step(
            clock if has_clock else "none",
            tuple(
                lane
                for key, one in found.items()
                for lane in self._lanes(names[key], one, places, origins_s[key[0]])
            ),
            tuple(_renumber(use.time, places) for use in uses),
            tuple(_kernel_time(self._sums[number], has_clock) for number in order),
            self._categories(uses),
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
            placed = self._in_order.setdefault(key, DeviceOperations())
            if operation.gap_s is not None:
                self._has_gaps = True
            elif placed.ends:
                self._unknown_gaps += 1
            # A gap before the first has nothing before it.
            gap_s = (operation.gap_s or 0.0) if placed.ends else 0.0
            start_s = (placed.ends[-1] if placed.ends else 0.0) + gap_s
        else:
            placed = self._placed.setdefault(key, DeviceOperations())
            start_s = operation.start_s
        placed.starts.append(start_s)
        placed.ends.append(start_s + time_s)
        launched_s = operation.launched_s
        placed.launched.append(NOT_LAUNCHED if launched_s is None else launched_s)
        placed.kernels.append(number)
        stream = self._streams.setdefault(operation.stream, len(self._streams))
        placed.streams.append(stream)
        graph = operation.graph_launch
        placed.graphs.append(
            0 if graph is None else self._graphs.setdefault(graph, len(self._graphs) + 1)
        )

    def _lanes(
        self, device: str | None, placed: DeviceOperations, places: dict[int, int], origin_s: float
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

    def _categories(self, uses: Sequence[DeviceUse]) -> tuple[CategoryTime, ...]:
        found: list[CategoryTime] = []
        for category in CATEGORIES:
            sums = [one for one in self._sums if one.category == category]
            if sums:
                found.append(
                    CategoryTime(
                        category,
                        sum(one.executions for one in sums),
                        sum(one.sum_s for one in sums),
                        sum(one.part_s for one in sums) if uses else None,
                        sum(use.alone_s[category] for use in uses) if uses else None,
                    )
                )
        return tuple(sorted(found, key=lambda one: (-(one.part_s or 0.0), -one.sum_s)))


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
        replace(gap, before=places[gap.before], after=places[gap.after]) for gap in device.longest
    )
    return replace(device, longest=longest)
