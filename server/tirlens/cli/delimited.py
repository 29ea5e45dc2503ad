"""The breakdown as CSV, with exact figures, and as Markdown, with those of the table."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from tirlens.cli.rows import Selection, rows, verdict
from tirlens.ide import labels, places, tables
from tirlens.ide.escaping import code, csv_cell, prose
from tirlens.ide.notebook_file import CellSpan
from tirlens.model.report import BreakdownEntry, KernelReport, figures
from tirlens.pipeline import FileReport
from tirlens_worker.facts import Span

_PLACES = (
    "file", "kernel", "call", "device", "id", "depth", "line", "column", "kind", "label",
)  # fmt: skip
# These keep their order; figures that are added later follow them.
_FIRST = (
    "trips", "executions", "flop", "global_bytes", "dram_bytes", "time_s", "share", "bound", "cell",
    "int_ops",
)  # fmt: skip
_FIGURES = tuple(figure.name for figure in figures(BreakdownEntry))
COLUMNS = (*_PLACES, *_FIRST, *(name for name in _FIGURES if name not in _FIRST))


def write_csv(file: TextIO, reports: Iterable[FileReport], selected: Selection) -> None:
    """A row for each line of each kernel's breakdown; the kernel itself has id 0.

    Unknown figures are empty.
    """
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for report in reports:
        for kernel in report.kernels:
            head = {
                "file": report.path,
                "kernel": labels.title(kernel),
                "call": kernel.call,
                "device": kernel.device_id,
            }
            writer.writerow(_cells(head | _kernel_row(kernel)))
            for row in rows(kernel, selected):
                place = {"id": row.number, "depth": row.depth + 1}
                writer.writerow(_cells(head | place | _line_row(row.cost)))


def _cells(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: csv_cell(value) for name, value in row.items()}


def _kernel_row(kernel: KernelReport) -> dict[str, Any]:
    figures_ = {name: getattr(kernel, name, None) for name in _FIGURES}
    return figures_ | {
        "id": 0,
        "depth": 0,
        **_position(kernel.span),
        "kind": "kernel",
        "label": kernel.status,
        "executions": 1,
        "integer_flop": kernel.operations.integer_flop,
        "global_bytes": kernel.global_bytes.total,
        "dram_bytes": kernel.dram_bytes.total,
        "share": None if kernel.time_s is None else 1.0,
    }


def _line_row(cost: BreakdownEntry) -> dict[str, Any]:
    figures_ = {name: getattr(cost, name) for name in _FIGURES}
    return figures_ | {**_position(cost.span), "kind": cost.kind, "label": cost.label}


def _position(span: Span) -> dict[str, int | None]:
    """Line, column, and the number of the cell in a notebook."""
    cell = span.cell if isinstance(span, CellSpan) else None
    return {"line": span.line, "column": span.column, "cell": cell}


def markdown(reports: Iterable[FileReport], selected: Selection) -> str:
    """A section for each kernel."""
    lines: list[str] = []
    columns = tables.line_columns()
    for report in reports:
        for kernel in report.kernels:
            lines += [f"## {prose(labels.title(kernel))}", ""]
            lines += [code(places.place(report.path, kernel.span)), ""]
            lines += [f"**{prose(verdict(kernel))}**", ""]
            if not kernel.has_counts:
                continue
            lines += [
                *(f"- {name}: {prose(text)}" for name, text in tables.particulars(kernel)),
                "",
            ]
            lines += [
                f"| id | line | where | {' | '.join(columns)} |",
                f"|---:|---:|:---|{'|'.join(_align(name) for name in columns)}|",
            ]
            for row in rows(kernel, selected):
                cost = row.cost
                cells = (
                    str(row.number),
                    prose(tables.place(cost.span)),
                    "&nbsp;" * 2 * row.depth + code(cost.label),
                    *tables.line_cells(cost).values(),
                )
                lines.append("| " + " | ".join(cells) + " |")
            lines.append("")
            lines += [
                f"- **{a.rule}** ({places.at_line(a.span)}): {prose(labels.advice(a))}"
                for a in kernel.advice
            ]
            lines += [f"- note: {prose(c.message)}" for c in kernel.caveats]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n" if lines else ""


def _align(column: str) -> str:
    return ":---" if column in tables.WORDS else "---:"
