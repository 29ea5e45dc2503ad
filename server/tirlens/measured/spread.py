"""The spread of values that come one by one, in memory that does not grow with their number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

#: Up to so many values are kept, so that quantiles of few are exact.
KEPT_VALUES = 128
#: Relative error of quantiles of more values.
QUANTILE_ERROR = 0.005

_GROWTH = (1 + QUANTILE_ERROR) / (1 - QUANTILE_ERROR)


@dataclass(slots=True)
class Spread:
    """Count, sum, extremes, deviation and quantiles of values that are not negative.

    Mean and deviation follow Welford (Technometrics 1962) and, for rows that sum several values,
    Chan, Golub and LeVeque (1979).  Quantiles are exact up to `KEPT_VALUES` values; of more they
    come from the counts of a logarithmic histogram, with a relative error of `QUANTILE_ERROR`
    (DDSketch: Masson, Rim and Lee, VLDB 2019).

    Where a row sums values without their extremes or their deviation, the total is known, and
    `minimum`, `maximum`, `deviation` and the quantiles are None.
    """

    count: int = 0
    total: float = 0.0
    _mean: float = 0.0
    _squares: float | None = 0.0
    _minimum: float | None = math.inf
    _maximum: float | None = -math.inf
    _values: list[float] | None = field(default_factory=list[float])
    _bins: dict[int, int] | None = field(default_factory=dict[int, int])

    @classmethod
    def without_quantiles(cls) -> Spread:
        """A spread that takes a hundredth of the memory, and has no quantiles."""
        return cls(_values=None, _bins=None)

    def add(self, value: float) -> None:
        """Add one value."""
        self._merge(1, value, value, value, 0.0)
        if self._values is not None:
            self._values.append(value)
            if len(self._values) > KEPT_VALUES:
                kept, self._values = self._values, None
                for each in kept:
                    self._count_in_bin(each)
        else:
            self._count_in_bin(value)

    def add_sum(
        self,
        count: int,
        total: float,
        minimum: float | None = None,
        maximum: float | None = None,
        deviation: float | None = None,
    ) -> None:
        """Add a row that sums `count` values; `deviation` is that of the sample (n - 1)."""
        if count == 1:
            self.add(total)
        elif count > 1:
            squares = None if deviation is None else deviation**2 * (count - 1)
            self._merge(count, total, minimum, maximum, squares)
            self._values = self._bins = None

    @property
    def mean(self) -> float | None:
        """The mean, None without values."""
        return self.total / self.count if self.count else None

    @property
    def minimum(self) -> float | None:
        """The least value, where all rows say it."""
        return self._minimum if self.count else None

    @property
    def maximum(self) -> float | None:
        """The greatest value, where all rows say it."""
        return self._maximum if self.count else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the sample, of two or more values, where all rows say it."""
        if self._squares is None or self.count < 2:
            return None
        return math.sqrt(self._squares / (self.count - 1))

    @property
    def has_exact_quantiles(self) -> bool:
        """Whether the quantiles are those of the values, not of the histogram."""
        return self._values is not None

    def quantile(self, share: float) -> float | None:
        """The value that `share` of the values do not exceed; None where rows sum several values.

        Between two of the kept values it is interpolated linearly, as by NumPy.
        """
        if not self.count or self._minimum is None or self._maximum is None:
            return None
        if self._values is not None:
            return _interpolate(sorted(self._values), share)
        if self._bins is None:
            return None
        rank = share * (self.count - 1)
        for index in sorted(self._bins):
            rank -= self._bins[index]
            if rank < 0:
                return min(max(_middle(index), self._minimum), self._maximum)
        return self._maximum

    @property
    def median(self) -> float | None:
        """The median; of many values with the error of `QUANTILE_ERROR`."""
        return self.quantile(0.5)

    def _merge(
        self,
        count: int,
        total: float,
        minimum: float | None,
        maximum: float | None,
        squares: float | None,
    ) -> None:
        difference = total / count - self._mean
        both = self.count + count
        if self._squares is None or squares is None:
            self._squares = None
        else:
            self._squares += squares + difference**2 * self.count * count / both
        self._mean += difference * count / both
        self.count = both
        self.total += total
        known = self._minimum is not None and minimum is not None
        self._minimum = min(self._minimum, minimum) if known else None  # type: ignore[type-var]
        known = self._maximum is not None and maximum is not None
        self._maximum = max(self._maximum, maximum) if known else None  # type: ignore[type-var]

    def _count_in_bin(self, value: float) -> None:
        if self._bins is not None:
            index = _bin_of(value)
            self._bins[index] = self._bins.get(index, 0) + 1


#: The bin of 0, below that of each float.
_BIN_OF_ZERO = -(1 << 20)


def _bin_of(value: float) -> int:
    return math.ceil(math.log(value, _GROWTH)) if value > 0 else _BIN_OF_ZERO


def _middle(index: int) -> float:
    """The value that no value of the bin differs from by more than `QUANTILE_ERROR`."""
    return 0.0 if index == _BIN_OF_ZERO else 2 * _GROWTH**index / (_GROWTH + 1)


def _interpolate(values: list[float], share: float) -> float:
    rank = share * (len(values) - 1)
    lower = int(rank)
    upper = min(lower + 1, len(values) - 1)
    return values[lower] + (values[upper] - values[lower]) * (rank - lower)
