"""Two measured runs as a table of a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.cli.change_report import one_line
from tirlens.cli.measured.changes.report import MeasuredChangeReport
from tirlens.cli.measured.changes.text import cells, explanation, left_out, total_rows
from tirlens.gate.measured_changes import MeasuredChange
from tirlens.ide import labels, places
from tirlens.ide.escaping import code, prose

_HEADINGS = ("operation", "launch", "executions", "before", "now", "change", "of the run", "")
_STYLES = {"faster": "green", "unsure": "yellow", "unknown-spread": "yellow"}


def print_table(out: Console, report: MeasuredChangeReport) -> None:
    """The table of a terminal, with the statistics and the verdict below."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for number, name in enumerate(_HEADINGS):
        justify = "right" if 2 <= number <= 6 else "left"
        table.add_column(name, justify=justify, overflow="fold")
    for item in report.displayed:
        style = "red" if item in report.refused else _STYLES.get(item.verdicts[0], "")
        texts = (item.change.operation.name, *cells(item, report))
        table.add_row(*(Text(one_line(text)) for text in texts), style=style)
    for number, (name, old, new, change) in enumerate(total_rows(report)):
        if not number:
            table.add_section()
        table.add_row(Text(name), "", "", Text(old), Text(new), Text(change), "", "")
    out.print(table)
    for line in (left_out(report), report.statistics):
        if line:
            out.print(Text(line, style="dim"))
    style = "bold red" if report.refused else "bold green" if report.limits else "bold"
    out.print(Text(report.summary, style=style))
    for item in report.refused:
        text = one_line(f"{places.place(*report.location(item))}: {explanation(item)}")
        out.print(Text(text), soft_wrap=True)


def markdown(report: MeasuredChangeReport) -> str:
    """A comment for a pull request: what differs, with the rest collapsed."""
    parts = [f"**TIRLens:** {prose(report.summary)}\n"]
    rows = [("", "before", "now", "change"), (":---", "---:", "---:", "---:")]
    rows += [tuple(map(prose, row)) for row in total_rows(report)]
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
    if left_out(report):
        parts.append(f"{prose(left_out(report))}\n")
    return "\n".join(parts)


def _markdown_table(report: MeasuredChangeReport, items: Sequence[MeasuredChange]) -> str:
    rows: list[tuple[str, ...]] = [tuple(map(prose, _HEADINGS))]
    rows.append((":---", ":---", "---:", "---:", "---:", "---:", "---:", ":---"))
    for item in items:
        mark = ":x: " if item in report.refused else ""
        name = f"{mark}{code(item.change.operation.name)}"
        rows.append((name, *map(prose, cells(item, report))))
    return _markdown_rows(rows)


def _markdown_rows(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
