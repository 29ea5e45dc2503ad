"""The measured step: where its time goes and what the gaps cost, as a table, JSON and a page."""

from __future__ import annotations

import argparse
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.hardware import Device, load
from tirlens.ide import labels
from tirlens.ide.escaping import visible
from tirlens.ide.measured_page import (
    MeasuredView,
    Stack,
    StackPart,
    measured_document,
    operation_table,
)
from tirlens.ide.measured_page.roofline_data import MeasuredPoint
from tirlens.ide.measured_page.table_data import short_name
from tirlens.measured.performance.peaks import devices_by_name
from tirlens.measured.performance.rates import Performance
from tirlens.measured.performance.report import MeasuredReport
from tirlens.measured.performance.stacking import stack
from tirlens.measured.timeline import Step, step_of

_MOST_GAPS = 5


def measured_step(report: MeasuredReport) -> Step:
    """The step of the selected operations; what a kernel can reach is its roofline."""
    rows = report.unmerged_rows
    return step_of((row.operation for row in rows), map(_reachable_s, rows))


def _reachable_s(row: Performance) -> float | None:
    """The time at the peak that bounds the operation, of those whose share is known."""
    shares = [share for share in (row.dram_fraction, row.flop_fraction) if share is not None]
    if row.operation.time_s is None or not shares:
        return None
    return row.operation.time_s * min(max(shares), 1.0)


def show(report: MeasuredReport, arguments: argparse.Namespace, out: Console) -> None:
    """Print the categories with their part of the wall time, and the longest gaps."""
    step = measured_step(report)
    if not step.kernels:
        return
    out.print(_table(step))
    for text in _gap_lines(step):
        out.print(Text(text), soft_wrap=True)


def _table(step: Step) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("step", style="bold")
    has_clock = step.wall_s is not None
    names = ["executions", "sum", "part", *(["alone"] if has_clock else [])]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for found in step.categories:
        share = step.share(found)
        row = [
            f"{found.executions:,}",
            labels.seconds(found.sum_s),
            "" if share is None else labels.percent(share),
        ]
        if found.alone_s is not None:
            row.append(labels.seconds(found.alone_s))
        table.add_row(found.category, *row)
    if step.idle_s is not None and step.wall_s:
        gaps = sum(device.gaps for device in step.devices)
        least = "at least " if step.unknown_gaps else ""
        share = labels.percent(step.idle_s / step.wall_s)
        table.add_row("idle", f"{gaps:,}", f"{least}{labels.seconds(step.idle_s)}", share)
    table.add_section()
    total_s = step.sum_s if step.wall_s is None else step.wall_s
    name = "all" if len(step.devices) < 2 else f"all, {len(step.devices)} devices"
    table.add_row(name, f"{step.executions:,}", labels.seconds(total_s))
    return table


def _gap_lines(step: Step) -> list[str]:
    """What the gaps are due to, as far as the trace says, and the longest of them."""
    lines: list[str] = []
    for device in step.devices:
        causes: list[str] = []
        if device.graph_gap_s:
            causes.append(f"{labels.seconds(device.graph_gap_s)} inside of graphs")
        if device.late_launch_s:
            causes.append(f"{labels.seconds(device.late_launch_s)} before the host's launch")
        name = "" if device.device is None else f"device {visible(device.device)}: "
        if causes:
            lines.append(f"{name}{labels.seconds(device.idle_s)} idle, {', '.join(causes)}")
    longest = [(gap, device) for device in step.devices for gap in device.longest]
    longest.sort(key=lambda item: -item[0].length_s)
    for gap, _ in longest[:_MOST_GAPS]:
        before, after = (
            short_name(step.kernels[number].name)[:60] for number in (gap.before, gap.after)
        )
        lines.append(f"gap of {labels.seconds(gap.length_s)} after {before}, before {after}")
    return lines


def data(report: MeasuredReport, arguments: argparse.Namespace) -> dict[str, Any]:
    """The step in SI units."""
    step = measured_step(report)
    return {
        "step": {
            "clock": step.clock,
            "wall_s": step.wall_s,
            "busy_s": step.busy_s,
            "idle_s": step.idle_s,
            "sum_s": step.sum_s,
            "unknown_gaps": step.unknown_gaps,
            "untimed": step.untimed,
            "unplaced": step.unplaced,
            "categories": [
                {
                    "category": found.category,
                    "executions": found.executions,
                    "sum_s": found.sum_s,
                    "part_s": found.part_s,
                    "alone_s": found.alone_s,
                }
                for found in step.categories
            ],
            "devices": [
                {
                    "device": device.device,
                    "wall_s": device.wall_s,
                    "busy_s": device.busy_s,
                    "idle_s": device.idle_s,
                    "overlapped_s": device.overlapped_s,
                    "gaps": device.gaps,
                    "graph_gap_s": device.graph_gap_s,
                    "late_launch_s": device.late_launch_s,
                }
                for device in step.devices
            ],
            "kernels": [
                {
                    "name": kernel.name,
                    "category": kernel.category,
                    "executions": kernel.executions,
                    "sum_s": kernel.sum_s,
                    "part_s": kernel.part_s,
                    "reachable_s": kernel.reachable_s,
                    "reachable_of_s": kernel.reachable_of_s,
                }
                for kernel in step.kernels
            ],
        }
    }


def page(report: MeasuredReport, arguments: argparse.Namespace) -> str:
    """The self-contained page of the step."""
    step = measured_step(report)
    names = [trace.path.name for trace in report.traces]
    origins = [f"{trace.path}, {trace.format_name}" for trace in report.traces]
    boards = dict.fromkeys(
        device.name for trace in report.traces for device in trace.devices if device.name
    )
    return measured_document(
        MeasuredView(
            title=names[0] if len(names) == 1 else labels.count(len(names), "trace"),
            origin="; ".join([*origins, *boards]),
            step=step,
            tables=[operation_table(report.rows)],
            stacks=_memory_stacks(report),
            points=_points(report),
            device=_device(report, arguments),
            notes=[
                f"{problem.position.path}:{problem.position.row}: {problem.message}"
                for trace in report.traces
                for problem in trace.problems
            ],
        )
    )


def _memory_stacks(report: MeasuredReport) -> list[Stack]:
    """The operations by the memory of their first operand, where the trace says it."""
    if not any(row.operation.inputs and row.operation.inputs[0].memory for row in report.rows):
        return []
    parts = [
        StackPart(
            each.name, each.time.total, each.category, labels.count(each.operations, "execution")
        )
        for each in stack(report.rows, "memory")
    ]
    return [Stack("by operation and memory", parts)]


def _points(report: MeasuredReport) -> list[MeasuredPoint]:
    """The kernels with the executions whose FLOP and bytes are counted."""
    sums: dict[str, tuple[float, float, float]] = {}
    for row in report.unmerged_rows:
        operation = row.operation
        counts = (operation.time_s, operation.flop, operation.dram_bytes)
        if None not in counts:
            before = sums.get(operation.name, (0.0, 0.0, 0.0))
            time_s, flop, dram_bytes = (
                old + (new or 0.0) for old, new in zip(before, counts, strict=True)
            )
            sums[operation.name] = (time_s, flop, dram_bytes)
    total_s = sum(row.operation.time_s or 0.0 for row in report.unmerged_rows)
    return [
        MeasuredPoint(name, time_s, flop, dram_bytes, time_s / total_s if total_s else None)
        for name, (time_s, flop, dram_bytes) in sums.items()
    ]


def _device(report: MeasuredReport, arguments: argparse.Namespace) -> Device | None:
    """The device of ``--device``, else the one that the traces name if all name the same."""
    if arguments.device:
        return load(arguments.device[-1])
    found = {
        device.id: device
        for trace in report.traces
        for device in devices_by_name(trace.devices).values()
    }
    return next(iter(found.values())) if len(found) == 1 else None
