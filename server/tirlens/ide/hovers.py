"""Hovers in Markdown: the verdict, then figures, then inner entries, then caveats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tirlens.ide import entries, labels, launch, lenses, tables
from tirlens.ide.escaping import code, prose
from tirlens.ide.history import NO_HISTORY, History

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tirlens.model.report import BreakdownEntry, KernelReport
    from tirlens_worker.facts import Span

_ROWS = 12
_LEAST_UNCERTAIN = 0.01
_UNCERTAIN = {"reuse": "re-reads"}
_N = TypeVar("_N", int, float)


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
) -> Hover | None:
    """The hover at a position of the analysed text (1-based line, 0-based column).

    The `def` of a kernel has the kernel's hover, a line of its body that of `entries.entry_at`.
    """
    for report in reports:
        if report.span.line == line:
            same = [other for other in reports if other.span.line == line]
            return Hover(
                report.span, "\n\n---\n\n".join(kernel(other, history_of(other)) for other in same)
            )
    for report in reports:
        found = entries.entry_at(report.loops, line, column)
        if found is not None:
            return Hover(found.span, node(found, report))
    return None


def kernel(report: KernelReport, history: History = NO_HISTORY) -> str:
    """The whole kernel, and what its time is compared with."""
    if not report.has_counts:
        titles = (prose(part.title) for part in lenses.parts(report))
        return f"**{prose(report.name)}**: " + ", ".join(titles)
    head = [f"**{prose(report.name)}**: {lenses.time(report)}"]
    if lenses.bound(report):
        head.append(lenses.bound(report))
    sections = [", ".join(head) + f" on {prose(report.device_name)}."]
    sections.append(history.description_of(report))
    sections.append(assumptions(report))
    if report.bound_reason:
        sections.append(prose(report.bound_reason))
    rows = [
        ("FLOP", _with_formula(labels.flop(report.flop), report.formula.get("flop"))),
        ("useful", _useful(report)),
        (
            "global memory, issued",
            _with_formula(
                _read_write(report.global_bytes.read, report.global_bytes.write),
                report.formula.get("global_bytes"),
            ),
        ),
        ("compulsory", labels.compulsory(report)),
        ("DRAM", _read_write(report.dram_bytes.read, report.dram_bytes.write)),
        ("L2", _format_nonzero(report.l2_bytes, labels.bytes_)),
        ("shared memory", _format_nonzero(report.shared_bytes, labels.bytes_)),
        ("intensity", intensity(report.arithmetic_intensity, report.ridge_point)),
        ("rate", _format_known(report.flop_per_s, lambda value: labels.rate(value, "FLOP"))),
        (
            "bandwidth",
            _format_known(report.dram_bytes_per_s, lambda value: labels.rate(value, "B")),
        ),
        ("roofline", _format_known(report.roofline_time_s, labels.seconds)),
        ("band", _band(report)),
        ("launch", _launch(report)),
        ("registers", _format_known(report.registers_per_thread, "{} a thread (estimated)".format)),
        ("arrays", prose(launch.array_transfers(report))),
        ("occupancy", _occupancy(report)),
        ("waves", _waves(report)),
    ]
    sections.append(_table(rows))
    sections.append(inside(report.loops))
    sections.append(_advice(report, None))
    sections.append(caveats([note.message for note in report.caveats]))
    return "\n\n".join(section for section in sections if section)


def node(cost: BreakdownEntry, report: KernelReport) -> str:
    """One loop or operation."""
    verdict = f"**{code(cost.label)}**: {labels.seconds(cost.time_s)}"
    if not cost.time_s and cost.overlapped_s:
        verdict = f"**{code(cost.label)}**: {labels.seconds(cost.overlapped_s)}, all of it hidden"
    elif cost.share is not None:
        verdict += f", {labels.percent(cost.share)} of {prose(labels.title(report))}"
    if cost.bound:
        verdict += f", {cost.bound}-bound"
    rows = [
        ("trips", _trips(cost)),
        ("executions", _format_known(cost.executions, labels.number)),
        ("FLOP", _format_unless_zero(cost.flop, labels.flop)),
        ("global memory, issued", _format_unless_zero(cost.global_bytes, labels.bytes_)),
        ("DRAM", _format_unless_zero(cost.dram_bytes, labels.bytes_)),
        ("L2", _format_nonzero(cost.l2_bytes, labels.bytes_)),
        ("shared memory", _format_nonzero(cost.shared_bytes, labels.bytes_)),
    ]
    if cost.flop is not None and cost.dram_bytes:
        rows.append(("intensity", intensity(cost.flop / cost.dram_bytes, report.ridge_point)))
    if cost.overlapped_s:
        rows.append(("hidden behind other work", labels.seconds(cost.overlapped_s)))
    rows.extend((prose(name), prose(text)) for name, text in cost.details)
    notes = [
        note.message
        for note in report.caveats
        if note.span is not None
        and note.span.file is None
        and cost.span.line <= note.span.line <= cost.span.end_line
    ]
    sections = [
        verdict + ".",
        assumptions(report),
        _table(rows),
        inside(cost.children),
        _sites(cost),
        _advice(report, cost.span),
        caveats(notes),
    ]
    return "\n\n".join(section for section in sections if section)


def intensity(value: float | None, ridge: float | None) -> str:
    """``113 FLOP/B, ridge point 295: memory side``; empty if unknown."""
    if value is None:
        return ""
    text = f"{labels.number(float(value))} FLOP/B"
    if ridge is None:
        return text
    side = "compute" if value >= ridge else "memory"
    return f"{text}, ridge point {labels.number(float(ridge))}: {side} side"


def inside(costs: Sequence[BreakdownEntry]) -> str:
    """The table of inner entries, the most expensive first."""
    if not costs:
        return ""
    ordered = sorted(costs, key=lambda cost: -(cost.time_s or 0))
    lines = [
        "| inside | line | time | share | FLOP | DRAM | bound |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    for cost in ordered[:_ROWS]:
        cells = (
            code(cost.label),
            _line(cost),
            labels.seconds(cost.time_s),
            labels.percent(cost.share),
            _format_unless_zero(cost.flop, labels.flop),
            _format_unless_zero(cost.dram_bytes, labels.bytes_),
            cost.bound or "",
        )
        lines.append("| " + " | ".join(cells) + " |")
    if len(ordered) > _ROWS:
        lines.append(f"| {len(ordered) - _ROWS} more | | | | | | |")
    return "\n".join(lines)


def _trips(cost: BreakdownEntry) -> str:
    """``32``, or ``up to 4096, 2050 on average`` for a loop whose trip count varies."""
    trips = _format_known(cost.trips, labels.number)
    if cost.mean_trips is None:
        return trips
    return f"up to {trips}, {labels.number(cost.mean_trips)} on average"


def _line(cost: BreakdownEntry) -> str:
    """Where `cost` is written: ``38``, or ``common.py:38`` in another file."""
    return prose(tables.place(cost.sites[-1] if cost.sites else cost.span))


def assumptions(report: KernelReport) -> str:
    """The assumptions of the estimate in one line: arguments, bindings, device, framework."""
    items: list[str] = []
    if report.call:
        items.append(f"{code(report.call)} ({_call_source(report)})")
    if report.bindings:
        items.append(code(", ".join(f"{name}={value}" for name, value in report.bindings.items())))
    items.append(prose(f"{report.device_name} ({report.device_id})"))
    items.append(prose(f"{report.framework} {report.framework_version}"))
    return "Assumes " + ", ".join(items) + "."


def _call_source(report: KernelReport) -> str:
    """Where the arguments are from, with a link to a call in another file."""
    site = report.call_site
    if site is None or site.file is None:
        return report.call_source
    uri = Path(site.file).absolute().as_uri()
    link = f"[{prose(tables.place(site))}]({uri}#L{site.line})"
    return f"{report.call_source} {link}{tables.launches(report)}"


def caveats(notes: Sequence[str]) -> str:
    """The caveats of the estimate, one line each."""
    items = [f"- {prose(note)}" for note in dict.fromkeys(notes)]
    return "Caveats\n" + "\n".join(items) if items else ""


def _table(rows: Sequence[tuple[str, str]]) -> str:
    filled = [(name, value) for name, value in rows if value]
    if not filled:
        return ""
    body = "\n".join(f"| {_cell(name)} | {_cell(value)} |" for name, value in filled)
    return "| | |\n|---|---|\n" + body


def _format_known(value: _N | None, form: Callable[[_N], str]) -> str:
    return "" if value is None else form(value)


def _format_unless_zero(value: float | None, form: Callable[[float | None], str]) -> str:
    """`value` formatted, also if it is unknown; empty if it is zero."""
    return "" if value == 0 else form(value)


def _format_nonzero(value: _N | None, form: Callable[[_N], str]) -> str:
    """`value` formatted; empty if it is unknown or zero."""
    return form(value) if value else ""


def _read_write(read: float | None, write: float | None) -> str:
    total = None if read is None or write is None else read + write
    return f"{labels.bytes_(total)} (read {labels.bytes_(read)}, write {labels.bytes_(write)})"


def _with_formula(text: str, formula: str | None) -> str:
    return f"{text} = {code(formula)}" if formula else text


def _useful(report: KernelReport) -> str:
    """``52 %: tile overhang 3 %, masks 45 %``; empty if unknown or if all of it is useful."""
    issued, useful, masked = report.flop, report.useful_flop, report.masked_flop
    if not issued or useful is None or masked is None or useful == issued:
        return ""
    lost = (("tile overhang", issued - useful - masked), ("masks", masked))
    parts = [f"{name} {labels.percent(flop / issued)}" for name, flop in lost if flop]
    return f"{labels.percent(useful / issued)}: {', '.join(parts)}"


def _band(report: KernelReport) -> str:
    """``1.2 ms to 1.5 ms: waits 10%, rate 8%``, with the largest uncertainty first."""
    if report.time_band_s is None:
        return ""
    low, high = report.time_band_s
    uncertainties = sorted(report.uncertainty.items(), key=lambda pair: -pair[1])
    parts = [
        f"{_UNCERTAIN.get(name, name)} {labels.percent(math.expm1(part))}"
        for name, part in uncertainties
        if part >= _LEAST_UNCERTAIN
    ]
    band = f"{labels.seconds(low)} to {labels.seconds(high)}"
    return f"{band}: {', '.join(parts)}" if parts else band


def _launch(report: KernelReport) -> str:
    if not report.grid:
        return ""
    blocks = f"{' x '.join(map(str, report.grid))} blocks (source)"
    return " of ".join(filter(None, (blocks, launch.block(report))))


def _occupancy(report: KernelReport) -> str:
    found = report.occupancy
    if found is None:
        return ""
    share = labels.percent(found.fraction)
    return f"{launch.blocks_per_sm(found)}, {share}, limited by {found.limiter}"


def _waves(report: KernelReport) -> str:
    found = report.waves
    if found is None:
        return ""
    return f"{labels.number(float(found.count))}, tail {labels.percent(found.tail_fraction)}"


def _sites(cost: BreakdownEntry) -> str:
    """Where a line of a macro is written, and where the macro is called."""
    if len(cost.sites) < 2:
        return ""
    places = [
        f"line {site.line}" + (f" of {code(site.file)}" if site.file else "") for site in cost.sites
    ]
    return "Called at " + ", written at ".join((places[0], places[-1])) + "."


def _advice(report: KernelReport, span: Span | None) -> str:
    items: list[str] = []
    for advice in report.advice:
        if span is None or span.line <= advice.span.line <= span.end_line:
            items.append(f"- {prose(labels.advice(advice))}")
    return "Advice\n" + "\n".join(items) if items else ""


def _cell(text: str) -> str:
    return " ".join(text.split())
