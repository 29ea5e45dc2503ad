"""The lines of measured kernels: where Nsight Compute sampled their warps."""

from __future__ import annotations

import argparse
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.ide import labels
from tirlens.ide.escaping import visible
from tirlens.measured.performance.report import MeasuredReport
from tirlens.measured.performance.source_lines import KernelSamples, samples_by_line
from tirlens.measured.records import SourceLine

_MOST_LINES = 20
_MOST_KERNELS = 10
_NAME_CHARACTERS = 80


def show(report: MeasuredReport, arguments: argparse.Namespace, out: Console) -> None:
    """Print the lines with the most samples of each kernel."""
    kernels = _kernels(report)
    for kernel in kernels[:_MOST_KERNELS]:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("Samples", justify="right", no_wrap=True)
        table.add_column("Stall", no_wrap=True)
        table.add_column("Line", justify="right", no_wrap=True)
        table.add_column("Source")
        for each in kernel.lines[:_MOST_LINES]:
            source = Text(visible(each.line.text.strip()), no_wrap=True, overflow="ellipsis")
            table.add_row(labels.percent(each.share), each.stall or "", _place(each.line), source)
        name = labels.cut(visible(kernel.kernel), _NAME_CHARACTERS)
        launch = "" if kernel.execution is None else f", execution {kernel.execution}"
        out.print()
        out.print(Text(f"Samples of {name}{launch}", style="bold"))
        out.print(table)
        if len(kernel.lines) > _MOST_LINES:
            out.print(f"and {len(kernel.lines) - _MOST_LINES:,} more lines")
    if len(kernels) > _MOST_KERNELS:
        out.print(f"and {len(kernels) - _MOST_KERNELS:,} more kernels with samples")


def data(report: MeasuredReport, arguments: argparse.Namespace) -> dict[str, Any]:
    """The samples and counters of all lines, by kernels."""
    return {
        "source_lines": [
            {
                "kernel": kernel.kernel,
                "execution": kernel.execution,
                "samples": kernel.samples,
                "lines": [
                    {
                        "file": each.line.file,
                        "line": each.line.line,
                        "address": each.line.address,
                        "text": each.line.text,
                        "share": each.share,
                        "stall": each.stall,
                        "counters": dict(each.line.counters),
                    }
                    for each in kernel.lines
                ],
            }
            for kernel in _kernels(report)
        ]
    }


def _kernels(report: MeasuredReport) -> tuple[KernelSamples, ...]:
    return tuple(
        kernel for trace in report.traces for kernel in samples_by_line(trace.source_lines)
    )


def _place(line: SourceLine) -> str:
    """The line with its file, or the address of the instruction."""
    if line.address is not None:
        return f"{line.address:#x}"
    file = (line.file or "").replace("\\", "/").rsplit("/", 1)[-1]
    return visible(f"{file}:{line.line}" if file else str(line.line or ""))
