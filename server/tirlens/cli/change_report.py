"""The changes of kernels as a table, Markdown, SARIF, JSON and GitHub annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens import pipeline
from tirlens.cli import difference_text, sarif
from tirlens.cli.errors import UsageError
from tirlens.cli.output import console, write_json
from tirlens.cli.variants import Variant, variants_json
from tirlens.gate import Change, ChangedLine, Limits, reasons
from tirlens.ide import call_text, labels, places
from tirlens.ide.escaping import code, prose, visible
from tirlens.ide.notebook_file import CellSpan
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport
from tirlens_worker.facts import Span

SUFFIXES = {".md": "markdown", ".sarif": "sarif", ".json": "json"}
_STYLES = {"faster": "green", "unsure": "yellow"}
_MAX_CALL = 60
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
    """The changes of all kernels between a revision and the working tree, or two frameworks.

    `names` are those of the side before and the present one.  `limits` are false where no growth is
    limited; `given` are the limits as the user wrote them.  `now` and `before` are the reports of
    both sides.  `allows_uncompared`: what could not be compared is not refused.  `diffs` are the
    languages whose changed lines are written.
    """

    names: tuple[str, str]
    changes: Sequence[Change]
    limits: Limits
    given: Sequence[str]
    now: Sequence[FileReport]
    before: Sequence[FileReport]
    allows_uncompared: bool = False
    diffs: Sequence[str] = ()

    @property
    def refused(self) -> list[Change]:
        """The changes that the gate refuses.  A budget applies without a gate, too."""
        return [change for change in self.changes if self._is_refused(change)]

    @property
    def uncompared(self) -> list[Change]:
        """The changes of which nothing is known."""
        return [change for change in self.changes if change.is_uncompared]

    def _is_refused(self, change: Change) -> bool:
        if not self.limits:
            return "over-budget" in change.verdicts
        return change.is_refused or (change.is_uncompared and not self.allows_uncompared)

    @property
    def summary(self) -> str:
        """``2 of 14 kernels against origin/main: refused (fail above 5%)``."""
        kernels = labels.count(len(self.changes), "kernel")
        above = f" (fail above {', '.join(self.given)})" if self.given else ""
        refused = len(self.refused)
        if refused:
            said = f"{refused} of {kernels} {'fails' if refused == 1 else 'fail'} against"
        else:
            changed = sum(change.verdicts != ("same",) for change in self.changes)
            said = f"{changed} of {kernels} {'differs' if changed == 1 else 'differ'} from"
        return f"{said} {self.names[0]}{above}; {len(self.uncompared) or 'none'} not compared"


def format_of(path: str, formats: Mapping[str, str] = SUFFIXES) -> str:
    """The one of `formats`, by suffix, for a file of this name.

    Raises:
        UsageError: no format has this suffix.
    """
    kind = formats.get(Path(path).suffix.lower())
    if kind is None:
        raise UsageError(f"--write {path}: the name must end in {', '.join(formats)}")
    return kind


def write(out: TextIO, report: ChangeReport, kind: str, color: bool | None) -> None:
    """Write `report` to `out` in the format `kind`; `color` is for tables alone."""
    if kind == "json":
        write_json(out, _json(report))
    elif kind == "sarif":
        write_json(out, _sarif(report))
    elif kind == "markdown":
        out.write(_markdown(report))
    elif kind == "github":
        _print_table(console(out, color), report)
        out.writelines(
            annotation(change.path, _annotated_span(change), explanation(change))
            for change in report.refused
        )
    else:
        _print_table(console(out, color), report)


def explanation(change: Change) -> str:
    """The verdict on a kernel and its reasons, in a sentence."""
    out = f"{change.name} on {change.device_id}: {verdict(change)}"
    if change.message:
        return f"{out}: {change.message}"
    before, now = change.before, change.now
    figures: list[str] = []
    if "slower" in change.verdicts and before and now:
        figures.append(f"{labels.seconds(before.time_s)} -> {_time(change)}")
    if "more-dram" in change.verdicts and before and now:
        figures.append(f"{labels.bytes_(before.dram_bytes.total)} -> {_dram(change)}")
    if "over-budget" in change.verdicts and now:
        figures += labels.over_budget(now)
    why = _why(change)
    return f"{out}, {', '.join(figures)}{f'; {why}' if why else ''}"


def verdict(change: Change) -> str:
    """The verdicts in words."""
    return ", ".join(filter(None, (_WORDS.get(word, word) for word in change.verdicts)))


def _why(change: Change) -> str:
    if change.message:
        return change.message
    if change.difference is not None:
        return change.difference.reason
    if (
        change.before is None
        or change.now is None
        or not (change.time_growth or change.dram_growth)
    ):
        return ""
    grows = change.time_growth is not None and change.time_growth > 0
    parts = [_line(change.line)] if change.line is not None and grows else []
    return "; ".join((*parts, *reasons(change.before, change.now)))


def _line(line: ChangedLine) -> str:
    """``line 12, copy A -> x: 10 us -> 60 us``, with the edit if it is on another line."""
    if not line.edit:
        return f"{places.at_line(line.span)}, {line.growth}"
    return (
        f"{places.at_line(line.span)}, {line.edit} ({places.at_line(line.statement)}, "
        f"{line.growth})"
    )


def _annotated_span(change: Change) -> Span:
    """The line of the kernel's own file that explains the growth, else the kernel's span."""
    line = change.line
    if line is not None and change.time_growth and line.span.file is None:
        return line.span if change.time_growth > 0 else change.span
    return change.span


def _call(change: Change) -> str:
    """The call of both sides, or the former and the present one."""
    calls = [call_text.readable(item.call) for item in (change.before, change.now) if item]
    texts = [labels.shorten(text, _MAX_CALL) for text in dict.fromkeys(calls)]
    return " -> ".join(texts)


def _location(change: Change) -> str:
    is_gone = change.verdicts == ("removed",)
    return change.path if is_gone else places.place(change.path, change.span)


def _row(change: Change) -> tuple[str, ...]:
    return (
        _call(change),
        _time_of(change.before, change),
        _time(change) if change.now else "-",
        _dram(change) if change.now else "-",
        verdict(change),
        _why(change),
    )


def _time_of(kernel: KernelReport | None, change: Change) -> str:
    return "-" if kernel is None else labels.seconds(kernel.time_s)


def _time(change: Change) -> str:
    return _time_of(change.now, change) + _growth_text(change.time_growth, change)


def _dram(change: Change) -> str:
    dram_bytes = change.now.dram_bytes.total if change.now else None
    return labels.bytes_(dram_bytes) + _growth_text(change.dram_growth, change)


def _growth_text(growth: float | None, change: Change) -> str:
    return "" if "other-work" in change.verdicts else growth_text(growth)


def growth_text(growth: float | None) -> str:
    """`` (+5%)``; empty for a growth that is not known, or too small to show."""
    if growth is None or abs(growth) < 5e-4:
        return ""
    return f" ({'+' if growth > 0 else '-'}{labels.percent(abs(growth))})"


def _headings(report: ChangeReport) -> tuple[str, ...]:
    return ("kernel", "device", "call", *report.names, "DRAM", "", "why")


def _print_table(out: Console, report: ChangeReport) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for number, name in enumerate(_headings(report)):
        table.add_column(name, justify="right" if number in (3, 4, 5) else "left")
    files = len({change.path for change in report.changes}) > 1
    refused = report.refused
    for change in report.changes:
        name = f"{_location(change)} {change.name}" if files else change.name
        style = "red" if change in refused else _STYLES.get(change.verdicts[0], "")
        cells = map(one_line, (name, change.device_id, *_row(change)))
        table.add_row(*map(Text, cells), style=style)
    out.print(table)
    difference_text.print_all(out, report.changes, report.names, report.diffs)
    out.print(Text(report.summary, style="bold red" if refused else "bold green"))
    for change in refused:
        place = places.place(change.path, _annotated_span(change))
        text = one_line(f"{place}: {explanation(change)}")
        out.print(Text(text), soft_wrap=True)


def one_line(text: str) -> str:
    """`text` on one line: a second one could be a command of GitHub's workflows."""
    return " ".join(text.split())


def _markdown(report: ChangeReport) -> str:
    """A comment for a pull request: failures and changes, with unchanged kernels collapsed."""
    changed = [change for change in report.changes if change.verdicts != ("same",)]
    same = [change for change in report.changes if change.verdicts == ("same",)]
    head = f"**TIRLens:** {prose(report.summary)}\n"
    parts = [head]
    if changed:
        parts.append(_markdown_table(report, changed))
    parts += difference_text.markdown(report.changes, report.names, report.diffs)
    if same:
        folded = _markdown_table(report, same)
        parts.append(
            f"<details><summary>{labels.count(len(same), 'kernel')} as before</summary>\n\n"
            f"{folded}\n</details>\n"
        )
    return "\n".join(parts)


def _markdown_table(report: ChangeReport, changes: Sequence[Change]) -> str:
    rows: list[tuple[str, ...]] = [tuple(map(prose, _headings(report)))]
    rows.append((":---", ":---", ":---", "---:", "---:", "---:", ":---", ":---"))
    for change in changes:
        mark = ":x: " if change in report.refused else ""
        where = f"{mark}{code(change.name)} {prose(_location(change))}"
        rows.append((where, *map(prose, (change.device_id, *_row(change)))))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _sarif(report: ChangeReport) -> dict[str, Any]:
    results = [
        sarif.result(
            _rule_id(change, report),
            "error",
            explanation(change),
            change.path,
            _annotated_span(change),
            change.name,
        )
        for change in report.refused
    ]
    return sarif.document(results)


def _rule_id(change: Change, report: ChangeReport) -> str:
    return change.verdicts[0] if report.limits else "over-budget"


def annotation(path: str, span: Span, message: str) -> str:
    """A command of GitHub's workflows, which shows a message at the line in the pull request."""
    path = _command_text(path).replace(",", "%2C").replace(":", "%3A")
    if isinstance(span, CellSpan):
        # The lines of a cell are no lines of the file.
        place, message = f"file={path}", f"{places.line(span)}: {message}"
    else:
        place = f"file={path},line={span.line}"
    return f"::error {place},title=TIRLens::{_command_text(message)}\n"


def _command_text(text: str) -> str:
    return visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _json(report: ChangeReport) -> dict[str, Any]:
    before, now = (
        Variant(name, tuple(reports))
        for name, reports in zip(report.names, (report.before, report.now), strict=True)
    )
    refused = report.refused
    return {
        **variants_json((before, now)),
        "limits": {"time": report.limits.time, "dram": report.limits.dram},
        "uncompared": len(report.uncompared),
        "changes": [
            {
                "file": change.path,
                **pipeline.line_json(change.span),
                "name": change.name,
                "call": change.now.call if change.now else None,
                "call_before": change.before.call if change.before else None,
                "device": change.device_id,
                "verdicts": list(change.verdicts),
                "refused": change in refused,
                "uncompared": change.is_uncompared,
                "time_growth": change.time_growth,
                "dram_growth": change.dram_growth,
                "why": _why(change),
                **difference_text.to_json(change.difference, report.diffs),
            }
            for change in report.changes
        ],
    }
