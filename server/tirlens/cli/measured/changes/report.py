"""Two measured runs: what became of their operations, and what the gate refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tirlens.cli.measured.places import KernelPlace
from tirlens.gate import Limits
from tirlens.gate.measured_changes import MeasuredChange
from tirlens.ide import labels
from tirlens.measured.records import Position
from tirlens.measured.runs.comparison import Comparison, OperationChange, Totals
from tirlens.measured.runs.significance import (
    CHANCE,
    LEAST_BETWEEN_RUNS,
)
from tirlens_worker.facts import Span

#: Tables leave out operations below this share of the time of both runs; data has all.
DEFAULT_MIN_PERCENTAGE = 0.5
_SPREADS = {
    "runs": "the means of several runs",
    "executions": "the executions of a run",
    "percentiles": "the 10th and 90th percentile of a measurement",
    "extremes": "the shortest and the longest execution",
}


@dataclass(frozen=True)
class MeasuredChangeReport:
    """What became of the operations of two sides.

    `limits` are false where no growth is limited; `given` are the limits as the user wrote them.
    Tables leave out what takes less than `least_share` of both sides, except what is refused.
    `is_each`: every execution has a row of its own, in the order of the run.  `places` are the
    kernels of files that operations are executions of.
    """

    comparison: Comparison
    changes: Sequence[MeasuredChange]
    limits: Limits
    given: Sequence[str]
    allows_uncompared: bool = False
    least_share: float = 0.0
    is_each: bool = False
    places: Mapping[Position, KernelPlace] = field(default_factory=dict[Position, KernelPlace])

    @cached_property
    def refused(self) -> list[MeasuredChange]:
        """The changes that the gate refuses."""
        return [change for change in self.changes if self._is_refused(change)]

    @property
    def uncompared(self) -> list[MeasuredChange]:
        """The changes of which the runs do not say enough."""
        return [change for change in self.changes if change.is_uncompared]

    def _is_refused(self, change: MeasuredChange) -> bool:
        if not self.limits:
            return False
        return change.is_refused or (change.is_uncompared and not self.allows_uncompared)

    def location(self, item: MeasuredChange) -> tuple[str, Span]:
        """The kernel that an operation is an execution of, else its row in the trace."""
        for side in (item.change.now, item.change.before):
            if side is not None and side.first.position in self.places:
                place = self.places[side.first.position]
                return place.path, place.span
        position = item.change.operation.position
        row = max(position.row, 1)
        return position.path, Span(row, 0, row, 0)

    @property
    def displayed(self) -> list[MeasuredChange]:
        """The rows of a table: all of ``--each``, else those with the most effect first."""
        if self.is_each:
            return list(self.changes)
        rows = [
            item
            for item in self.changes
            if item in self.refused or self._share(item.change) >= self.least_share
        ]
        return sorted(rows, key=lambda item: -abs(item.change.total_change_s))

    def _share(self, change: OperationChange) -> float:
        """The greater share of the time of a side; 1 where it is not known."""
        shares = [
            side.total_s / totals.time.mean_s
            for side, totals in (
                (change.before, self.comparison.before),
                (change.now, self.comparison.now),
            )
            if side is not None and side.total_s is not None and totals.time and totals.time.mean_s
        ]
        return max(shares, default=1.0)

    @property
    def summary(self) -> str:
        """``2 of 14 operations fail against the baseline (fail above 5%); 1 not compared``."""
        operations = labels.count(len(self.changes), "operation")
        if not self.limits:
            counts = [
                f"{sum(item.change.verdict == word for item in self.changes)} {word}"
                for word in ("slower", "faster", "new", "gone")
            ]
            return f"{operations}: {', '.join(counts)}"
        refused = len(self.refused)
        said = "fails" if refused == 1 else "fail"
        above = f"(fail above {', '.join(self.given)})"
        return (
            f"{refused or 'none'} of {operations} {said} against the measured baseline {above}; "
            f"{len(self.uncompared) or 'none'} not compared"
        )

    @property
    def statistics(self) -> str:
        """How a difference is distinguished from the spread, and what the spread is of."""
        sources = {
            sample.source
            for item in self.changes
            for side in (item.change.before, item.change.now)
            if side is not None and (sample := side.sample) is not None and sample.source
        }
        said = " and ".join(words for word, words in _SPREADS.items() if word in sources)
        if not said:
            return "Spread: not known, each side has one execution of each operation."
        least = ""
        if "runs" not in sources:
            least = f"of at least {labels.percent(LEAST_BETWEEN_RUNS)} "
        return (
            f"Spread: of {said}. Slower and faster are differences {least}that chance explains "
            f"with a probability below {labels.percent(CHANCE)} (Welch's test, one-sided)."
        )

    @property
    def notes(self) -> Iterator[str]:
        """What a reader must know of the comparison as a whole."""
        before, now = self.comparison.before, self.comparison.now
        if self.comparison.has_other_device:
            names = f"{_devices(before)} before, {_devices(now)} now"
            yield f"the runs are of different devices: {names}"
        elif self.comparison.has_unknown_device:
            sides = [name for name, side in (("the baseline", before), ("now", now))
                     if not side.devices]  # fmt: skip
            yield (f"the device is not known of {' and '.join(sides)}: it may be another one")
        for side in (before, now):
            if side.operations_without_time:
                count = labels.number(side.operations_without_time)
                yield f"{', '.join(side.paths)}: {count} operations have no time"
            if side.operations_left_out:
                yield (
                    f"{', '.join(side.paths)}: {labels.number(side.operations_left_out)} "
                    "operations are in the totals only: the trace has too many different ones"
                )


def _devices(side: Totals) -> str:
    return ", ".join(sorted(side.devices)) or "not known"
