"""The input of a rule of advice on measured operations, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

from tirlens.hardware import Device
from tirlens.measured.performance.rates import Performance, occupied_time_s
from tirlens.measured.records import Operation, Tensor

Unit: TypeAlias = Literal["s", "B", "share", ""]


class Figure(NamedTuple):
    """A figure of the trace or of the device that an advice rests on; a share is a part of 1."""

    name: str
    value: float
    unit: Unit = ""


@dataclass(frozen=True, slots=True)
class MeasuredAdvice:
    """A change that would make operations faster, or more accurate at the same time.

    Attributes
    ----------
    rule
        The name of the rule.
    message
        What to change.
    subject
        The operations: one name, or what they have in common.
    rows
        The IDs of the operations.
    evidence
        The figures that it rests on.
    saving_s
        The most time that it can save, of all `rows` together; None where it saves none.
    is_idle_time
        It saves time in which nothing runs, not device time.
    """

    rule: str
    message: str
    subject: str
    rows: tuple[int, ...]
    evidence: tuple[Figure, ...]
    saving_s: float | None = None
    is_idle_time: bool = False


@dataclass(frozen=True)
class Executions:
    """Rows that execute the same operation with the same arguments and settings."""

    rows: tuple[Performance, ...]
    device: Device | None

    @property
    def operation(self) -> Operation:
        """The first of them."""
        return self.rows[0].operation

    @property
    def title(self) -> str:
        """Its name, with the sizes that its trace has."""
        description = self.operation.attributes.get("description")
        return f"{self.operation.name} {description}" if description else self.operation.name

    @property
    def bound(self) -> str | None:
        """What bounds most of their time."""
        times: dict[str | None, float] = {}
        for row in self.rows:
            times[row.bound] = times.get(row.bound, 0.0) + (row.operation.time_s or 0.0)
        return max(times, key=lambda bound: times[bound])

    @property
    def numbers(self) -> tuple[int, ...]:
        """The IDs of the rows."""
        return tuple(row.number for row in self.rows)

    @property
    def executions(self) -> int:
        """How often they ran."""
        return sum(row.operation.executions for row in self.rows)

    @property
    def time_s(self) -> float:
        """Their device time, as far as it is known."""
        return sum(row.operation.time_s or 0.0 for row in self.rows)

    def has_feature(self, feature: str) -> bool:
        """Whether their device is known and has a feature, such as ``tensix``."""
        return self.device is not None and feature in self.device.features

    @property
    def dram_s(self) -> float | None:
        """The time of their DRAM bytes at the rate that the device sustains."""
        total = self._sum("dram_bytes")
        if total is None or self.device is None:
            return None
        dram = self.device.dram
        return total / (dram.bytes_per_s * dram.sustained_fraction)

    @property
    def flop(self) -> int | None:
        """Their FLOP; None where one has no count."""
        return self._sum("flop")

    def _sum(self, name: Literal["flop", "dram_bytes"]) -> int | None:
        total = 0
        for row in self.rows:
            value = row.operation.flop if name == "flop" else row.operation.dram_bytes
            if value is None:
                return None
            total += value
        return total

    def saving_down_to_s(self, least_s: float | None) -> float:
        """The time saved if they took `least_s`, or their DRAM time where that is longer."""
        bounds = [bound for bound in (least_s, self.dram_s) if bound is not None]
        return max(self.time_s - max(bounds), 0.0) if bounds else 0.0


@dataclass(frozen=True)
class Question:
    """All operations that are reported.

    Attributes
    ----------
    rows
        In the order of their execution.
    kernels
        The same, those of one operation with the same arguments and settings together.
    device_of
        The device that an operation ran on.
    busy_s, total_s
        The device time of all, without and with the gaps between them.
    """

    rows: tuple[Performance, ...]
    kernels: tuple[Executions, ...]
    device_of: Callable[[Operation], Device | None]
    busy_s: float
    total_s: float


class Rule(Protocol):
    """The function `check` of a rule."""

    def __call__(self, question: Question, /) -> Iterator[MeasuredAdvice]:
        """What the rule finds."""
        ...


def question_of(
    rows: Sequence[Performance], device_of: Callable[[Operation], Device | None]
) -> Question:
    """The question about `rows`."""
    groups: dict[_Key, list[Performance]] = {}
    for row in rows:
        groups.setdefault(_key(row.operation), []).append(row)
    kernels = tuple(
        Executions(tuple(group), device_of(group[0].operation)) for group in groups.values()
    )
    total_s = sum(occupied_time_s(row.operation) or 0.0 for row in rows)
    busy_s = sum(row.operation.time_s or 0.0 for row in rows)
    return Question(tuple(rows), kernels, device_of, busy_s, total_s)


_Key: TypeAlias = tuple[
    str,
    str,
    str | None,
    tuple[int, int, int] | None,
    int | None,
    tuple[Tensor, ...],
    tuple[Tensor, ...],
    tuple[str | None, ...],
]


def _key(operation: Operation) -> _Key:
    settings = ("ATTRIBUTES", "MATH FIDELITY", "AVAILABLE WORKER CORE COUNT")
    return (
        operation.position.path,
        operation.name,
        operation.device,
        operation.grid,
        operation.cores,
        operation.inputs,
        operation.outputs,
        tuple(operation.attributes.get(name) for name in settings),
    )
