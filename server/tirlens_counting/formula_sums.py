"""Sums over one axis as formulas: triangles in closed form, anything else as Python writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .expressions import Expr, free_variables, linear, simplify, substitute
from .intervals import Interval, bounds


def sum_over_axis(
    name: str, factors: Sequence[Expr], axes: dict[str, Expr], box: Mapping[str, Interval]
) -> Expr:
    """The sum of the product of `factors` for `name` in ``range(axes[name])``.

    A factor that is linear in `name` gives the formula of the triangle; of anything else the sum
    itself is given, as ``("sum", summand, name, extent)``.
    """
    extent = axes[name]
    shorter = [_without_dominated(factor, axes, box) for factor in factors]
    if len(shorter) == 1:
        closed = _triangle(name, shorter[0], extent)
        if closed is not None:
            return closed
    return ("sum", simplify(("*", 1, *shorter)), name, extent)


def _triangle(name: str, factor: Expr, extent: Expr) -> Expr | None:
    """Sum of ``slope * name + rest``, by the sum of the first integers."""
    everything, constant = linear(factor)
    slope = everything.get(name, 0)
    terms = {atom: times for atom, times in everything.items() if atom != name}
    if any(name in free_variables(atom) for atom in terms):
        return None
    rest = simplify(("+", constant, *(("*", atom, times) for atom, times in terms.items())))
    # Rising from the slope itself or falling to it, the ends are 1 and the extent.
    if rest == slope or (slope < 0 and simplify(("+", rest, ("*", extent, slope))) == 0):
        triangle = ("//", ("*", extent, simplify(("+", extent, 1))), 2)
        return simplify(("*", triangle, abs(slope)))
    triangle = ("//", ("*", extent, simplify(("-", extent, 1))), 2)
    return simplify(("+", ("*", triangle, slope), ("*", rest, extent)))


def _without_dominated(factor: Expr, axes: dict[str, Expr], box: Mapping[str, Interval]) -> Expr:
    """A minimum without the operands that another one never exceeds."""
    if not isinstance(factor, tuple) or factor[0] != "min":
        return factor
    kept: list[Expr] = list(factor[1:])
    for item in factor[1:]:
        others = [other for other in kept if other != item]
        if any(never_negative(simplify(("-", item, other)), axes, box) for other in others):
            kept.remove(item)
    return kept[0] if len(kept) == 1 else ("min", *kept)


def never_negative(expr: Expr, axes: dict[str, Expr], box: Mapping[str, Interval]) -> bool:
    """Whether `expr` is surely zero or more for every axis from zero up to below its extent."""
    if bounds(expr, box)[0] >= 0:
        return True
    terms, _ = linear(expr)
    for name in reversed(axes):
        slope = terms.get(name, 0)
        inside = any(name in free_variables(atom) for atom in terms if atom != name)
        if slope and not inside:
            worst: Expr = 0 if slope > 0 else ("-", axes[name], 1)
            return never_negative(simplify(substitute(expr, {name: worst})), axes, box)
    return False
