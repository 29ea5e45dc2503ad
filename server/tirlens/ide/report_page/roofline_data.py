"""The roofline of kernels as data: ceilings of each memory level and type, kernels and loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirlens.ide import labels
from tirlens.ide.report_page.axes import LogAxis
from tirlens.ide.report_page.chart_schema import Level, PointKind, Roofline, Slope
from tirlens.model.details import ceilings

if TYPE_CHECKING:
    from tirlens.hardware import Device
    from tirlens.model.report import BreakdownEntry, KernelReport

_LEVEL_NAMES: Mapping[Level, str] = {"dram": "DRAM", "l2": "L2", "shared": "shared memory"}
# Loops and statements below this share of their kernel's time are left out.
_LEAST_SHARE = 0.01
_MAX_POINTS = 24


@dataclass(frozen=True)
class _Point:
    """A kernel or a part of it; `intensities` are its FLOP per byte of each memory level."""

    label: str
    line: int | None
    kind: PointKind
    flop_per_s: float
    intensities: Mapping[Level, float]
    share: float


def kernel_roofline(report: KernelReport, device: Device) -> Roofline | None:
    """The chart of a kernel and its parts; None where it has no arithmetic or no time."""
    own = _kernel_point(report)
    if own is None:
        return None
    parts = sorted(_parts(report), key=lambda point: -point.share)[:_MAX_POINTS]
    return _chart([own, *parts], [report], device)


def common_roofline(reports: Sequence[KernelReport], device: Device) -> Roofline | None:
    """The chart of several kernels; None unless two of them have a place in it."""
    points = [point for report in reports if (point := _kernel_point(report)) is not None]
    return _chart(points, reports, device) if len(points) > 1 else None


def _kernel_point(report: KernelReport) -> _Point | None:
    if not report.flop_per_s or not report.flop:
        return None
    moved: Mapping[Level, float | None] = {
        "dram": report.dram_bytes.total,
        "l2": report.l2_bytes,
        "shared": report.shared_bytes,
    }
    intensities = _intensities(report.flop, moved)
    if not intensities:
        return None
    title = labels.title(report)
    return _Point(title, report.span.line, "kernel", report.flop_per_s, intensities, 1.0)


def _parts(report: KernelReport) -> Iterator[_Point]:
    for _, cost in report.walk():
        share = cost.share or 0.0
        if not cost.flop or not cost.time_s or share < _LEAST_SHARE:
            continue
        if len(cost.children) == 1 and cost.children[0].flop == cost.flop:
            # The same work, at the line inside.
            continue
        intensities = _intensities(cost.flop, _moved_bytes(cost))
        if intensities:
            kind: PointKind = "statement" if cost.kind == "op" else "loop"
            line = None if cost.span.file else cost.span.line
            label = " ".join(cost.label.split())
            yield _Point(label, line, kind, cost.flop / cost.time_s, intensities, share)


def _moved_bytes(cost: BreakdownEntry) -> Mapping[Level, float | None]:
    return {"dram": cost.dram_bytes, "l2": cost.l2_bytes, "shared": cost.shared_bytes}


def _intensities(flop: int, moved: Mapping[Level, float | None]) -> dict[Level, float]:
    return {level: flop / number for level, number in moved.items() if number}


def _chart(points: Sequence[_Point], reports: Iterable[KernelReport], device: Device) -> Roofline:
    flop_by_class: dict[str, int] = {}
    for report in reports:
        for name, flop in report.flop_by_class.items():
            flop_by_class[name] = flop_by_class.get(name, 0) + flop
    roofs = ceilings(device, flop_by_class)
    rates = [bandwidth.bytes_per_s for bandwidth in roofs.bandwidths]
    peaks = [peak.flop_per_s for peak in roofs.peaks]
    ridges = [peak / rate for peak in peaks for rate in rates]
    intensities = [value for point in points for value in point.intensities.values()]
    across = LogAxis.around([*intensities, *ridges])
    up = LogAxis.around([*(point.flop_per_s for point in points), *peaks])
    left, right = 10.0**across.low, 10.0**across.high
    top = max(peaks)
    return {
        "x": {
            "title": "arithmetic intensity, FLOP per byte",
            "ticks": across.ticks(labels.number),
        },
        "y": {"title": "FLOP/s", "ticks": up.ticks(lambda rate: labels.rate(rate, "FLOP"))},
        "bandwidths": [
            {
                "level": item.level,
                "name": _LEVEL_NAMES[item.level],
                "text": f"{_LEVEL_NAMES[item.level]} {labels.rate(item.bytes_per_s, 'B')}",
                # From the left or the lower edge to the highest peak.
                "line": Slope(
                    *_clip_slope(across, up, left, left * item.bytes_per_s, item.bytes_per_s),
                    across.at(min(top / item.bytes_per_s, right)),
                    up.at(min(top, right * item.bytes_per_s)),
                ),
            }
            for item in roofs.bandwidths
        ],
        "peaks": [
            {
                "text": f"{item.arithmetic_class} {labels.rate(item.flop_per_s, 'FLOP')}",
                "used": item.is_used,
                "x": max(across.at(item.flop_per_s / max(rates)), 0.0),
                "y": up.at(item.flop_per_s),
            }
            for item in roofs.peaks
        ],
        "points": [
            {
                "label": point.label,
                "line": point.line,
                "kind": point.kind,
                "share": labels.percent(point.share),
                "rate": labels.rate(point.flop_per_s, "FLOP"),
                "y": up.at(point.flop_per_s),
                "x": {level: across.at(value) for level, value in point.intensities.items()},
                "intensity": {
                    level: f"{labels.number(value)} FLOP/B"
                    for level, value in point.intensities.items()
                },
            }
            for point in points
        ],
    }


def _clip_slope(
    across: LogAxis, up: LogAxis, intensity: float, rate: float, bytes_per_s: float
) -> tuple[float, float]:
    """Where the slope of a bandwidth enters the chart: at its left or its lower edge."""
    lowest = 10.0**up.low
    if rate >= lowest:
        return across.at(intensity), up.at(rate)
    return across.at(lowest / bytes_per_s), 0.0
