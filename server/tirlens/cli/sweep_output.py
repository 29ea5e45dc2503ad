"""Sweeps as a table with a plot, as CSV, and their best configurations as Python."""

from __future__ import annotations

import csv
from typing import Any, TextIO

from rich import box
from rich.table import Table
from rich.text import Text

from tirlens.cli.output import console
from tirlens.cli.ranking_output import python_dict
from tirlens.ide import labels
from tirlens.tuning import Point, Sweep
from tirlens.tuning.json_form import point_json

_BAR_CHARACTERS = 20
_COLUMNS = ("time_s", "roofline_time_s", "efficiency", "bound", "status", "reason")


def write_table(file: TextIO, color: bool | None, found: Sweep) -> None:
    """A row for each point, with its efficiency as a bar, and the crossovers below."""
    screen = console(file, color)
    screen.print(Text(f"{found.kernel} on {found.device.id}: {found.call}", style="bold"))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for name in found.names:
        table.add_column(Text(name), justify="right")
    for heading in ("time", "band"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("bound")
    table.add_column("of roofline", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    if found.is_tuned:
        table.add_column("best configuration", overflow="fold")
    for point in found.points:
        table.add_row(*map(Text, _cells(found, point)))
    screen.print(table)
    for one in found.crossovers:
        screen.print(
            Text(
                f"{one.before.estimate.bound} becomes {one.after.estimate.bound} between "
                f"{_sizes(one.before)} and {_sizes(one.after)}"
            )
        )


def _cells(found: Sweep, point: Point) -> list[str]:
    estimate = point.estimate
    band, efficiency = estimate.time_band_s, point.efficiency
    cells = [str(point.sizes[name]) for name in found.names]
    if estimate.time_s is None:
        word = "refused" if estimate.is_refused else "unknown"
        return [*cells, word, "", labels.shorten(estimate.reason, 60)]
    cells += [
        labels.seconds(estimate.time_s),
        f"{labels.seconds(band[0])} to {labels.seconds(band[1])}" if band else "",
        estimate.bound or "",
        "" if efficiency is None else f"{efficiency:.0%}",
        "" if efficiency is None else "#" * round(min(efficiency, 1.0) * _BAR_CHARACTERS),
    ]
    return [*cells, python_dict(point.arguments)] if found.is_tuned else cells


def write_csv(file: TextIO, found: Sweep) -> None:
    """A row for each point: the sizes, the call, the figures, and the best configuration."""
    parameters = list(dict.fromkeys(name for point in found.points for name in point.arguments))
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*found.names, "call", *_COLUMNS, *parameters])
    for point in found.points:
        data: dict[str, Any] = point_json(point)
        writer.writerow(
            [
                *(point.sizes[name] for name in found.names),
                point.call,
                *("" if data[name] is None else data[name] for name in _COLUMNS),
                *(data["arguments"].get(name, "") for name in parameters),
            ]
        )


def write_python(file: TextIO, found: Sweep) -> None:
    """The best configurations by range of the last size: its largest value, the configuration."""
    file.write(
        f"# {found.kernel} on {found.device.id}: the largest sizes and their configuration\n"
        "configs = [\n"
    )
    for _, last in found.ranges:
        sizes = ", ".join(f'"{name}": {last.sizes[name]}' for name in found.names)
        time = labels.seconds(last.estimate.time_s)
        file.write(f"    ({{{sizes}}}, {python_dict(last.arguments)}),  # {time}\n")
    file.write("]\n")


def _sizes(point: Point) -> str:
    return ", ".join(f"{name}={size}" for name, size in point.sizes.items())
