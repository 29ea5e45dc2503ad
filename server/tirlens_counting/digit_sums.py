"""Mixed-radix digits: quasi-affine expressions as sums of multiples of digits.

``t // 8 % 4`` is a digit of ``t``.  Where all divisions are digits and the radices of each variable
divide one another, as in the layouts of threads, every constraint and index is a sum of multiples
of digits.  Such sums are short lists of integers, with which most counts need no expressions
(`digit_variables` handles other divisions).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from .expressions import Expr

# A variable, and the unit of one digit of it.
Digit = tuple[str, int]
Terms = dict[Digit, int]
DigitRanges = dict[Digit, tuple[int, int]]
_DIVISIONS = frozenset({"//", "%"})
# Limit of rounds of bound propagation.
MAX_ROUNDS = 4


class DigitConstraint(NamedTuple):
    """``sum(factor * digit) + constant < 0``, or ``== 0`` with `equality`."""

    terms: Terms
    constant: int
    equality: bool


class NoPointError(Exception):
    """No point satisfies the constraints."""


@lru_cache(maxsize=16384)
def digit_read(expr: Expr) -> tuple[str, int, int] | None:
    """The variable and the digits that an expression selects: first unit, and end unit (0: none).

    None for any other expression.
    """
    if isinstance(expr, str):
        return expr, 1, 0
    if not isinstance(expr, tuple) or expr[0] not in _DIVISIONS or not isinstance(expr[2], int):
        return None
    inner = digit_read(expr[1])
    if inner is None or expr[2] <= 0:
        return None
    name, unit, end = inner
    cut = unit * int(expr[2])
    if end and end % cut:
        return None
    return (name, cut, end) if expr[0] == "//" else (name, unit, cut)


class DigitBasis:
    """The digits of the variables of a box that some expressions need."""

    def __init__(self, box: Mapping[str, tuple[int, int]], atoms: Iterable[Expr]) -> None:
        """Find the digits; `is_complete` says whether all expressions can be written in them."""
        self.ranges: DigitRanges = {}
        self._lows: dict[str, int] = {}
        self._ladders: dict[str, list[int]] = {}
        self._digit_reads: dict[Expr, tuple[str, int, int]] = {}
        self.is_complete = self._find_digits(box, atoms)

    def _find_digits(self, box: Mapping[str, tuple[int, int]], atoms: Iterable[Expr]) -> bool:
        cuts: dict[str, set[int]] = {}
        for atom in atoms:
            if atom in self._digit_reads:
                continue
            read = digit_read(atom)
            if read is None or read[0] not in box:
                return False
            self._digit_reads[atom] = read
            if read[1] > 1 or read[2]:
                cuts.setdefault(read[0], set()).update(read[1:])
        for name, (low, high) in box.items():
            length = high - low + 1
            ladder = [1]
            for cut in sorted(cuts.get(name, ())):
                if cut < 2:
                    continue
                if cut % ladder[-1] or low % cut:
                    return False
                if cut < length:
                    ladder.append(cut)
            if length % ladder[-1]:
                return False
            self._lows[name], self._ladders[name] = low, ladder
            for position, unit in enumerate(ladder):
                end = ladder[position + 1] if position + 1 < len(ladder) else length
                self.ranges[name, unit] = (0, end // unit - 1)
        return True

    def as_digits(self, terms: Iterable[tuple[Expr, int]], constant: int) -> tuple[Terms, int]:
        """A linear form in atoms as a linear form in digits, and its constant."""
        digits: Terms = {}
        for atom, factor in terms:
            name, unit, end = self._digit_reads[atom]
            if not end:
                constant += factor * (self._lows[name] // unit)
            for own in self._ladders[name]:
                if own >= unit and not 0 < end <= own:
                    digit = name, own
                    digits[digit] = digits.get(digit, 0) + factor * (own // unit)
        return {digit: factor for digit, factor in digits.items() if factor}, constant


def sum_range(terms: Terms, constant: int, reach: DigitRanges) -> tuple[int, int]:
    """The smallest and the largest value of a sum."""
    low = high = constant
    for digit, factor in terms.items():
        first, last = reach[digit]
        if factor > 0:
            low += factor * first
            high += factor * last
        else:
            low += factor * last
            high += factor * first
    return low, high


def tighten_ranges(
    conditions: Iterable[DigitConstraint], reach: DigitRanges
) -> list[DigitConstraint]:
    """Tighten the ranges `reach` in place; the constraints that these do not imply remain.

    Raises:
        NoPointError: no point is left.
    """
    pending = list(conditions)
    for _ in range(MAX_ROUNDS):
        before = dict(reach)
        kept: list[DigitConstraint] = []
        while pending:
            item = pending.pop()
            low, high = sum_range(item.terms, item.constant, reach)
            if (low > 0 or high < 0) if item.equality else low >= 0:
                raise NoPointError
            if low == high or (high < 0 and not item.equality):
                continue
            parts = _split_by_unit(item, reach)
            if parts:
                pending += parts
                continue
            _narrow_ranges(item, low, high, reach)
            if len(item.terms) > 1 or item.equality:
                kept.append(item)
        pending = kept
        if reach == before:
            break
    return pending


def _split_by_unit(item: DigitConstraint, reach: DigitRanges) -> list[DigitConstraint]:
    """The condition on the large terms alone, with that on small ones if it is an equality.

    Of ``unit * x + r``, with r from 0 up to below the unit, only x decides whether it is negative.
    """
    for unit in sorted({abs(factor) for factor in item.terms.values()} - {1}, reverse=True):
        small = {digit: factor for digit, factor in item.terms.items() if factor % unit}
        rest = item.constant % unit
        least, most = sum_range(small, rest, reach)
        if least < 0 or most >= unit:
            continue
        large = {d: factor // unit for d, factor in item.terms.items() if not factor % unit}
        parts = [DigitConstraint(large, item.constant // unit, item.equality)]
        if item.equality and (small or rest):
            parts.append(DigitConstraint(small, rest, True))
        return parts
    return []


def _narrow_ranges(item: DigitConstraint, low: int, high: int, reach: DigitRanges) -> None:
    """Leave each digit the values that the condition leaves it."""
    for digit, factor in item.terms.items():
        first, last = reach[digit]
        # The others' least and largest sum, and so where this term has to be.
        least = low - min(factor * first, factor * last)
        most = high - max(factor * first, factor * last)
        start, stop = first, last
        if factor > 0:
            stop = (-least if item.equality else -least - 1) // factor
            if item.equality:
                start = -(most // factor)
        else:
            start = -(-least // -factor) if item.equality else least // -factor + 1
            if item.equality:
                stop = most // -factor
        if start > first or stop < last:
            first, last = max(first, start), min(last, stop)
            if first > last:
                raise NoPointError
            reach[digit] = first, last
            low, high = sum_range(item.terms, item.constant, reach)


def eliminate_digits(
    merged: Iterable[Digit], conditions: list[DigitConstraint], reach: DigitRanges
) -> list[DigitConstraint] | None:
    """The constraints with the `merged` digits projected out; None if that is not simple."""
    for digit in merged:
        mine = [item for item in conditions if digit in item.terms]
        if not mine:
            continue
        if len(mine) > 1 or mine[0].equality:
            return None
        terms, constant, _ = mine[0]
        factor = terms[digit]
        best = min(factor * end for end in reach[digit])
        rest = {other: times for other, times in terms.items() if other != digit}
        conditions = [item for item in conditions if item is not mine[0]]
        conditions.append(DigitConstraint(rest, constant + best, False))
    return conditions
