"""The table of ``tirlens analyze``: a verdict for each kernel, then where its time goes."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.cli.rows import Row, Selection, figures_of, rows
from tirlens.ide import labels, lenses
from tirlens.ide.launch import block, blocks_per_sm, moves
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport

_SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan", "hint": "dim"}


def print_reports(console: Console, reports: Iterable[FileReport], shown: Selection) -> None:
    """Every kernel of every file."""
    for file in reports:
        for kernel in file.kernels:
            print_kernel(console, file, kernel, shown)


def print_kernel(
    console: Console, file: FileReport, kernel: KernelReport, shown: Selection
) -> None:
    """One kernel: verdict, figures, breakdown, advice, what was not understood."""
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
    if not ok(kernel):
        console.print(Text("  " + wanting(kernel), style="red"))
        console.print()
        return
    console.print(Text("  " + lenses.lens(kernel), style="bold green"))
    for line in figures(kernel):
        console.print(Text("  " + line, style="dim"))
    console.print(breakdown(kernel, shown))
    notes(console, kernel)
    console.print()


def wanting(kernel: KernelReport) -> str:
    """Why a kernel has no numbers, and what to give for them."""
    if not kernel.needs:
        return kernel.message or kernel.status
    options = " ".join(f"--bind {name}=SIZE" for name in kernel.needs)
    return f"needs {', '.join(kernel.needs)}: give {options}"


def ok(kernel: KernelReport) -> bool:
    return kernel.status == "ok"


def figures(kernel: KernelReport) -> list[str]:
    """What the verdict leaves out, in a few lines."""
    out: list[str] = []
    if kernel.call:
        out.append(f"call: {kernel.call} ({kernel.call_source})")
    device = f"device: {kernel.device_name} ({kernel.device_source or kernel.device_id})"
    out.append(device)
    if kernel.grid:
        grid = " x ".join(map(str, kernel.grid))
        launch = ", ".join(filter(None, (f"launch: grid {grid}", block(kernel))))
        if kernel.occupancy:
            launch += f"; {blocks_per_sm(kernel.occupancy)} ({kernel.occupancy.limiter})"
        if kernel.waves:
            launch += f", {labels.number(kernel.waves.count)} waves"
        out.append(launch)
    if moves(kernel):
        out.append(f"arrays: {moves(kernel)}")
    memory = (
        f"memory: {labels.bytes_(kernel.global_bytes.total)} issued, "
        f"{labels.bytes_(kernel.compulsory_bytes)} compulsory, "
        f"{labels.bytes_(kernel.dram_bytes.total)} DRAM"
    )
    out.append(memory)
    if kernel.arithmetic_intensity is not None:
        out.append(
            f"intensity: {labels.number(kernel.arithmetic_intensity)} FLOP/B "
            f"(ridge {labels.number(kernel.ridge_point)})"
        )
    if kernel.formula:
        out.append("; ".join(f"{name} = {text}" for name, text in kernel.formula.items()))
    return out


def breakdown(kernel: KernelReport, shown: Selection) -> Table:
    """The annotated loop nest."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=True, show_edge=False)
    for name in ("id", "line"):
        table.add_column(name, justify="right", no_wrap=True)
    # Only its cells are not to be wrapped: the column itself gives way where the line is full.
    table.add_column("where", min_width=20)
    for name in ("trips", "time", "share", "FLOP", "global", "DRAM"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("bound", no_wrap=True)
    for row in rows(kernel, shown):
        table.add_row(*_cells(row), style=_heat(row))
    return table


def _cells(row: Row) -> tuple[str | Text, ...]:
    cost = row.cost
    return (
        str(row.number),
        str(cost.span.line),
        Text("  " * row.depth + " ".join(cost.label.split()), no_wrap=True, overflow="ellipsis"),
        *figures_of(cost),
    )


def _heat(row: Row) -> str:
    share = row.cost.share or 0.0
    leaf = not row.cost.children
    return "bold red" if leaf and share >= 0.5 else "yellow" if leaf and share >= 0.2 else ""


def notes(console: Console, kernel: KernelReport) -> None:
    """Advice and caveats."""
    for advice in kernel.advice:
        line = f"  {advice.severity} at line {advice.span.line} [{advice.rule}]: "
        style = _SEVERITY_STYLES.get(advice.severity, "")
        console.print(Text(line, style=style) + Text(labels.advice(advice)))
    if kernel.lowering_error:
        told = f"  warning: {kernel.framework} does not compile this for {kernel.device_name}: "
        console.print(Text(told + kernel.lowering_error, style="yellow"))
    for caveat in kernel.caveats:
        place = f" at line {caveat.span.line}" if caveat.span else ""
        console.print(Text(f"  note{place}: {caveat.message}", style="dim"))
