"""What an open document shows: its state turned into editor terms, at the lines of the text now.

Every function answers from what is known and never waits or fails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirlens.ide import diagnostics, labels, lenses
from tirlens.session.choices import kernel_at
from tirlens.session.machine_code import machine_code_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tirlens.ide.diagnostics import Diagnostic
    from tirlens.ide.hints import Hint
    from tirlens.ide.hovers import Hover
    from tirlens.model.report import Advice
    from tirlens.session.analysis import Analysis, Reading
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
    """The hints of the current lines `first_line` to `last_line`, both included.

    A line that was changed has its hint in brackets, as have all lines of a text whose analysis a
    syntax error prevents.
    """
    analysis = document.analysis
    if analysis is None:
        return []
    lines = document.map_from(analysis.reading)
    found: dict[int, Hint] = {}
    for hint in document.hints(display):
        now = lines.replaced_line(hint.line)
        if now is None or not first_line <= now <= last_line or now > len(document.lines):
            continue
        is_same = lines.is_unchanged(hint.line, hint.last_line)
        before, after = analysis.reading.lines[hint.line - 1], document.lines[now - 1]
        if not is_same and not _is_edited(before, after):
            continue
        if now not in found:
            is_valid = is_same and analysis.broken is None
            label = hint.label if is_valid else labels.in_brackets(hint.label)
            end = now + hint.last_line - hint.line
            found[now] = replace(hint, line=now, last_line=end, label=label)
    return [found[line] for line in sorted(found)]


def _is_edited(before: str, after: str) -> bool:
    """Whether a line is an edit of another: at least half of both is the same."""
    before, after = before.strip(), after.strip()
    start = _common_characters(before, after)
    end = _common_characters(before[start:][::-1], after[start:][::-1])
    return 2 * (start + end) >= max(len(before), len(after)) > 0


def _common_characters(one: str, other: str) -> int:
    """How many characters at the start of both are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    shorter = min(len(one), len(other))
    return next((at for at, (left, right) in pairs if left != right), shorter)


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
        found.extend(_in_order(line, kernel, parts))
    if reading.is_broken and trusted and document.analysis is not None:
        found.extend(_hidden_lenses(document, document.analysis, display))
    return found


def _hidden_lenses(document: Document, analysis: Analysis, display: Display) -> Iterator[Lens]:
    """The lenses of analysed kernels that a syntax error keeps from being found in the text."""
    assert document.reading is not None
    known = [analysis.same_kernel(kernel) for kernel in document.reading.source.kernels]
    lines = document.map_from(analysis.reading)
    for kernel in analysis.reading.source.kernels:
        line = lines.current_line(kernel.span.line)
        is_hidden = kernel.off or (display.only_marked and not kernel.is_marked)
        if line is not None and not is_hidden and not any(kernel is one for one in known):
            yield from _in_order(line, kernel, _parts(document, kernel, True, display))


def _in_order(line: int, kernel: KernelSource, parts: Sequence[lenses.Part]) -> Iterator[Lens]:
    """The parts of a lens, each a column further: some editors order them by their places."""
    for index, part in enumerate(parts):
        yield Lens(line, kernel.span.column + index, part, kernel.name)


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
    # At the end, where it moves nothing.
    if not lines.is_unchanged(analysed.extent.line, analysed.extent.end_line):
        return (*parts, lenses.Part(lenses.STALE, "analyze"))
    if analysis.broken:
        return (*parts, lenses.Part(lenses.BROKEN, "report"))
    return (*parts, lenses.Part(lenses.TUNE, "tune")) if kernel.is_autotuned else parts


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
    if found is None:
        return None
    note = f"*{lenses.BROKEN.capitalize()}.*\n\n" if analysis.broken else ""
    code = machine_code_at(document, then)
    text = found.markdown
    if code is not None:
        from tirlens.ide.hovers import with_machine_code

        text = with_machine_code(text, *code)
    return replace(found, span=lines.current_span(found.span), markdown=note + text)


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
        if advice.edit
        and advice.is_tried
        and lines.is_unchanged(advice.edit.span.line, advice.edit.span.end_line)
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
            if (
                not advice.is_tried
                or advice.edit is None
                or (advice.rule, advice.span.line) != (rule, line)
            ):
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
    found = _at_current_lines(document, analysis.reading, _all(analysis))
    if analysis.broken is None:
        return found
    errors = diagnostics.of_source(analysis.broken.source)
    return [*_at_current_lines(document, analysis.broken, errors), *found]


def _at_current_lines(
    document: Document, reading: Reading, items: Iterable[Diagnostic]
) -> list[Diagnostic]:
    lines = document.map_from(reading)
    return [
        replace(item, span=lines.current_span(item.span))
        for item in items
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
