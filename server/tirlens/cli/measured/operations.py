"""The measured operations: as a table for people, as CSV and as JSON.

Columns, units and colours are those of Tenstorrent's performance report (tenstorrent/
tt-perf-report, README).
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from tirlens.cli.columns import fitting_columns
from tirlens.ide import labels
from tirlens.ide.escaping import csv_cell, visible
from tirlens.measured.performance.categories import category_of
from tirlens.measured.performance.rates import Performance
from tirlens.measured.performance.report import Line, MeasuredReport
from tirlens.measured.performance.tensix import setting
from tirlens.measured.records import Operation, Signpost

CSV_COLUMNS = (
    "ID", "Total %", "Bound", "OP Code", "Device Time", "Op-to-Op Gap", "Cores", "DRAM", "DRAM %",
    "FLOPs", "FLOPs %", "Math Fidelity", "Device", "Output Datatype", "Input 0 Datatype",
    "Input 1 Datatype", "Input 0 Memory", "Inner Dim Block Size", "Output Subblock H",
    "Output Subblock W", "Global Call Count", "Sub Device ID", "Available Cores", "Category",
    "Kind", "Executions", "Raw OP Code", "File",
)  # fmt: skip
"""Times in us, DRAM in GB/s, FLOPs in TFLOP/s; unknown values are empty."""
LONG_GAP_S = 6.5e-6
"""A longer gap is printed in red (tt-perf-report, README)."""
FEW_CORES = 10
"""Fewer cores are printed in red where they are under half of those that the operation has."""

_NAME = "OP Code"
_LEFT = ("ID", "Total %", "Bound")
_RIGHT = (
    "Device", "Device Time", "Op-to-Op Gap", "Cores", "Available", "DRAM", "DRAM %", "FLOPs",
    "FLOPs %", "Math Fidelity",
)  # fmt: skip
_WORDS = ("Bound", _NAME, "Math Fidelity")
_LEAST_IMPORTANT = (
    "Available", "Math Fidelity", "DRAM", "FLOPs", "Cores", "Device", "DRAM %", "FLOPs %", "Bound",
    "Op-to-Op Gap",
)  # fmt: skip
_LEAST_NAME = 24
_MOST_NAME = 80
_GAP = "  "
_COLORS_BY_CATEGORY = {
    "product": "magenta", "attention": "blue", "normalisation": "cyan", "collective": "cyan",
}  # fmt: skip


def show(report: MeasuredReport, arguments: argparse.Namespace, out: Console) -> None:
    """Print the table and its sum."""
    if not report.lines:
        out.print("No operations.")
        return
    cells = [_cells(line, report, arguments.raw_op_codes) for line in report.lines]
    widths = _widths(cells, out)
    header = _layout({name: name for name in widths}, widths)
    out.print(Text(header, style="bold"), no_wrap=True, crop=False, overflow="ignore")
    out.print(Text("─" * cell_len(header)), no_wrap=True, crop=False, overflow="ignore")
    for line, texts in zip(report.lines, cells, strict=True):
        styles = _styles(line, report.muted_share)
        out.print(_row_text(texts, widths, styles), no_wrap=True, crop=False, overflow="ignore")
    out.print(Text(_sum(report.rows)))


def _widths(cells: Sequence[Mapping[str, str]], out: Console) -> dict[str, int]:
    """The width of each column that fits; the names take what is left of a terminal's line."""
    used = [name for name in (*_LEFT, *_RIGHT) if any(name in row for row in cells)]
    longest = max((cell_len(row[_NAME]) for row in cells), default=0)
    if out.is_terminal:
        least_name = min(max(_LEAST_NAME, out.width // 3), max(longest, len(_NAME)))
        room = out.width - least_name - len(_GAP)
        used = fitting_columns(used, cells, room, _LEAST_IMPORTANT)
    widths = {
        name: max(cell_len(text) for text in (name, *(row.get(name, "") for row in cells)))
        for name in [name for name in _LEFT if name in used]
    }
    widths[_NAME] = max(min(longest, _MOST_NAME), len(_NAME))
    for name in _RIGHT:
        if name in used:
            widths[name] = max(cell_len(text) for text in (name, *(r.get(name, "") for r in cells)))
    if out.is_terminal:
        others = sum(widths.values()) - widths[_NAME] + len(_GAP) * (len(widths) - 1)
        widths[_NAME] = max(min(longest, out.width - others), 8)
    return widths


def _fit(name: str, text: str, width: int) -> str:
    if name == _NAME and cell_len(text) > width:
        text = set_cell_size(text, width - 1) + "…"
    padding = " " * (width - cell_len(text))
    return text + padding if name in _WORDS else padding + text


def _layout(texts: Mapping[str, str], widths: Mapping[str, int]) -> str:
    cells = (_fit(name, texts.get(name, ""), width) for name, width in widths.items())
    return _GAP.join(cells).rstrip()


def _row_text(
    texts: Mapping[str, str], widths: Mapping[str, int], styles: Mapping[str, str]
) -> Text:
    parts: list[str | tuple[str, str]] = []
    for name, width in widths.items():
        parts.append((_fit(name, texts.get(name, ""), width), styles.get(name, styles[""])))
        parts.append(_GAP)
    text = Text.assemble(*parts[:-1])
    text.rstrip()
    return text


def _sum(rows: Sequence[Performance]) -> str:
    """The counts, times and the DRAM rate of all operations."""
    hosts = sum(row.operation.kind == "host" for row in rows)
    times_s = [row.operation.time_s for row in rows if row.operation.time_s is not None]
    gaps_s = [row.operation.gap_s for row in rows if row.operation.gap_s is not None]
    text = f"{len(rows) - hosts:,} device ops, {hosts:,} host ops"
    if times_s:
        text += f": {labels.seconds(sum(times_s))} of device time"
    if gaps_s:
        text += f", {labels.seconds(sum(gaps_s))} of gaps"
    known = [row.operation for row in rows if row.operation.dram_bytes and row.operation.time_s]
    if known:
        moved = sum(operation.dram_bytes or 0 for operation in known)
        known_s = sum(operation.time_s or 0.0 for operation in known)
        text += f"; DRAM at {labels.rate(moved / known_s, 'B')} in the {len(known):,} whose bytes "
        text += "are known"
    return text


def op_code(operation: Operation, is_raw: bool = False) -> str:
    """The operation's name, with the sizes that its trace has."""
    description = None if is_raw else operation.attributes.get("description")
    return f"{operation.name} {description}" if description else operation.name


def _cells(line: Line, report: MeasuredReport, is_raw: bool) -> dict[str, str]:
    if isinstance(line, Signpost):
        return {"ID": str(line.position.row), _NAME: f"-- {_one_line(line.name)}"}
    operation = line.operation
    available = operation.attributes.get("AVAILABLE WORKER CORE COUNT", "")
    values = {
        "ID": str(line.number),
        "Total %": "" if line.share is None else labels.percent(line.share),
        "Bound": line.bound or "",
        _NAME: _one_line(op_code(operation, is_raw)),
        "Device": _one_line(operation.device or "") if report.has_devices_apart else "",
        "Device Time": "" if operation.time_s is None else labels.seconds(operation.time_s),
        "Op-to-Op Gap": "" if operation.gap_s is None else labels.seconds(operation.gap_s),
        "Cores": "" if operation.cores is None else str(operation.cores),
        "Available": _one_line(available) if "SUB DEVICE ID" in operation.attributes else "",
        "DRAM": "" if line.dram_bytes_per_s is None else labels.rate(line.dram_bytes_per_s, "B"),
        "DRAM %": "" if line.dram_fraction is None else labels.percent(line.dram_fraction),
        "FLOPs": "" if line.flop_per_s is None else labels.rate(line.flop_per_s, "FLOP"),
        "FLOPs %": "" if line.flop_fraction is None else labels.percent(line.flop_fraction),
        "Math Fidelity": _one_line(operation.attributes.get("math fidelity", "")),
    }
    return {name: text for name, text in values.items() if text}


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))


def _styles(line: Line, muted_share: float) -> dict[str, str]:
    """The documented colours; the style of columns without one is that of ``""``."""
    if isinstance(line, Signpost):
        return {"": "bold cyan"}
    operation = line.operation
    if line.bound != "HOST" and line.share is not None and line.share < muted_share:
        return {"": "bright_black"}
    category = category_of(operation.name, operation.kind)
    styles = {"": "", _NAME: f"bold {_COLORS_BY_CATEGORY.get(category, '')}".strip()}
    if operation.kind == "host":
        styles |= {"Bound": "red", _NAME: "bold red"}
    if operation.gap_s is not None and operation.gap_s > LONG_GAP_S:
        styles["Op-to-Op Gap"] = "red"
    styles["Cores"] = _color_of_cores(operation)
    by_dram, by_flop = ("DRAM", "DRAM %"), ("FLOPs", "FLOPs %")
    match line.bound:
        case "DRAM":
            styles |= dict.fromkeys(("Bound", *by_dram), "green")
        case "FLOP":
            styles |= dict.fromkeys(("Bound", *by_flop), "green")
        case "BOTH":
            styles |= dict.fromkeys(("Bound", *by_dram, *by_flop), "green")
        case "SLOW":
            is_dram = (line.dram_fraction or 0.0) > (line.flop_fraction or 0.0)
            styles |= dict.fromkeys(("Bound", *(by_dram if is_dram else by_flop)), "yellow")
        case _:
            pass
    return styles


def _color_of_cores(operation: Operation) -> str:
    """Green for all cores that the operation may use, red for few of them."""
    cores, available = operation.cores, _available(operation)
    if cores is None:
        return ""
    if cores == available or "DRAMSharded" in operation.attributes.get("ATTRIBUTES", ""):
        return "green"
    return "red" if cores < FEW_CORES and (available is None or cores < available / 2) else ""


def _available(operation: Operation) -> int | None:
    text = operation.attributes.get("AVAILABLE WORKER CORE COUNT", "").partition(".")[0]
    return int(text) if text.isdecimal() and len(text) < 8 else None


def write_csv(file: TextIO, report: MeasuredReport) -> None:
    """A row for each operation and signpost."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for line in report.lines:
        values = _post_values(line) if isinstance(line, Signpost) else _values(line)
        writer.writerow([csv_cell(values.get(name)) for name in CSV_COLUMNS])


def _post_values(post: Signpost) -> dict[str, object]:
    name = f"{post.name} (signpost)"
    return {"ID": post.position.row, _NAME: name, "File": post.position.path}


def _values(row: Performance) -> dict[str, object]:
    operation = row.operation
    attributes = operation.attributes
    settings = attributes.get("ATTRIBUTES", "")
    has_settings = "program_config" in settings
    types = [tensor.dtype for tensor in operation.inputs] + [None, None]
    return {
        "ID": row.number,
        "Total %": in_unit(row.share, 100),
        "Bound": row.bound,
        _NAME: op_code(operation),
        "Device Time": in_unit(operation.time_s, 1e6),
        "Op-to-Op Gap": in_unit(operation.gap_s, 1e6),
        "Cores": operation.cores,
        "DRAM": in_unit(row.dram_bytes_per_s, 1e-9),
        "DRAM %": in_unit(row.dram_fraction, 100),
        "FLOPs": in_unit(row.flop_per_s, 1e-12),
        "FLOPs %": in_unit(row.flop_fraction, 100),
        "Math Fidelity": attributes.get("math fidelity"),
        "Device": operation.device,
        "Output Datatype": operation.outputs[0].dtype if operation.outputs else None,
        "Input 0 Datatype": types[0],
        "Input 1 Datatype": types[1],
        "Input 0 Memory": operation.inputs[0].memory if operation.inputs else None,
        "Inner Dim Block Size": setting(settings, "in0_block_w") if has_settings else None,
        "Output Subblock H": setting(settings, "out_subblock_h") if has_settings else None,
        "Output Subblock W": setting(settings, "out_subblock_w") if has_settings else None,
        "Global Call Count": operation.call_number,
        "Sub Device ID": attributes.get("SUB DEVICE ID"),
        "Available Cores": _available(operation),
        "Category": category_of(operation.name, operation.kind),
        "Kind": operation.kind,
        "Executions": operation.executions,
        "Raw OP Code": operation.name,
        "File": operation.position.path,
    }


def in_unit(value: float | None, factor: float) -> float | None:
    """`value` in another unit, with the digits that a trace has."""
    return None if value is None else float(f"{value * factor:.10g}")


def data(report: MeasuredReport, arguments: argparse.Namespace) -> dict[str, Any]:
    """The traces, operations and signposts, in SI units."""
    return {
        "traces": [
            {"file": str(trace.path), "format": trace.format_name} for trace in report.traces
        ],
        "notes": list(report.notes),
        "operations": [_operation_data(row) for row in report.rows],
        "signposts": _signpost_data(line for line in report.lines if isinstance(line, Signpost)),
    }


def _signpost_data(posts: Iterable[Signpost]) -> list[dict[str, Any]]:
    return [
        {
            "id": post.position.row,
            "file": post.position.path,
            "name": post.name,
            "start_s": post.start_s,
            "end_s": post.end_s,
        }
        for post in posts
    ]


def _operation_data(row: Performance) -> dict[str, Any]:
    operation = row.operation
    return {
        "id": row.number,
        "file": operation.position.path,
        "name": operation.name,
        "kind": operation.kind,
        "category": category_of(operation.name, operation.kind),
        "device": operation.device,
        "stream": operation.stream,
        "share": row.share,
        "bound": row.bound,
        "time_s": operation.time_s,
        "host_time_s": operation.host_time_s,
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
        "math_fidelity": operation.attributes.get("math fidelity"),
        "attributes": dict(operation.attributes),
        "counters": dict(operation.counters),
    }
