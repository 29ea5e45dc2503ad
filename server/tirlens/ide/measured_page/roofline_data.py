"""The kernels of a trace in the roofline of their device, where their FLOP and bytes are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirlens.ide import labels
from tirlens.ide.measured_page.table_data import short_name
from tirlens.ide.report_page.axes import LogAxis
from tirlens.ide.report_page.chart_schema import Point, Roofline, Slope

if TYPE_CHECKING:
    from tirlens.hardware import Device

_MOST_POINTS = 40
# The trace does not say in which type a kernel computes.
_USUAL = ("tensor.float16", "fp32")


@dataclass(frozen=True)
class MeasuredPoint:
    """A kernel with the time, FLOP and DRAM bytes of all its executions."""

    name: str
    time_s: float
    flop: float
    dram_bytes: float
    share: float | None = None


def roofline_data(points: Sequence[MeasuredPoint], device: Device) -> Roofline | None:
    """The JSON of the chart; None without a point."""
    placed = [point for point in points if point.time_s and point.flop and point.dram_bytes]
    if not placed or not device.peaks:
        return None
    placed = sorted(placed, key=lambda point: -point.time_s)[:_MOST_POINTS]
    peaks = _ceilings(device, max(point.flop / point.time_s for point in placed))
    top = peaks[0][1]
    bandwidth = device.dram.bytes_per_s
    across = LogAxis.around([
        *(point.flop / point.dram_bytes for point in placed),
        *(rate / bandwidth for _, rate in peaks),
    ])  # fmt: skip
    up = LogAxis.around([*(point.flop / point.time_s for point in placed), *(r for _, r in peaks)])
    left = 10.0**across.low
    lowest = 10.0**up.low
    begin = max(left, lowest / bandwidth)
    return {
        "x": {"title": "FLOP per byte of DRAM, as counted", "ticks": across.ticks(labels.number)},
        "y": {"title": "FLOP/s", "ticks": up.ticks(lambda rate: labels.rate(rate, "FLOP"))},
        "bandwidths": [
            {
                "level": "dram",
                "name": "DRAM",
                "text": f"DRAM {labels.rate(bandwidth, 'B')}",
                "line": Slope(
                    across.at(begin),
                    up.at(begin * bandwidth),
                    across.at(top / bandwidth),
                    up.at(top),
                ),
            }
        ],
        "peaks": [
            {
                "text": f"{name} {labels.rate(rate, 'FLOP')}",
                "used": rate == top,
                "x": max(across.at(rate / bandwidth), 0.0),
                "y": up.at(rate),
            }
            for name, rate in peaks
        ],
        "points": [_point(point, across, up) for point in placed],
    }


def _ceilings(device: Device, fastest_flop_per_s: float) -> list[tuple[str, float]]:
    """The peaks of arithmetic from the highest down: half and single precision, and more where a
    kernel is above them."""
    names = [name for name in _USUAL if name in device.peaks] or list(device.peaks)
    rates = {name: device.peaks[name].flop_per_s for name in names}
    higher = sorted(
        (peak.flop_per_s, name)
        for name, peak in device.peaks.items()
        if name.startswith("tensor.") and peak.flop_per_s > max(rates.values())
    )
    if higher and fastest_flop_per_s > max(rates.values()):
        rates[higher[0][1]] = higher[0][0]
    return sorted(rates.items(), key=lambda item: -item[1])


def _point(point: MeasuredPoint, across: LogAxis, up: LogAxis) -> Point:
    intensity, rate = point.flop / point.dram_bytes, point.flop / point.time_s
    return {
        "label": short_name(point.name),
        "line": None,
        "kind": "kernel",
        "share": labels.percent(point.share),
        "rate": labels.rate(rate, "FLOP"),
        "y": up.at(rate),
        "x": {"dram": across.at(intensity)},
        "intensity": {"dram": f"{labels.number(intensity)} FLOP/B"},
    }
