"""``measured``: the measured times that are stored beside a file, and the predictions for them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timezone

from tirlens import pipeline
from tirlens.ide import labels
from tirlens.model.report import KernelReport, MeasuredTime
from tirlens.tools.answers import Page, optional
from tirlens.tools.applied import analyse_applied
from tirlens.tools.errors import ToolError
from tirlens.tools.problems import no_figures
from tirlens.tools.subject import Subject
from tirlens.tools.workbench import Workbench


@dataclass(frozen=True)
class Measured(Subject, Page):
    """The request."""


@dataclass(frozen=True)
class MeasuredKernel:
    """A measured time of a kernel beside its prediction, which is for `device`.

    `ratio` is the measured time over the predicted one and `is_in_band` whether the band has it;
    both where the measured device is the predicted one. `is_edited`: the text of the kernel is
    another since.
    """

    name: str
    call: str
    measured_on: str
    measured_s: float
    measured_at: str
    tool: str
    device: str
    time_s: float | None
    time_band_s: tuple[float, float] | None
    confidence: float | None
    low_s: float | None = None
    high_s: float | None = None
    samples: int | None = None
    ratio: float | None = None
    is_in_band: bool | None = None
    is_edited: bool | None = None


@dataclass(frozen=True)
class MeasuredKernels:
    """The answer: one page of the measured times."""

    measured: tuple[MeasuredKernel, ...]
    total: int
    next_offset: int | None = None
    problems: tuple[str, ...] = optional()


async def measured_times(bench: Workbench, request: Measured) -> MeasuredKernels:
    """The stored times of the kernels of a file, with their predictions."""
    analysed = await analyse_applied(bench, request)
    place = analysed.place
    if not analysed.report.kernels:
        raise no_figures(analysed.report, place.name)
    times = await asyncio.to_thread(bench.measured.times_of, place.path, place.folder)
    problems = tuple(text for texts in bench.measured.problems.values() for text in texts)
    report, _ = pipeline.with_measured(analysed.report, times)
    found = [(kernel, one) for kernel in report.kernels for one in kernel.measured]
    if not found:
        # The times of another call are no times of this one.
        calls = list(dict.fromkeys(one.call for one in times))
        hint = f" There are times of the calls {'; '.join(calls[:5])}." if calls else ""
        raise ToolError(
            "no-times",
            f"No measured time of these calls is stored for {place.name}.{hint} "
            "tirlens measure --record and tirlens report --measured --record store them.",
            {"call": calls[0]} if calls else {},
        )
    page = request.cut(found)
    rows = tuple(_row(kernel, one) for kernel, one in page.items)
    return MeasuredKernels(rows, page.total, page.next_offset, problems)


def _row(kernel: KernelReport, one: MeasuredTime) -> MeasuredKernel:
    is_same = one.device_id == kernel.device_id and bool(kernel.time_s)
    band_s = kernel.time_band_s if is_same else None
    return MeasuredKernel(
        labels.title(kernel),
        kernel.call,
        one.device_id,
        one.time_s,
        datetime.fromtimestamp(one.measured_at_s, timezone.utc).isoformat(),
        one.tool,
        kernel.device_id,
        kernel.time_s,
        kernel.time_band_s,
        kernel.confidence,
        one.low_s,
        one.high_s,
        one.samples,
        one.time_s / kernel.time_s if is_same and kernel.time_s else None,
        band_s[0] <= one.time_s <= band_s[1] if band_s else None,
        one.is_edited,
    )
