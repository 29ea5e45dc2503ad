"""The times of single lines, and where the difference between two versions of a kernel is from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tirlens.ide.line_map import LineMap
    from tirlens.model.report import BreakdownEntry, KernelReport

_SMALLEST_CHANGE = 0.01
_LEAST_S = 1e-15


@dataclass(frozen=True)
class LineChange:
    """The time of a line without the lines inside it, before and now.

    `line` is of the present text; None for a line that is gone, which was at `line_before`.
    """

    line: int | None
    line_before: int | None
    before_s: float
    time_s: float

    @property
    def change_s(self) -> float:
        """The seconds that the line takes longer than before."""
        return self.time_s - self.before_s


def line_changes(before: KernelReport, now: KernelReport, lines: LineMap) -> tuple[LineChange, ...]:
    """Where the difference between two versions of a kernel is from, the largest first.

    Parameters
    ----------
    lines
        The lines of the text of `now` for those of the text of `before`.

    Returns
    -------
    The changes of all lines whose times differ by at least 1 % of the larger kernel's time. What
    belongs to no line of the text (launch, tail, other files) is at the line of the `def`.
    """
    before_s, now_s = own_times(before), own_times(now)
    limit_s = max(before.time_s or 0.0, now.time_s or 0.0) * _SMALLEST_CHANGE
    found: list[LineChange] = []
    matched: set[int] = set()
    for line_before, was_s in before_s.items():
        line = lines.replaced_line(line_before)
        if line_before == before.span.line:
            line = now.span.line
        if line is not None and line in matched:
            line = None
        if line is not None:
            matched.add(line)
        is_s = now_s.get(line, 0.0) if line is not None else 0.0
        found.append(LineChange(line, line_before, was_s, is_s))
    new = (line for line in now_s if line not in matched)
    found.extend(LineChange(line, None, 0.0, now_s[line]) for line in new)
    found = [item for item in found if abs(item.change_s) >= max(limit_s, _LEAST_S)]
    return tuple(sorted(found, key=lambda item: -abs(item.change_s)))


def line_times(before: KernelReport, lines: LineMap) -> dict[int, float]:
    """The times of an earlier version at the present lines, each with the lines inside it."""
    found: dict[int, float] = {}
    for line, time_s in inclusive_times(before).items():
        at = lines.replaced_line(line)
        if at is not None:
            found[at] = found.get(at, 0.0) + time_s
    return found


def inclusive_times(report: KernelReport) -> dict[int, float]:
    """The time of each line of the text with the lines inside it."""
    found: dict[int, float] = {}

    def visit(costs: Sequence[BreakdownEntry], outer: int | None) -> None:
        for cost in costs:
            line = cost.span.line if cost.span.file is None else None
            if line is not None and line != outer and cost.time_s is not None:
                found[line] = found.get(line, 0.0) + cost.time_s
            visit(cost.children, outer if line is None else line)

    visit(report.loops, None)
    return found


def own_shares(report: KernelReport) -> Mapping[int, float]:
    """The share of each line of the text in the kernel's time, without the lines inside it."""
    if not report.time_s:
        return {}
    times = own_times(report)
    return {line: time_s / report.time_s for line, time_s in times.items() if time_s > 0}


def own_times(report: KernelReport) -> dict[int, float]:
    """The time of each line of the text in seconds, without the lines inside it.

    What belongs to no line (launch, tail, other files) is at the line outside of it.
    """
    found: dict[int, float] = {}

    def visit(costs: Sequence[BreakdownEntry], outer: int) -> None:
        for cost in costs:
            is_here = cost.span.file is None and cost.kind not in ("launch", "tail")
            line = cost.span.line if is_here else outer
            inner_s = sum(child.time_s or 0.0 for child in cost.children)
            own_s = max(0.0, (cost.time_s or 0.0) - inner_s)
            found[line] = found.get(line, 0.0) + own_s
            visit(cost.children, line)

    visit(report.loops, report.span.line)
    return found
