"""The lines of an open document that take most of the time, at the lines of the text now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirlens.ide.line_changes import own_shares
from tirlens.ide.line_owners import line_owners
from tirlens.session.choices import kernel_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirlens.model.report import KernelReport
    from tirlens.session.display import Display
    from tirlens.session.document import Document


@dataclass(frozen=True)
class HotLine:
    """A line of the text, and its share of a kernel's time without the lines inside it.

    Lines are 1-based, columns count code points.
    """

    line: int
    column: int
    share: float
    time_s: float
    kernel: str


def hottest_line(document: Document, line: int | None = None) -> HotLine | None:
    """The hottest line of the kernel at the current `line`, else of the slowest kernel."""
    analysis = document.analysis
    if analysis is None:
        return None
    kernel = kernel_at(document, line) if line is not None else None
    analysed = kernel and analysis.same_kernel(kernel)
    reports = analysis.reports_of(analysed) if analysed else ()
    slowest = max(reports or analysis.report.kernels, key=_time_s, default=None)
    if slowest is None:
        return None
    lines = _hot_lines(document, [slowest])
    head = document.map_from(analysis.reading).current_line(slowest.span.line)
    in_body = [item for item in lines if item.line != head]
    return max(in_body or lines, key=lambda item: item.share, default=None)


def heat(document: Document, display: Display) -> list[HotLine]:
    """The lines with a share of at least the smallest that is displayed, in their order."""
    analysis = document.analysis
    if analysis is None or not display.heat or display.detail == "off":
        return []
    found: dict[int, HotLine] = {}
    for item in _hot_lines(document, analysis.reports_in(display)):
        known = found.get(item.line)
        if item.share >= display.smallest_share and (not known or known.share < item.share):
            found[item.line] = item
    return [found[line] for line in sorted(found)]


def _hot_lines(document: Document, reports: Sequence[KernelReport]) -> list[HotLine]:
    assert document.analysis is not None
    lines = document.map_from(document.analysis.reading)
    found: list[HotLine] = []
    for owner in line_owners(reports):
        report = owner.report
        for then, share in own_shares(report).items():
            now = lines.current_line(then)
            if now is not None and (then in owner.lines or then == report.span.line):
                text = document.lines[now - 1]
                column = len(text) - len(text.lstrip())
                time_s = share * _time_s(report)
                found.append(HotLine(now, column, share, time_s, report.definition))
    return found


def _time_s(report: KernelReport) -> float:
    return report.time_s or 0.0
