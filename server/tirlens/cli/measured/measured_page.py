"""The page of a measured step: what it is made of."""

from __future__ import annotations

import argparse

from tirlens.cli.measured.matched_report import summary
from tirlens.cli.measured.residual_questions import reasons_of
from tirlens.cli.measured.step import measured_step
from tirlens.cli.measured.workspace_matches import WorkspaceMatches
from tirlens.hardware import Device, load
from tirlens.ide import labels
from tirlens.ide.measured_page import (
    MatchedKernel,
    MeasuredView,
    Stack,
    StackPart,
    TableView,
    matched_table,
    measured_document,
    operation_table,
    unmatched_table,
)
from tirlens.ide.measured_page.roofline_data import MeasuredPoint
from tirlens.measured.performance.peaks import devices_by_name
from tirlens.measured.performance.report import MeasuredReport
from tirlens.measured.performance.stacking import stack


def page(
    report: MeasuredReport, matches: WorkspaceMatches | None, arguments: argparse.Namespace
) -> str:
    """The self-contained page of the step, with the kernels of the workspace beside it."""
    step = measured_step(report, matches)
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
            matched=_matched_tables(matches, arguments),
            tables=[operation_table(report.rows)],
            stacks=_memory_stacks(report),
            points=measured_points(report),
            device=_device(report, arguments),
            notes=[
                f"{problem.position.path}:{problem.position.row}: {problem.message}"
                for trace in report.traces
                for problem in trace.problems
            ],
        )
    )


def _matched_tables(
    matches: WorkspaceMatches | None, arguments: argparse.Namespace
) -> list[TableView]:
    """The measured kernels beside their predictions, and those that have none."""
    if matches is None:
        return []
    matched = [MatchedKernel(one, reasons_of(one, arguments)) for one in matches.matched]
    note = " ".join([f"{summary(matches)}.", *matches.notes])
    return [
        matched_table(matched, note),
        unmatched_table(matches.ambiguous, matches.unmatched),
    ]


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


def measured_points(report: MeasuredReport) -> list[MeasuredPoint]:
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
