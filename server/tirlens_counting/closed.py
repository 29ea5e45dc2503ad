"""How many points meet linear conditions on digits, in closed form where there is one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .expressions import Expr, is_integer, linear
from .problem import Problem
from .radix import Condition, Digit, NoPointError, Radices, Reach, Terms, ends, settled, without

# Values of a digit that are taken one by one, in all.
_TURNS = 256
# Conditions that must not hold, each of which doubles the sums.
_CONTRARIES = 3


def closed(part: Problem) -> int | None:
    """The number of points of `part`, whose scale is 1; None where there is no simple formula."""
    contrary: list[Expr] = []
    for weight in part.weights:
        if not isinstance(weight, tuple) or weight[0] != "!=" or len(contrary) == _CONTRARIES:
            return None
        if not (is_integer(weight[1]) and is_integer(weight[2])):
            return None
        contrary.append(("-", weight[1], weight[2]))
    sums = [linear(difference) for difference in contrary]
    atoms = [atom for item in part.guards for atom, _ in item.terms]
    radices = Radices(part.box, [*atoms, *(atom for terms, _ in sums for atom in terms)])
    if not radices.known:
        return None
    conditions = [
        Condition(*radices.written(item.terms, item.constant), item.equality)
        for item in part.guards
    ]
    apart = [Condition(*radices.written(t.items(), c), equality=True) for t, c in sums]
    merged = [digit for digit in radices.reach if digit[0] in part.projected]
    if any(digit in item.terms for item in apart for digit in merged):
        return None
    return _count(conditions, apart, merged, radices.reach)


def _count(
    conditions: Sequence[Condition],
    apart: Sequence[Condition],
    merged: Sequence[Digit],
    reach: Reach,
) -> int | None:
    """How many points meet all `conditions` and none that are `apart`."""
    if apart:
        every = _count(conditions, apart[1:], merged, reach)
        those = _count((*conditions, apart[0]), apart[1:], merged, reach)
        return None if every is None or those is None else every - those
    reach = dict(reach)
    try:
        left = without(merged, settled(conditions, reach), reach)
        if left is None:
            return None
        left = settled(left, reach)
    except NoPointError:
        return 0
    total = 1
    tied: set[Digit] = set()
    for group in _groups(left):
        found = _met(group, reach, [_TURNS])
        if found is None:
            return None
        total *= found
        tied.update(*(item.terms for item in group))
    for digit, (first, last) in reach.items():
        if digit not in tied and digit not in merged:
            total *= last - first + 1
    return total


def _groups(conditions: Sequence[Condition]) -> list[list[Condition]]:
    """Conditions that share digits together."""
    groups: list[tuple[set[Digit], list[Condition]]] = []
    for item in conditions:
        digits, members = set(item.terms), [item]
        apart: list[tuple[set[Digit], list[Condition]]] = []
        for others, theirs in groups:
            if digits.isdisjoint(others):
                apart.append((others, theirs))
            else:
                digits |= others
                members += theirs
        groups = [*apart, (digits, members)]
    return [members for _, members in groups]


def _met(group: Sequence[Condition], reach: Reach, turns: list[int]) -> int | None:
    """The number of points of the digits of some conditions where they hold; None: no formula.

    All may be on one sum.  Or all others hold a multiple of the sum that one is on, as a causal
    mask does inside of the tiles that are not masked wholly: they are counted for each value.
    """
    inner = min(group, key=lambda item: len(item.terms))
    own: list[Condition] = []
    others: list[tuple[Condition, int]] = []
    for item in group:
        if limits_of(item, inner.terms) is not None:
            own.append(item)
            continue
        times = _times(item.terms, inner.terms)
        if times is None:
            return None
        rest = {digit: f for digit, f in item.terms.items() if digit not in inner.terms}
        others.append((Condition(rest, item.constant, item.equality), times))
    base, steps, first, last = _on(own, reach)
    if not others:
        return _from_to(steps, first, last, turns)
    total = 0
    for value, number in enumerate(_numbers(steps, turns)):
        if number and first <= value <= last:
            conditions = [
                Condition(item.terms, item.constant + times * (base + value), item.equality)
                for item, times in others
            ]
            found = _met_rest(conditions, reach, turns)
            if found is None:
                return None
            total += number * found
    return None if turns[0] < 0 else total


def _times(terms: Terms, inner: Terms) -> int | None:
    """The multiple of `inner` that a sum holds; None if it is none, or none of it."""
    digit, factor = next(iter(inner.items()))
    times, rest = divmod(terms.get(digit, 0), factor)
    if rest or any(terms.get(other, 0) != times * f for other, f in inner.items()):
        return None
    return times


def _met_rest(conditions: Sequence[Condition], reach: Reach, turns: list[int]) -> int | None:
    """`_met` of conditions that may hold everywhere, or nowhere."""
    left: list[Condition] = []
    total = 1
    for item in conditions:
        low, high = ends(item.terms, item.constant, reach)
        if (low > 0 or high < 0) if item.equality else low >= 0:
            return 0
        if low < high and (high >= 0 or item.equality):
            left.append(item)
    if left:
        found = _met(left, reach, turns)
        if found is None:
            return None
        total = found
    tied = {digit for item in left for digit in item.terms}
    free = {digit for item in conditions for digit in item.terms} - tied
    return total * math.prod([reach[digit][1] - reach[digit][0] + 1 for digit in free])


def _on(
    conditions: Sequence[Condition], reach: Reach
) -> tuple[int, list[tuple[int, int]], float, float]:
    """The sum that all conditions are on, and from where up to where they let it be.

    Its least value, its multiples ``step * (0, ..., length - 1)``, largest first, and the limits
    above that least value.
    """
    terms = conditions[0].terms
    first, last = -math.inf, math.inf
    for item in conditions:
        limits = limits_of(item, terms)
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


def _from_to(
    steps: Sequence[tuple[int, int]], first: float, last: float, turns: list[int]
) -> int | None:
    """How many sums of multiples are from `first` up to `last`."""
    most = sum(step * (length - 1) for step, length in steps)
    start, stop = max(0, first), min(most, last)
    if start > stop:
        return 0
    above = _below(steps, int(stop) + 1, turns)
    below = _below(steps, int(start), turns)
    return None if above is None or below is None else above - below


def _numbers(steps: Sequence[tuple[int, int]], turns: list[int]) -> list[int]:
    """How often a sum of multiples has each of its values; none if these are many."""
    values = 1 + sum(step * (length - 1) for step, length in steps)
    turns[0] -= values
    numbers = [1]
    for step, length in steps if turns[0] >= 0 else ():
        longer = [0] * (len(numbers) + step * (length - 1))
        for turn in range(length):
            for place, number in enumerate(numbers, step * turn):
                longer[place] += number
        numbers = longer
    return numbers


def limits_of(item: Condition, terms: Terms) -> tuple[float, float] | None:
    """From where up to where a condition lets ``sum(terms)`` be; None: it is on something else."""
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


def _below(steps: Sequence[tuple[int, int]], bound: int, turns: list[int]) -> int | None:
    """How many sums of multiples ``step * (0, ..., length - 1)``, largest first, are below."""
    if bound <= 0:
        return 0
    points = math.prod([length for _, length in steps])
    if bound > sum([step * (length - 1) for step, length in steps]):
        return points
    (step, length), rest = steps[0], steps[1:]
    if not rest:
        return min(length, -(-bound // step))
    reach = sum([other * (number - 1) for other, number in rest])
    # Those below whatever the others are, those that some of the others let be, and none else.
    whole = min(length, max(0, (bound - 1 - reach) // step + 1))
    some = min(length, -(-bound // step))
    turns[0] -= some - whole
    if turns[0] < 0:
        return None
    total = whole * (points // length)
    for turn in range(whole, some):
        found = _below(rest, bound - step * turn, turns)
        if found is None:
            return None
        total += found
    return total
