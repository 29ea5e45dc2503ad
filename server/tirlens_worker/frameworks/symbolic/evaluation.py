"""The values of expressions of the facts, where those of their variables are known."""

from __future__ import annotations

from functools import reduce
from typing import Any, Callable, Dict, Mapping, Optional, Union

from ...facts import Expr

Number = Union[int, float]


def _truncdiv(left: Any, right: Any) -> Any:
    quotient = abs(left) // abs(right)
    return -quotient if (left < 0) != (right < 0) else quotient


_UNARY: Dict[str, Callable[[Any], Any]] = {
    "-": lambda number: -number,
    "~": lambda number: ~number,
    "not": lambda number: not number,
}
_BINARY: Dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "//": lambda left, right: left // right,
    "%": lambda left, right: left % right,
    "truncdiv": _truncdiv,
    "truncmod": lambda left, right: left - right * _truncdiv(left, right),
    "min": min,
    "max": max,
    "&": lambda left, right: left & right,
    "|": lambda left, right: left | right,
    "^": lambda left, right: left ^ right,
    "<<": lambda left, right: left << right,
    ">>": lambda left, right: left >> right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "and": lambda left, right: bool(left) and bool(right),
    "or": lambda left, right: bool(left) or bool(right),
}


def evaluate(
    expr: Expr,
    variable: Callable[[str], Optional[Number]],
    loaded: Optional[Mapping[str, Expr]] = None,
) -> Optional[Number]:
    """The value of `expr`; None if it is not known.

    Parameters
    ----------
    expr
        An expression of the facts.
    variable
        The value of a variable, None where it is not known.
    loaded
        The values of scalars by the id of their buffer.
    """
    if isinstance(expr, bool):
        return int(expr)
    if isinstance(expr, (int, float)):
        return expr
    if isinstance(expr, str):
        return variable(expr)
    name, operands = str(expr[0]), expr[1:]
    if name == "load":
        stored = (loaded or {}).get(str(operands[0]))
        return None if stored is None else evaluate(stored, variable, loaded)
    if name == "cast":
        return evaluate(operands[1], variable, loaded)
    if name == "select":
        condition = evaluate(operands[0], variable, loaded)
        chosen = operands[1 if condition else 2]
        return None if condition is None else evaluate(chosen, variable, loaded)
    values = [evaluate(one, variable, loaded) for one in operands] if name != "opaque" else [None]
    if None in values:
        return None
    try:
        found = _UNARY[name](*values) if len(values) == 1 else reduce(_BINARY[name], values)
    except (ArithmeticError, KeyError, TypeError, ValueError):
        return None
    return int(found) if isinstance(found, bool) else found
