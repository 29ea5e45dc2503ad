"""Upper bounds of expressions that depend on data, as expressions that do not."""

from __future__ import annotations

from typing import Any

from .expressions import Expr, is_data_dependent, simplify


def upper_bound(expr: Expr) -> Expr | None:
    """An expression without data that is never below `expr`, or None."""
    bound = _bound(expr, 1)
    return None if bound is None else simplify(bound)


def _bound(expr: Expr, sign: int) -> Expr | None:
    """The bound above (`sign` 1) or below (-1)."""
    if not is_data_dependent(expr):
        return expr
    assert isinstance(expr, tuple)
    op = expr[0]
    if op in ("min", "max"):
        parts = [_bound(part, sign) for part in expr[1:]]
        known = [part for part in parts if part is not None]
        # The least is below any one of its operands, the greatest above any one.
        enough = bool(known) if (op == "min") == (sign > 0) else len(known) == len(parts)
        if not enough:
            return None
        return known[0] if len(known) == 1 else (op, *known)
    if op == "+":
        return _combine(op, [_bound(part, sign) for part in expr[1:]])
    if op == "-" and len(expr) == 3:
        return _combine(op, [_bound(expr[1], sign), _bound(expr[2], -sign)])
    if op == "cast" and str(expr[1]).startswith(("int", "uint")):
        return _bound(expr[2], sign)
    if op == "select":
        return _select(expr, sign)
    return _by_constant(expr, sign)


def _combine(op: str, parts: list[Expr | None]) -> Expr | None:
    known = [part for part in parts if part is not None]
    return (op, *known) if len(known) == len(parts) else None


def _select(expr: tuple[Any, ...], sign: int) -> Expr | None:
    parts = [_bound(expr[2], sign), _bound(expr[3], sign)]
    if not is_data_dependent(expr[1]):
        return _combine("select", [expr[1], *parts])
    return _combine("max" if sign > 0 else "min", parts)


def _by_constant(expr: tuple[Any, ...], sign: int) -> Expr | None:
    """Products with, and divisions and modulos by, a constant."""
    op = expr[0]
    if op == "*" and len(expr) == 3:
        for value, factor in ((expr[1], expr[2]), (expr[2], expr[1])):
            if isinstance(factor, int):
                return _combine("*", [_bound(value, sign if factor >= 0 else -sign), factor])
    if op == "//" and isinstance(expr[2], int) and expr[2] > 0:
        return _combine("//", [_bound(expr[1], sign), expr[2]])
    if op == "%" and isinstance(expr[2], int) and expr[2] > 0:
        return expr[2] - 1 if sign > 0 else 0
    return None
