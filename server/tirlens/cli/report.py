"""``tirlens report``: a table of all kernels, the breakdown of each, the roofline, a page."""

from __future__ import annotations

import argparse
import math
import string
from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens import pipeline
from tirlens.cli import file_analysis, html_report, model_comparison, outcome, table
from tirlens.cli.analyze import apply_min_percentage, print_device_overrides
from tirlens.cli.captured_files import other_operations, take_captures
from tirlens.cli.columns import fitting_columns
from tirlens.cli.errors import UsageError
from tirlens.cli.measured import predicted_report
from tirlens.cli.measured import report as measured_report
from tirlens.cli.output import console, stream, write_json
from tirlens.cli.rows import Selection, selection
from tirlens.cli.step_table import print_step
from tirlens.ide import labels, tables
from tirlens.ide.roofline_points import Point, kernel_points
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport

_LEAST_TITLE = 20
_LEAST_IMPORTANT = (
    "compulsory", "issued", "waves", "occupancy", "FLOP/B", "peak", "band", "reachable",
    "rate", "FLOP", "DRAM",
)  # fmt: skip


def execute(arguments: argparse.Namespace) -> int:
    """Analyse, print, write the page if asked, and give the exit status."""
    traces = measured_report.take_traces(arguments)
    if traces or arguments.measured is not None:
        return measured_report.execute(arguments, traces)
    if len(arguments.model) > 1:
        return model_comparison.execute(arguments)
    if len(arguments.device) > 1:
        raise UsageError("report takes one --device; tirlens compare takes several")
    selected = selection(0.0, arguments.id_range)
    take_captures(arguments)
    traced, in_texts = file_analysis.trace_and_report(arguments)
    reports = file_analysis.in_cells(traced, in_texts)
    selected = apply_min_percentage(selected, arguments, traced)
    others = other_operations(arguments)
    performance = None
    if _is_performance_report(arguments):
        performance = predicted_report.report_of(reports, arguments)
    if arguments.html is not None:
        with stream(arguments.html) as file:
            if performance is None:
                file.write(html_report.page(in_texts, traced))
            else:
                file.write(predicted_report.page(performance, reports, others, arguments))
    with stream(arguments.output) as file:
        if performance is not None:
            predicted_report.write(performance, arguments, file)
        elif arguments.format == "json":
            device = outcome.device_of(reports, traced[0].options)
            write_json(file, pipeline.to_json(reports, device, arguments.by_launches, others))
        else:
            _print(console(file, arguments.color), arguments.by_launches, reports, selected, others)
    outcome.print_problems(reports)
    outcome.print_exceeded_budgets(reports)
    print_device_overrides(arguments, reports)
    return outcome.status(reports)


def _is_performance_report(arguments: argparse.Namespace) -> bool:
    """Whether kernels are rows as measured operations are; there is no other CSV of a report."""
    files = (arguments.csv, arguments.summary_file)
    return arguments.performance or arguments.format == "csv" or any(files)


def _print(
    out: Console,
    by_launches: bool,
    reports: Sequence[FileReport],
    selected: Selection,
    others: Mapping[str, int],
) -> None:
    kernels = [kernel for file in reports for kernel in file.kernels]
    if by_launches:
        print_step(out, reports, others)
    out.print(wide_table(kernels, out.width))
    table.print_reports(out, reports, selected)
    for device, placed in kernels_by_device(kernels).items():
        picture = roofline_text(f"Roofline of {device}", kernel_points(placed))
        out.print(Text(picture), no_wrap=True, crop=False)
        out.print()


def kernels_by_device(kernels: list[KernelReport]) -> dict[str, list[KernelReport]]:
    """The kernels that have a point in a roofline, by the name of their device."""
    found: dict[str, list[KernelReport]] = {}
    for kernel in kernels:
        if kernel_points([kernel]):
            found.setdefault(kernel.device_name, []).append(kernel)
    return found


def wide_table(kernels: list[KernelReport], room: int) -> Table:
    """One row for each kernel, of at most `room` characters."""
    figures = [tables.kernel_cells(kernel) if kernel.has_counts else {} for kernel in kernels]
    out = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    # Only its cells are not to be wrapped: the column itself gives way where the line is full.
    out.add_column("kernel", min_width=_LEAST_TITLE, style="bold")
    columns = fitting_columns(
        tables.kernel_columns(kernels), figures, room - _LEAST_TITLE, _LEAST_IMPORTANT
    )
    for name in columns:
        justify = "left" if name in tables.WORDS else "right"
        out.add_column(name, justify=justify, no_wrap=True)
    for kernel, cells in zip(kernels, figures, strict=True):
        title = Text(labels.title(kernel), no_wrap=True, overflow="ellipsis")
        row = [cells[name] for name in columns] if cells else [Text(kernel.status, style="red")]
        out.add_row(title, *row)
    return out


_POINT_MARKS = string.ascii_uppercase + string.ascii_lowercase + string.digits


def roofline_text(title: str, points: Sequence[Point], width: int = 72, height: int = 18) -> str:
    """The picture of `points`, of which there is at least one, under `title`."""
    (left, right), (bottom, top) = _intensity_exponents(points), _rate_exponents(points)
    grid = [[" "] * width for _ in range(height)]

    def row_of(rate: float) -> int:
        share = (math.log10(rate) - bottom) / (top - bottom)
        return height - 1 - round(share * (height - 1))

    for column in range(width):
        intensity = 10 ** (left + (right - left) * column / (width - 1))
        for point in sorted(points, key=lambda item: item.peak_flop_per_s):
            row = row_of(point.roof(intensity))
            if 0 <= row < height:
                grid[row][column] = "─" if intensity >= point.ridge else "╱"
    marks = _POINT_MARKS.ljust(len(points), "*")[: len(points)]
    for mark, point in zip(marks, points, strict=True):
        share = (math.log10(point.intensity) - left) / (right - left)
        row, column = row_of(point.flop_per_s), round(share * (width - 1))
        grid[min(max(row, 0), height - 1)][column] = mark
    lines = [title]
    for number, cells in enumerate(grid):
        rate = 10 ** (top - (top - bottom) * number / (height - 1))
        axis = labels.rate(rate, "FLOP") if number % 4 == 0 else ""
        lines.append(f"{axis:>14} │{''.join(cells).rstrip()}")
    lines.append(" " * 15 + "└" + "─" * width)
    low, high = labels.number(10**left), labels.number(10**right)
    lines.append(" " * 16 + low + "FLOP/B".center(width - len(low) - len(high)) + high)
    for mark, point in zip(marks, points, strict=True):
        rate = labels.rate(point.flop_per_s, "FLOP")
        lines.append(f"  {mark} {point.name}: {labels.number(point.intensity)} FLOP/B, {rate}")
    return "\n".join(lines)


def _intensity_exponents(points: Sequence[Point]) -> tuple[float, float]:
    """Exponents of 10 that hold every point and ridge."""
    values = [value for point in points for value in (point.intensity, point.ridge)]
    return math.floor(math.log10(min(values)) - 0.3), math.ceil(math.log10(max(values)) + 0.3)


def _rate_exponents(points: Sequence[Point]) -> tuple[float, float]:
    low = min(point.flop_per_s for point in points)
    return math.floor(math.log10(low)), math.log10(max(p.peak_flop_per_s for p in points)) + 0.3
