"""The set of points that a statement runs at: loop variables in a box, thinned by conditions.

A `Domain` is built from the outside in and never changes; `total` sums a product of weights over
its points, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from .expressions import Expr, UnknownValueError, conjuncts, negate, simplify, substitute
from .guards import Guard, make_guard, scope_of
from .intervals import Interval, bounds
from .problem import Problem, join_problems, split_components
from .range_simplification import simplify_in_ranges
from .solver import ONE, ZERO, Solver, Sum

Box = Mapping[str, Interval]


@dataclass(frozen=True)
class Domain:
    """An iteration domain: integer points of a box under quasi-affine constraints.

    Attributes
    ----------
    box
        Inclusive bounds of each variable.
    guards, predicates
        Conditions that can be solved for a variable, and other conditions.
    missing
        Expressions without a value (unbound variables, data).  With any of them the number of
        points is unknown.
    empty
        Whether the domain has no point.
    """

    box: Box = field(default_factory=dict[str, Interval])
    guards: tuple[Guard, ...] = ()
    predicates: tuple[Expr, ...] = ()
    missing: tuple[Expr, ...] = ()
    empty: bool = False
    # The domain without its last variable, and that variable, if no condition contains it.
    _outer: tuple[Domain, str] | None = field(default=None, repr=False, compare=False)
    _points: dict[frozenset[str], Sum] = field(
        default_factory=dict[frozenset[str], Sum], init=False, repr=False, compare=False
    )

    def _with_changes(
        self,
        box: Box | None = None,
        guards: tuple[Guard, ...] | None = None,
        predicates: tuple[Expr, ...] | None = None,
        missing: tuple[Expr, ...] = (),
        empty: bool = False,
    ) -> Domain:
        """The domain with other fields."""
        return Domain(
            self.box if box is None else box,
            self.guards if guards is None else guards,
            self.predicates if predicates is None else predicates,
            self.missing + missing,
            self.empty or empty,
        )

    def with_axis(self, name: str, start: Expr, extent: Expr) -> Domain:
        """The domain with one more variable in ``range(start, start + extent)``."""
        if isinstance(start, int) and isinstance(extent, int) and extent > 0:
            return self._with_free_axis(name, (int(start), start + extent - 1))
        stop = simplify(("+", start, extent))
        low, high = bounds(start, self.box)[0], bounds(stop, self.box)[1]
        if isinstance(extent, int) and extent <= 0:
            return self._with_changes(box={**self.box, name: (0, 0)}, empty=True)
        unknown = self._unknown(start) + self._unknown(extent)
        if unknown or math.isinf(low) or math.isinf(high):
            box = {**self.box, name: (-math.inf, math.inf)}
            return self._with_changes(box=box, missing=unknown or (start, extent))
        if high <= low:
            return self._with_changes(box={**self.box, name: (low, low)}, empty=True)
        domain = self._with_free_axis(name, (low, high - 1))
        if not isinstance(start, int):
            domain = domain.under_condition(("<=", start, name))
        if not isinstance(stop, int):
            domain = domain.under_condition(("<", name, stop))
        return domain

    def _with_free_axis(self, name: str, interval: Interval) -> Domain:
        outer = None if name in self.box else (self, name)
        box = {**self.box, name: interval}
        return Domain(box, self.guards, self.predicates, self.missing, self.empty, outer)

    def under_condition(self, condition: Expr) -> Domain:
        """The points at which a condition, without data, is true."""
        domain = self
        for part in conjuncts(condition):
            domain = domain.under_conjunct(part)
        return domain

    def under_conjunct(self, condition: Expr) -> Domain:
        """`under_condition` for one conjunct."""
        if not isinstance(condition, (str, tuple)):
            return self if condition else self._with_changes(empty=True)
        unknown = self._unknown(condition)
        if unknown:
            return self._with_changes(missing=unknown)
        solvable = make_guard(condition)
        if solvable in self.guards or condition in self.predicates:
            return self
        if solvable is None:
            truth = bounds(condition, self.box)
            if truth[0] == truth[1] == 0:
                return self._with_changes(empty=True)
            if truth[0] > 0:
                return self
            return self._with_changes(predicates=(*self.predicates, condition))
        truth = solvable.truth(self.box)
        if truth is not None:
            return self if truth else self._with_changes(empty=True)
        tightened = tighten(solvable, self.box)
        if tightened is None:
            return self._with_changes(guards=(*self.guards, solvable))
        return self._with_changes(box=tightened, empty=_is_empty(tightened, solvable))

    def union_with(self, other: Domain) -> Domain | None:
        """The union with a domain that differs only in the negation of one condition, else None."""
        if self.missing or other.missing or self.empty or other.empty or self.box != other.box:
            return None
        mine, theirs = self._conditions(), other._conditions()
        here = [condition for condition in mine if condition not in theirs]
        there = [condition for condition in theirs if condition not in mine]
        if not here and not there:
            return self
        if len(here) != 1 or len(there) != 1 or not _are_sides(here[0], there[0]):
            return None
        return self._with_changes(
            guards=tuple(item for item in self.guards if item != here[0]),
            predicates=tuple(item for item in self.predicates if item != here[0]),
        )

    def _conditions(self) -> list[Guard | Expr]:
        return [*self.guards, *self.predicates]

    def join_axes(self, digits: Sequence[str], name: str) -> tuple[Domain, dict[str, Expr]]:
        """The domain with the variables `digits` joined into one, and their values in terms of it.

        The digits start at zero, the lowest first.
        """
        values: dict[str, Expr] = {}
        unit = 1
        for digit in digits:
            length = int(self.box[digit][1]) + 1
            values[digit] = ("%", ("//", name, unit), length)
            unit *= length
        box = {other: reach for other, reach in self.box.items() if other not in values}
        box[name] = (0, unit - 1)
        values = {digit: simplify_in_ranges(value, box) for digit, value in values.items()}
        domain = self._with_changes(box=box, guards=(), predicates=())
        for condition in (*(item.expression() for item in self.guards), *self.predicates):
            domain = domain.under_condition(
                simplify_in_ranges(substitute(condition, values), domain.box)
            )
        return domain, values

    def _unknown(self, expr: Expr) -> tuple[Expr, ...]:
        """The names in `expr` without a range."""
        names = scope_of(expr)
        if not self.missing and names <= self.box.keys():
            return ()
        return tuple(
            name for name in sorted(names) if name not in self.box or self.box[name][0] == -math.inf
        )

    def unknown(self, weights: Iterable[Expr] = ()) -> Expr | None:
        """An expression without which the sum of `weights` is unknown; None if it is known."""
        if self.empty:
            return None
        for weight in weights:
            if not isinstance(weight, (int, float)) and (unknown := self._unknown(weight)):
                return unknown[0]
        return self.missing[0] if self.missing else None

    def total(
        self,
        solver: Solver,
        weights: Sequence[Expr] = (),
        projected: frozenset[str] = frozenset(),
    ) -> Sum:
        """The sum over all points of the product of `weights`.

        Points that differ only in `projected` variables count once; weights must not depend on
        these.

        Raises:
            UnknownValueError: a bound, condition or weight is not known.
        """
        if self.empty:
            return ZERO
        unknown = self.unknown(weights)
        if unknown is not None:
            raise UnknownValueError(unknown)
        scale = 1
        factors: list[Expr] = []
        for weight in weights:
            if isinstance(weight, (int, float)):
                scale *= int(weight)
            else:
                factors.append(weight)
        if not factors:
            return Sum(scale) * self.points(solver, projected)
        touched = frozenset[str]().union(*map(scope_of, factors))
        result = Sum(scale)
        tied: list[Problem] = []
        for part in self.parts:
            if not touched.isdisjoint(part.box):
                tied.append(part)
            elif result.value:
                result = result * solver.solve_part(part.with_projection(projected))
        if result.value:
            result = result * solver.solve(join_problems(tied, factors, projected))
        return result

    def points(self, solver: Solver, projected: frozenset[str] = frozenset()) -> Sum:
        """The number of points; points that differ only in `projected` variables count once.

        Raises:
            UnknownValueError: a bound or condition is not known.
        """
        known = self._points.get(projected)
        if known is None:
            known = self._points[projected] = self._count(solver, projected)
        return known

    def _count(self, solver: Solver, projected: frozenset[str]) -> Sum:
        if self.empty:
            return ZERO
        if self._outer is not None:
            outer, name = self._outer
            low, high = self.box[name]
            length = 1 if name in projected else int(high) - int(low) + 1
            return outer.points(solver, projected) * Sum(length)
        total = ONE
        for part in self.parts:
            total = total * solver.solve_part(part.with_projection(projected))
        return total

    @cached_property
    def problem(self) -> Problem:
        """The number of points as a problem for `Solver`.

        Raises:
            UnknownValueError: a bound or condition is not known.
        """
        if self.missing:
            raise UnknownValueError(self.missing[0])
        box = {name: (int(low), int(high)) for name, (low, high) in self.box.items()}
        return Problem(box, self.guards, self.predicates, scale=0 if self.empty else 1)

    @cached_property
    def parts(self) -> list[Problem]:
        """The independent components of the domain."""
        if self._outer is not None and not self.missing:
            outer, name = self._outer
            low, high = self.box[name]
            return [*outer.parts, Problem({name: (int(low), int(high))})]
        return split_components(self.problem)


def tighten(condition: Guard, box: Box) -> dict[str, Interval] | None:
    """`box` tightened by a condition on one variable; None for other conditions."""
    if len(condition.scope) != 1:
        return None
    (name,) = condition.scope
    limits = condition.limits(name)
    if limits is None:
        return None
    low, high = box[name]
    least, most = limits
    if isinstance(least, int):
        low = max(low, least)
    if isinstance(most, int):
        high = min(high, most - 1)
    return {**box, name: (low, high)}


def _are_sides(condition: Guard | Expr, other: Guard | Expr) -> bool:
    """Whether two conditions are negations of each other."""
    if isinstance(condition, Guard) and isinstance(other, Guard):
        return condition.is_opposite(other)
    if isinstance(condition, Guard):
        return _are_sides(other, condition)
    against = negate(condition)
    if isinstance(other, Guard):
        solvable = make_guard(against)
        return solvable is not None and solvable.is_equivalent(other)
    return against == other


def _is_empty(box: Box, condition: Guard) -> bool:
    return any(box[name][0] > box[name][1] for name in condition.scope)
