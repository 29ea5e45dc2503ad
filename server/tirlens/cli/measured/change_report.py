"""Two measured runs as a table, CSV, JSON, Markdown, SARIF, a page and GitHub annotations."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.cli import sarif
from tirlens.cli.change_report import annotation, growth_text, one_line
from tirlens.cli.measured.places import KernelPlace
from tirlens.cli.output import console, write_json
from tirlens.gate import Limits
from tirlens.gate.measured_changes import MeasuredChange
from tirlens.ide import labels, places
from tirlens.ide.escaping import code, csv_cell, prose
from tirlens.ide.measured_page import comparison_document
from tirlens.measured.records import Operation, Position, Tensor
from tirlens.measured.runs.comparison import Comparison, OperationChange, Side, Totals
from tirlens.measured.runs.significance import (
    CHANCE,
    LEAST_BETWEEN_RUNS,
    Sample,
    probability_of_chance,
)
from tirlens_worker.facts import Span

#: Tables leave out operations below this share of the time of both runs; data has all.
DEFAULT_MIN_PERCENTAGE = 0.5

COLUMNS = (
    "operation", "kind", "grid", "block", "arguments", "relation", "operation_before",
    "executions_before", "executions", "time_before_s", "deviation_before_s", "samples_before",
    "time_s", "deviation_s", "samples", "spread_of", "time_growth", "chance", "total_before_s",
    "total_s", "gap_before_s", "gap_s", "dram_before_bytes", "dram_bytes", "verdicts", "file",
    "row",
)  # fmt: skip
_HEADINGS = ("operation", "launch", "executions", "before", "now", "change", "of the run", "")
_STYLES = {"faster": "green", "unsure": "yellow", "unknown-spread": "yellow"}
_WORDS = {
    "slower": "slower",
    "more-dram": "more DRAM traffic",
    "other-device": "not compared: another device",
    "no-baseline": "new: no baseline",
    "other-work": "not compared: other arguments, or not known",
    "no-time": "a side has no time",
    "unknown-spread": "slower, the spread is not known",
    "unsure": "slower, within the spread",
    "faster": "faster",
    "removed": "gone",
    "changed": "",
    "same": "",
}
_WORDS_OF_A_COMPARISON = {
    "within-spread": "within the spread",
    "unknown-spread": "the spread is not known",
    "no-time": "a side has no time",
    "other-work": _WORDS["other-work"],
    "slower": "slower",
    "faster": "faster",
    "new": "new",
    "gone": "gone",
    "same": "",
}
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


def write(out: TextIO, report: MeasuredChangeReport, kind: str, color: bool | None) -> None:
    """Write `report` to `out` in the format `kind`; `color` is for tables alone."""
    if kind == "json":
        write_json(out, _json(report))
    elif kind == "csv":
        _write_csv(out, report)
    elif kind == "sarif":
        write_json(out, _sarif(report))
    elif kind == "markdown":
        out.write(_markdown(report))
    elif kind == "html":
        out.write(comparison_document(report.comparison, tuple(report.notes)))
    else:
        _print_table(console(out, color), report)
        if kind == "github":
            out.writelines(
                annotation(*report.location(item), explanation(item)) for item in report.refused
            )


def explanation(item: MeasuredChange) -> str:
    """The verdict on an operation and its figures, in a sentence."""
    change = item.change
    said = f"{change.operation.name}: {verdict(item)}"
    before, now = change.before, change.now
    if before is None or now is None:
        return said
    figures: list[str] = []
    if "more-dram" in item.verdicts and now.dram_bytes is not None:
        figures.append(
            f"{labels.bytes_(before.dram_bytes)} -> {labels.bytes_(now.dram_bytes)}"
            + growth_text(change.dram_growth)
        )
    if item.verdicts != ("more-dram",):
        figures.append(f"{_time(before)} -> {_time(now)}{growth_text(change.time_growth)}")
    why = _differing_launch(change)
    return f"{said}, {', '.join(figures)}{f'; {why}' if why else ''}"


def verdict(item: MeasuredChange, has_limits: bool = True) -> str:
    """The verdicts in words."""
    if not has_limits and item.verdicts != ("other-device",):
        return _WORDS_OF_A_COMPARISON[item.change.verdict]
    return ", ".join(filter(None, (_WORDS[word] for word in item.verdicts)))


def _differing_launch(change: OperationChange) -> str:
    """What of the launch is another one; empty for the same."""
    if change.before is None or change.now is None:
        return ""
    old, new = change.before.first, change.now.first
    pairs = (
        ("name", old.name, new.name),
        ("grid", _dimensions(old.grid), _dimensions(new.grid)),
        ("block", _dimensions(old.block), _dimensions(new.block)),
        ("arguments", _arguments(old), _arguments(new)),
        ("call", old.attributes.get("call", ""), new.attributes.get("call", "")),
    )
    parts = [f"{name} {a or 'not known'} -> {b or 'not known'}" for name, a, b in pairs if a != b]
    if change.relation == "moved":
        parts.append("at another place")
    return "; ".join(parts)


def _frequency(item: MeasuredChange, report: MeasuredChangeReport) -> str:
    """That an operation is executed more or less often than the others lead to expect."""
    times = report.comparison.relative_executions(item.change)
    if times is None or 0.99 < times < 1.01:
        return ""
    return f"executed {labels.number(times)} times as often"


def _cells(item: MeasuredChange, report: MeasuredChangeReport) -> tuple[str, ...]:
    change = item.change
    total_s = change.total_change_s
    why = "; ".join(filter(None, (_frequency(item, report), _differing_launch(change))))
    said = verdict(item, bool(report.limits))
    return (
        _launch(change.operation),
        _executions(change),
        _time(change.before),
        _time(change.now),
        growth_text(change.time_growth).strip(" ()"),
        f"{'+' if total_s > 0 else '-'}{labels.seconds(abs(total_s))}" if total_s else "",
        "; ".join(filter(None, (said, why))),
    )


def _launch(operation: Operation) -> str:
    """``grid x block``, and the sizes of the arguments."""
    call = operation.attributes.get("call")
    if call is not None:
        return call
    shape = [_dimensions(size) for size in (operation.grid, operation.block) if size]
    return " ".join(filter(None, (" of ".join(shape), _arguments(operation))))


def _dimensions(size: tuple[int, int, int] | None) -> str:
    return "" if size is None else "x".join(map(str, size))


def _arguments(operation: Operation) -> str:
    return ", ".join(filter(None, map(_tensor, operation.inputs)))


def _tensor(tensor: Tensor) -> str:
    shape = tensor.logical_shape or tensor.shape
    return f"{tensor.dtype or ''}{list(shape)}" if shape else tensor.dtype or ""


def _executions(change: OperationChange) -> str:
    sides = [side and labels.number(side.executions) for side in (change.before, change.now)]
    known = [text or "-" for text in sides]
    return known[0] if known[0] == known[1] else " -> ".join(known)


def _time(side: Side | None) -> str:
    return "-" if side is None else _sample(side.sample)


def _sample(sample: Sample | None) -> str:
    if sample is None:
        return "no time"
    if sample.deviation_s is None:
        return labels.seconds(sample.mean_s)
    return f"{labels.seconds(sample.mean_s)} ± {labels.seconds(sample.deviation_s, 2)}"


def _total_rows(report: MeasuredChangeReport) -> list[tuple[str, str, str, str]]:
    """Name, before, now and change of the runs as a whole."""
    before, now = report.comparison.before, report.comparison.now
    rows = [
        (
            "time on the device",
            _sample(before.time),
            _sample(now.time),
            _change_of(before.time and before.time.mean_s, now.time and now.time.mean_s),
        )
    ]
    if before.gap_s is not None or now.gap_s is not None:
        rows.append(("gaps", _gap(before), _gap(now), _change_of(before.gap_s, now.gap_s)))
    old, new = before.operations, now.operations
    rows.append(("operations", labels.number(old), labels.number(new), _change_of(old, new)))
    return rows


def _gap(side: Totals) -> str:
    return "not known" if side.gap_s is None else labels.seconds(side.gap_s)


def _change_of(before: float | None, now: float | None) -> str:
    if before is None or now is None or not before:
        return ""
    return growth_text(now / before - 1).strip(" ()")


def _devices(side: Totals) -> str:
    return ", ".join(sorted(side.devices)) or "not known"


def _left_out(report: MeasuredChangeReport) -> str:
    count = len(report.changes) - len(report.displayed)
    if not count:
        return ""
    share = labels.percent(report.least_share)
    return f"{labels.count(count, 'operation')} below {share} of the time left out"


def _print_table(out: Console, report: MeasuredChangeReport) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for number, name in enumerate(_HEADINGS):
        justify = "right" if 2 <= number <= 6 else "left"
        table.add_column(name, justify=justify, overflow="fold")
    for item in report.displayed:
        style = "red" if item in report.refused else _STYLES.get(item.verdicts[0], "")
        cells = (item.change.operation.name, *_cells(item, report))
        table.add_row(*(Text(one_line(cell)) for cell in cells), style=style)
    for number, (name, old, new, change) in enumerate(_total_rows(report)):
        if not number:
            table.add_section()
        table.add_row(Text(name), "", "", Text(old), Text(new), Text(change), "", "")
    out.print(table)
    for line in (_left_out(report), report.statistics):
        if line:
            out.print(Text(line, style="dim"))
    style = "bold red" if report.refused else "bold green" if report.limits else "bold"
    out.print(Text(report.summary, style=style))
    for item in report.refused:
        text = one_line(f"{places.place(*report.location(item))}: {explanation(item)}")
        out.print(Text(text), soft_wrap=True)


def _markdown(report: MeasuredChangeReport) -> str:
    """A comment for a pull request: what differs, with the rest collapsed."""
    parts = [f"**TIRLens:** {prose(report.summary)}\n"]
    rows = [("", "before", "now", "change"), (":---", "---:", "---:", "---:")]
    rows += [tuple(map(prose, row)) for row in _total_rows(report)]
    parts.append(_markdown_rows(rows))
    quiet = {"same", "within-spread"}
    differing = [item for item in report.displayed if item.change.verdict not in quiet]
    alike = [item for item in report.displayed if item.change.verdict in quiet]
    if differing:
        parts.append(_markdown_table(report, differing))
    if alike:
        folded = _markdown_table(report, alike)
        head = f"{labels.count(len(alike), 'operation')} as before, within the spread"
        parts.append(f"<details><summary>{head}</summary>\n\n{folded}\n</details>\n")
    foot = " ".join(filter(None, (*(f"{note}." for note in report.notes), report.statistics)))
    parts.append(f"{prose(foot)}\n")
    if _left_out(report):
        parts.append(f"{prose(_left_out(report))}\n")
    return "\n".join(parts)


def _markdown_table(report: MeasuredChangeReport, items: Sequence[MeasuredChange]) -> str:
    rows: list[tuple[str, ...]] = [tuple(map(prose, _HEADINGS))]
    rows.append((":---", ":---", "---:", "---:", "---:", "---:", "---:", ":---"))
    for item in items:
        mark = ":x: " if item in report.refused else ""
        name = f"{mark}{code(item.change.operation.name)}"
        rows.append((name, *map(prose, _cells(item, report))))
    return _markdown_rows(rows)


def _markdown_rows(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _sarif(report: MeasuredChangeReport) -> dict[str, Any]:
    return sarif.document(
        [
            sarif.result(
                _rule_id(item),
                "error",
                explanation(item),
                *report.location(item),
                f"{item.change.operation.name} {_launch(item.change.operation)}",
            )
            for item in report.refused
        ]
    )


def _rule_id(item: MeasuredChange) -> str:
    return f"measured-{item.verdicts[0] if item.is_refused else 'uncompared'}"


def _write_csv(out: TextIO, report: MeasuredChangeReport) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for item in report.changes:
        data = _row_json(item, report)
        data["verdicts"] = " ".join(item.verdicts)
        writer.writerow(csv_cell(data[name]) for name in COLUMNS)


def _row_json(item: MeasuredChange, report: MeasuredChangeReport) -> dict[str, Any]:
    """The figures of an operation by the names of `COLUMNS`."""
    change = item.change
    operation = change.operation
    before, now = change.before, change.now
    old, new = before and before.sample, now and now.sample
    spreads = [sample.source for sample in (old, new) if sample is not None and sample.source]
    is_tested = change.is_compared and old is not None and new is not None
    chance = probability_of_chance(old, new) if is_tested and old and new else None
    return {
        "operation": operation.name,
        "kind": operation.kind,
        "grid": _dimensions(operation.grid) or None,
        "block": _dimensions(operation.block) or None,
        "arguments": operation.attributes.get("call") or _arguments(operation) or None,
        "relation": change.relation,
        "operation_before": before.first.name if before else None,
        "executions_before": before.executions if before else None,
        "executions": now.executions if now else None,
        "time_before_s": old.mean_s if old else None,
        "deviation_before_s": old.deviation_s if old else None,
        "samples_before": old.count if old else None,
        "time_s": new.mean_s if new else None,
        "deviation_s": new.deviation_s if new else None,
        "samples": new.count if new else None,
        "spread_of": " ".join(dict.fromkeys(spreads)) or None,
        "time_growth": change.time_growth,
        "chance": chance,
        "total_before_s": before.total_s if before else None,
        "total_s": now.total_s if now else None,
        "gap_before_s": before.gap_s if before else None,
        "gap_s": now.gap_s if now else None,
        "dram_before_bytes": before.dram_bytes if before else None,
        "dram_bytes": now.dram_bytes if now else None,
        "verdicts": list(item.verdicts),
        "file": operation.position.path,
        "row": operation.position.row,
    }


def _json(report: MeasuredChangeReport) -> dict[str, Any]:
    comparison = report.comparison
    return {
        "schema_version": 1,
        "measured": {
            "before": _totals_json(comparison.before),
            "now": _totals_json(comparison.now),
        },
        "limits": {"time": report.limits.time, "dram": report.limits.dram},
        "chance_limit": CHANCE,
        "uncompared": len(report.uncompared),
        "notes": list(report.notes),
        "changes": [
            {
                **_row_json(item, report),
                "verdict": item.change.verdict,
                "refused": item in report.refused,
                "uncompared": item.is_uncompared,
            }
            for item in report.changes
        ],
    }


def _totals_json(side: Totals) -> dict[str, Any]:
    return {
        "files": list(side.paths),
        "runs": side.runs,
        "devices": sorted(side.devices),
        "operations": side.operations,
        "time_s": side.time and side.time.mean_s,
        "deviation_s": side.time and side.time.deviation_s,
        "gap_s": side.gap_s,
    }
