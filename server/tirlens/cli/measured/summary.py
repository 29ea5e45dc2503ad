"""The summary of measured operations: the stacked report as a table, as CSV and as JSON."""

from __future__ import annotations

import argparse
import csv
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.cli.measured.operations import in_unit
from tirlens.ide import labels
from tirlens.ide.escaping import csv_cell, visible
from tirlens.measured.performance.report import MeasuredReport
from tirlens.measured.performance.stacking import Stack, stack

CSV_COLUMNS = (
    "Total % [%]", "Op Code", "Device", "Device Time Sum [us]", "Op Count", "Op Category",
    "Min FLOPs [%]", "Max FLOPs [%]", "Mean FLOPs [%]", "Std FLOPs [%]",
    "Weighted Mean FLOPs [%]", "Min Device Time [us]", "Max Device Time [us]",
    "Mean Device Time [us]", "Std Device Time [us]",
)  # fmt: skip
_TITLES = {
    "op": "Summary by operation",
    "memory": "Summary by operation and memory of its first operand",
    "category": "Summary by category",
}
_LEAST_NAME = 20
_MOST_STACKS = 40


def show(report: MeasuredReport, arguments: argparse.Namespace, out: Console) -> None:
    """Print the stacks that take the longest."""
    if arguments.no_summary or not report.rows:
        return
    stacks = _stacks(report, arguments)
    has_flop = any(each.flop_fraction.count for each in stacks)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Total %", justify="right", no_wrap=True)
    table.add_column("OP Code", min_width=_LEAST_NAME, style="bold")
    if report.has_devices_apart:
        table.add_column("device", justify="right", no_wrap=True)
    names = ["count", "sum", "mean", *(["FLOPs %"] if has_flop else [])]
    if out.width >= 100:
        names[3:3] = ["min", "max", "deviation"]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for each in stacks[:_MOST_STACKS]:
        title = Text(visible(each.name), no_wrap=True, overflow="ellipsis")
        device = [visible(each.device or "")] if report.has_devices_apart else []
        cells = _cells(each)
        table.add_row(_percent(each.share), title, *device, *(cells[name] for name in names))
    out.print()
    out.print(Text(_TITLES[arguments.group_by], style="bold"))
    out.print(table)
    if len(stacks) > _MOST_STACKS:
        out.print(f"and {len(stacks) - _MOST_STACKS:,} more")


def _cells(each: Stack) -> dict[str, str]:
    return {
        "count": f"{each.operations:,}",
        "sum": _seconds(each.time.total if each.time.count else None),
        "mean": _seconds(each.time.mean),
        "min": _seconds(each.time.minimum),
        "max": _seconds(each.time.maximum),
        "deviation": _seconds(each.time.deviation),
        "FLOPs %": _percent(each.weighted_flop_fraction),
    }


def _seconds(value: float | None) -> str:
    return "" if value is None else labels.seconds(value)


def _percent(value: float | None) -> str:
    return "" if value is None else labels.percent(value)


def _stacks(report: MeasuredReport, arguments: argparse.Namespace) -> tuple[Stack, ...]:
    return stack(report.rows, arguments.group_by, report.has_devices_apart)


def write_csv(file: TextIO, report: MeasuredReport, arguments: argparse.Namespace) -> None:
    """A row for each stack; unknown values are empty."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for each in _stacks(report, arguments):
        flop, time = each.flop_fraction, each.time
        fractions = (
            flop.minimum, flop.maximum, flop.mean, flop.deviation, each.weighted_flop_fraction,
        )  # fmt: skip
        times = time.minimum, time.maximum, time.mean, time.deviation
        cells = (
            in_unit(each.share, 100),
            each.name,
            each.device,
            in_unit(time.total, 1e6),
            each.operations,
            each.category,
            *(in_unit(value, 100) for value in fractions),
            *(in_unit(value, 1e6) for value in times),
        )
        writer.writerow(map(csv_cell, cells))


def data(report: MeasuredReport, arguments: argparse.Namespace) -> dict[str, Any]:
    """The stacks in SI units."""
    if arguments.no_summary:
        return {}
    return {
        "summary": {
            "group_by": arguments.group_by,
            "stacks": [
                {
                    "name": each.name,
                    "category": each.category,
                    "device": each.device,
                    "count": each.operations,
                    "share": each.share,
                    "time_s": each.time.total if each.time.count else None,
                    "min_s": each.time.minimum,
                    "max_s": each.time.maximum,
                    "mean_s": each.time.mean,
                    "deviation_s": each.time.deviation,
                    "flop_fraction": each.weighted_flop_fraction,
                    "min_flop_fraction": each.flop_fraction.minimum,
                    "max_flop_fraction": each.flop_fraction.maximum,
                    "mean_flop_fraction": each.flop_fraction.mean,
                    "deviation_flop_fraction": each.flop_fraction.deviation,
                }
                for each in _stacks(report, arguments)
            ],
        }
    }
