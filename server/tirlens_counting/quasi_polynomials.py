"""Sums over one variable: exact however long its range is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .arrays import np, npt
from .elimination import TooLargeError, fits_int64
from .expressions import Expr, evaluate, free_variables
from .range_simplification import simplify_in_ranges

# Points that are simply evaluated, and the most pieces that a range is cut into.
MAX_ENUMERATED_VALUES = 8192
MAX_PIECES = 128


def sum_over_variable(name: str, low: int, high: int, factors: Sequence[Expr]) -> int:
    """The sum of the product of `factors`, expressions of `name` alone, from `low` up to `high`.

    A long range is bisected until no minimum or condition changes its value within a part.  There
    the product is a quasi-polynomial: in each residue class modulo the divisors it is a polynomial,
    which a few values determine (Newton's forward differences).

    Raises:
        TooLargeError: the factors are no piecewise quasi-polynomial of few pieces.
    """
    total = 0
    pieces = [(low, high, tuple(factors))]
    patience = MAX_PIECES
    while pieces:
        first, last, exprs = pieces.pop()
        length = last - first + 1
        if length <= 0:
            continue
        patience -= 1
        if patience < 0:
            raise TooLargeError
        box = {name: (first, last)}
        exprs = tuple(simplify_in_ranges(expr, box) for expr in exprs)
        if length <= MAX_ENUMERATED_VALUES:
            total += int(_product_values(name, np.arange(first, last + 1), exprs).sum())
            continue
        known = [_degree_and_period(expr, name) for expr in exprs]
        shapes = [shape for shape in known if shape is not None]
        period = math.lcm(*(shape[1] for shape in shapes))
        degree = sum(shape[0] for shape in shapes)
        if len(shapes) == len(known) and period * (degree + 1) <= MAX_ENUMERATED_VALUES:
            total += _sum_of_quasi_polynomial(name, first, length, exprs, (degree, period))
            continue
        middle = (first + last) // 2
        pieces += [(first, middle, exprs), (middle + 1, last, exprs)]
    return total


def _product_values(
    name: str, points: npt.NDArray[np.int64], exprs: Sequence[Expr]
) -> npt.NDArray[Any]:
    """The product of `exprs` at each of the points, which are in order."""
    box = {name: (int(points[0]), int(points[-1]))}
    product: Expr = ("*", 1, *exprs)
    # The sum of all of them must fit too.
    exact = fits_int64(("*", product, len(points)), box)
    env = {name: points if exact else points.astype(object)}
    result = np.ones(len(points), dtype=np.int64 if exact else object)
    for expr in exprs:
        value: Any = np.asarray(evaluate(expr, env))
        result = result * (value.astype(np.int64) if value.dtype == np.bool_ else value)
    return result


def _degree_and_period(expr: Expr, name: str) -> tuple[int, int] | None:
    """Degree and period of `expr` as a quasi-polynomial of `name`; None if it is not surely one."""
    if not isinstance(expr, tuple):
        return (1 if expr == name else 0), 1
    if name not in free_variables(expr):
        return 0, 1
    op = expr[0]
    if op in ("//", "%"):
        inner = _degree_and_period(expr[1], name)
        if inner is None or not isinstance(expr[2], int) or expr[2] <= 0:
            return None
        return (inner[0] if op == "//" else 0), inner[1] * int(expr[2])
    if op not in ("+", "-", "*"):
        return None
    parts = [_degree_and_period(part, name) for part in expr[1:]]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    period = math.lcm(*(part[1] for part in known))
    degrees = [part[0] for part in known]
    return (sum(degrees) if op == "*" else max(degrees)), period


def _sum_of_quasi_polynomial(
    name: str, first: int, length: int, exprs: Sequence[Expr], shape: tuple[int, int]
) -> int:
    degree, period = shape
    points = np.arange(first, first + period * (degree + 1))
    # One row of differences a step, one column a residue class.
    values = _product_values(name, points, exprs).astype(object)
    row = np.stack(np.split(values, degree + 1))
    total = 0
    longer = length % period
    for order in range(degree + 1):
        steps = length // period
        leading: list[int] = row[0].tolist()
        total += math.comb(steps + 1, order + 1) * sum(leading[:longer])
        total += math.comb(steps, order + 1) * sum(leading[longer:])
        row = row[1:] - row[:-1]
    return total
