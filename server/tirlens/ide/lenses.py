"""Code lenses: one line above each kernel, in parts that can be clicked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tirlens.ide import labels
from tirlens.ide.history import NO_HISTORY, History

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirlens.model.report import KernelReport

Action = Literal["report", "call", "device", "trust", "analyze", "none"]

_COMPUTE = frozenset({"tensor", "fp32", "fp64", "int", "sfu"})

ANALYSING = "analysing..."
UNTRUSTED = "untrusted: analysis needs to run this file"
CANCELLED = "cancelled: click to analyse"
STALE = "stale: save to refresh"


@dataclass(frozen=True)
class Part:
    """A piece of a lens: its title and what a click on it does."""

    title: str
    action: Action


def parts(report: KernelReport, history: History = NO_HISTORY) -> list[Part]:
    """The lens of one analysed kernel, whose time is compared with those of `history`."""
    if report.status == "needs-bindings":
        return [
            Part(f"needs {', '.join(report.needs)}: click to set", "call"),
            Part(report.device_id, "device"),
        ]
    if not report.has_counts:
        return [Part(failure(report.message or report.status), "report")]
    changes = history.changes_of(report)
    found = [Part(f"{time(report)} ({changes})" if changes else time(report), "report")]
    if bound(report):
        found.append(Part(bound(report), "report"))
    found.append(Part(work(report), "report"))
    if call(report):
        found.append(Part(call(report), "call"))
    found.append(Part(report.device_id, "device"))
    return found


def lens(report: KernelReport) -> str:
    """The whole lens as one line of text."""
    return " | ".join(part.title for part in parts(report))


def time(report: KernelReport) -> str:
    """``87.1 us est.``, ``87.1 us lower bound, unscheduled`` or ``no time: <reason>``."""
    if report.time_s is None:
        return f"no time: {labels.shorten(labels.ascii_(report.message), 80)}"
    if report.schedule == "unscheduled":
        return f"{labels.seconds(report.time_s)} lower bound, unscheduled"
    return f"{labels.seconds(report.time_s)} est."


def bound(report: KernelReport) -> str:
    """``tensor-bound, 71% of peak``, ``l2-bound, 83% busy``, ``latency-bound, dram 36% busy``.

    The peak is the bandwidth's where DRAM bounds.  Where no unit bounds, the busiest is named.
    """
    if report.bound is None:
        return ""
    text = f"{report.bound}-bound"
    fraction = report.dram_fraction if report.bound == "dram" else None
    if report.bound in _COMPUTE:
        fraction = report.peak_fraction
    if fraction is not None:
        return f"{text}, {labels.percent(fraction)} of peak"
    busy = report.utilisation
    if report.bound in busy:
        return f"{text}, {labels.percent(busy[report.bound])} busy"
    if not busy:
        return text
    busiest = max(busy, key=lambda unit: busy[unit])
    return f"{text}, {busiest} {labels.percent(busy[busiest])} busy"


def work(report: KernelReport) -> str:
    """``137 GFLOP, 1.21 GB DRAM``."""
    return f"{labels.flop(report.flop)}, {labels.bytes_(report.dram_bytes.total)} DRAM"


def call(report: KernelReport) -> str:
    """The arguments that the numbers are for: ``matmul(8192, ...)``, ``M=8192``; may be empty."""
    arguments: list[str] = []
    if report.call not in ("", report.name, report.definition) and "(" in report.call:
        arguments.append(labels.shorten(report.call))
    arguments.extend(f"{name}={value}" for name, value in report.bindings.items())
    text = ", ".join(arguments)
    return f"assumed: {text}" if text and report.call_source == "assumed" else text


def needs(names: Sequence[str]) -> list[Part]:
    """The lens of a kernel whose arguments nothing in the file gives."""
    return [Part(f"needs {', '.join(names)}: click to set", "call")]


def failure(reason: str) -> str:
    """``not analysed: <reason>``, short enough for a lens."""
    return f"not analysed: {labels.shorten(labels.ascii_(reason), 80)}"
