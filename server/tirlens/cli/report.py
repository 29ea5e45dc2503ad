"""``tirlens report``: all kernels side by side, each in full, the roofline, and a page of it."""

from __future__ import annotations

import argparse

from rich import box
from rich.table import Table
from rich.text import Text

from tirlens.cli import outcome, page, roofline, table, work
from tirlens.cli.analyze import percentage, say_overridden
from tirlens.cli.output import console, stream
from tirlens.cli.rows import selection
from tirlens.ide import labels, lenses
from tirlens.ide.roofline import places
from tirlens.model.report import KernelReport


def run(arguments: argparse.Namespace) -> int:
    """Analyse, print, write the page if asked, and give the exit status."""
    if len(arguments.device) > 1:
        raise work.UsageError("report takes one --device; tirlens compare takes several")
    shown = selection(0.0, arguments.id_range)
    traced = work.trace(arguments)
    reports = [item.report() for item in traced]
    shown = percentage(shown, arguments, traced)
    kernels = [kernel for file in reports for kernel in file.kernels]
    by_device = under_roofs(kernels)
    with stream(arguments.output) as file:
        out = console(file, arguments.color)
        out.print(wide_table(kernels))
        table.print_reports(out, reports, shown)
        for device, placed in by_device.items():
            drawn = roofline.text(f"Roofline of {device}", places(placed))
            out.print(Text(drawn), no_wrap=True, crop=False)
            out.print()
    if arguments.html is not None:
        with stream(arguments.html) as file:
            file.write(page.page(reports, {item.path: item.text for item in traced}, by_device))
    outcome.say_problems(reports)
    outcome.say_budgets(reports)
    say_overridden(arguments, reports)
    return outcome.status(reports)


def under_roofs(kernels: list[KernelReport]) -> dict[str, list[KernelReport]]:
    """The kernels that have a place under a roofline, by the name of their device."""
    found: dict[str, list[KernelReport]] = {}
    for kernel in kernels:
        if places([kernel]):
            found.setdefault(kernel.device_name, []).append(kernel)
    return found


def wide_table(kernels: list[KernelReport]) -> Table:
    """One row for each kernel."""
    out = Table(box=box.SIMPLE_HEAD, show_edge=False)
    out.add_column("kernel", no_wrap=True, style="bold")
    for name in (
        "time", "band", "bound", "FLOP", "rate", "peak", "issued", "compulsory", "DRAM", "FLOP/B",
        "occupancy", "waves", "device",
    ):  # fmt: skip
        out.add_column(name, justify="left" if name in ("bound", "device") else "right")
    for kernel in kernels:
        if not table.ok(kernel):
            out.add_row(labels.title(kernel), Text(lenses.lens(kernel), style="red"))
            continue
        band = kernel.time_band_s
        out.add_row(
            labels.title(kernel),
            labels.seconds(kernel.time_s),
            "" if band is None else f"{labels.seconds(band[0])} to {labels.seconds(band[1])}",
            kernel.bound or "",
            labels.flop(kernel.flop),
            labels.rate(kernel.flop_per_s, "FLOP"),
            labels.percent(kernel.peak_fraction),
            labels.bytes_(kernel.global_bytes.total),
            labels.bytes_(kernel.compulsory_bytes),
            labels.bytes_(kernel.dram_bytes.total),
            labels.number(kernel.arithmetic_intensity),
            "" if kernel.occupancy is None else labels.percent(kernel.occupancy.fraction),
            "" if kernel.waves is None else labels.number(kernel.waves.count),
            kernel.device_id,
        )
    return out
