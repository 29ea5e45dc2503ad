"""The part of a report of traces that says what would make the operations faster."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tirlens.hardware import Device, load
from tirlens.ide import labels
from tirlens.ide.escaping import visible
from tirlens.measured.advice import MeasuredAdvice, advice_for
from tirlens.measured.advice.question import Figure
from tirlens.measured.performance.peaks import devices_by_name
from tirlens.measured.performance.rates import occupied_time_s
from tirlens.measured.performance.report import MeasuredReport
from tirlens.measured.records import Operation

# Further ones are counted in one line; the JSON has all.
_MOST_LISTED = 12
_MOST_IDS = 8
_LONGEST_NAME = 90


def show(report: MeasuredReport, arguments: argparse.Namespace, out: Console) -> None:
    """Print the advice, the largest saving first."""
    found = _advice(report, arguments)
    if not found:
        return
    out.print()
    out.print(Text("Advice", style="bold"))
    for advice in found[:_MOST_LISTED]:
        out.print(Text(_saving(advice, report), style="green" if advice.saving_s else ""), end="")
        out.print(Text(f"{labels.cut(visible(advice.subject), _LONGEST_NAME)}: {advice.message}"))
        figures = ", ".join(map(_figure, advice.evidence))
        out.print(Text(f"    {figures}; {_ids(advice.rows)} ({advice.rule})", style="dim"))
    if len(found) > _MOST_LISTED:
        count = len(found) - _MOST_LISTED
        out.print(Text(f"  {labels.count(count, 'smaller one')}: --format json has all"))


def data(report: MeasuredReport, arguments: argparse.Namespace) -> dict[str, Any]:
    """The advice, in SI units."""
    return {
        "advice": [
            {
                "rule": advice.rule,
                "subject": advice.subject,
                "message": advice.message,
                "ids": advice.rows,
                "saving_at_most_s": advice.saving_s,
                "is_idle_time": advice.is_idle_time,
                "evidence": [figure._asdict() for figure in advice.evidence],
            }
            for advice in _advice(report, arguments)
        ]
    }


def _advice(report: MeasuredReport, arguments: argparse.Namespace) -> tuple[MeasuredAdvice, ...]:
    return advice_for(report.rows, _device_of(report, arguments)) if arguments.advice else ()


def _device_of(
    report: MeasuredReport, arguments: argparse.Namespace
) -> Callable[[Operation], Device | None]:
    """The device of an operation: that of the option, else the one that its trace names."""
    if arguments.device:
        named = load(arguments.device[-1])
        return lambda operation: named
    found = {str(trace.path): devices_by_name(trace.devices) for trace in report.traces}

    def device_of(operation: Operation) -> Device | None:
        devices = found.get(operation.position.path, {})
        # Of a trace with one device, operations need not name it.
        only = next(iter(devices.values())) if len(devices) == 1 else None
        return devices.get(operation.device, only)

    return device_of


def _saving(advice: MeasuredAdvice, report: MeasuredReport) -> str:
    """The time with its part of the device time, or of all time where it is a part of the gaps."""
    if advice.saving_s is None:
        return "  "
    operations = (row.operation for row in report.rows)
    if advice.is_idle_time:
        total_s = sum(occupied_time_s(operation) or 0.0 for operation in operations)
    else:
        total_s = sum(operation.time_s or 0.0 for operation in operations)
    of = "all time" if advice.is_idle_time else "the device time"
    share = f" ({labels.percent(advice.saving_s / total_s)} of {of})" if total_s else ""
    return f"  save up to {labels.seconds(advice.saving_s)}{share}: "


def _figure(figure: Figure) -> str:
    match figure.unit:
        case "s":
            value = labels.seconds(figure.value)
        case "B":
            value = labels.bytes_(figure.value)
        case "share":
            value = labels.percent(figure.value)
        case _:
            value = f"{figure.value:,.0f}"
    return f"{figure.name} {value}"


def _ids(rows: Sequence[int]) -> str:
    listed = ", ".join(map(str, rows[:_MOST_IDS]))
    more = f" and {len(rows) - _MOST_IDS:,} more" if len(rows) > _MOST_IDS else ""
    return f"ID {listed}{more}"
