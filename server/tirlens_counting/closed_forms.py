"""Closed forms of the number of points under linear constraints on mixed-radix digits."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
from .expressions import Expr, is_integer, linear
from .problem import Problem

# Limit of enumerated digit values in one count.
MAX_DIGIT_VALUES = 256
# Limit of ``!=`` conditions, each of which doubles the work (inclusion-exclusion).
MAX_INEQUALITIES = 3


def count_in_closed_form(part: Problem) -> int | None:
    """The number of points of `part`, whose scale is 1; None without a simple formula."""
    contrary: list[Expr] = []
    for weight in part.weights:
        if not isinstance(weight, tuple) or weight[0] != "!=" or len(contrary) == MAX_INEQUALITIES:
            return None
        if not (is_integer(weight[1]) and is_integer(weight[2])):
            return None
        contrary.append(("-", weight[1], weight[2]))
    sums = [linear(difference) for difference in contrary]
    atoms = [atom for item in part.guards for atom, _ in item.terms]
    radices = DigitBasis(part.box, [*atoms, *(atom for terms, _ in sums for atom in terms)])
    if not radices.is_complete:
        return None
    conditions = [
        DigitConstraint(*radices.as_digits(item.terms, item.constant), item.equality)
        for item in part.guards
    ]
    apart = [DigitConstraint(*radices.as_digits(t.items(), c), equality=True) for t, c in sums]
    merged = [digit for digit in radices.ranges if digit[0] in part.projected]
    if any(digit in item.terms for item in apart for digit in merged):
        return None
    return _count_points(conditions, apart, merged, radices.ranges)


def _count_points(
    conditions: Sequence[DigitConstraint],
    inequalities: Sequence[DigitConstraint],
    merged: Sequence[Digit],
    reach: DigitRanges,
) -> int | None:
    """The number of points that satisfy all `conditions` and none of the `inequalities`."""
    if inequalities:
        every = _count_points(conditions, inequalities[1:], merged, reach)
        those = _count_points((*conditions, inequalities[0]), inequalities[1:], merged, reach)
        return None if every is None or those is None else every - those
    reach = dict(reach)
    try:
        left = eliminate_digits(merged, tighten_ranges(conditions, reach), reach)
        if left is None:
            return None
        left = tighten_ranges(left, reach)
    except NoPointError:
        return 0
    total = 1
    tied: set[Digit] = set()
    for group in _connected_groups(left):
        found = _count_group(group, reach, [MAX_DIGIT_VALUES])
        if found is None:
            return None
        total *= found
        tied.update(*(item.terms for item in group))
    for digit, (first, last) in reach.items():
        if digit not in tied and digit not in merged:
            total *= last - first + 1
    return total


def _connected_groups(conditions: Sequence[DigitConstraint]) -> list[list[DigitConstraint]]:
    """The conditions in groups that share no digit."""
    groups: list[tuple[set[Digit], list[DigitConstraint]]] = []
    for item in conditions:
        digits, members = set(item.terms), [item]
        apart: list[tuple[set[Digit], list[DigitConstraint]]] = []
        for others, theirs in groups:
            if digits.isdisjoint(others):
                apart.append((others, theirs))
            else:
                digits |= others
                members += theirs
        groups = [*apart, (digits, members)]
    return [members for _, members in groups]


def _count_group(
    group: Sequence[DigitConstraint], reach: DigitRanges, budget: list[int]
) -> int | None:
    """The number of points that satisfy the conditions of a group; None without a formula.

    Either all conditions bound one sum, or the others contain a multiple of the sum that one
    condition bounds (a causal mask inside partly masked tiles): they are counted for each value.
    """
    inner = min(group, key=lambda item: len(item.terms))
    own: list[DigitConstraint] = []
    others: list[tuple[DigitConstraint, int]] = []
    for item in group:
        if sum_limits(item, inner.terms) is not None:
            own.append(item)
            continue
        times = _multiple_of(item.terms, inner.terms)
        if times is None:
            return None
        rest = {digit: f for digit, f in item.terms.items() if digit not in inner.terms}
        others.append((DigitConstraint(rest, item.constant, item.equality), times))
    base, steps, first, last = _common_sum(own, reach)
    if not others:
        return _count_between(steps, first, last, budget)
    total = 0
    for value, number in enumerate(_value_counts(steps, budget)):
        if number and first <= value <= last:
            conditions = [
                DigitConstraint(item.terms, item.constant + times * (base + value), item.equality)
                for item, times in others
            ]
            found = _count_remaining(conditions, reach, budget)
            if found is None:
                return None
            total += number * found
    return None if budget[0] < 0 else total


def _multiple_of(terms: Terms, inner: Terms) -> int | None:
    """The multiple of `inner` that a sum contains; None if it contains none."""
    digit, factor = next(iter(inner.items()))
    times, rest = divmod(terms.get(digit, 0), factor)
    if rest or any(terms.get(other, 0) != times * f for other, f in inner.items()):
        return None
    return times


def _count_remaining(
    conditions: Sequence[DigitConstraint], reach: DigitRanges, budget: list[int]
) -> int | None:
    """The count for conditions some of which hold everywhere or nowhere."""
    left: list[DigitConstraint] = []
    total = 1
    for item in conditions:
        low, high = sum_range(item.terms, item.constant, reach)
        if (low > 0 or high < 0) if item.equality else low >= 0:
            return 0
        if low < high and (high >= 0 or item.equality):
            left.append(item)
    if left:
        found = _count_group(left, reach, budget)
        if found is None:
            return None
        total = found
    tied = {digit for item in left for digit in item.terms}
    free = {digit for item in conditions for digit in item.terms} - tied
    return total * math.prod([reach[digit][1] - reach[digit][0] + 1 for digit in free])


def _common_sum(
    conditions: Sequence[DigitConstraint], reach: DigitRanges
) -> tuple[int, list[tuple[int, int]], float, float]:
    """The sum that all conditions bound, with its bounds.

    Its least value, its multiples ``step * (0, ..., length - 1)``, largest first, and the limits
    above that least value.
    """
    terms = conditions[0].terms
    first, last = -math.inf, math.inf
    for item in conditions:
        limits = sum_limits(item, terms)
        assert limits is not None
        first, last = max(first, limits[0]), min(last, limits[1])
    base = 0
    steps: list[tuple[int, int]] = []
    for digit, factor in terms.items():
        low, high = reach[digit]
        base += min(factor * low, factor * high)
        if high > low:
            steps.append((abs(factor), high - low + 1))
    steps.sort(reverse=True)
    return base, steps, first - base, last - base


def _count_between(
    steps: Sequence[tuple[int, int]], first: float, last: float, budget: list[int]
) -> int | None:
    """The number of sums of multiples from `first` to `last`."""
    most = sum(step * (length - 1) for step, length in steps)
    start, stop = max(0, first), min(most, last)
    if start > stop:
        return 0
    above = _count_below(steps, int(stop) + 1, budget)
    below = _count_below(steps, int(start), budget)
    return None if above is None or below is None else above - below


def _value_counts(steps: Sequence[tuple[int, int]], budget: list[int]) -> list[int]:
    """The number of ways to each value of a sum of multiples; empty for too many values."""
    values = 1 + sum(step * (length - 1) for step, length in steps)
    budget[0] -= values
    numbers = [1]
    for step, length in steps if budget[0] >= 0 else ():
        longer = [0] * (len(numbers) + step * (length - 1))
        for multiple in range(length):
            for position, number in enumerate(numbers, step * multiple):
                longer[position] += number
        numbers = longer
    return numbers


def sum_limits(item: DigitConstraint, terms: Terms) -> tuple[float, float] | None:
    """The bounds of ``sum(terms)`` under a condition; None if it bounds another sum."""
    if item.terms == terms:
        return (-item.constant if item.equality else -math.inf), (
            -item.constant if item.equality else -item.constant - 1
        )
    if len(item.terms) == len(terms) and all(
        item.terms.get(digit) == -factor for digit, factor in terms.items()
    ):
        return (item.constant if item.equality else item.constant + 1), (
            item.constant if item.equality else math.inf
        )
    return None


def _count_below(steps: Sequence[tuple[int, int]], bound: int, budget: list[int]) -> int | None:
    """The number of sums of multiples ``step * (0, ..., length - 1)`` below `bound`."""
    if bound <= 0:
        return 0
    points = math.prod([length for _, length in steps])
    if bound > sum([step * (length - 1) for step, length in steps]):
        return points
    (step, length), rest = steps[0], steps[1:]
    if not rest:
        return min(length, -(-bound // step))
    reach = sum([other * (number - 1) for other, number in rest])
    # Values below the bound for all others, then values below it for some of the others.
    whole = min(length, max(0, (bound - 1 - reach) // step + 1))
    some = min(length, -(-bound // step))
    budget[0] -= some - whole
    if budget[0] < 0:
        return None
    total = whole * (points // length)
    for multiple in range(whole, some):
        found = _count_below(rest, bound - step * multiple, budget)
        if found is None:
            return None
        total += found
    return total
