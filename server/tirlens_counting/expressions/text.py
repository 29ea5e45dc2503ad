"""Expressions as Python would write them."""

from __future__ import annotations

from typing import Any

from .expression import Expr
from .terms import from_linear, linear

_PRECEDENCE = {
    "or": 1, "and": 2, "not": 3, "<": 4, "<=": 4, "==": 4, "!=": 4, ">": 4, ">=": 4,
    "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10,
    "%": 10, "~": 11,
}  # fmt: skip


def to_text(expr: Expr) -> str:
    """`expr` as Python would write it, with ``ceildiv`` where that is meant."""
    return _text(expr, 0)


def _text(expr: Expr, outer: int) -> str:
    if not isinstance(expr, tuple):
        return str(expr)
    op = expr[0]
    if op == "opaque":
        return str(expr[1])
    if op == "load":
        return f"{expr[1]}[{', '.join(_text(index, 0) for index in expr[2:])}]"
    if op == "cast":
        return f"{expr[1]}({_text(expr[2], 0)})"
    if op == "select":
        return f"select({', '.join(_text(part, 0) for part in expr[1:])})"
    if op == "sum":
        return f"sum({_text(expr[1], 0)} for {expr[2]} in range({_text(expr[3], 0)}))"
    ceiling = _ceildiv(expr)
    if ceiling is not None:
        return f"ceildiv({_text(ceiling[0], 0)}, {_text(ceiling[1], 0)})"
    if op not in _PRECEDENCE:
        return f"{op}({', '.join(_text(part, 0) for part in expr[1:])})"
    level = _PRECEDENCE[op]
    if len(expr) == 2:
        text = f"{op} " if op == "not" else op
        text += _text(expr[1], 11 if op != "not" else level)
    else:
        spaced = "*" if op == "*" else f" {op} "
        text = _text(expr[1], level) + "".join(
            _signed_text(part, level) if op == "+" else spaced + _text(part, level + 1)
            for part in expr[2:]
        )
    return f"({text})" if level < outer else text


def _signed_text(part: Expr, level: int) -> str:
    if isinstance(part, int) and part < 0:
        return f" - {-part}"
    if isinstance(part, tuple) and part[0] == "*" and isinstance(part[-1], int) and part[-1] < 0:
        factor = -part[-1]
        rest = part[:-1] if factor == 1 else (*part[:-1], factor)
        return " - " + _text(rest[1] if len(rest) == 2 else rest, level + 1)
    return " + " + _text(part, level + 1)


def _ceildiv(expr: tuple[Any, ...]) -> tuple[Expr, Expr] | None:
    """Numerator and divisor of ``(n + d - 1) // d`` with a constant `d`."""
    if expr[0] != "//" or not isinstance(expr[2], int):
        return None
    terms, constant = linear(expr[1])
    if not terms or constant != expr[2] - 1 or constant == 0:
        return None
    return from_linear(terms, 0), expr[2]
