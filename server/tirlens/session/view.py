"""What an open document shows: its state turned into editor terms, at the lines of the text now.

Every function answers from what is known and never waits or fails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirlens.ide import diagnostics, lenses
from tirlens.session.choices import kernel_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirlens.ide.diagnostics import Diagnostic
    from tirlens.ide.hints import Hint
    from tirlens.ide.hovers import Hover
    from tirlens.model.report import Advice
    from tirlens.session.analysis import Analysis
    from tirlens.session.display import Display
    from tirlens.session.document import Document
    from tirlens.source.edits import Replacement
    from tirlens.source.source_file import KernelSource


@dataclass(frozen=True)
class Lens:
    """One part of a kernel's lens, on a 1-based line of the current text."""

    line: int
    column: int
    part: lenses.Part
    kernel: str


def inlay_hints(
    document: Document, first_line: int, last_line: int, display: Display
) -> list[Hint]:
    """The hints of the current lines `first_line` to `last_line`, both included."""
    analysis = document.analysis
    if analysis is None:
        return []
    lines = document.map_from(analysis.reading)
    found: dict[int, Hint] = {}
    for hint in document.hints(display):
        now = lines.current_line(hint.line)
        if now is None or not first_line <= now <= last_line:
            continue
        if now not in found and lines.is_unchanged(hint.line, hint.last_line):
            found[now] = replace(hint, line=now, last_line=now + hint.last_line - hint.line)
    return [found[line] for line in sorted(found)]


def code_lenses(document: Document, trusted: bool, display: Display) -> list[Lens]:
    """The lenses above the kernels that the text has, whether analysed or not."""
    reading = document.reading
    if reading is None or not display.has_lenses:
        return []
    lines = document.map_from(reading)
    found: list[Lens] = []
    for kernel in reading.source.kernels:
        if kernel.off or (display.only_marked and not kernel.is_marked):
            continue
        line = lines.nearest_current_line(kernel.span.line)
        parts = _parts(document, kernel, trusted, display)
        found.extend(Lens(line, kernel.span.column, part, kernel.name) for part in parts)
    return found


def _parts(
    document: Document, kernel: KernelSource, trusted: bool, display: Display
) -> Sequence[lenses.Part]:
    if not trusted:
        return [lenses.Part(lenses.UNTRUSTED, "trust")]
    analysis = document.analysis
    if analysis is None:
        if not kernel.is_certain:
            return []
        if document.is_cancelled:
            return [lenses.Part(lenses.CANCELLED, "analyze")]
        if document.awaits_save:
            return [lenses.Part(lenses.AWAITS_SAVE, "analyze")]
        return [lenses.Part(lenses.ANALYSING, "none")]
    analysed = analysis.same_kernel(kernel)
    if analysed is None:
        waiting = document.is_running
        title = lenses.ANALYSING if waiting else "new: save to analyse"
        return [lenses.Part(title, "none" if waiting else "analyze")]
    parts = analysis.lens(analysed, display)
    lines = document.map_from(analysis.reading)
    if lines.is_unchanged(analysed.extent.line, analysed.extent.end_line):
        return parts
    return (lenses.Part(lenses.STALE, "analyze"), *parts)


def hover(document: Document, line: int, column: int) -> Hover | None:
    """What to say at a place of the current text; None on lines that were changed."""
    analysis = document.analysis
    if analysis is None:
        return None
    lines = document.map_from(analysis.reading)
    then = lines.analysed_line(line)
    if then is None:
        return None
    found = analysis.hover(then, column, document.cells)
    return None if found is None else replace(found, span=lines.current_span(found.span))


def rewritings(document: Document, line: int) -> list[Advice]:
    """The advice that can be written for the user, for the kernel at a current line.

    Their edits are at the places of the current text; those on changed lines are left out.
    """
    analysis, kernel = document.analysis, kernel_at(document, line)
    analysed = analysis and kernel and analysis.same_kernel(kernel)
    if analysis is None or not analysed:
        return []
    lines = document.map_from(analysis.reading)
    return [
        replace(advice, edit=replace(advice.edit, span=lines.current_span(advice.edit.span)))
        for report in analysis.reports_of(analysed)
        for advice in report.advice
        if advice.edit and lines.is_unchanged(advice.edit.span.line, advice.edit.span.end_line)
    ]


def rewriting(document: Document, rule: str, line: int) -> Replacement | None:
    """The edit of the advice of `rule` at the line `line` of the analysed text.

    Its span is in the current text; None where there is no such edit, or where its lines changed.
    """
    analysis = document.analysis
    if analysis is None:
        return None
    lines = document.map_from(analysis.reading)
    for report in analysis.report.kernels:
        for advice in report.advice:
            if advice.edit is None or (advice.rule, advice.span.line) != (rule, line):
                continue
            span = advice.edit.span
            if lines.is_unchanged(span.line, span.end_line):
                return replace(advice.edit, span=lines.current_span(span))
    return None


def file_diagnostics(document: Document) -> list[Diagnostic]:
    """What is wrong, at the lines of the current text; findings on changed lines are left out."""
    analysis = document.analysis
    if analysis is None:
        return diagnostics.of_source(document.reading.source) if document.reading else []
    lines = document.map_from(analysis.reading)
    return [
        replace(item, span=lines.current_span(item.span))
        for item in _all(analysis)
        if lines.current_line(item.span.line) is not None
    ]


def _all(analysis: Analysis) -> Iterator[Diagnostic]:
    seen: set[tuple[int, str]] = set()
    of_source = diagnostics.of_source(analysis.reading.source)
    of_worker = diagnostics.of_problems(analysis.report.problems)
    of_model = [
        item for report in analysis.report.kernels for item in diagnostics.of_report(report)
    ]
    for item in (*of_source, *of_worker, *of_model):
        key = (item.span.line, item.message)
        if key not in seen:
            seen.add(key)
            yield item
