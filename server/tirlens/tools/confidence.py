"""The confidence of a predicted time, and what lowers it.

The band of a time is the interval that contains four of five measured times
(`tirlens.model.reporting.time_band`). Where its ends are a factor of ``f * f`` apart, the
confidence is ``1 / f``: 1 for a time that is known, 0.5 for one that may be half or twice as long.
"""

from __future__ import annotations

import math

from tirlens.ide import sizes
from tirlens.model.report import KernelReport

_WORDS = {
    "rate": "the sustained rate of the busiest unit",
    "instructions": "the instructions that the compiler makes",
    "reuse": "what the caches keep between accesses",
    "waits": "how far waits are overlapped",
    "launch": "the cost of the launch",
}
# A part of the band below this share of the largest one hardly widens it.
_LEAST_SHARE = 0.5


def confidence(report: KernelReport) -> float | None:
    """The confidence of the time of a kernel, from 0 to 1; None without a time."""
    return confidence_of(report.time_band_s)


def confidence_of(band_s: tuple[float, float] | None) -> float | None:
    """The confidence of a time with this band; None without one."""
    if band_s is None or band_s[1] <= 0:
        return None
    return math.sqrt(band_s[0] / band_s[1])


def confidence_reasons(report: KernelReport) -> tuple[str, ...]:
    """What makes the time of a kernel uncertain, the most important first."""
    if report.time_band_s is None:
        return ()
    assumed = ["assumed arguments"] if sizes.assumption_texts(report) else []
    parts = sorted(report.uncertainty.items(), key=lambda pair: -pair[1])
    largest = parts[0][1] if parts else 0.0
    named = [_WORDS[name] for name, part in parts if part > 0 and part >= _LEAST_SHARE * largest]
    lowers = report.framework == "tilelang" and report.schedule == "gpu"
    tier = ["read from the source, not lowered"] if lowers and not report.lowered else []
    return (*assumed, *tier, *named)
