"""Two measured runs in each format."""

from __future__ import annotations

from typing import TextIO

from tirlens.cli.change_report import annotation
from tirlens.cli.measured.changes import data, tables
from tirlens.cli.measured.changes.report import MeasuredChangeReport
from tirlens.cli.measured.changes.text import explanation
from tirlens.cli.output import console, write_json
from tirlens.ide.measured_page import comparison_document


def write(out: TextIO, report: MeasuredChangeReport, kind: str, color: bool | None) -> None:
    """Write `report` to `out` in the format `kind`; `color` is for tables alone."""
    if kind == "json":
        write_json(out, data.document(report))
    elif kind == "csv":
        data.write_csv(out, report)
    elif kind == "sarif":
        write_json(out, data.sarif_document(report))
    elif kind == "markdown":
        out.write(tables.markdown(report))
    elif kind == "html":
        out.write(comparison_document(report.comparison, tuple(report.notes)))
    else:
        tables.print_table(console(out, color), report)
        if kind == "github":
            out.writelines(
                annotation(*report.location(item), explanation(item)) for item in report.refused
            )
