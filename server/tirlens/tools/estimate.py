"""``estimate``: the predicted time of the kernels of a file, with its band and what bounds it."""

from __future__ import annotations

from dataclasses import dataclass

from tirlens.ide import labels, sizes, verdicts
from tirlens.model.report import KernelReport
from tirlens.tools.answers import Page, optional
from tirlens.tools.applied import analyse_applied
from tirlens.tools.confidence_reasons import confidence_reasons
from tirlens.tools.problems import Missing, missing, no_figures
from tirlens.tools.subject import Subject
from tirlens.tools.workbench import Workbench

_MOST_CAVEATS = 3


@dataclass(frozen=True)
class Estimate(Subject, Page):
    """The request."""


@dataclass(frozen=True)
class KernelEstimate:
    """The figures of one kernel, with the names that they have in the JSON of ``analyze``."""

    name: str
    line: int
    call: str
    device: str
    time_s: float | None
    time_band_s: tuple[float, float] | None
    confidence: float | None
    bound: str | None
    limit: str
    roofline_time_s: float | None
    flop: int | None
    dram_bytes: int | None
    launch_facts: str
    status: str = "ok"
    confidence_reasons: tuple[str, ...] = optional()
    peak_fraction: float | None = None
    dram_fraction: float | None = None
    occupancy: float | None = None
    occupancy_limiter: str = ""
    shared_bytes_per_block: int | None = None
    registers_per_thread: int | None = None
    spill_bytes: int | None = None
    assumed: tuple[str, ...] = optional()
    message: str = ""
    caveats: tuple[str, ...] = optional()


@dataclass(frozen=True)
class Estimates:
    """The answer: one page of the kernels, and those that have no figures."""

    kernels: tuple[KernelEstimate, ...]
    total: int
    next_offset: int | None = None
    missing: tuple[Missing, ...] = optional()


async def estimate(bench: Workbench, request: Estimate) -> Estimates:
    """Predict the time of the kernels."""
    analysed = await analyse_applied(bench, request)
    kernels = analysed.report.kernels
    without = missing(analysed.report)
    if not kernels:
        raise no_figures(analysed.report, analysed.place.name)
    page = request.cut(kernels)
    return Estimates(tuple(map(kernel_estimate, page.items)), page.total, page.next_offset, without)


def kernel_estimate(report: KernelReport) -> KernelEstimate:
    """The figures of a report."""
    occupancy = report.occupancy
    return KernelEstimate(
        name=labels.title(report),
        line=report.span.line,
        call=report.call,
        device=report.device_id,
        time_s=report.time_s,
        time_band_s=report.time_band_s,
        confidence=report.confidence,
        bound=report.bound,
        limit=verdicts.verdict(report).text,
        roofline_time_s=report.roofline_time_s,
        flop=report.flop,
        dram_bytes=report.dram_bytes.total,
        launch_facts=report.launch_facts,
        status=report.status,
        confidence_reasons=confidence_reasons(report),
        peak_fraction=report.peak_fraction,
        dram_fraction=report.dram_fraction,
        occupancy=occupancy and occupancy.fraction,
        occupancy_limiter=occupancy.limiter if occupancy else "",
        shared_bytes_per_block=report.shared_bytes_per_block or None,
        registers_per_thread=report.registers_per_thread,
        spill_bytes=report.spill_bytes or None,
        assumed=tuple(sizes.assumption_texts(report)),
        message=report.message or report.lowering_error,
        caveats=tuple(dict.fromkeys(note.message for note in report.caveats))[:_MOST_CAVEATS],
    )
