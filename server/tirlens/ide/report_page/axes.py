"""Axes of charts: positions as fractions, and ticks with their texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tirlens.ide.report_page.chart_schema import Tick

_DIGITS = 5
_STEPS = (1, 2, 5, 10)


def fraction(value: float) -> float:
    """A position on an axis, with as many digits as a screen has pixels."""
    return round(value, _DIGITS)


@dataclass(frozen=True)
class LogAxis:
    """A logarithmic axis from 10 to the power of `low` to 10 to the power of `high`."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Iterable[float], margin: float = 0.15) -> LogAxis:
        """An axis on which all `values` have some room on both sides."""
        powers = [math.log10(value) for value in values]
        return cls(min(powers) - margin, max(powers) + margin)

    def at(self, value: float) -> float:
        """The position of a value."""
        return fraction((math.log10(value) - self.low) / (self.high - self.low))

    def ticks(self, text: Callable[[float], str]) -> list[Tick]:
        """The powers of ten, each with its position and text."""
        powers = range(math.ceil(self.low), math.floor(self.high) + 1)
        return [Tick(self.at(10.0**power), text(10.0**power)) for power in powers]


def linear_ticks(end: float, count: int = 6) -> list[float]:
    """At most about `count` round values from 0 to `end`."""
    if end <= 0:
        return []
    raw = end / count
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in _STEPS if unit * factor >= raw)
    return [min(step * number, end) for number in range(math.floor(end / step) + 1)]
