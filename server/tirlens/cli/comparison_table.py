"""The table of kernels under several conditions, with a column or a row for each."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from tirlens.cli.output import console, stream, write_json
from tirlens.cli.variants import Variant, variants_json
from tirlens.ide import labels
from tirlens.model.report import KernelReport

# The name of a kernel, and its report in each variant; None where it has none.
_Row = tuple[str, list[KernelReport | None]]


def write_comparison(arguments: argparse.Namespace, variants: Sequence[Variant]) -> None:
    """Write the variants in the format and to the file that the options name."""
    found = _rows(variants)
    with stream(arguments.output) as file:
        if arguments.format == "json":
            write_json(file, variants_json(variants))
        elif arguments.format == "markdown":
            names = [variant.name for variant in variants]
            file.write("| kernel | " + " | ".join(names) + " |\n")
            file.write("|:---|" + "---:|" * len(names) + "\n")
            for name, cells in found:
                file.write(f"| {name} | " + " | ".join(_cells(cells)) + " |\n")
        else:
            screen = console(file, arguments.color)
            table = _wide_table(variants, found)
            unlimited = screen.options.update(max_width=1 << 16)
            if screen.measure(table, options=unlimited).maximum > screen.width:
                table = _long_table(variants, found)
            screen.print(table)


def _wide_table(variants: Sequence[Variant], found: Sequence[_Row]) -> Table:
    """A row for each kernel, a column for each variant."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("kernel", no_wrap=True, style="bold")
    for variant in variants:
        table.add_column(Text(variant.name), justify="right")
    for name, reports in found:
        table.add_row(Text(name), *map(Text, _cells(reports)))
    return table


def _long_table(variants: Sequence[Variant], found: Sequence[_Row]) -> Table:
    """A row for each variant of each kernel, for more variants than there is room for columns."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("kernel", style="bold", overflow="fold")
    table.add_column("with", overflow="fold")
    table.add_column("result", no_wrap=True)
    for name, reports in found:
        rows = [
            (variant.name, cell)
            for variant, report, cell in zip(variants, reports, _cells(reports), strict=True)
            if report is not None
        ]
        for number, (variant, cell) in enumerate(rows):
            table.add_row(Text("" if number else name), Text(variant), Text(cell))
    return table


def _rows(variants: Sequence[Variant]) -> list[_Row]:
    """The kernels by name, with their report in each variant that has them."""
    names: dict[tuple[str, str], list[KernelReport | None]] = {}
    for column, variant in enumerate(variants):
        for path, kernel in variant.kernels():
            row = names.setdefault((path, labels.title(kernel)), [None] * len(variants))
            row[column] = kernel
    several = len({path for path, _ in names}) > 1
    return [(f"{path}: {name}" if several else name, row) for (path, name), row in names.items()]


def _cells(row: Sequence[KernelReport | None]) -> list[str]:
    """Time, bound, and the change against the first column."""
    first = row[0].time_s if row[0] else None
    out: list[str] = []
    for column, kernel in enumerate(row):
        if kernel is None:
            out.append("-")
            continue
        if kernel.time_s is None:
            out.append(f"{kernel.status}: {labels.shorten(kernel.message, 60)}".removesuffix(": "))
            continue
        text = f"{labels.seconds(kernel.time_s)} {kernel.bound}"
        if column and first and kernel.time_s:
            text += f" ({labels.number(first / kernel.time_s)}x)"
        out.append(text)
    return out
