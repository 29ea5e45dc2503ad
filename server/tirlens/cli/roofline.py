"""The roofline picture in characters, for a terminal."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence

from tirlens.ide import labels
from tirlens.ide.roofline import Point

_MARKS = string.ascii_uppercase + string.ascii_lowercase + string.digits


def text(title: str, points: Sequence[Point], width: int = 72, height: int = 18) -> str:
    """The picture of `points`, of which there is at least one, under `title`."""
    (left, right), (bottom, top) = _across(points), _up(points)
    grid = [[" "] * width for _ in range(height)]

    def row_of(rate: float) -> int:
        share = (math.log10(rate) - bottom) / (top - bottom)
        return height - 1 - round(share * (height - 1))

    for column in range(width):
        intensity = 10 ** (left + (right - left) * column / (width - 1))
        for point in sorted(points, key=lambda item: item.peak_flop_per_s):
            row = row_of(point.roof(intensity))
            if 0 <= row < height:
                grid[row][column] = "─" if intensity >= point.ridge else "╱"
    marks = _MARKS.ljust(len(points), "*")[: len(points)]
    for mark, point in zip(marks, points, strict=True):
        share = (math.log10(point.intensity) - left) / (right - left)
        row, column = row_of(point.flop_per_s), round(share * (width - 1))
        grid[min(max(row, 0), height - 1)][column] = mark
    lines = [title]
    for number, cells in enumerate(grid):
        rate = 10 ** (top - (top - bottom) * number / (height - 1))
        axis = labels.rate(rate, "FLOP") if number % 4 == 0 else ""
        lines.append(f"{axis:>14} │{''.join(cells).rstrip()}")
    lines.append(" " * 15 + "└" + "─" * width)
    low, high = labels.number(10**left), labels.number(10**right)
    lines.append(" " * 16 + low + "FLOP/B".center(width - len(low) - len(high)) + high)
    for mark, point in zip(marks, points, strict=True):
        rate = labels.rate(point.flop_per_s, "FLOP")
        lines.append(f"  {mark} {point.name}: {labels.number(point.intensity)} FLOP/B, {rate}")
    return "\n".join(lines)


def _across(points: Sequence[Point]) -> tuple[float, float]:
    """Exponents of 10 that hold every point and ridge."""
    values = [value for point in points for value in (point.intensity, point.ridge)]
    return math.floor(math.log10(min(values)) - 0.3), math.ceil(math.log10(max(values)) + 0.3)


def _up(points: Sequence[Point]) -> tuple[float, float]:
    low = min(point.flop_per_s for point in points)
    return math.floor(math.log10(low)), math.log10(max(p.peak_flop_per_s for p in points)) + 0.3
