"""``tirlens report --performance``: predicted kernels as rows of the performance report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TextIO

from tirlens.cli.measured import operations as measured_operations
from tirlens.cli.measured import summary as measured_summary
from tirlens.cli.output import console, stream, write_json
from tirlens.cli.rows import selection
from tirlens.measured.performance.predicted import predicted_rows
from tirlens.measured.performance.rates import with_shares
from tirlens.measured.performance.report import MeasuredReport
from tirlens.pipeline import FileReport

# Smaller parts of the time are printed in grey, as those of measured operations are.
_MUTED_SHARE = 0.005


def report_of(reports: Sequence[FileReport], arguments: argparse.Namespace) -> MeasuredReport:
    """The rows that the options select, with their parts of the time of these."""
    selected = selection(0.0, arguments.id_range)
    kernels = ((file.path, kernel) for file in reports for kernel in file.kernels)
    rows = with_shares(
        row
        for row in predicted_rows(kernels, arguments.by_launches)
        if selected.first <= row.number and (selected.last is None or row.number <= selected.last)
    )
    devices = {row.operation.device for row in rows}
    return MeasuredReport((), rows, rows, _MUTED_SHARE, has_devices_apart=len(devices) > 1)


def write(report: MeasuredReport, arguments: argparse.Namespace, file: TextIO) -> None:
    """Write the rows and their summary in the format of the options."""
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
        write_json(file, {"schema_version": 1, **operations, **summary})
    else:
        out = console(file, arguments.color)
        measured_operations.show(report, arguments, out)
        measured_summary.show(report, arguments, out)
