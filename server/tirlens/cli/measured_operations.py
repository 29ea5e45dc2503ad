"""The measured operations: as a table for people, as CSV and as JSON."""

from __future__ import annotations

import argparse
import csv
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.cli.columns import fitting_columns
from tirlens.ide import labels
from tirlens.ide.escaping import csv_cell, visible
from tirlens.measured.performance import Performance
from tirlens.measured.report import MeasuredReport

CSV_COLUMNS = (
    "ID", "Total %", "Bound", "OP Code", "Device Time", "Op-to-Op Gap", "Cores", "DRAM", "DRAM %",
    "FLOPs", "FLOPs %", "Math Fidelity", "Device", "Executions", "Kind", "File",
)  # fmt: skip
"""Times in us, DRAM in GB/s, FLOPs in TFLOP/s; unknown values are empty."""
_COLUMNS = CSV_COLUMNS[:3] + CSV_COLUMNS[4:12]
_WORDS = ("Bound", "Math Fidelity")
_LEAST_IMPORTANT = (
    "Math Fidelity", "DRAM", "FLOPs", "Cores", "DRAM %", "FLOPs %", "Bound", "Op-to-Op Gap",
)  # fmt: skip
_LEAST_NAME = 24
LONG_GAP_S = 6.5e-6
FEW_CORES = 10


def show(report: MeasuredReport, arguments: argparse.Namespace, out: Console) -> None:
    """Print the table."""
    cells = [_cells(row) for row in report.rows]
    used = [name for name in _COLUMNS if name == "ID" or any(row.get(name) for row in cells)]
    columns = fitting_columns(used, cells, out.width - _LEAST_NAME, _LEAST_IMPORTANT)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, justify="left" if name in _WORDS else "right", no_wrap=True)
        if name == ("Bound" if "Bound" in columns else columns[min(1, len(columns) - 1)]):
            table.add_column("OP Code", min_width=_LEAST_NAME, style="bold")
    for row, texts in zip(report.rows, cells, strict=True):
        title = Text(visible(op_code(row)), no_wrap=True, overflow="ellipsis")
        values: list[Text] = []
        for name in columns:
            values.append(Text(texts.get(name, ""), style=_style(name, row)))
            if len(values) == _title_index(columns):
                values.append(title)
        table.add_row(*values)
    out.print(table)
    for trace in report.traces:
        count = f"{len(trace.operations):,} operations"
        out.print(Text(f"{trace.path}: {trace.format_name}, {count}"))


def _title_index(columns: list[str]) -> int:
    """How many columns precede the name."""
    return columns.index("Bound") + 1 if "Bound" in columns else min(2, len(columns))


def op_code(row: Performance) -> str:
    """The operation's name, with the sizes that its trace has."""
    description = row.operation.attributes.get("description")
    return f"{row.operation.name} {description}" if description else row.operation.name


def _cells(row: Performance) -> dict[str, str]:
    operation = row.operation
    values = {
        "ID": str(row.number),
        "Total %": "" if row.share is None else labels.percent(row.share),
        "Bound": row.bound or "",
        "Device Time": "" if operation.time_s is None else labels.seconds(operation.time_s),
        "Op-to-Op Gap": "" if operation.gap_s is None else labels.seconds(operation.gap_s),
        "Cores": "" if operation.cores is None else str(operation.cores),
        "DRAM": "" if row.dram_bytes_per_s is None else labels.rate(row.dram_bytes_per_s, "B"),
        "DRAM %": "" if row.dram_fraction is None else labels.percent(row.dram_fraction),
        "FLOPs": "" if row.flop_per_s is None else labels.rate(row.flop_per_s, "FLOP"),
        "FLOPs %": "" if row.flop_fraction is None else labels.percent(row.flop_fraction),
        "Math Fidelity": visible(operation.attributes.get("math fidelity", "")),
    }
    return {name: text for name, text in values.items() if text}


def _style(column: str, row: Performance) -> str:
    """The documented colours of the performance report."""
    operation = row.operation
    if column == "Op-to-Op Gap" and operation.gap_s is not None and operation.gap_s > LONG_GAP_S:
        return "red"
    if column == "Cores" and operation.cores is not None and operation.cores < FEW_CORES:
        return "red"
    if column == "Bound" and row.bound is not None:
        return {"SLOW": "yellow", "HOST": "red"}.get(row.bound, "green")
    return ""


def write_csv(file: TextIO, report: MeasuredReport) -> None:
    """A row for each operation."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for row in report.rows:
        operation = row.operation
        cells = (
            row.number,
            _in_unit(row.share, 100),
            row.bound,
            op_code(row),
            _in_unit(operation.time_s, 1e6),
            _in_unit(operation.gap_s, 1e6),
            operation.cores,
            _in_unit(row.dram_bytes_per_s, 1e-9),
            _in_unit(row.dram_fraction, 100),
            _in_unit(row.flop_per_s, 1e-12),
            _in_unit(row.flop_fraction, 100),
            operation.attributes.get("math fidelity"),
            operation.device,
            operation.executions,
            operation.kind,
            operation.position.path,
        )
        writer.writerow(map(csv_cell, cells))


def _in_unit(value: float | None, factor: float) -> float | None:
    """`value` in another unit, with the digits that a trace has."""
    return None if value is None else float(f"{value * factor:.10g}")


def data(report: MeasuredReport, arguments: argparse.Namespace) -> dict[str, Any]:
    """The traces and operations, in SI units."""
    return {
        "traces": [
            {"file": str(trace.path), "format": trace.format_name} for trace in report.traces
        ],
        "operations": [_operation_data(row) for row in report.rows],
    }


def _operation_data(row: Performance) -> dict[str, Any]:
    operation = row.operation
    return {
        "id": row.number,
        "file": operation.position.path,
        "name": operation.name,
        "kind": operation.kind,
        "device": operation.device,
        "share": row.share,
        "bound": row.bound,
        "time_s": operation.time_s,
        "gap_s": operation.gap_s,
        "start_s": operation.start_s,
        "executions": operation.executions,
        "cores": operation.cores,
        "grid": operation.grid,
        "block": operation.block,
        "flop": operation.flop,
        "flop_per_s": row.flop_per_s,
        "flop_fraction": row.flop_fraction,
        "dram_bytes": operation.dram_bytes,
        "dram_bytes_per_s": row.dram_bytes_per_s,
        "dram_fraction": row.dram_fraction,
        "attributes": dict(operation.attributes),
        "counters": dict(operation.counters),
    }
