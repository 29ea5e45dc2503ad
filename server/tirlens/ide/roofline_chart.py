"""The roofline picture: attainable and estimated FLOP/s against arithmetic intensity, as SVG.

Both axes are logarithmic.  A roof is ``min(peak, intensity x bandwidth)`` (Williams, Waterman and
Patterson, "Roofline", CACM 52(4), 2009), with the peak of the units that the kernel computes on,
so kernels of different element types may have different roofs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from tirlens.ide import labels
from tirlens.model.report import KernelReport

_WIDTH, _HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 88, 24, 18, 44
_FONT_SIZE, _LINE_HEIGHT, _CHARACTER_WIDTH = 11, 12, 6.5
_RADIUS = 4.5


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


def svg(reports: Sequence[KernelReport]) -> str:
    """The plot of all kernels that have a point; empty if none has."""
    points = kernel_points(reports)
    if not points:
        return ""
    ridges = [point.ridge for point in points]
    across = _Axis([point.intensity for point in points] + ridges, _LEFT, _WIDTH - _RIGHT)
    peaks = [point.peak_flop_per_s for point in points]
    up = _Axis([point.flop_per_s for point in points] + peaks, _HEIGHT - _BOTTOM, _TOP)
    roofs = {_round(point.peak_flop_per_s, point.bandwidth_bytes_per_s) for point in points}
    title = "arithmetic intensity, FLOP per DRAM byte"
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts = [
        *(_vertical(across, power) for power in across.decades()),
        *(_horizontal(up, power) for power in up.decades()),
        *(_roof(across, up, peak, bandwidth) for peak, bandwidth in sorted(roofs)),
        *_marks([(across.at(point.intensity), up.at(point.flop_per_s), point) for point in points]),
        f'<text x="{middle:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">{title}</text>',
    ]
    return (
        f'<svg class="roofline" role="img" aria-label="roofline" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" fill="currentColor" font-size="{_FONT_SIZE}">{"".join(parts)}</svg>'
    )


def _round(*values: float) -> tuple[float, ...]:
    """`values` without the rounding errors of divisions, so that equal roofs compare equal."""
    return tuple(float(f"{value:.6g}") for value in values)


class _Axis:
    """Maps a quantity to pixels by its logarithm, over whole decades around `values`."""

    def __init__(self, values: Sequence[float], start: float, stop: float) -> None:
        self.low = math.floor(math.log10(min(values)) - 0.2)
        self.high = math.ceil(math.log10(max(values)) + 0.2)
        self._start, self._stop = start, stop

    def decades(self) -> range:
        return range(self.low, self.high + 1)

    def at(self, value: float) -> float:
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self._start + part * (self._stop - self._start)


@dataclass(frozen=True)
class _Box:
    """The pixels of a name or a circle, from `left` to `right` around the height `middle`."""

    left: float
    right: float
    middle: float

    @property
    def is_inside(self) -> bool:
        return self.left >= _LEFT and self.right <= _WIDTH - _RIGHT

    def overlaps(self, other: _Box) -> bool:
        is_apart = self.right <= other.left or other.right <= self.left
        return not is_apart and abs(self.middle - other.middle) < _LINE_HEIGHT


def _vertical(axis: _Axis, power: int) -> str:
    x = axis.at(10.0**power)
    label = labels.number(10.0**power)
    return (
        f'<path d="M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="currentColor" opacity=".15"/>'
        f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 15}" text-anchor="middle">{label}</text>'
    )


def _horizontal(axis: _Axis, power: int) -> str:
    y = axis.at(10.0**power)
    label = labels.rate(10.0**power, "FLOP")
    return (
        f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="currentColor" opacity=".15"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
    )


def _roof(across: _Axis, up: _Axis, peak: float, bandwidth: float) -> str:
    # The slope starts where it enters the picture, at the left or at the bottom.
    start = max(10.0**across.low, 10.0**up.low / bandwidth)
    ridge = peak / bandwidth
    return (
        f'<path d="M{across.at(start):.1f} {up.at(start * bandwidth):.1f}'
        f"L{across.at(ridge):.1f} {up.at(peak):.1f}H{_WIDTH - _RIGHT}"
        '" fill="none" stroke="#d9822b" stroke-width="2"/>'
        f'<text x="{_WIDTH - _RIGHT - 4}" y="{up.at(peak) - 5:.1f}" text-anchor="end">'
        f"{labels.rate(peak, 'FLOP')}, {labels.rate(bandwidth, 'B')}</text>"
    )


def _marks(placed: Sequence[tuple[float, float, Point]]) -> Iterator[str]:
    """A circle for each point, with its name where that overlaps no other name or circle."""
    taken = [_Box(x - _RADIUS, x + _RADIUS, y) for x, y, _ in placed]
    for x, y, point in placed:
        name = escape(point.name)
        rate = labels.rate(point.flop_per_s, "FLOP")
        title = f"{name}: {labels.number(point.intensity)} FLOP/B, {rate}"
        yield (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}" fill="#4a90d9" fill-opacity=".8">'
            f"<title>{title}</title></circle>"
        )
        width = _CHARACTER_WIDTH * len(point.name)
        right = _Box(x + _RADIUS + 1, x + _RADIUS + 4 + width, y)
        left = _Box(x - _RADIUS - 4 - width, x - _RADIUS - 1, y)
        free = (box for box in (right, left) if box.is_inside and not any(map(box.overlaps, taken)))
        box = next(free, None)
        if box is None:
            continue
        taken.append(box)
        at, anchor = (box.left + 3, "start") if box is right else (box.right - 3, "end")
        yield f'<text x="{at:.1f}" y="{y + 4:.1f}" text-anchor="{anchor}">{name}</text>'
