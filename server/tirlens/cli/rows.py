"""A kernel's verdict and the rows of its breakdown, for all formats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tirlens.cli.errors import UsageError
from tirlens.ide import lenses
from tirlens.model.report import BreakdownEntry, KernelReport


@dataclass(frozen=True)
class Row:
    """A line of the breakdown; `number` counts all rows of the kernel from 1."""

    number: int
    depth: int
    cost: BreakdownEntry


@dataclass(frozen=True)
class Selection:
    """Which rows to show: those with at least `min_share` of the time, with these numbers."""

    min_share: float = 0.0
    first: int = 1
    last: int | None = None

    def __contains__(self, row: Row) -> bool:
        share = row.cost.share
        in_range = self.first <= row.number and (self.last is None or row.number <= self.last)
        return in_range and (share is None or share >= self.min_share)


def selection(min_percentage: float, id_range: str | None) -> Selection:
    """The selection of the options ``--min-percentage`` and ``--id-range``.

    Raises:
        UsageError: `id_range` is no range.
    """
    if id_range is None:
        return Selection(min_percentage / 100)
    first, dash, last = id_range.partition("-")
    try:
        low = int(first or 1)
        high = (int(last) if last else None) if dash else low
    except ValueError:
        low, high = 0, 0
    if low < 1 or (high is not None and high < low):
        raise UsageError(f"--id-range {id_range!r}: expected A-B, such as 1-10")
    return Selection(min_percentage / 100, low, high)


def rows(report: KernelReport, selected: Selection) -> Iterator[Row]:
    """The selected rows of a kernel's breakdown, parents before their children."""
    for number, (depth, cost) in enumerate(report.walk(), 1):
        row = Row(number, depth, cost)
        if row in selected:
            yield row


def verdict(kernel: KernelReport) -> str:
    """The lens of a kernel, or the reason why it has none and the options that it needs."""
    if kernel.has_counts:
        return lenses.lens(kernel)
    if not kernel.needs:
        return kernel.message or kernel.status
    options = " ".join(f"--bind {name}=SIZE" for name in kernel.needs)
    return f"needs {', '.join(kernel.needs)}: give {options}"
