"""A run of a program as one trace says it: its operations, summed by what they compute."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tirlens.measured.groups import Gaps, Group, identity_of
from tirlens.measured.reading.numbers import seconds_of
from tirlens.measured.records import MeasuredDevice, Operation, OperationKind, Tensor
from tirlens.measured.runs.significance import (
    Sample,
    sample_of_executions,
    sample_of_percentiles,
)

Sizes = tuple[tuple[tuple[int, ...] | None, str | None], ...]

#: Operations beyond so many elements are in the sums of a run alone.
MOST_ELEMENTS = 200_000


@dataclass(frozen=True, slots=True)
class Key:
    """What an operation is in every run: neither its device, nor its place in memory, nor its time.

    Attributes
    ----------
    name, kind, grid, block
        As the trace has them.
    sizes
        Shape and type of each argument; empty where the trace does not say them.
    call
        File, call and sizes of a kernel that ``tirlens measure`` timed; empty for other traces.
    """

    name: str
    kind: OperationKind
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    sizes: Sizes
    call: tuple[str, ...] = ()

    @property
    def has_work(self) -> bool:
        """Whether the trace says what it computes, beside the launch."""
        return bool(self.sizes or self.call)

    def has_same_work(self, other: Key) -> bool:
        """Whether both are known to compute with arguments of the same sizes."""
        return self.has_work and self.sizes == other.sizes and self.call == other.call


@dataclass(frozen=True, slots=True)
class Element:
    """What is compared: all executions with one key, or the execution `occurrence` of it."""

    key: Key
    occurrence: int = 0


@dataclass
class Run:
    """One run.

    Attributes
    ----------
    path
        The trace.
    groups
        The executions of each element, in the order of their first operations.
    devices
        What the trace says of the devices.
    operations
        How many operations of devices it has.
    operations_without_time
        Of how many of them it has no time.
    operations_left_out
        How many of them are beyond `MOST_ELEMENTS`: they are in the sums alone.
    time_s
        The time of all operations on devices.
    gap_s
        The time for which devices idled between them; None where the trace does not say it.
    """

    path: str
    groups: dict[Element, Group] = field(default_factory=dict[Element, Group])
    devices: list[MeasuredDevice] = field(default_factory=list[MeasuredDevice])
    operations: int = 0
    operations_without_time: int = 0
    operations_left_out: int = 0
    time_s: float = 0.0
    gap_s: float | None = None

    @property
    def device_names(self) -> frozenset[str]:
        """The names of the devices, else their architectures; empty where the trace has neither."""
        names = (device.name or device.architecture for device in self.devices)
        return frozenset(name for name in names if name)


def key_of(operation: Operation) -> Key:
    """The key of an operation."""
    call = operation.attributes.get("call")
    file = operation.attributes.get("file", "").replace("\\", "/").rpartition("/")[2]
    return Key(
        operation.name,
        operation.kind,
        operation.grid,
        operation.block,
        tuple(map(_size, (*operation.inputs, *operation.outputs))),
        () if call is None else (file, call, operation.attributes.get("bindings", "")),
    )


def _size(tensor: Tensor) -> tuple[tuple[int, ...] | None, str | None]:
    return tensor.logical_shape or tensor.shape, tensor.dtype


def run_of(
    path: str,
    operations: Iterable[Operation],
    devices: Iterable[MeasuredDevice] = (),
    by_place: bool = False,
) -> Run:
    """Sum the operations of a trace; `by_place`, each execution is an element of its own.

    Operations of the host are left out.
    """
    run = Run(path, devices=list(devices))
    occurrences: dict[Key, int] = {}
    gaps = Gaps()
    for operation in operations:
        if operation.kind == "host":
            continue
        key = key_of(operation)
        occurrence = 0
        if by_place:
            occurrence = occurrences.get(key, 0)
            occurrences[key] = occurrence + 1
        _add(run, Element(key, occurrence), operation, gaps.gap_before_s(operation))
    return run


def _add(run: Run, element: Element, operation: Operation, gap_s: float | None) -> None:
    run.operations += operation.executions
    if operation.time_s is None:
        run.operations_without_time += operation.executions
    else:
        run.time_s += operation.time_s
    if gap_s is not None:
        run.gap_s = (run.gap_s or 0.0) + gap_s
    group = run.groups.get(element)
    if group is None:
        if len(run.groups) >= MOST_ELEMENTS:
            run.operations_left_out += operation.executions
            return
        group = run.groups.setdefault(element, Group(identity_of(operation), operation))
    group.add(operation, gap_s)


def sample_of_group(group: Group) -> Sample | None:
    """The sample of the executions of a group; None where the trace has no time of any."""
    attributes = group.first.attributes
    names = ("measured_p10_s", "measured_p90_s", "samples")
    if group.rows == 1 and group.first.time_s is not None and all(map(attributes.get, names)):
        try:
            low_s, high_s = (seconds_of(attributes[name]) for name in names[:2])
            count = int(attributes["samples"])
        except ValueError:
            return sample_of_executions(group.time)
        if count > 1:
            return sample_of_percentiles(group.first.time_s, low_s, high_s, count)
    return sample_of_executions(group.time)
