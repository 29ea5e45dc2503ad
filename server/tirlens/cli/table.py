"""The table of ``tirlens analyze``: a verdict for each kernel, then the breakdown of its time."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.cli.rows import Row, Selection, rows, verdict
from tirlens.ide import labels, tables
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport

_SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan", "hint": "dim"}


def print_reports(console: Console, reports: Iterable[FileReport], selected: Selection) -> None:
    """Print every kernel of every file."""
    for file in reports:
        for kernel in file.kernels:
            print_kernel(console, file, kernel, selected)


def print_kernel(
    console: Console, file: FileReport, kernel: KernelReport, selected: Selection
) -> None:
    """Print one kernel: verdict, figures, breakdown, advice, caveats."""
    console.print(
        Text.assemble(
            (labels.title(kernel), "bold"),
            f"  {file.path}:{kernel.span.line}",
            style="",
            no_wrap=True,
        ),
        overflow="ignore",
        crop=False,
    )
    if not kernel.has_counts:
        console.print(Text("  " + verdict(kernel), style="red"))
        console.print()
        return
    console.print(Text("  " + verdict(kernel), style="bold green"))
    for name, text in tables.particulars(kernel):
        console.print(Text(f"  {name}: {text}", style="dim"))
    console.print(breakdown(kernel, selected))
    notes(console, kernel)
    console.print()


def breakdown(kernel: KernelReport, selected: Selection) -> Table:
    """The annotated loop nest."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=True, show_edge=False)
    for name in ("id", "line"):
        table.add_column(name, justify="right", no_wrap=True)
    # Only the cells are not wrapped: the column itself shrinks where the line is full.
    table.add_column("where", min_width=20)
    for name in tables.LINE_COLUMNS:
        justify = "left" if name in tables.WORDS else "right"
        table.add_column(name, justify=justify, no_wrap=True)
    for row in rows(kernel, selected):
        table.add_row(*_cells(row), style=_heat(row))
    return table


def _cells(row: Row) -> tuple[str | Text, ...]:
    cost = row.cost
    return (
        str(row.number),
        tables.place(cost.span),
        Text("  " * row.depth + " ".join(cost.label.split()), no_wrap=True, overflow="ellipsis"),
        *tables.line_cells(cost),
    )


def _heat(row: Row) -> str:
    share = row.cost.share or 0.0
    leaf = not row.cost.children
    return "bold red" if leaf and share >= 0.5 else "yellow" if leaf and share >= 0.2 else ""


def notes(console: Console, kernel: KernelReport) -> None:
    """Print advice and caveats."""
    for advice in kernel.advice:
        line = f"  {advice.severity} at line {advice.span.line} [{advice.rule}]: "
        style = _SEVERITY_STYLES.get(advice.severity, "")
        console.print(Text(line, style=style) + Text(labels.advice(advice)))
    if kernel.lowering_error:
        message = f"  warning: {kernel.framework} does not compile this for {kernel.device_name}: "
        console.print(Text(message + kernel.lowering_error, style="yellow"))
    for caveat in kernel.caveats:
        place = f" at line {caveat.span.line}" if caveat.span else ""
        console.print(Text(f"  note{place}: {caveat.message}", style="dim"))
