"""Images that are products of the values of sums of digits, found without looking at points."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from .arrays import np, npt
from .closed_forms import sum_limits
from .digit_sums import (
    Digit,
    DigitBasis,
    DigitConstraint,
    DigitRanges,
    NoPointError,
    Terms,
    eliminate_digits,
    sum_range,
    tighten_ranges,
)
from .expressions import Expr, linear
from .problem import Problem

Side = range | npt.NDArray[np.int64]
Position = tuple[Terms, int]

# The most values of one position that are listed.
_VALUES = 65_536


def find_product_image(points: Problem, positions: Sequence[Expr]) -> Mapping[int, Side] | None:
    """The distinct values of each position, in order, where those of all are independent.

    An empty mapping says that there is no point, None that it is not that simple.
    """
    if points.weights or points.projected:
        return None
    sums = [linear(position) for position in positions]
    atoms = [atom for item in points.guards for atom, _ in item.terms]
    radices = DigitBasis(points.box, [*atoms, *(atom for terms, _ in sums for atom in terms)])
    if not radices.is_complete:
        return None
    reach = radices.ranges
    written = [radices.as_digits(terms.items(), constant) for terms, constant in sums]
    axis_of: dict[Digit, int] = {}
    for axis, (terms, _) in enumerate(written):
        if not axis_of.keys().isdisjoint(terms):
            return None
        axis_of.update(dict.fromkeys(terms, axis))
    conditions = [
        DigitConstraint(*radices.as_digits(item.terms, item.constant), item.equality)
        for item in points.guards
    ]
    try:
        merged = [digit for digit in reach if digit not in axis_of]
        left = eliminate_digits(merged, tighten_ranges(conditions, reach), reach)
        if left is None:
            return None
        left = tighten_ranges(left, reach)
    except NoPointError:
        return {}
    by_axis: dict[int, list[DigitConstraint]] = {}
    for item in left:
        axes = {axis_of[digit] for digit in item.terms}
        if len(axes) > 1:
            return None
        by_axis.setdefault(axes.pop(), []).append(item)
    found: dict[int, Side] = {}
    for axis, position in enumerate(written):
        side = _side(position, by_axis.get(axis, ()), reach)
        if side is None:
            return None
        if not len(side):
            return {}
        found[axis] = side
    return found


def _side(
    position: Position, conditions: Sequence[DigitConstraint], reach: DigitRanges
) -> Side | None:
    """The values of one position where conditions on it hold; None if they are on other sums."""
    terms, constant = position
    low, high = sum_range(terms, constant, reach)
    first, last = -math.inf, math.inf
    for item in conditions:
        limits = _limits(item, terms, reach)
        if limits is None:
            return None
        first, last = max(first, constant + limits[0]), min(last, constant + limits[1])
    steps = sorted(_steps(terms, reach))
    step = math.gcd(*(factor for factor, _ in steps)) or 1
    span = 0
    for factor, length in steps:
        if factor > span + step:
            break
        span += factor * (length - 1)
    else:
        if first > low:
            low += -(-(int(first) - low) // step) * step
        stop = high + 1 if last > high else int(last) + 1
        return range(low, stop, step if stop - low > step else 1)
    return _list_sums(low, steps, first, last)


def _steps(terms: Terms, reach: DigitRanges) -> Iterator[tuple[int, int]]:
    for digit, factor in terms.items():
        first, last = reach[digit]
        if last > first:
            yield abs(factor), last - first + 1


def _limits(item: DigitConstraint, terms: Terms, reach: DigitRanges) -> tuple[float, float] | None:
    """From where up to where a condition lets a sum be; None if it is on another sum.

    It may be on the upper digits alone: of ``8 * x + r`` with r below 8, ``x < 4`` is ``< 32``.
    """
    digit, factor = next(iter(item.terms.items()))
    unit = abs(terms[digit] // factor)
    if not unit or any(terms[other] % unit for other in item.terms):
        return None
    limits = sum_limits(item, {other: terms[other] // unit for other in item.terms})
    below = {other: times for other, times in terms.items() if other not in item.terms}
    least, most = sum_range(below, 0, reach)
    if limits is None or most - least >= unit:
        return None
    return limits[0] * unit + least, limits[1] * unit + most


def _list_sums(
    low: int, steps: Sequence[tuple[int, int]], first: float, last: float
) -> npt.NDArray[np.int64] | None:
    """Sums of multiples above `low`, in order, without those outside of the limits."""
    if math.prod(length for _, length in steps) > _VALUES:
        return None
    values = np.full(1, low, dtype=np.int64)
    span = 0
    apart = True
    for factor, length in steps:
        apart = apart and factor > span
        span += factor * (length - 1)
        values = np.ravel(np.arange(0, factor * length, factor)[:, None] + values)
    if not apart:
        values = np.sort(values)
        values = values[np.append(True, values[1:] != values[:-1])]
    if first > low or last < low + span:
        values = values[(values >= first) & (values <= last)]
    return values
