"""``tirlens report --performance``: predicted kernels as rows of the performance report."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TextIO

from tirlens.cli.measured import operations as measured_operations
from tirlens.cli.measured import step as measured_step
from tirlens.cli.measured import summary as measured_summary
from tirlens.cli.measured.measured_page import measured_points
from tirlens.cli.measured.predicted_timeline import NOTE, predicted_step
from tirlens.cli.output import console, stream, write_json
from tirlens.cli.rows import selection
from tirlens.hardware import load
from tirlens.ide import labels
from tirlens.ide.measured_page import MeasuredView, measured_document, operation_table
from tirlens.ide.report_page.schema import Tile
from tirlens.measured.performance.predicted import predicted_rows
from tirlens.measured.performance.rates import with_shares
from tirlens.measured.performance.report import MeasuredReport
from tirlens.measured.timeline import Step
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport

# Smaller parts of the time are printed in grey, as those of measured operations are.
_MUTED_SHARE = 0.005


@dataclass(frozen=True)
class PredictedReport:
    """Predicted kernels as rows, and the step that captured launches of them are.

    Attributes
    ----------
    step
        In the order of the launches; None where that is not known, and `without_step` says why.
    """

    rows: MeasuredReport
    step: Step | None
    without_step: str = ""


def report_of(reports: Sequence[FileReport], arguments: argparse.Namespace) -> PredictedReport:
    """The rows that the options select, with their parts of the time of these."""
    selected = selection(0.0, arguments.id_range)
    kernels = ((file.path, kernel) for file in reports for kernel in file.kernels)
    rows = with_shares(
        row
        for row in predicted_rows(kernels, arguments.by_launches)
        if selected.first <= row.number and (selected.last is None or row.number <= selected.last)
    )
    devices = {row.operation.device for row in rows}
    report = MeasuredReport((), rows, rows, _MUTED_SHARE, has_devices_apart=len(devices) > 1)
    return PredictedReport(report, *predicted_step(reports, arguments))


def write(predicted: PredictedReport, arguments: argparse.Namespace, file: TextIO) -> None:
    """Write the rows, their summary and the step in the format of the options."""
    report, step = predicted.rows, predicted.step
    if arguments.csv is not None:
        with stream(arguments.csv) as table:
            measured_operations.write_csv(table, report)
    if arguments.summary_file is not None:
        with stream(arguments.summary_file) as table:
            measured_summary.write_csv(table, report, arguments)
    if arguments.format == "csv":
        measured_operations.write_csv(file, report)
    elif arguments.format == "json":
        operations = measured_operations.data(report, arguments)
        summary = measured_summary.data(report, arguments)
        steps = {} if step is None else measured_step.data(step, arguments)
        write_json(file, {"schema_version": 1, **operations, **summary, **steps})
    else:
        out = console(file, arguments.color)
        measured_operations.show(report, arguments, out)
        measured_summary.show(report, arguments, out)
        if step is not None:
            measured_step.show(step, arguments, out)
            out.print(NOTE, soft_wrap=True)


def page(
    predicted: PredictedReport,
    reports: Sequence[FileReport],
    others: Mapping[str, int],
    arguments: argparse.Namespace,
) -> str:
    """The self-contained page of the predicted step; `others` are operations without a time."""
    report, step = predicted.rows, predicted.step
    kernels = [kernel for file in reports for kernel in file.kernels if not kernel.is_repeated]
    names = [PurePath(file.path).name for file in reports]
    ids = {kernel.device_id: kernel.device_name for kernel in kernels}
    notes: list[str] = []
    if others:
        count = labels.count(sum(others.values()), "operation")
        notes.append(f"{count} of other libraries in no sum: {', '.join(sorted(others))}")
    return measured_document(
        MeasuredView(
            title=names[0] if len(names) == 1 else labels.count(len(names), "file"),
            origin="; ".join([*(file.path for file in reports), *ids.values()]),
            step=step or measured_step.measured_step(report, None),
            tables=[operation_table(report.rows)],
            points=measured_points(report),
            device=load(next(iter(ids))) if len(ids) == 1 else None,
            notes=notes,
            source="predictions",
            without_timeline=predicted.without_step,
            timeline_note=NOTE,
            tiles=_launch_tiles(kernels, arguments.by_launches) if step is None else [],
        )
    )


def _launch_tiles(kernels: Sequence[KernelReport], by_launches: bool) -> list[Tile]:
    """What the launches cost, which is a part of the kernels' times."""
    cost_s = sum(
        (entry.time_s or 0.0) * ((kernel.launches or 1) if by_launches else 1)
        for kernel in kernels
        for entry in kernel.loops
        if entry.kind == "launch"
    )
    note = "at least, part of the times: queued ahead or in a graph"
    return [Tile("cost of launches", labels.seconds(cost_s), note)] if cost_s else []
