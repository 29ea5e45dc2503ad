"""The part of a report of traces that has the kernels of the workspace: measured and predicted."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.cli.columns import fitting_columns
from tirlens.cli.measured.recording import entries_of_traces, recorder
from tirlens.cli.measured.residual_questions import mechanisms_of
from tirlens.cli.measured.residual_table import mechanism_json
from tirlens.cli.measured.workspace_matches import WorkspaceMatches
from tirlens.cli.outcome import print_note
from tirlens.ide import labels
from tirlens.ide.escaping import visible
from tirlens.measured.groups import Group
from tirlens.measured.matching.outcomes import Ambiguous
from tirlens.measured.matching.residuals import Residual, sum_residuals
from tirlens.measured.performance.report import MeasuredReport
from tirlens.pipeline import line_json

_COLUMNS = (
    "runs", "measured", "10-90%", "predicted", "band", "roofline", "pred/meas", "in band", "by",
)  # fmt: skip
_LEAST_IMPORTANT = ("10-90%", "by", "band", "runs")
_WORDS = ("in band", "by")
_LEAST_TITLE = 30
# Further ones are summed in one line.
_MOST_LISTED = 20


def show(matches: WorkspaceMatches, arguments: argparse.Namespace, out: Console) -> None:
    """Print the matched kernels, then those that are not matched and why."""
    if matches.matched:
        out.print(_table(matches.matched, out.width))
    for note in _notes(matches, arguments):
        out.print(Text(_line(note)))
    _print_listed(out, "Ambiguous", [(one.group, _ambiguity(one)) for one in matches.ambiguous])
    _print_listed(out, "Not matched", [(one.group, one.reason) for one in matches.unmatched])
    out.print(Text(visible(summary(matches))))


def record(
    report: MeasuredReport, matches: WorkspaceMatches, arguments: argparse.Namespace
) -> None:
    """Store the times of the matched kernels, if asked."""
    if arguments.record is None:
        return
    formats = {str(trace.path): trace.format_name for trace in report.traces}
    sources = {file.path: file.source for file in matches.traced}
    entries = list(entries_of_traces(matches.matched, formats, sources))
    for path in recorder(arguments.record).record_all(entries):
        print_note(f"{path}: {labels.count(len(entries), 'measured time')} recorded")


def _table(matched: Sequence[Residual], width: int) -> Table:
    cells = [_cells(one) for one in matched]
    columns = fitting_columns(_COLUMNS, cells, width - _LEAST_TITLE, _LEAST_IMPORTANT)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("kernel", min_width=_LEAST_TITLE, style="bold")
    for name in columns:
        table.add_column(name, justify="left" if name in _WORDS else "right", no_wrap=True)
    for one, texts in zip(matched, cells, strict=True):
        title = Text(_line(one.match.title), no_wrap=True, overflow="ellipsis")
        style = "" if one.in_band in ("inside", None) else "yellow"
        table.add_row(
            title,
            *(Text(texts[name], style=style if name == "in band" else "") for name in columns),
        )
    return table


def _cells(one: Residual) -> dict[str, str]:
    time, band = one.match.group.time, one.band_s
    low, high = time.quantile(0.1), time.quantile(0.9)
    spread = "" if low is None or high is None or low == high else _range(low, high)
    return {
        "runs": f"{one.executions:,}",
        "measured": labels.seconds(one.measured_s),
        "10-90%": spread,
        "predicted": labels.seconds(one.predicted_s),
        "band": "" if band is None else _range(*band),
        "roofline": labels.seconds(one.roofline_s),
        "pred/meas": labels.number(one.ratio),
        "in band": {"inside": "yes", "above": "slower", "below": "faster"}.get(
            one.in_band or "", "?"
        ),
        "by": ", ".join(one.match.evidence),
    }


def _range(low: float, high: float) -> str:
    return f"{labels.seconds(low)} - {labels.seconds(high)}"


def _notes(matches: WorkspaceMatches, arguments: argparse.Namespace) -> list[str]:
    """The evidence of what is outside its band, and what is doubtful."""
    notes = [
        f"{one.match.title}: {text}"
        for one in matches.matched
        for text in (*(found.text for found in mechanisms_of(one, arguments)), *one.notes)
    ]
    if any("grid" in one.match.evidence for one in matches.matched):
        notes.append(
            "Matched by grid and block: sizes on which neither depends are those of the call."
        )
    return [*notes, *matches.notes]


def _ambiguity(one: Ambiguous) -> str:
    return f"{one.reason}: {'; '.join(one.titles)}"


def _print_listed(out: Console, heading: str, listed: Sequence[tuple[Group, str]]) -> None:
    if not listed:
        return
    out.print()
    out.print(Text(f"{heading}: {len(listed):,}", style="bold"))
    for group, reason in listed[:_MOST_LISTED]:
        out.print(Text(_line(f"  {_launch_text(group)}: {reason}")))
    rest = listed[_MOST_LISTED:]
    if rest:
        time_s = sum(group.time.total for group, _ in rest)
        out.print(Text(f"  {len(rest):,} more: {labels.seconds(time_s)}"))


def _launch_text(group: Group) -> str:
    """``gemm_kernel <<<8x8x1, 256x1x1>>>, 3 runs, 1.2 ms``."""
    name = "further kernels" if group.identity is None else group.identity.title
    time = labels.seconds(group.time.total) if group.time.count else "no time"
    return f"{name}, {labels.count(group.executions, 'run')}, {time}"


def summary(matches: WorkspaceMatches) -> str:
    """The sums over the matched kernels in a sentence."""
    sums = sum_residuals(matches.matched)
    if sums is None:
        return "No measured kernel is matched with one of the files."
    share = sums.measured_s / matches.kernel_time_s if matches.kernel_time_s else None
    of = f"{labels.percent(share)} of the time of all kernels" if share is not None else ""
    ratio = labels.number(sums.predicted_s / sums.measured_s) if sums.measured_s else "?"
    return (
        f"Matched: {labels.seconds(sums.measured_s)} measured, {of}; predicted "
        f"{labels.seconds(sums.predicted_s)} ({ratio} of it), "
        f"roofline {labels.seconds(sums.roofline_s)}"
    )


def data(matches: WorkspaceMatches, arguments: argparse.Namespace) -> dict[str, Any]:
    """The matched kernels, and those that are not, in SI units."""
    return {
        "kernels": [_residual_json(one, matches, arguments) for one in matches.matched],
        "ambiguous": [
            {**_group_json(one.group), "reason": one.reason, "kernels": list(one.titles)}
            for one in matches.ambiguous
        ],
        "unmatched": [
            {**_group_json(one.group), "reason": one.reason, "fitting": list(one.fitting)}
            for one in matches.unmatched
        ],
        "kernel_time_s": matches.kernel_time_s,
        "notes": list(matches.notes),
    }


def _residual_json(
    one: Residual, matches: WorkspaceMatches, arguments: argparse.Namespace
) -> dict[str, Any]:
    report, path = one.match.candidate.report, one.match.candidate.path
    notebook = next(file.notebook for file in matches.traced if file.path == path)
    span = report.span if notebook is None else notebook.in_cell(report.span)
    return {
        **_group_json(one.match.group),
        "kernel": {
            "file": path,
            **line_json(span),
            "name": report.name,
            "definition": report.definition,
            "call": report.call,
            "bindings": dict(report.bindings),
            "launch": one.match.number,
        },
        "evidence": list(one.match.evidence),
        "device_id": one.device_id,
        "measured_s": one.measured_s,
        "predicted_s": one.predicted_s,
        "predicted_band_s": None if one.band_s is None else list(one.band_s),
        "roofline_time_s": one.roofline_s,
        "ratio": one.ratio,
        "in_band": one.in_band,
        "mechanisms": [mechanism_json(found) for found in mechanisms_of(one, arguments)],
        "notes": list(one.notes),
    }


def _group_json(group: Group) -> Mapping[str, Any]:
    identity, time = group.identity, group.time
    return {
        "measured": {
            "name": None if identity is None else identity.name,
            "file": group.first.position.path,
            "row": group.first.position.row,
            "grid": identity and identity.grid,
            "block": identity and identity.block,
            "shared_bytes": identity and identity.shared_bytes,
            "executions": group.executions,
            "total_s": time.total if time.count else None,
            "mean_s": time.mean,
            "minimum_s": time.minimum,
            "maximum_s": time.maximum,
            "deviation_s": time.deviation,
            "median_s": time.median,
            "p10_s": time.quantile(0.1),
            "p90_s": time.quantile(0.9),
        }
    }


def _line(text: str) -> str:
    """Text of a trace or a file on one line, without what a terminal would obey."""
    return visible(text).replace("\n", " ").replace("\t", " ")
