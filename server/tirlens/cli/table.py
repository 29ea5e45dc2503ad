"""The table of ``tirlens analyze``: a verdict for each kernel, then the breakdown of its time."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.cli.columns import fitting_columns
from tirlens.cli.rows import Row, Selection, rows, verdict
from tirlens.ide import labels, lenses, places, tables
from tirlens.model.report import KernelReport
from tirlens.model.totals import ModuleTotal, module_totals
from tirlens.pipeline import FileReport
from tirlens.pipeline.uncalled import Uncalled

_LEAST_IMPORTANT = ("DRAM", "trips", "global", "FLOP", "share")
# Characters of a label, and of the columns "id" and "line" with their padding.
_LEAST_LABEL = 20
_NUMBERS = 15
_SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan", "hint": "dim"}


def print_reports(console: Console, reports: Iterable[FileReport], selected: Selection) -> None:
    """Print every kernel of every file."""
    for file in reports:
        totals = module_totals(file.kernels)
        firsts = {id(total.first): total for total in totals}
        graphs = {id(kernel) for total in totals for kernel in total.kernels if total.entry}
        for kernel in file.kernels:
            if id(kernel) in firsts:
                print_total(console, file, firsts[id(kernel)])
            if id(kernel) not in graphs:
                print_kernel(console, file, kernel, selected)
        for item in file.uncalled:
            print_uncalled(console, file, item)


def print_uncalled(console: Console, file: FileReport, item: Uncalled) -> None:
    """Print that a call does not yield a kernel of the file."""
    by = f" by {item.call}" if item.call else ""
    console.print(Text.assemble((item.kernel, "bold"), f"  {places.place(file.path, item.span)}"))
    console.print(Text(f"  not called{by}", style="yellow"))
    console.print()


def print_total(console: Console, file: FileReport, total: ModuleTotal) -> None:
    """Print the sums over the kernels of one statement, and a line for each kernel of a graph."""
    first = total.first
    head = Text.assemble((first.definition, "bold"), f"  {places.place(file.path, first.span)}")
    console.print(head, no_wrap=True, overflow="ignore", crop=False)
    verdict_text = " | ".join(part.title for part in lenses.totals([total]))
    console.print(Text("  " + verdict_text, style="bold green"))
    if total.entry:
        console.print(calls_table(total))
    console.print()


def calls_table(total: ModuleTotal) -> Table:
    """The kernels that a graph calls, those with the most time first."""
    out = Table(box=box.SIMPLE_HEAD, pad_edge=True, show_edge=False)
    out.add_column("kernel", no_wrap=True)
    for name in ("calls", "time", "share", "FLOP", "DRAM"):
        out.add_column(name, justify="right", no_wrap=True)
    out.add_column("arrays", min_width=_LEAST_LABEL)

    def weight(kernel: KernelReport) -> float:
        return (kernel.time_s or 0.0) * (kernel.built.calls if kernel.built else 1)

    for kernel in sorted(total.kernels, key=weight, reverse=True):
        share = weight(kernel) / total.time_s if total.time_s else None
        if not kernel.has_counts:
            out.add_row(kernel.name, "", *[""] * 4, Text(verdict(kernel), style="red"))
            continue
        built = kernel.built
        out.add_row(
            kernel.name,
            str(built.calls) if built else "1",
            labels.seconds(kernel.time_s),
            labels.percent(share),
            labels.work(kernel.operations),
            labels.bytes_(kernel.dram_bytes.total),
            Text(", ".join(built.arrays) if built else "", no_wrap=True, overflow="ellipsis"),
        )
    return out


def print_kernel(
    console: Console, file: FileReport, kernel: KernelReport, selected: Selection
) -> None:
    """Print one kernel: verdict, figures, breakdown, advice, caveats."""
    console.print(
        Text.assemble(
            (labels.title(kernel), "bold"),
            f"  {places.place(file.path, kernel.span)}",
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
    if kernel.is_repeated:
        same = kernel.built.same_as if kernel.built else None
        if same is not None:
            console.print(Text(f"  as built at {places.at_line(same)}", style="dim"))
        console.print()
        return
    for name, text in tables.particulars(kernel):
        console.print(Text(f"  {name}: {text}", style="dim"))
    console.print(breakdown(kernel, selected, console.width))
    notes(console, kernel)
    console.print()


def breakdown(kernel: KernelReport, selected: Selection, room: int) -> Table:
    """The annotated loop nest, in lines of `room` characters."""
    visible = list(rows(kernel, selected))
    cells = [tables.line_cells(row.cost) for row in visible]
    left = room - _LEAST_LABEL - _NUMBERS
    columns = fitting_columns(tables.line_columns(), cells, left, _LEAST_IMPORTANT)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=True, show_edge=False)
    for name in ("id", "line"):
        table.add_column(name, justify="right", no_wrap=True)
    # Only the cells are not wrapped: the column itself shrinks where the line is full.
    table.add_column("where", min_width=_LEAST_LABEL)
    for name in columns:
        justify = "left" if name in tables.WORDS else "right"
        table.add_column(name, justify=justify, no_wrap=True)
    for row, figures in zip(visible, cells, strict=True):
        label = "  " * row.depth + " ".join(row.cost.label.split())
        table.add_row(
            str(row.number),
            tables.place(row.cost.span),
            Text(label, no_wrap=True, overflow="ellipsis"),
            *(figures[name] for name in columns),
            style=_heat(row),
        )
    return table


def _heat(row: Row) -> str:
    share = row.cost.share or 0.0
    leaf = not row.cost.children
    return "bold red" if leaf and share >= 0.5 else "yellow" if leaf and share >= 0.2 else ""


def notes(console: Console, kernel: KernelReport) -> None:
    """Print advice and caveats."""
    for advice in kernel.advice:
        line = f"  {advice.severity} at {places.at_line(advice.span)} [{advice.rule}]: "
        style = _SEVERITY_STYLES.get(advice.severity, "")
        console.print(Text(line, style=style) + Text(labels.advice(advice)))
    if kernel.lowering_error:
        message = f"  warning: {kernel.framework} does not compile this for {kernel.device_name}: "
        console.print(Text(message + kernel.lowering_error, style="yellow"))
    for caveat in kernel.caveats:
        place = f" at {places.at_line(caveat.span)}" if caveat.span else ""
        console.print(Text(f"  note{place}: {caveat.message}", style="dim"))
