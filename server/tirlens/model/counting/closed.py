"""How many points meet linear conditions on digits, in closed form where there is one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tirlens_worker.facts import Expr

from ..expr import is_integer, linear
from .problem import Problem
from .radix import Condition, Digit, NoPointError, Radices, Reach, Terms, settled, without

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
        found = _between(group, reach)
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


def _between(group: Sequence[Condition], reach: Reach) -> int | None:
    """The number of points of conditions that all are on one sum; None if they are not."""
    terms = group[0].terms
    first, last = -math.inf, math.inf
    for item in group:
        limits = limits_of(item, terms)
        if limits is None:
            return None
        first, last = max(first, limits[0]), min(last, limits[1])
    # All factors positive, all digits from zero.
    base = 0
    steps: list[tuple[int, int]] = []
    for digit, factor in terms.items():
        low, high = reach[digit]
        base += min(factor * low, factor * high)
        if high > low:
            steps.append((abs(factor), high - low + 1))
    steps.sort(reverse=True)
    turns = [_TURNS]
    most = sum(step * (length - 1) for step, length in steps)
    start = max(0, first - base)
    stop = min(most, last - base)
    if start > stop:
        return 0
    above = _below(steps, int(stop) + 1, turns)
    below = _below(steps, int(start), turns)
    return None if above is None or below is None else above - below


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
