"""The roofline picture, in characters for a terminal and as SVG for a page.

Both axes are logarithmic: arithmetic intensity in FLOP per DRAM byte, and FLOP per second
(Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", 2009).
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tirlens.cli.table import title
from tirlens.hardware import Device
from tirlens.ide import labels
from tirlens.model.report import KernelReport

_MARKS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Point:
    """A kernel: its letter, name, intensity and rate."""

    mark: str
    name: str
    intensity: float
    flop_per_s: float


@dataclass(frozen=True)
class Chart:
    """The points of one device, its bandwidth, and the peaks that the kernels run against."""

    device: str
    bytes_per_s: float
    peaks: tuple[float, ...]
    points: tuple[Point, ...]

    def roof(self, intensity: float, peak: float) -> float:
        """The most FLOP per second that memory and arithmetic allow."""
        return min(peak, intensity * self.bytes_per_s)

    @property
    def x_range(self) -> tuple[float, float]:
        """Exponents of 10 that hold every point and ridge."""
        values = [point.intensity for point in self.points]
        values += [peak / self.bytes_per_s for peak in self.peaks]
        return math.floor(math.log10(min(values)) - 0.3), math.ceil(math.log10(max(values)) + 0.3)

    @property
    def y_range(self) -> tuple[float, float]:
        values = [point.flop_per_s for point in self.points]
        return math.floor(math.log10(min(values))), math.log10(max(self.peaks)) + 0.3


def chart(kernels: Iterable[KernelReport], device: Device) -> Chart | None:
    """The chart of the kernels on one device; None without a kernel that has a place in it."""
    points: list[Point] = []
    peaks: set[float] = set()
    for kernel in kernels:
        if kernel.device_id != device.id or not kernel.arithmetic_intensity:
            continue
        if kernel.flop_per_s and kernel.ridge_point:
            mark = _MARKS[len(points) % len(_MARKS)]
            points.append(
                Point(mark, title(kernel), kernel.arithmetic_intensity, kernel.flop_per_s)
            )
            peaks.add(kernel.ridge_point * device.dram.bytes_per_s)
    if not points:
        return None
    return Chart(device.name, device.dram.bytes_per_s, tuple(sorted(peaks)), tuple(points))


def text(drawn: Chart, width: int = 72, height: int = 18) -> str:
    """The chart in characters."""
    (left, right), (bottom, top) = drawn.x_range, drawn.y_range
    grid = [[" "] * width for _ in range(height)]

    def row_of(rate: float) -> int:
        share = (math.log10(rate) - bottom) / (top - bottom)
        return height - 1 - round(share * (height - 1))

    for column in range(width):
        intensity = 10 ** (left + (right - left) * column / (width - 1))
        for peak in drawn.peaks:
            row = row_of(drawn.roof(intensity, peak))
            if 0 <= row < height:
                grid[row][column] = "─" if intensity * drawn.bytes_per_s >= peak else "╱"
    for point in drawn.points:
        share = (math.log10(point.intensity) - left) / (right - left)
        row, column = row_of(point.flop_per_s), round(share * (width - 1))
        grid[min(max(row, 0), height - 1)][column] = point.mark
    lines = [f"Roofline of {drawn.device}"]
    for number, cells in enumerate(grid):
        rate = 10 ** (top - (top - bottom) * number / (height - 1))
        axis = labels.rate(rate, "FLOP") if number % 4 == 0 else ""
        lines.append(f"{axis:>14} │{''.join(cells).rstrip()}")
    lines.append(" " * 15 + "└" + "─" * width)
    low, high = labels.number(10**left), labels.number(10**right)
    lines.append(" " * 16 + low + "FLOP/B".center(width - len(low) - len(high)) + high)
    for point in drawn.points:
        rate = labels.rate(point.flop_per_s, "FLOP")
        lines.append(
            f"  {point.mark} {point.name}: {labels.number(point.intensity)} FLOP/B, {rate}"
        )
    return "\n".join(lines)


def svg(drawn: Chart, width: int = 720, height: int = 360) -> str:
    """The chart as an SVG element that needs nothing else."""
    (left, right), (bottom, top) = drawn.x_range, drawn.y_range
    inset, floor = 90, 40

    def x_of(intensity: float) -> float:
        share = (math.log10(intensity) - left) / (right - left)
        return inset + share * (width - inset - 20)

    def y_of(rate: float) -> float:
        share = (math.log10(rate) - bottom) / (top - bottom)
        return height - floor - share * (height - floor - 20)

    label = html.escape(f"Roofline of {drawn.device}", quote=True)
    box = f"0 0 {width} {height}"
    space = "http://www.w3.org/2000/svg"
    parts = [f'<svg viewBox="{box}" role="img" aria-label="{label}" xmlns="{space}">']
    parts += _grid(drawn, x_of, y_of, (inset, width - 20), (20, height - floor))
    for peak in drawn.peaks:
        ridge = peak / drawn.bytes_per_s
        corners = [
            (10**left, drawn.roof(10**left, peak)),
            (ridge, peak),
            (10**right, peak),
        ]
        line = " ".join(
            f"{x_of(x):.1f},{max(20.0, min(y_of(y), height - floor)):.1f}" for x, y in corners
        )
        parts.append(f'<polyline class="roof" points="{line}"/>')
        parts.append(
            f'<text class="axis" x="{width - 22}" y="{y_of(peak) - 5:.1f}" text-anchor="end">'
            f"{labels.rate(peak, 'FLOP')}</text>"
        )
    for point in drawn.points:
        x, y = x_of(point.intensity), y_of(point.flop_per_s)
        name = html.escape(point.name)
        parts.append(
            f'<circle class="kernel" cx="{x:.1f}" cy="{y:.1f}" r="5"><title>{name}</title></circle>'
        )
        parts.append(
            f'<text class="mark" x="{x + 8:.1f}" y="{y + 4:.1f}">{point.mark} {name}</text>'
        )
    return "\n".join([*parts, "</svg>"])


def _grid(
    drawn: Chart,
    x_of: Callable[[float], float],
    y_of: Callable[[float], float],
    across: tuple[int, int],
    down: tuple[int, int],
) -> Sequence[str]:
    (left, right), (bottom, top) = drawn.x_range, drawn.y_range
    parts: list[str] = []
    for exponent in range(math.ceil(left), math.floor(right) + 1):
        x = x_of(10.0**exponent)
        parts.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{down[0]}" y2="{down[1]}"/>'
        )
        parts.append(
            f'<text class="axis" x="{x:.1f}" y="{down[1] + 16}" text-anchor="middle">'
            f"{labels.number(10.0**exponent)}</text>"
        )
    for exponent in range(math.ceil(bottom), math.floor(top) + 1):
        y = y_of(10.0**exponent)
        parts.append(
            f'<line class="grid" x1="{across[0]}" x2="{across[1]}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(
            f'<text class="axis" x="{across[0] - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{labels.rate(10.0**exponent, 'FLOP')}</text>"
        )
    middle = (across[0] + across[1]) / 2
    parts.append(
        f'<text class="axis" x="{middle:.1f}" y="{down[1] + 34}" text-anchor="middle">'
        "arithmetic intensity, FLOP per DRAM byte</text>"
    )
    return parts
