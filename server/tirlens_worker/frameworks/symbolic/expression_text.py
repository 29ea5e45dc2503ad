"""Short text of expressions, for labels."""

from __future__ import annotations

from typing import Optional

from ...facts import Expr

_PRECEDENCE = {
    "or": 1, "and": 2, "<": 4, "<=": 4, "==": 4, "!=": 4, ">": 4, ">=": 4, "|": 5, "^": 6, "&": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10,
}  # fmt: skip
_TRUNCATING = {"truncdiv": "//", "truncmod": "%"}
_MAX_LENGTH = 80


def text(value: Expr) -> str:
    """`value` in Python's syntax, on one line of at most `_MAX_LENGTH` characters."""
    whole = _text(value, 0)
    return whole if len(whole) <= _MAX_LENGTH else whole[: _MAX_LENGTH - 3] + "..."


def _text(value: Expr, outer: int) -> str:
    if not isinstance(value, tuple):
        return str(value)
    op, parts = _TRUNCATING.get(value[0], value[0]), value[1:]
    if op == "load":
        return "{}[{}]".format(parts[0], ", ".join(_text(one, 0) for one in parts[1:]))
    if op == "opaque":
        return str(parts[0])
    rounded = _rounded_up(parts[0], parts[1]) if op == "//" else None
    if rounded is not None:
        op, parts = "ceildiv", (rounded, parts[1])
    if op not in _PRECEDENCE:
        return "{}({})".format(op, ", ".join(_text(one, 0) for one in parts))
    level = _PRECEDENCE[op]
    # A left operand of the same precedence needs no parentheses, except in comparisons.
    inner = (_text(parts[0], level + (level == 4)), *(_text(one, level + 1) for one in parts[1:]))
    joined = " {} ".format(op).join(inner)
    return "({})".format(joined) if level < outer else joined


def _rounded_up(numerator: Expr, divisor: Expr) -> Optional[Expr]:
    """``n`` of a numerator ``n + d - 1`` over the divisor ``d``."""
    if not isinstance(numerator, tuple) or numerator[0] != "-" or numerator[2] != 1:
        return None
    total: Expr = numerator[1]
    if not isinstance(total, tuple) or total[0] != "+" or total[2:] != (divisor,):
        return None
    return total[1]
