"""The set of points that a statement runs at: loop variables in a box, thinned by conditions.

A `Domain` is built from the outside in and never changes; `total` sums a product of weights over
its points, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tirlens_worker.facts import Expr

from ..expr import UnknownValueError, conjuncts, simplify, substitute
from .guards import Guard, guard, scope_of
from .intervals import Interval, bounds
from .problem import Problem, components, product
from .solve import ONE, ZERO, Solver, Sum
from .within import within

Box = Mapping[str, Interval]


@dataclass(frozen=True)
class Domain:
    """`box` has inclusive bounds; `empty` says that no point is left.

    `missing` are the expressions that are not known (unbound variables, data); with any of them
    the number of points is not known either.
    """

    box: Box = field(default_factory=dict[str, Interval])
    guards: tuple[Guard, ...] = ()
    predicates: tuple[Expr, ...] = ()
    missing: tuple[Expr, ...] = ()
    empty: bool = False
    _points: dict[frozenset[str], Sum] = field(
        default_factory=dict[frozenset[str], Sum], init=False, repr=False, compare=False
    )

    def with_axis(self, name: str, start: Expr, extent: Expr) -> Domain:
        """The points with one more variable, in ``range(start, start + extent)``."""
        stop = simplify(("+", start, extent))
        low, high = bounds(start, self.box)[0], bounds(stop, self.box)[1]
        if isinstance(extent, int) and extent <= 0:
            return replace(self, box={**self.box, name: (0, 0)}, empty=True)
        unknown = self._unknown(start) + self._unknown(extent)
        if unknown or math.isinf(low) or math.isinf(high):
            missing = unknown or (start, extent)
            return replace(
                self, box={**self.box, name: (-math.inf, math.inf)}, missing=self.missing + missing
            )
        if high <= low:
            return replace(self, box={**self.box, name: (low, low)}, empty=True)
        domain = replace(self, box={**self.box, name: (low, high - 1)})
        if not isinstance(start, int):
            domain = domain.where(("<=", start, name))
        if not isinstance(stop, int):
            domain = domain.where(("<", name, stop))
        return domain

    def where(self, condition: Expr) -> Domain:
        """The points at which `condition`, which holds no data, is true."""
        domain = self
        for part in conjuncts(condition):
            domain = domain._where(part)
        return domain

    def _where(self, condition: Expr) -> Domain:
        if not isinstance(condition, (str, tuple)):
            return self if condition else replace(self, empty=True)
        unknown = self._unknown(condition)
        if unknown:
            return replace(self, missing=self.missing + unknown)
        solvable = guard(condition)
        if solvable is None:
            truth = bounds(condition, self.box)
            if truth[0] == truth[1] == 0:
                return replace(self, empty=True)
            if truth[0] > 0:
                return self
            return replace(self, predicates=(*self.predicates, condition))
        truth = solvable.truth(self.box)
        if truth is not None:
            return self if truth else replace(self, empty=True)
        tightened = tighten(solvable, self.box)
        if tightened is None:
            return replace(self, guards=(*self.guards, solvable))
        return replace(self, box=tightened, empty=self.empty or _is_empty(tightened, solvable))

    def joined(self, digits: Sequence[str], name: str) -> tuple[Domain, dict[str, Expr]]:
        """The same points with one variable for some that are its digits, and what those are of it.

        The `digits` run from zero, the lowest first.
        """
        values: dict[str, Expr] = {}
        unit = 1
        for digit in digits:
            length = int(self.box[digit][1]) + 1
            values[digit] = ("%", ("//", name, unit), length)
            unit *= length
        box = {other: reach for other, reach in self.box.items() if other not in values}
        box[name] = (0, unit - 1)
        values = {digit: within(value, box) for digit, value in values.items()}
        domain = replace(self, box=box, guards=(), predicates=())
        for condition in (*(item.expr() for item in self.guards), *self.predicates):
            domain = domain.where(within(substitute(condition, values), domain.box))
        return domain, values

    def _unknown(self, expr: Expr) -> tuple[Expr, ...]:
        """What in `expr` is neither a variable of the domain nor computable."""
        return tuple(
            name for name in sorted(scope_of(expr)) if name not in self.box or name in self._lost
        )

    @cached_property
    def _lost(self) -> frozenset[str]:
        return frozenset(name for name, (low, _) in self.box.items() if low == -math.inf)

    def total(
        self,
        solver: Solver,
        weights: Iterable[Expr] = (),
        projected: frozenset[str] = frozenset(),
    ) -> Sum:
        """The sum over all points of the product of `weights`.

        Points that differ in `projected` variables alone are one point, and weights must not
        depend on those.

        Raises:
            UnknownValueError: a bound, condition or weight is not known.
        """
        if self.empty:
            return ZERO
        scale = 1
        factors: list[Expr] = []
        for weight in weights:
            if isinstance(weight, (int, float)):
                scale *= int(weight)
            elif unknown := self._unknown(weight):
                raise UnknownValueError(unknown[0])
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
                result = result * solver.solve_part(part.merging(projected))
        if result.value:
            result = result * solver.solve(product(tied, factors, projected))
        return result

    def points(self, solver: Solver, projected: frozenset[str] = frozenset()) -> Sum:
        """How many points there are, those that differ in `projected` variables alone being one.

        Raises:
            UnknownValueError: a bound or condition is not known.
        """
        known = self._points.get(projected)
        if known is None:
            known = ZERO if self.empty else ONE
            for part in () if self.empty else self.parts:
                known = known * solver.solve_part(part.merging(projected))
            self._points[projected] = known
        return known

    @cached_property
    def problem(self) -> Problem:
        """The number of points, to be solved.

        Raises:
            UnknownValueError: a bound or condition is not known.
        """
        if self.missing:
            raise UnknownValueError(self.missing[0])
        box = {name: (int(low), int(high)) for name, (low, high) in self.box.items()}
        return Problem(box, self.guards, self.predicates)

    @cached_property
    def parts(self) -> list[Problem]:
        """The independent parts of the points."""
        return components(self.problem)


def tighten(condition: Guard, box: Box) -> dict[str, Interval] | None:
    """`box` narrowed by a condition on a single variable; None if it is not of that kind."""
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


def _is_empty(box: Box, condition: Guard) -> bool:
    return any(box[name][0] > box[name][1] for name in condition.scope)
