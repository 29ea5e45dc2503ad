"""Conditions in the form that can be solved for a variable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .expressions import NEGATED, Expr, free_variables, from_linear, is_integer, linear, simplify
from .intervals import Interval, linear_bounds


@dataclass(frozen=True)
class Guard:
    """``sum(coefficient * atom) + constant`` is negative, or with `equality` zero."""

    terms: tuple[tuple[Expr, int], ...]
    constant: int
    equality: bool
    scope: frozenset[str]

    def truth(self, box: Mapping[str, Interval]) -> bool | None:
        """Whether it holds everywhere in `box`, nowhere (False), or here and there (None)."""
        low, high = linear_bounds(dict(self.terms), self.constant, box)
        if self.equality:
            return False if low > 0 or high < 0 else True if low == high else None
        return True if high < 0 else False if low >= 0 else None

    def narrowed_ranges(self, box: Mapping[str, Interval]) -> dict[str, tuple[int, int]]:
        """The variables that it leaves less than their ranges in `box`, with what it leaves."""
        narrower: dict[str, tuple[int, int]] = {}
        low, high = linear_bounds(dict(self.terms), self.constant, box)
        if not (math.isfinite(low) and math.isfinite(high)):
            return narrower
        for atom, factor in self.terms:
            if not isinstance(atom, str):
                continue
            first, last = (int(end) for end in box[atom])
            # The others' least is at the variable's end that makes the sum least.
            others = int(low) - min(factor * first, factor * last)
            most = -others if self.equality else -others - 1
            least, limit = first, last
            if factor > 0:
                limit = min(last, most // factor)
            else:
                least = max(first, -(most // -factor))
            if self.equality:
                others = int(high) - max(factor * first, factor * last)
                if factor > 0:
                    least = max(least, -(others // factor))
                else:
                    limit = min(limit, others // -factor)
            if (least, limit) != (first, last):
                narrower[atom] = (least, limit)
        return narrower

    def expression(self) -> Expr:
        """The condition as an expression."""
        return ("==" if self.equality else "<", from_linear(dict(self.terms), self.constant), 0)

    def is_equivalent(self, other: Guard) -> bool:
        """Whether the other is this, with its terms in any order."""
        alike = self.constant == other.constant and self.equality == other.equality
        return alike and dict(self.terms) == dict(other.terms)

    def is_opposite(self, other: Guard) -> bool:
        """Whether the other holds just where this does not."""
        if self.equality or other.equality:
            return False
        # Not ``x < 0`` is ``-x - 1 < 0``.
        against = {atom: -factor for atom, factor in self.terms}
        return against == dict(other.terms) and self.constant + other.constant == -1

    def coefficient(self, variable: str) -> int | None:
        """The factor of `variable`; None if it is absent or also occurs inside an atom."""
        factor = None
        for atom, value in self.terms:
            if atom == variable:
                factor = value
            elif variable in free_variables(atom):
                return None
        return factor

    def rest(self, variable: str) -> Expr:
        """All but the term of `variable`."""
        return from_linear({a: f for a, f in self.terms if a != variable}, self.constant)

    def limits(self, variable: str) -> tuple[Expr | None, Expr | None] | None:
        """The lower bound (inclusive) and upper bound (exclusive) that this puts on `variable`.

        None where it cannot be solved for the variable.
        """
        factor = self.coefficient(variable)
        if factor is None:
            return None
        rest = self.rest(variable)
        if self.equality:
            if abs(factor) != 1:
                return None
            value = simplify(("*", rest, -factor))
            return value, simplify(("+", value, 1))
        if factor > 0:  # factor * v + rest < 0, so v < ceil(-rest / factor)
            return None, simplify(("*", ("//", rest, factor), -1))
        return simplify(("+", ("//", rest, -factor), 1)), None


def make_guard(condition: Expr) -> Guard | None:
    """The guard that says the same as a simplified comparison, or None if there is none."""
    if not isinstance(condition, tuple) or condition[0] not in NEGATED or condition[0] == "!=":
        return None
    op, left, right = condition
    if not (is_integer(left) and is_integer(right)):
        return None
    if op in (">", ">="):
        op, left, right = ("<" if op == ">" else "<="), right, left
    terms, constant = linear(("-", left, right))
    if op == "<=":
        constant -= 1
    return _without_division(terms, constant, op == "==")


def _without_division(terms: Mapping[Expr, int], constant: int, equality: bool) -> Guard:
    """Rewrite ``x // c + rest < 0`` to ``x + c * rest < 0``, which can be solved for more."""
    divisions = [
        (atom, factor)
        for atom, factor in terms.items()
        if isinstance(atom, tuple)
        and atom[0] == "//"
        and isinstance(atom[2], int)
        and atom[2] > 0
        and abs(factor) == 1
    ]
    if len(divisions) == 1 and not equality:
        atom, factor = divisions[0]
        value, divisor = atom[1], int(atom[2])
        scaled = {a: f * divisor for a, f in terms.items() if a != atom}
        shift = constant * divisor
        inner, offset = linear(value)
        # x // c < r is x < r * c; r < x // c, which is r + 1 <= x // c, is (r + 1) * c <= x.
        for term, coefficient in inner.items():
            scaled[term] = scaled.get(term, 0) + factor * coefficient
        shift += factor * offset
        if factor < 0:
            shift += divisor - 1
        terms, constant = {a: f for a, f in scaled.items() if f}, shift
    scope = frozenset[str]().union(*map(free_variables, terms))
    return Guard(tuple(terms.items()), constant, equality, scope)


def scope_of(factor: Guard | Expr) -> frozenset[str]:
    """The variables of a guard or of an expression."""
    return factor.scope if isinstance(factor, Guard) else free_variables(factor)
