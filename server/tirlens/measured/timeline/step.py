"""A measured step as its page and its summary show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tirlens.measured.performance.categories import Category

#: ``trace``: operations are where the trace says; ``order``: one after the other in the order of
#: the rows with the gaps that the trace states; ``none``: the trace has neither, or rows that sum
#: several executions.
Clock: TypeAlias = Literal["trace", "order", "none"]


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
