"""What lowers the confidence in the time of a kernel, beside the kernels measured like it."""

from __future__ import annotations

from tirlens.ide import sizes
from tirlens.model.report import KernelReport


def confidence_reasons(report: KernelReport) -> tuple[str, ...]:
    """What is assumed or not lowered, then what the confidence in the band is known from."""
    if report.time_band_s is None:
        return ()
    assumed = ["assumed arguments"] if sizes.assumption_texts(report) else []
    lowers = report.framework == "tilelang" and report.schedule == "gpu"
    tier = ["read from the source, not lowered"] if lowers and not report.lowered else []
    return (*assumed, *tier, *report.confidence_reasons)
