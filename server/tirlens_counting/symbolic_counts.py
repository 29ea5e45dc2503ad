"""The number of points under loops and conditions as a formula in the shape variables.

Understood are boxes, tails (``io * T + ii < N`` with ``ceildiv(N, T)`` tiles), clipped tiles,
extents that depend on loops around them (see `formula_sums`), and whatever does not depend on shape
variables.  Anything else has no formula.  Shape variables are sizes, so never negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .expressions import Expr, free_variables, is_data_dependent, simplify, walk
from .formula_sums import never_negative, sum_over_axis
from .guards import make_guard
from .intervals import Interval, bounds
from .polynomial import Polynomial
from .problem import make_problem
from .solver import Solver

Weights = tuple[Expr, ...]
# What a formula consists of, besides variables and numbers.
_READABLE = frozenset({"+", "-", "*", "//", "%", "min", "max", "sum"})


class NoFormulaError(Exception):
    """The total is no formula of the kind that is understood."""


class Points(NamedTuple):
    """Loops with their extents, conditions, and the product that is summed up."""

    axes: tuple[tuple[str, Expr], ...]
    conditions: tuple[Expr, ...]
    weights: Weights


def count_symbolically(points: Points, variables: Iterable[str]) -> Polynomial:
    """The number of the points, weighted."""
    axes = dict(points.axes)
    box: dict[str, Interval] = dict.fromkeys(variables, (0, math.inf))
    for name, extent in axes.items():
        if not never_negative(extent, axes, box):
            axes[name] = extent = ("max", 0, extent)
        box[name] = (0, bounds(extent, box)[1] - 1)
    conditions = [item for item in points.conditions if bounds(item, box)[0] < 1]
    return _product(axes, box, conditions, list(points.weights))


def _product(
    axes: dict[str, Expr],
    box: Mapping[str, Interval],
    conditions: list[Expr],
    weights: list[Expr],
) -> Polynomial:
    """Separate the axes that a condition couples, then multiply."""
    total = Polynomial.of(1)
    while conditions:
        condition = conditions.pop(0)
        names = free_variables(condition) & set(axes)
        if is_data_dependent(condition):
            raise NoFormulaError
        others = [*conditions, *weights, *axes.values()]
        if any(names & free_variables(other) for other in others):
            total = total * _numeric(names, axes, conditions, condition, weights)
            continue
        total = total * _count_condition(condition, names, axes, box)
        for name in names:
            del axes[name]
    return total * Polynomial.of(_sum_over_axes(axes, box, weights))


def _sum_over_axes(
    axes: dict[str, Expr], box: Mapping[str, Interval], weights: Sequence[Expr]
) -> Expr:
    """The sum over `axes`, whose extents may depend on those before, of the product of weights."""
    for weight in weights:
        if is_data_dependent(weight) or not free_variables(weight) <= box.keys():
            raise NoFormulaError
        if not never_negative(weight, axes, box):
            raise NoFormulaError
    pending = list(weights)
    for name, extent in reversed(axes.items()):
        if is_data_dependent(extent) or not free_variables(extent) <= box.keys():
            raise NoFormulaError
        mine = [factor for factor in pending if name in free_variables(factor)]
        pending = [factor for factor in pending if name not in free_variables(factor)]
        if mine:
            if not name.isidentifier():
                raise NoFormulaError
            pending.append(sum_over_axis(name, mine, axes, box))
        else:
            pending.append(extent)
    result = simplify(("*", 1, *pending))
    if not all(map(_is_readable, walk(result))):
        raise NoFormulaError
    return result


def _is_readable(part: Expr) -> bool:
    if not isinstance(part, tuple):
        return True
    return part[0] in _READABLE and (part[0] not in ("//", "%") or isinstance(part[2], int))


def _count_condition(
    condition: Expr, names: frozenset[str], axes: Mapping[str, Expr], box: Mapping[str, Interval]
) -> Polynomial:
    """The number of points of `names` for which `condition` holds."""
    tail = _tail(condition, names, axes)
    if tail is not None:
        if bounds(tail, box)[0] < 0:
            raise NoFormulaError
        return Polynomial.of(tail)
    return _constant(names, axes, [condition])


def _tail(condition: Expr, names: frozenset[str], axes: Mapping[str, Expr]) -> Expr | None:
    """N where ``outer * T + inner < N`` cuts ``ceildiv(N, T)`` tiles of T."""
    item = make_guard(condition)
    if item is None or item.equality:
        return None
    factors = {name: item.coefficient(name) for name in sorted(names)}
    limit: Expr = simplify(
        ("*", ("-", item.expression()[1], _weigh(factors)), -1)  # type: ignore[index]
    )
    if len(names) == 1:
        (name,) = names
        extent = axes[name]
        whole = factors[name] == 1 and simplify(("-", extent, limit)) == 0
        return limit if whole else None
    if len(names) != 2 or None in factors.values():
        return None
    inner, outer = sorted(factors, key=lambda name: factors[name] or 0)
    tile = factors[outer]
    if factors[inner] != 1 or axes[inner] != tile:
        return None
    tiles = simplify(("//", ("+", limit, ("-", tile, 1)), tile))
    if simplify(("-", axes[outer], tiles)) == 0:
        return limit
    whole_tiles = simplify(("//", limit, tile))
    if simplify(("-", axes[outer], whole_tiles)) == 0:
        return simplify(("*", whole_tiles, tile))
    return None


def _weigh(factors: Mapping[str, int | None]) -> Expr:
    return ("+", 0, *(("*", name, factor or 0) for name, factor in factors.items()))


def _constant(names: frozenset[str], axes: Mapping[str, Expr], parts: list[Expr]) -> Polynomial:
    """The number of points where nothing depends on a shape."""
    extents = {name: extent for name, extent in axes.items() if name in names}
    if not all(isinstance(extent, int) for extent in extents.values()):
        raise NoFormulaError
    if any(not free_variables(part) <= names for part in parts):
        raise NoFormulaError
    intervals = {name: (0, int(extent) - 1) for name, extent in extents.items()}  # type: ignore
    total = Solver().solve(make_problem(intervals, parts))
    if not total.exact:
        raise NoFormulaError
    return Polynomial.of(total.value)


def _numeric(
    names: frozenset[str],
    axes: dict[str, Expr],
    conditions: list[Expr],
    condition: Expr,
    weights: list[Expr],
) -> Polynomial:
    """A whole component that no shape variable enters, solved by counting."""
    group = set(names)
    parts = [condition]
    grown = True
    while grown:
        grown = False
        for other in list(conditions):
            if free_variables(other) & group:
                conditions.remove(other)
                parts.append(other)
                group |= free_variables(other) & set(axes)
                grown = True
    if any(free_variables(item) & group for item in (*weights, *axes.values())):
        raise NoFormulaError
    total = _constant(frozenset(group), axes, parts)
    for name in group:
        del axes[name]
    return total
