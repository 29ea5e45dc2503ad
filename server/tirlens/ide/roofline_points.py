"""The points of the roofline: estimated FLOP/s against arithmetic intensity, and the roof above.

A roof is ``min(peak, intensity x bandwidth)`` (Williams, Waterman and
Patterson, "Roofline", CACM 52(4), 2009), with the peak of the units that the kernel computes on,
so kernels of different element types may have different roofs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tirlens.ide import labels
from tirlens.model.report import KernelReport


@dataclass(frozen=True)
class Point:
    """One kernel: FLOP per DRAM byte, FLOP/s, and the roof above it in FLOP/s and B/s."""

    name: str
    intensity: float
    flop_per_s: float
    peak_flop_per_s: float
    bandwidth_bytes_per_s: float

    @property
    def ridge(self) -> float:
        """The intensity, in FLOP per byte, from which arithmetic and not memory is the limit."""
        return self.peak_flop_per_s / self.bandwidth_bytes_per_s

    def roof(self, intensity: float) -> float:
        """The most FLOP/s that memory and arithmetic allow at an intensity."""
        return min(self.peak_flop_per_s, intensity * self.bandwidth_bytes_per_s)


def point(report: KernelReport) -> Point | None:
    """The point of a kernel; None if a quantity is unknown or the kernel has no arithmetic."""
    intensity, ridge, rate = report.arithmetic_intensity, report.ridge_point, report.flop_per_s
    if not intensity or not ridge or not rate:
        return None
    if not report.dram_bytes_per_s or not report.dram_fraction:
        return None
    bandwidth = report.dram_bytes_per_s / report.dram_fraction
    return Point(labels.title(report), intensity, rate, ridge * bandwidth, bandwidth)


def kernel_points(reports: Iterable[KernelReport]) -> list[Point]:
    """The points of the kernels that have one."""
    return [found for report in reports if (found := point(report)) is not None]
