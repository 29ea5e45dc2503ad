"""``explain``: what a line of a file costs, why, and what it became on the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tirlens.ide import entries, labels, line_owners, verdicts
from tirlens.model.report import BreakdownEntry, KernelReport
from tirlens.tools.answers import Page, optional
from tirlens.tools.applied import analyse_applied
from tirlens.tools.arguments import argument
from tirlens.tools.errors import ToolError
from tirlens.tools.problems import no_figures
from tirlens.tools.subject import Subject
from tirlens.tools.workbench import Workbench

_MOST_LINES = 8


@dataclass(frozen=True)
class Explain(Subject, Page):
    """The request."""

    line: int = argument("Line of the file, from 1", minimum=1, example=1)


@dataclass(frozen=True)
class Part:
    """A line inside of another, or of a kernel."""

    line: int
    label: str
    time_s: float | None
    share: float | None
    limit: str
    overlapped_s: float | None = None


@dataclass(frozen=True)
class Explanation:
    """The answer: the line, the time of its kernel, and the lines inside, the slowest first."""

    kernel: str
    device: str
    kernel_time_s: float | None
    time_band_s: tuple[float, float] | None
    confidence: float | None
    line: int
    label: str
    time_s: float | None
    share: float | None
    bound: str | None
    limit: str
    executions: int | None = None
    trips: int | None = None
    flop: int | None = None
    global_bytes: int | None = None
    dram_bytes: float | None = None
    overlapped_s: float | None = None
    path: tuple[str, ...] = optional()
    lost: str = ""
    inside: tuple[Part, ...] = optional()
    total_inside: int = 0
    next_offset: int | None = None
    caveats: tuple[str, ...] = optional()


async def explain(bench: Workbench, request: Explain) -> Explanation:
    """Explain a line, or a kernel by the line of its ``def``."""
    analysed = await analyse_applied(bench, request)
    kernels = analysed.report.kernels
    if not kernels:
        raise no_figures(analysed.report, analysed.place.name)
    kernel = next((one for one in kernels if one.span.line == request.line), None)
    if kernel is not None:
        return _of_kernel(kernel, request)
    kernel = line_owners.owner_at(kernels, request.line)
    entry = kernel and entries.entry_at(kernel.loops, request.line, 0)
    if kernel is None or entry is None:
        raise _no_line(kernels, request.line)
    return _of_entry(kernel, entry, request)


def _of_kernel(kernel: KernelReport, request: Explain) -> Explanation:
    inside = [cost for _, cost in kernel.walk() if not cost.children and _takes_time(cost)]
    page = request.cut(_slowest_first(inside))
    return Explanation(
        kernel=labels.title(kernel),
        device=kernel.device_id,
        kernel_time_s=kernel.time_s,
        time_band_s=kernel.time_band_s,
        confidence=kernel.confidence,
        line=kernel.span.line,
        label=kernel.call,
        time_s=kernel.time_s,
        share=None if kernel.time_s is None else 1.0,
        bound=kernel.bound,
        limit=verdicts.verdict(kernel).text,
        flop=kernel.flop,
        global_bytes=kernel.global_bytes.total,
        dram_bytes=kernel.dram_bytes.total,
        inside=tuple(map(_part, page.items)),
        total_inside=page.total,
        next_offset=page.next_offset,
        caveats=tuple(dict.fromkeys(note.message for note in kernel.caveats)),
    )


def _of_entry(kernel: KernelReport, entry: BreakdownEntry, request: Explain) -> Explanation:
    page = request.cut(_slowest_first(entry.children))
    first, last = entry.span.line, entry.span.end_line
    return Explanation(
        kernel=labels.title(kernel),
        device=kernel.device_id,
        kernel_time_s=kernel.time_s,
        time_band_s=kernel.time_band_s,
        confidence=kernel.confidence,
        line=entry.span.line,
        label=entry.label,
        time_s=entry.time_s,
        share=entry.share,
        bound=entry.bound,
        limit=verdicts.line_limit(entry),
        executions=entry.executions,
        trips=entry.trips,
        flop=entry.flop,
        global_bytes=entry.global_bytes,
        dram_bytes=entry.dram_bytes,
        overlapped_s=entry.overlapped_s or None,
        path=entry.path,
        lost=entry.lost,
        inside=tuple(map(_part, page.items)),
        total_inside=page.total,
        next_offset=page.next_offset,
        caveats=tuple(
            dict.fromkeys(
                note.message
                for note in kernel.caveats
                if note.span is not None and first <= note.span.line <= last
            )
        ),
    )


def _part(cost: BreakdownEntry) -> Part:
    return Part(
        cost.span.line,
        cost.label,
        cost.time_s,
        cost.share,
        verdicts.line_limit(cost),
        cost.overlapped_s or None,
    )


def _takes_time(cost: BreakdownEntry) -> bool:
    return cost.time_s is None or bool(cost.time_s or cost.overlapped_s)


def _slowest_first(costs: Sequence[BreakdownEntry]) -> list[BreakdownEntry]:
    return sorted(costs, key=lambda cost: (-(cost.time_s or 0.0), -(cost.overlapped_s or 0.0)))


def _no_line(kernels: Sequence[KernelReport], line: int) -> ToolError:
    known = sorted(dict.fromkeys(_lines(kernels)), key=lambda one: (abs(one - line), one))
    near = sorted(known[:_MOST_LINES])
    return ToolError(
        "no-line",
        f"Line {line} has no figures. The nearest lines with figures: {', '.join(map(str, near))}.",
        {"line": known[0]} if known else {},
    )


def _lines(kernels: Sequence[KernelReport]) -> Iterator[int]:
    for kernel in kernels:
        yield kernel.span.line
        for _, cost in kernel.walk():
            if cost.kind not in entries.WITHOUT_LINE and cost.span.file is None:
                yield cost.span.line
