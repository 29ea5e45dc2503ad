"""Hovers in Markdown: verdict and breakdown, advice, counters, then what is assumed.

What is above the counters is short enough to be read without scrolling.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tirlens.ide import (
    call_text,
    counters,
    entries,
    labels,
    lenses,
    line_owners,
    measured_times,
    places,
    sizes,
    tables,
    terms,
    verdicts,
)
from tirlens.ide.escaping import code, prose
from tirlens.ide.history import NO_HISTORY, History
from tirlens.ide.notebook_file import NO_CELLS, CellPlaces
from tirlens.language_models import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tirlens.ide.machine_operations import LineCode
    from tirlens.model.report import BreakdownEntry, KernelReport
    from tirlens_worker.facts import Span
    from tirlens_worker.protocol import NeedsArguments

# Rows of a breakdown and items of advice that fit above the counters.
_ROWS = 5
_MOST_ADVICE = 2


@dataclass(frozen=True)
class Hover:
    """Markdown for `span` of the analysed text."""

    span: Span
    markdown: str


def hover(
    reports: Sequence[KernelReport],
    line: int,
    column: int,
    history_of: Callable[[KernelReport], History] = lambda _: NO_HISTORY,
    cells: CellPlaces = NO_CELLS,
) -> Hover | None:
    """The hover at a position of the analysed text (1-based line, 0-based column).

    Lines of a notebook's text are named by its `cells`.

    The `def` of a kernel has the kernel's hover, a line of its body that of `entries.entry_at` in
    the kernel that owns the line.
    """
    for report in reports:
        if report.span.line == line:
            same = [other for other in reports if other.span.line == line]
            texts = [kernel(other, history_of(other), cells) for other in same]
            return Hover(report.span, "\n\n---\n\n".join([*_sums(same), *texts]))
    owner = line_owners.owner_at(reports, line)
    found = None if owner is None else entries.entry_at(owner.loops, line, column)
    if owner is None or found is None:
        return None
    return Hover(found.span, node(found, owner, cells))


def _sums(reports: Sequence[KernelReport]) -> list[str]:
    """The sums over the kernels of one statement, as its lens has them."""
    # The first hovers are displayed before the model is imported.
    from tirlens.model.totals import module_totals

    sums = module_totals(reports)
    if not sums:
        return []
    titles = ", ".join(prose(part.title) for part in lenses.totals(sums))
    return [f"**{prose(reports[0].definition)}**: {titles}"]


def kernel(
    report: KernelReport, history: History = NO_HISTORY, cells: CellPlaces = NO_CELLS
) -> str:
    """The whole kernel, and what its time is compared with."""
    if not report.has_counts:
        titles = (prose(part.title) for part in lenses.parts(report))
        return f"**{prose(report.name)}**: " + ", ".join(titles)
    sections = [
        _verdict(report),
        breakdown(list(_leaves(report)), report.time_s, cells),
        measured_times.description(report),
        _advice(report, None),
        history.description_of(report),
        prose(report.bound_reason and f"{report.bound_reason}."),
        counters.kernel(report),
        assumptions(report),
        caveats([note.message for note in report.caveats]),
    ]
    return "\n\n".join(section for section in sections if section)


def with_machine_code(markdown: str, architecture: str, line: LineCode) -> str:
    """A hover of a line, with what the line became in machine code."""
    operations = ", ".join(code(operation.text) for operation in line.operations)
    counts = [f"{line.instructions} instructions"]
    if line.registers is not None:
        counts.append(f"{line.registers} registers")
    about = ", ".join([*([operations] if operations else []), *counts])
    return f"{markdown}\n\nMachine code ({prose(architecture)}): {about}"


def node(cost: BreakdownEntry, report: KernelReport, cells: CellPlaces = NO_CELLS) -> str:
    """One loop or operation."""
    verdict = f"**{code(cost.label)}**: {labels.time_or_overlap(cost)}"
    if cost.time_s and cost.share is not None:
        verdict += f", {labels.percent(cost.share)} of {prose(line_owners.title(report))}"
    if cost.bound and cost.time_s:
        limit = terms.bound(verdicts.line_limit(cost), cost.bound)
        verdict += f", {limit}" if cost.bound == "latency" else f", limited by {limit}"
    notes = [
        note.message
        for note in report.caveats
        if note.span is not None
        and note.span.file is None
        and cost.span.line <= note.span.line <= cost.span.end_line
    ]
    sections = [
        verdict + ".",
        breakdown(cost.children, cost.time_s, cells),
        _advice(report, cost.span),
        counters.line(cost, report),
        _path(cost),
        _sites(cost, cells),
        assumptions(report),
        caveats(notes),
    ]
    return "\n\n".join(section for section in sections if section)


def needs(item: NeedsArguments, is_searching: bool) -> Hover:
    """A kernel without arguments: what to write, or that other files are searched for a call."""
    names = ", ".join(map(code, item.names)) or "arguments"
    if is_searching:
        text = f"looking for a call in other files. {names}: no value is known yet."
    else:
        given = ", ".join(f"{name}=..." for name in item.names) or "..."
        directive = code(f"# tirlens: {item.kernel}({given})")
        text = f"needs {names}. No call gives them: write {directive} above it."
        if item.reason:
            text += f"\n\nTried: {prose(item.reason)}."
    return Hover(item.span, f"**{code(item.kernel)}**: {text}")


def breakdown(
    costs: Sequence[BreakdownEntry], total_s: float | None, cells: CellPlaces = NO_CELLS
) -> str:
    """The table of the parts of `total_s`, the most expensive first, with a row for the rest."""
    if not costs:
        return ""
    ordered = sorted(costs, key=lambda cost: (-(cost.time_s or 0), -(cost.overlapped_s or 0)))
    heads = ("inside", "line", *map(terms.term, ("time", "share", "bound")))
    lines = [f"| {' | '.join(heads)} |", "|---|--:|--:|--:|---|"]
    displayed = ordered if len(ordered) <= _ROWS else ordered[: _ROWS - 1]
    for cost in displayed:
        texts = (
            code(cost.label),
            _line(cost, cells),
            labels.time_or_overlap(cost),
            labels.percent(cost.share),
            prose(verdicts.line_limit(cost)),
        )
        lines.append(f"| {' | '.join(texts)} |")
    rest = len(ordered) - len(displayed)
    if rest:
        times = [cost.time_s for cost in displayed]
        known_s = entries.total(times)
        rest_s = None if total_s is None or known_s is None else max(total_s - known_s, 0.0)
        share = entries.total(cost.share for cost in ordered[len(displayed) :])
        lines.append(f"| {rest} more | | {labels.seconds(rest_s)} | {labels.percent(share)} | |")
    return "\n".join(lines)


def assumptions(report: KernelReport) -> str:
    """Where the figures are from: call, sizes, device and framework; what of it is assumed."""
    items: list[str] = []
    if report.call:
        items.append(f"{code(call_text.readable(report.call))} ({_call_source(report)})")
    if report.bindings:
        items.append(code(", ".join(f"{name}={value}" for name, value in report.bindings.items())))
    fidelity = f", {report.math_fidelity}" if report.math_fidelity else ""
    items.append(prose(f"{report.device_name} ({report.device_id}{fidelity})"))
    items.append(prose(f"{report.framework} {report.framework_version}"))
    made = f"For {', '.join(items)}."
    guessed = ", ".join(map(code, sizes.assumption_texts(report)))
    parts = (
        made,
        _known_arguments(report),
        f"{terms.term('Assumed')}: {guessed}." if guessed else "",
        _model(report),
    )
    return " ".join(part for part in parts if part)


def _known_arguments(report: KernelReport) -> str:
    """What the text gives of an assumed call, with links to the lines that give it."""
    by_place: dict[Span, list[str]] = {}
    for text, span in sizes.known_texts(report):
        by_place.setdefault(span, []).append(code(text))
    items = [f"{', '.join(texts)} ({_link(span)})" for span, texts in by_place.items()]
    return f"Known from the text: {', '.join(items)}." if items else ""


def _link(site: Span) -> str:
    """A place, with a link where it is in another file."""
    if site.file is None:
        return prose(places.at_line(site))
    uri = Path(site.file).absolute().as_uri()
    return f"[{prose(tables.place(site))}]({uri}#L{site.line})"


def _model(report: KernelReport) -> str:
    """The sizes that are those of a language model, with a link to its configuration."""
    if report.model is None:
        return ""
    found = load(report.model.model)
    names = ", ".join(map(code, report.model.values))
    verb = "is" if len(report.model.values) == 1 else "are"
    return f"{names} {verb} as in [{prose(found.name)}]({found.source})."


def caveats(notes: Sequence[str]) -> str:
    """The caveats of the estimate, one line each."""
    items = [f"- {prose(note)}" for note in dict.fromkeys(notes)]
    return f"{terms.term('Caveats')}\n" + "\n".join(items) if items else ""


def _verdict(report: KernelReport) -> str:
    """``**matmul**: about 2.6 ms (1.4 to 4.8), waits for loads of A, B: 3 stages save 0.5 ms.``"""
    found = verdicts.verdict(report)
    limit = terms.bound(found.cause, found.bound)
    after = prose(found.text[len(found.cause) :])
    parts = (prose(lenses.time(report)), limit + after, lenses.peak(report))
    name = prose(labels.title(report))
    text = f"**{name}**: {', '.join(part for part in parts if part)} on {prose(report.device_id)}."
    return "\n\n".join(filter(None, (text, _headroom(report))))


def _headroom(report: KernelReport) -> str:
    """``87 us | reachable 61 us by tiles of 128 x 256 | roofline 48 us``; empty without one."""
    if not report.reachable_by:
        return ""
    now, then, least = (
        labels.seconds(time_s, labels.ESTIMATE_DIGITS)
        for time_s in (report.time_s, report.reachable_time_s, report.roofline_time_s)
    )
    reachable = f"{terms.term('reachable')} {then} by {prose(report.reachable_by)}"
    return f"{now} | {reachable} | {terms.term('roofline')} {least}"


def _leaves(report: KernelReport) -> Iterator[BreakdownEntry]:
    """The statements of a kernel, its launch and its tail, without those that take no time."""
    for _, cost in report.walk():
        if not cost.children and (cost.time_s is None or cost.time_s or cost.overlapped_s):
            yield cost


def _line(cost: BreakdownEntry, cells: CellPlaces) -> str:
    """Where `cost` is written: ``38``, ``cell 3:12``, or ``common.py:38`` in another file."""
    return prose(tables.place(cells.in_cell(cost.sites[-1] if cost.sites else cost.span)))


def _call_source(report: KernelReport) -> str:
    """Where the arguments are from, with a link to a call in another file."""
    site = report.call_site
    if site is None or site.file is None:
        return terms.call_source(report.call_source)
    return f"{terms.call_source(report.call_source)} {_link(site)}{tables.launches(report)}"


def _sites(cost: BreakdownEntry, cells: CellPlaces) -> str:
    """Where a line of a macro is written, and where the macro is called."""
    if len(cost.sites) < 2:
        return ""
    named = [
        places.at_line(cells.in_cell(site)) + (f" of {code(site.file)}" if site.file else "")
        for site in cost.sites
    ]
    return "Called at " + ", written at ".join((named[0], named[-1])) + "."


def _path(cost: BreakdownEntry) -> str:
    """What a line became on the device, and what it lost."""
    if not cost.path:
        return ""
    became = f"Lowered: {prose(', '.join(cost.path))}"
    return f"{became}; lost {prose(cost.lost)}." if cost.lost else f"{became}."


def _advice(report: KernelReport, span: Span | None) -> str:
    """The first advice on the lines of `span`, or on all."""
    items = [
        f"- {prose(labels.advice(advice))}: {terms.rule(advice.rule)}"
        for advice in report.advice
        if span is None or span.line <= advice.span.line <= span.end_line
    ]
    more = len(items) - _MOST_ADVICE
    displayed = items[:_MOST_ADVICE] + [f"- {more} more in the report"] * (more > 0)
    return "Advice\n" + "\n".join(displayed) if displayed else ""
