"""The breakdown as CSV, with exact figures, and as Markdown, with those of the table."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import TextIO

from tirlens.cli.rows import Selection, rows, verdict
from tirlens.ide import labels, places, tables
from tirlens.ide.escaping import code, csv_cell, prose
from tirlens.ide.notebook_file import CellSpan
from tirlens.pipeline import FileReport
from tirlens_worker.facts import Span

COLUMNS = (
    "file", "kernel", "call", "device", "id", "depth", "line", "column", "kind", "label", "trips",
    "executions", "flop", "global_bytes", "dram_bytes", "time_s", "share", "bound", "cell",
    "int_ops",
)  # fmt: skip


def write_csv(file: TextIO, reports: Iterable[FileReport], selected: Selection) -> None:
    """A row for each line of each kernel's breakdown; the kernel itself has id 0.

    Unknown figures are empty.
    """
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for report in reports:
        for kernel in report.kernels:
            head = (report.path, labels.title(kernel), kernel.call, kernel.device_id)
            place = (kernel.span.line, kernel.span.column, "kernel", kernel.status)
            figures_ = (
                kernel.flop,
                kernel.global_bytes.total,
                kernel.dram_bytes.total,
                kernel.time_s,
            )
            share = None if kernel.time_s is None else 1.0
            kernel_row = (
                *(*head, 0, 0, *place, None, 1, *figures_, share, kernel.bound),
                _cell(kernel.span),
                kernel.int_ops,
            )
            writer.writerow(map(csv_cell, kernel_row))
            for row in rows(kernel, selected):
                cost = row.cost
                cells = (
                    *head,
                    row.number,
                    row.depth + 1,
                    cost.span.line,
                    cost.span.column,
                    cost.kind,
                    cost.label,
                    cost.trips,
                    cost.executions,
                    cost.flop,
                    cost.global_bytes,
                    cost.dram_bytes,
                    cost.time_s,
                    cost.share,
                    cost.bound,
                    _cell(cost.span),
                    cost.int_ops,
                )
                writer.writerow(map(csv_cell, cells))


def _cell(span: Span) -> int | None:
    """The number of the cell in a notebook."""
    return span.cell if isinstance(span, CellSpan) else None


def markdown(reports: Iterable[FileReport], selected: Selection) -> str:
    """A section for each kernel."""
    lines: list[str] = []
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
                f"| id | line | where | {' | '.join(tables.LINE_COLUMNS)} |",
                "|---:|---:|:---|---:|---:|---:|---:|---:|---:|:---|",
            ]
            for row in rows(kernel, selected):
                cost = row.cost
                cells = (
                    str(row.number),
                    prose(tables.place(cost.span)),
                    "&nbsp;" * 2 * row.depth + code(cost.label),
                    *tables.line_cells(cost),
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
