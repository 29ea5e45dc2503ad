"""The measured step: where its time goes and what the gaps cost, as a table, JSON and a page."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, TypeAlias

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.cli.measured.workspace_matches import WorkspaceMatches
from tirlens.ide import labels
from tirlens.ide.escaping import visible
from tirlens.ide.measured_page.table_data import short_name
from tirlens.measured.groups import Identity, identity_of
from tirlens.measured.performance.rates import Performance
from tirlens.measured.performance.report import MeasuredReport
from tirlens.measured.timeline import Step, step_of

_MOST_GAPS = 5


def measured_step(report: MeasuredReport, matches: WorkspaceMatches | None) -> Step:
    """The step of the selected operations; what a kernel can reach is its roofline.

    That of a kernel of the workspace is the roofline of its prediction, whose work is exact.
    """
    rows = report.unmerged_rows
    rooflines: _Rooflines = {} if matches is None else _predicted_rooflines_s(matches)
    return step_of((row.operation for row in rows), (_reachable_s(row, rooflines) for row in rows))


_Rooflines: TypeAlias = Mapping[tuple[str, Identity], float]
"""The roofline of one execution, by the trace and what its executions have in common."""


def _predicted_rooflines_s(matches: WorkspaceMatches) -> _Rooflines:
    return {
        (group.first.position.path, group.identity): residual.roofline_s
        for residual in matches.matched
        if (group := residual.match.group).identity is not None and residual.roofline_s is not None
    }


def _reachable_s(row: Performance, rooflines: _Rooflines) -> float | None:
    """The time at the peak that bounds the operation, of those whose share is known."""
    operation = row.operation
    if rooflines and operation.time_s is not None:
        predicted_s = rooflines.get((operation.position.path, identity_of(operation)))
        if predicted_s is not None:
            return min(predicted_s * operation.executions, operation.time_s)
    shares = [share for share in (row.dram_fraction, row.flop_fraction) if share is not None]
    if row.operation.time_s is None or not shares:
        return None
    return row.operation.time_s * min(max(shares), 1.0)


def show(step: Step, arguments: argparse.Namespace, out: Console) -> None:
    """Print the categories with their part of the wall time, and the longest gaps."""
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
    gaps: dict[str, None] = {}
    for gap, _ in longest:
        before, after = (
            short_name(step.kernels[number].name)[:60] for number in (gap.before, gap.after)
        )
        gaps[f"gap of {labels.seconds(gap.length_s)} after {before}, before {after}"] = None
    return [*lines, *list(gaps)[:_MOST_GAPS]]


def data(step: Step, arguments: argparse.Namespace) -> dict[str, Any]:
    """The step in SI units."""
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
