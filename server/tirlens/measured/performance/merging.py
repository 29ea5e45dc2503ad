"""Operations that several devices execute at the same time, merged to one for all.

A model that is split over devices has each operation once on each.  The step waits for the longest
of them; a collective ends on all devices together, and differs by how long each waits for the
others, so that the mean is its time (tenstorrent/tt-perf-report, README).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tirlens.measured.records import Operation


@dataclass(frozen=True)
class Merged:
    """Operations of several devices.

    Attributes
    ----------
    operations
        One for each operation that devices have in common.
    devices
        How many devices they are from.
    begins
        For each of them the number of operations before its first on any device.
    incomplete
        The operations that some devices do not have.
    """

    operations: tuple[Operation, ...]
    devices: int
    begins: tuple[int, ...] = ()
    incomplete: int = 0


_Device = tuple[str, str | None]


def execute_the_same(operations: Iterable[Operation]) -> bool:
    """Whether there are several devices, and each has the same operations as often."""
    counts: dict[_Device, Counter[str]] = {}
    for operation in operations:
        if operation.kind != "host" and operation.device is not None:
            counts.setdefault(_device(operation), Counter())[operation.name] += 1
    first = next(iter(counts.values()), None)
    return len(counts) > 1 and all(count == first for count in counts.values())


def merge(operations: Iterable[Operation]) -> Merged:
    """Merge the n-th execution of each name on each device; those of the host stay as they are."""
    executed: Counter[tuple[_Device, str]] = Counter()
    groups: dict[object, list[Operation]] = {}
    devices: set[_Device] = set()
    begins: list[int] = []
    for number, operation in enumerate(operations):
        if operation.kind == "host" or operation.device is None:
            groups[operation.position] = [operation]
            begins.append(number)
            continue
        device = _device(operation)
        devices.add(device)
        executed[device, operation.name] += 1
        key = operation.name, executed[device, operation.name]
        group = groups.setdefault(key, [])
        if not group:
            begins.append(number)
        group.append(operation)
    incomplete = sum(
        len(group) < len(devices) for group in groups.values() if group[0].kind != "host"
    )
    return Merged(tuple(map(_merge, groups.values())), len(devices), tuple(begins), incomplete)


def _merge(group: Sequence[Operation]) -> Operation:
    # The first device speaks for all.
    group = sorted(group, key=lambda operation: _natural(operation.device or ""))
    times = [operation.time_s for operation in group if operation.time_s is not None]
    if not times or len(group) == 1:
        return group[0]
    if group[0].kind == "collective":
        return replace(group[0], time_s=sum(times) / len(times))
    return max(group, key=lambda operation: -1.0 if operation.time_s is None else operation.time_s)


def _natural(name: str) -> list[tuple[int, str]]:
    """A key by which device 10 is behind device 9."""
    return [
        (int(part), "") if part.isdecimal() and len(part) < 19 else (-1, part)
        for part in re.split(r"(\d+)", name)
    ]


def _device(operation: Operation) -> _Device:
    """Devices of two hosts have the same names."""
    return operation.position.path, operation.device
