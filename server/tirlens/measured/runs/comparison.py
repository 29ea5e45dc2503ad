"""Two runs of a program, operation by operation.

Each side is one run or several of the same program.  Operations are paired by what they are and by
their order, not by their number (`tirlens.measured.runs.run.alignment`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tirlens.measured.groups import Group
from tirlens.measured.mechanisms.dram_traffic import READ, WRITTEN
from tirlens.measured.records import Operation
from tirlens.measured.runs.alignment import Pair, Relation, align
from tirlens.measured.runs.run import Element, Run, sample_of_group
from tirlens.measured.runs.significance import Sample, is_beyond_spread, sample_of_runs

Verdict = Literal[
    "slower", "faster", "within-spread", "unknown-spread", "same", "new", "gone", "other-work",
    "no-time",
]  # fmt: skip

#: A smaller difference is none.
LEAST_DIFFERENCE = 5e-4


class TooLongError(Exception):
    """More operations than are aligned one by one."""


#: Operations of a run that are aligned one by one: the time of an alignment grows with their
#: square.
MOST_ALIGNED = 4_000


@dataclass(frozen=True)
class Side:
    """An operation in the runs of one side.

    Attributes
    ----------
    first
        Its first execution.
    runs
        The runs that have it.
    executions
        The executions in one run, on average.
    sample
        The time of an execution; None where no run has one.
    total_s
        The time of its executions in one run, on average.
    gap_s
        The mean idle time before an execution; None where the traces do not say it.
    dram_bytes
        The DRAM bytes of an execution, where the traces count them.
    """

    first: Operation
    runs: int
    executions: float
    sample: Sample | None
    total_s: float | None
    gap_s: float | None
    dram_bytes: float | None

    @property
    def time_s(self) -> float | None:
        """The mean time of an execution."""
        return self.sample and self.sample.mean_s


@dataclass(frozen=True)
class OperationChange:
    """An operation before and now; a side is None if it has no such operation."""

    before: Side | None
    now: Side | None
    relation: Relation

    @property
    def operation(self) -> Operation:
        """The operation as it is now, else as it was."""
        side = self.now or self.before
        assert side is not None
        return side.first

    @property
    def is_compared(self) -> bool:
        """Whether both sides have a time of the same work."""
        return self.time_growth is not None

    @property
    def time_growth(self) -> float | None:
        """The growth of the time of an execution as a fraction; None if it is not compared."""
        if self.relation in ("other-work", "new", "gone"):
            return None
        return _growth(self.before and self.before.time_s, self.now and self.now.time_s)

    @property
    def dram_growth(self) -> float | None:
        """The growth of the DRAM bytes of an execution; None where a side does not count them."""
        if not self.is_compared:
            return None
        return _growth(self.before and self.before.dram_bytes, self.now and self.now.dram_bytes)

    @property
    def is_beyond_spread(self) -> bool | None:
        """Whether the times differ by more than their spread; None where this is not known."""
        before, now = self.before and self.before.sample, self.now and self.now.sample
        if before is None or now is None or not self.is_compared:
            return None
        return is_beyond_spread(before, now)

    @property
    def verdict(self) -> Verdict:
        """What is known of the change, whatever a gate allows."""
        if self.relation in ("new", "gone", "other-work"):
            return self.relation
        growth = self.time_growth
        if growth is None:
            return "no-time"
        if abs(growth) < LEAST_DIFFERENCE:
            return "same"
        beyond = self.is_beyond_spread
        if beyond is None:
            return "unknown-spread"
        if not beyond:
            return "within-spread"
        return "slower" if growth > 0 else "faster"

    @property
    def execution_ratio(self) -> float | None:
        """The executions of a run now over those before; None for a new or a gone operation."""
        if self.before is None or self.now is None or not self.before.executions:
            return None
        return self.now.executions / self.before.executions

    @property
    def total_change_s(self) -> float:
        """What the change adds to the time of a run."""
        before, now = self.before and self.before.total_s, self.now and self.now.total_s
        return (now or 0.0) - (before or 0.0)


@dataclass(frozen=True)
class Totals:
    """One side as a whole: means over its runs.

    `gap_s` is None where no trace says gaps; `time` has the spread of several runs.
    """

    runs: int
    operations: float
    operations_without_time: float
    operations_left_out: float
    time: Sample | None
    gap_s: float | None
    devices: frozenset[str]
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Two sides and their operations, in the order of the later one."""

    before: Totals
    now: Totals
    changes: tuple[OperationChange, ...]

    @property
    def has_other_device(self) -> bool:
        """Whether both sides name their devices, and differently."""
        return bool(
            self.before.devices and self.now.devices and self.before.devices != self.now.devices
        )

    @property
    def has_unknown_device(self) -> bool:
        """Whether a side does not name its device."""
        return not (self.before.devices and self.now.devices)

    @cached_property
    def usual_execution_ratio(self) -> float:
        """The executions now over those before, of half of the time: 2 for twice as many steps."""
        ratios = sorted(
            (ratio, change.now.total_s or 0.0)
            for change in self.changes
            if change.now is not None and (ratio := change.execution_ratio) is not None
        )
        half_s = sum(weight for _, weight in ratios) / 2
        sum_s = 0.0
        for ratio, weight in ratios:
            sum_s += weight
            if sum_s >= half_s:
                return ratio
        return 1.0

    def relative_executions(self, change: OperationChange) -> float | None:
        """How often an operation is executed now, of how often it would be as the others are."""
        ratio = change.execution_ratio
        return None if ratio is None else ratio / self.usual_execution_ratio


def compare(before: Sequence[Run], now: Sequence[Run]) -> Comparison:
    """Compare runs of a program with runs of it before.

    Raises
    ------
    TooLongError
        The runs were read operation by operation and have more than `MOST_ALIGNED`.
    """
    old, new = _elements(before), _elements(now)
    if any(element.occurrence for element in (*old, *new)) and max(len(old), len(new)) > (
        MOST_ALIGNED
    ):
        raise TooLongError(
            f"{max(len(old), len(new)):,} operations: at most {MOST_ALIGNED:,} are compared one "
            "by one"
        )
    changes = tuple(_change(pair, before, now) for pair in align(old, new))
    return Comparison(_totals(before), _totals(now), changes)


def _elements(runs: Iterable[Run]) -> list[Element]:
    """The elements of all runs, in the order of the first run that has them."""
    return list(dict.fromkeys(element for run in runs for element in run.groups))


def _change(pair: Pair, before: Sequence[Run], now: Sequence[Run]) -> OperationChange:
    return OperationChange(_side(pair.before, before), _side(pair.now, now), pair.relation)


def _side(element: Element | None, runs: Sequence[Run]) -> Side | None:
    if element is None:
        return None
    groups = [run.groups[element] for run in runs if element in run.groups]
    samples = [sample for group in groups if (sample := sample_of_group(group)) is not None]
    return Side(
        groups[0].first,
        len(groups),
        sum(group.executions for group in groups) / len(runs),
        sample_of_runs(samples),
        math.fsum(group.time.total for group in groups) / len(runs) if samples else None,
        _mean(group.gap.mean for group in groups),
        _dram_bytes(groups),
    )


def _dram_bytes(groups: Sequence[Group]) -> float | None:
    """The DRAM bytes of an execution: as the traces say, else by Nsight Compute's counters."""
    return _mean(map(_dram_bytes_of_group, groups))


def _dram_bytes_of_group(group: Group) -> float | None:
    if group.dram_bytes is not None:
        return group.dram_bytes / group.executions
    read, written = (
        next((group.counters[name] for name in names if name in group.counters), None)
        for names in (READ, WRITTEN)
    )
    return None if read is None or written is None else read + written


def _totals(runs: Sequence[Run]) -> Totals:
    samples = [
        Sample(1, run.time_s) for run in runs if run.operations > run.operations_without_time
    ]
    return Totals(
        len(runs),
        sum(run.operations for run in runs) / len(runs),
        sum(run.operations_without_time for run in runs) / len(runs),
        sum(run.operations_left_out for run in runs) / len(runs),
        sample_of_runs(samples),
        _mean(run.gap_s for run in runs),
        frozenset(name for run in runs for name in run.device_names),
        tuple(run.path for run in runs),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean; None if a value is not known, or there is none."""
    known = list(values)
    numbers = [value for value in known if value is not None]
    return math.fsum(numbers) / len(numbers) if numbers and len(numbers) == len(known) else None


def _growth(before: float | None, now: float | None) -> float | None:
    if before is None or now is None:
        return None
    if not before:
        return math.inf if now else 0.0
    return now / before - 1
