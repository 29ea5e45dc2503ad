"""``tirlens report``: all kernels side by side, each in full, the roofline, and a page of it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from tirlens.cli import outcome, page, roofline, table, work
from tirlens.cli.analyze import apply_min_percentage, print_device_overrides
from tirlens.cli.output import console, stream
from tirlens.cli.rows import selection
from tirlens.ide import labels, tables
from tirlens.ide.roofline import kernel_points
from tirlens.model.report import KernelReport

_LEAST_TITLE = 20
_LEAST_IMPORTANT = (
    "compulsory", "issued", "waves", "occupancy", "FLOP/B", "peak", "band", "rate", "FLOP", "DRAM",
    "bound",
)  # fmt: skip


def execute(arguments: argparse.Namespace) -> int:
    """Analyse, print, write the page if asked, and give the exit status."""
    if len(arguments.device) > 1:
        raise work.UsageError("report takes one --device; tirlens compare takes several")
    selected = selection(0.0, arguments.id_range)
    traced = work.trace(arguments)
    reports = [item.report() for item in traced]
    selected = apply_min_percentage(selected, arguments, traced)
    kernels = [kernel for file in reports for kernel in file.kernels]
    by_device = kernels_by_device(kernels)
    if arguments.html is not None:
        with stream(arguments.html) as file:
            file.write(page.page(reports, {item.path: item.text for item in traced}, by_device))
    with stream(arguments.output) as file:
        out = console(file, arguments.color)
        out.print(wide_table(kernels, out.width))
        table.print_reports(out, reports, selected)
        for device, placed in by_device.items():
            picture = roofline.text(f"Roofline of {device}", kernel_points(placed))
            out.print(Text(picture), no_wrap=True, crop=False)
            out.print()
    outcome.print_problems(reports)
    outcome.print_exceeded_budgets(reports)
    print_device_overrides(arguments, reports)
    return outcome.status(reports)


def kernels_by_device(kernels: list[KernelReport]) -> dict[str, list[KernelReport]]:
    """The kernels that have a place under a roofline, by the name of their device."""
    found: dict[str, list[KernelReport]] = {}
    for kernel in kernels:
        if kernel_points([kernel]):
            found.setdefault(kernel.device_name, []).append(kernel)
    return found


def wide_table(kernels: list[KernelReport], room: int) -> Table:
    """One row for each kernel, of at most `room` characters."""
    figures = [tables.kernel_cells(item) if item.status == "ok" else {} for item in kernels]
    out = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    # Only its cells are not to be wrapped: the column itself gives way where the line is full.
    out.add_column("kernel", min_width=_LEAST_TITLE, style="bold")
    columns = _fitting(tables.kernel_columns(kernels), figures, room - _LEAST_TITLE)
    for name in columns:
        justify = "left" if name in tables.WORDS else "right"
        out.add_column(name, justify=justify, no_wrap=True)
    for kernel, cells in zip(kernels, figures, strict=True):
        title = Text(labels.title(kernel), no_wrap=True, overflow="ellipsis")
        row = [cells[name] for name in columns] if cells else [Text(kernel.status, style="red")]
        out.add_row(title, *row)
    return out


def _fitting(names: list[str], rows: Sequence[Mapping[str, str]], room: int) -> list[str]:
    """The columns that fit into `room` characters, the least telling ones left out first."""
    widths = {
        name: max(len(text) for text in (name, *(r.get(name, "") for r in rows))) + 2
        for name in names
    }
    for name in _LEAST_IMPORTANT:
        if sum(widths.values()) > room:
            widths.pop(name, None)
    return list(widths)
