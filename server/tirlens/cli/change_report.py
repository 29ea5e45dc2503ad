"""The changes of kernels as a table, Markdown, SARIF, JSON and GitHub annotations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.cli import sarif
from tirlens.cli.errors import UsageError
from tirlens.cli.output import console
from tirlens.cli.variants import Variant, variants_json
from tirlens.gate import Change, Limits, most_grown_line, reasons
from tirlens.ide import labels
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport
from tirlens_worker.facts import Span

_SUFFIXES = {".md": "markdown", ".sarif": "sarif", ".json": "json"}
_STYLES = {"faster": "green", "unsure": "yellow"}
_WORDS = {
    "slower": "slower",
    "more-dram": "more DRAM traffic",
    "lost": "no figures any more",
    "over-budget": "over budget",
    "failed": "new, cannot be analysed",
    "unknown": "cannot be analysed, nor could it before",
    "other-work": "other sizes: not compared",
    "unsure": "slower, within the model's noise",
    "changed": "",
    "same": "",
}


@dataclass(frozen=True)
class ChangeReport:
    """The changes of all kernels between a revision and the working tree.

    `limits` are false where no growth is limited; `limit_texts` are the limits as the user wrote
    them.  `now` and `before` are the reports of both sides.
    """

    base: str
    changes: Sequence[Change]
    limits: Limits
    given: Sequence[str]
    now: Sequence[FileReport]
    before: Sequence[FileReport]

    @property
    def refused(self) -> list[Change]:
        """The changes that the gate refuses.  A budget applies without a gate, too."""
        return [
            item
            for item in self.changes
            if (item.is_refused if self.limits else "over-budget" in item.verdicts)
        ]

    @property
    def summary(self) -> str:
        """``2 of 14 kernels against origin/main: refused (fail above 5%)``."""
        kernels = labels.count(len(self.changes), "kernel")
        above = f" (fail above {', '.join(self.given)})" if self.given else ""
        if self.refused:
            return f"{len(self.refused)} of {kernels} fail against {self.base}{above}"
        changed = sum(item.verdicts != ("same",) for item in self.changes)
        return f"{changed} of {kernels} differ from {self.base}{above}"


def format_of(path: str) -> str:
    """The format for a file of this name.

    Raises:
        UsageError: there is none.
    """
    kind = _SUFFIXES.get(Path(path).suffix.lower())
    if kind is None:
        raise UsageError(f"--write {path}: the name must end in {', '.join(_SUFFIXES)}")
    return kind


def write(out: TextIO, report: ChangeReport, kind: str, color: bool | None) -> None:
    """Write `report` to `out` in the format `kind`; `color` is for tables alone."""
    if kind == "json":
        _write_json(out, _json(report))
    elif kind == "sarif":
        _write_json(out, _sarif(report))
    elif kind == "markdown":
        out.write(_markdown(report))
    elif kind == "github":
        _print_table(console(out, color), report)
        out.writelines(_annotation(item) for item in report.refused)
    else:
        _print_table(console(out, color), report)


def explanation(item: Change) -> str:
    """The verdict on a kernel and its reasons, in a sentence."""
    out = f"{item.name} on {item.device_id}: {verdict(item)}"
    if item.message:
        return f"{out}: {item.message}"
    before, now = item.before, item.now
    figures: list[str] = []
    if "slower" in item.verdicts and before and now:
        figures.append(f"{labels.seconds(before.time_s)} -> {_time(item)}")
    if "more-dram" in item.verdicts and before and now:
        figures.append(f"{labels.bytes_(before.dram_bytes.total)} -> {_dram(item)}")
    if "over-budget" in item.verdicts and now:
        figures += labels.over_budget(now)
    why = _why(item)
    return f"{out}, {', '.join(figures)}{f'; {why}' if why else ''}"


def verdict(item: Change) -> str:
    """The verdicts in words."""
    return ", ".join(filter(None, (_WORDS.get(word, word) for word in item.verdicts)))


def _why(item: Change) -> str:
    if item.message:
        return item.message
    if item.before is None or item.now is None or not (item.time_growth or item.dram_growth):
        return ""
    line = (
        most_grown_line(item.before, item.now)
        if item.time_growth and item.time_growth > 0
        else None
    )
    parts = [f"line {line[0].span.line}, {line[1]}"] if line else []
    return "; ".join((*parts, *reasons(item.before, item.now)))


def _annotated_span(item: Change) -> Span:
    """The line of the kernel's own file whose time has grown most, else the kernel's span."""
    if item.before and item.now and "slower" in item.verdicts:
        line = most_grown_line(item.before, item.now)
        if line is not None and line[0].span.file is None:
            return line[0].span
    return item.span


def _location(item: Change) -> str:
    is_gone = item.verdicts == ("removed",)
    return item.path if is_gone else f"{item.path}:{item.span.line}"


def _row(item: Change) -> tuple[str, str, str, str, str]:
    return (
        _time_of(item.before, item),
        _time(item) if item.now else "-",
        _dram(item) if item.now else "-",
        verdict(item),
        _why(item),
    )


def _time_of(kernel: KernelReport | None, item: Change) -> str:
    return "-" if kernel is None else labels.seconds(kernel.time_s)


def _time(item: Change) -> str:
    return _time_of(item.now, item) + _growth_text(item.time_growth, item)


def _dram(item: Change) -> str:
    dram_bytes = item.now.dram_bytes.total if item.now else None
    return labels.bytes_(dram_bytes) + _growth_text(item.dram_growth, item)


def _growth_text(growth: float | None, item: Change) -> str:
    if growth is None or "other-work" in item.verdicts or abs(growth) < 5e-4:
        return ""
    return f" ({'+' if growth > 0 else '-'}{labels.percent(abs(growth))})"


def _headings(report: ChangeReport) -> tuple[str, ...]:
    return ("kernel", "device", report.base, "now", "DRAM", "", "why")


def _print_table(out: Console, report: ChangeReport) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for number, name in enumerate(_headings(report)):
        table.add_column(name, justify="right" if number in (2, 3, 4) else "left")
    files = len({item.path for item in report.changes}) > 1
    refused = report.refused
    for item in report.changes:
        name = f"{_location(item)} {item.name}" if files else item.name
        style = "red" if item in refused else _STYLES.get(item.verdicts[0], "")
        table.add_row(*map(Text, (name, item.device_id, *_row(item))), style=style)
    out.print(table)
    out.print(Text(report.summary, style="bold red" if refused else "bold green"))
    for item in refused:
        place = _annotated_span(item)
        out.print(Text(f"{item.path}:{place.line}: {explanation(item)}"), soft_wrap=True)


def _markdown(report: ChangeReport) -> str:
    """A comment for a pull request: failures and changes, with unchanged kernels collapsed."""
    changed = [item for item in report.changes if item.verdicts != ("same",)]
    same = [item for item in report.changes if item.verdicts == ("same",)]
    head = f"**TIRLens:** {report.summary}\n"
    parts = [head]
    if changed:
        parts.append(_markdown_table(report, changed))
    if same:
        folded = _markdown_table(report, same)
        parts.append(
            f"<details><summary>{labels.count(len(same), 'kernel')} as before</summary>\n\n"
            f"{folded}\n</details>\n"
        )
    return "\n".join(parts)


def _markdown_table(report: ChangeReport, changes: Sequence[Change]) -> str:
    rows = [_headings(report), (":---", ":---", "---:", "---:", "---:", ":---", ":---")]
    for item in changes:
        mark = ":x: " if item in report.refused else ""
        where = f"{mark}`{item.name}` {_location(item)}"
        rows.append((where, item.device_id, *_row(item)))
    cells = ([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def _sarif(report: ChangeReport) -> dict[str, Any]:
    results = [
        sarif.result(
            _rule_id(item, report), "error", explanation(item), item.path, _annotated_span(item)
        )
        for item in report.refused
    ]
    return sarif.document(results)


def _rule_id(item: Change, report: ChangeReport) -> str:
    return item.verdicts[0] if report.limits else "over-budget"


def _annotation(item: Change) -> str:
    """A command of GitHub's workflows, which shows a message at the line in the pull request."""
    message = explanation(item).replace("%", "%25").replace("\n", "%0A")
    path = item.path.replace("%", "%25").replace(",", "%2C").replace(":", "%3A")
    return f"::error file={path},line={_annotated_span(item).line},title=TIRLens::{message}\n"


def _json(report: ChangeReport) -> dict[str, Any]:
    sides = (Variant(report.base, tuple(report.before)), Variant("now", tuple(report.now)))
    refused = report.refused
    return {
        **variants_json(sides),
        "limits": {"time": report.limits.time, "dram": report.limits.dram},
        "changes": [
            {
                "file": item.path,
                "line": item.span.line,
                "name": item.name,
                "device": item.device_id,
                "verdicts": list(item.verdicts),
                "refused": item in refused,
                "time_growth": item.time_growth,
                "dram_growth": item.dram_growth,
                "why": _why(item),
            }
            for item in report.changes
        ],
    }


def _write_json(out: TextIO, data: dict[str, Any]) -> None:
    json.dump(data, out, indent=2, ensure_ascii=False)
    out.write("\n")
