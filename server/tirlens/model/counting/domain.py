"""The set of points that a statement runs at: loop variables in a box, thinned by conditions.

A `Domain` is built from the outside in and never changes; `total` sums a product of weights over
its points, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tirlens_worker.facts import Expr

from ..expr import UnknownValueError, conjuncts, simplify
from .guards import Guard, guard, scope_of
from .intervals import Interval, bounds
from .solve import Problem, Solver

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

    def with_axis(self, name: str, start: Expr, extent: Expr) -> Domain:
        """The points with one more variable, in ``range(start, start + extent)``."""
        stop = simplify(("+", start, extent))
        low, high = bounds(start, self.box)[0], bounds(stop, self.box)[1]
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

    def _unknown(self, expr: Expr) -> tuple[Expr, ...]:
        """What in `expr` is neither a variable of the domain nor computable."""
        return tuple(
            name for name in sorted(scope_of(expr)) if name not in self.box or name in self._lost
        )

    @property
    def _lost(self) -> frozenset[str]:
        return frozenset(name for name, (low, _) in self.box.items() if low == -math.inf)

    def total(
        self,
        solver: Solver,
        weights: Iterable[Expr] = (),
        projected: frozenset[str] = frozenset(),
    ) -> int:
        """The sum over all points of the product of `weights`.

        Points that differ in `projected` variables alone are one point, and weights must not
        depend on those.

        Raises:
            UnknownValueError: a bound, condition or weight is not known.
        """
        if self.empty:
            return 0
        if self.missing:
            raise UnknownValueError(self.missing[0])
        factors: list[Expr] = []
        scale = 1
        for weight in weights:
            if isinstance(weight, (int, float)):
                scale *= int(weight)
                continue
            unknown = self._unknown(weight)
            if unknown:
                raise UnknownValueError(unknown[0])
            factors.append(weight)
        if scale == 0:
            return 0
        box = {name: (int(low), int(high)) for name, (low, high) in self.box.items()}
        problem = Problem(box, self.guards, self.predicates + tuple(factors), projected)
        return scale * solver.solve(problem)


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
