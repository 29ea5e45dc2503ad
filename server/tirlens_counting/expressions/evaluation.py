"""Values of expressions over numbers or numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from ..arrays import np
from .expression import Expr
from .terms import UNKNOWN_OPERATORS
from .text import to_text

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class UnknownValueError(Exception):
    """A value that is not known before the run, or a variable that has no binding.

    `name` is the variable, or None where the value is data.
    """

    def __init__(self, expr: Expr) -> None:
        super().__init__(expr)
        self.name = expr if isinstance(expr, str) else None

    def __str__(self) -> str:
        return f"not known: {to_text(self.args[0])}"


def _is_array(*values: Any) -> bool:
    return any(isinstance(value, np.ndarray) for value in values)


_where: Callable[[Any, Any, Any], Any] = np.where


def _truncdiv(a: Any, b: Any) -> Any:
    quotient = abs(a) // abs(b)
    if _is_array(quotient):
        return _where((a < 0) != (b < 0), -quotient, quotient)
    return -quotient if (a < 0) != (b < 0) else quotient


def _truncmod(a: Any, b: Any) -> Any:
    return a - b * _truncdiv(a, b)


def _minimum(a: Any, b: Any) -> Any:
    return np.minimum(a, b) if _is_array(a, b) else min(a, b)


def _maximum(a: Any, b: Any) -> Any:
    return np.maximum(a, b) if _is_array(a, b) else max(a, b)


def _and(a: Any, b: Any) -> Any:
    return np.logical_and(a, b) if _is_array(a, b) else bool(a) and bool(b)


def _or(a: Any, b: Any) -> Any:
    return np.logical_or(a, b) if _is_array(a, b) else bool(a) or bool(b)


def _shift(number: Any, by: Any, left: bool) -> Any:
    """A shift; 0 by a negative number, which no program executes: the points of a box that are
    outside of a domain have one.
    """
    if _is_array(by):
        shifted = number << _maximum(by, 0) if left else number >> _maximum(by, 0)
        return _where(by < 0, 0, shifted)
    if by < 0:
        return number * 0
    return number << by if left else number >> by


# Each takes two operands; more are folded from the left.
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": _minimum,
    "max": _maximum,
    "truncdiv": _truncdiv,
    "truncmod": _truncmod,
    "and": _and,
    "or": _or,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: _shift(a, b, left=True),
    ">>": lambda a, b: _shift(a, b, left=False),
    **COMPARISONS,
}
# What operands without a result raise.
_NO_VALUE = (ZeroDivisionError, TypeError, ValueError)


def evaluate(expr: Expr, env: Mapping[str, Any]) -> Any:
    """The value of `expr` where `env` gives its variables numbers or numpy arrays.

    Raises:
        UnknownValueError: it depends on data or on a variable that `env` lacks.
    """
    if isinstance(expr, str):
        try:
            return env[expr]
        except KeyError:
            raise UnknownValueError(expr) from None
    if not isinstance(expr, tuple):
        return expr
    op = expr[0]
    number = len(expr)
    if number == 3 and op in _BINARY:
        left, right = evaluate(expr[1], env), evaluate(expr[2], env)
        try:
            return _BINARY[op](left, right)
        except _NO_VALUE:
            raise UnknownValueError(expr) from None
    if op in UNKNOWN_OPERATORS:
        raise UnknownValueError(expr)
    if op == "cast":
        return cast(str(expr[1]), evaluate(expr[2], env))
    if op == "select":
        condition = evaluate(expr[1], env)
        if _is_array(condition):
            return _where(condition, evaluate(expr[2], env), evaluate(expr[3], env))
        return evaluate(expr[2] if condition else expr[3], env)
    values = [evaluate(operand, env) for operand in expr[1:]]
    if op == "not":
        return np.logical_not(values[0]) if _is_array(values[0]) else not values[0]
    if op == "~":
        return ~values[0]
    if op == "-" and len(values) == 1:
        return -values[0]
    try:
        return reduce(_BINARY[op], values)
    except (KeyError, *_NO_VALUE):
        raise UnknownValueError(expr) from None


def cast(dtype: str, value: Any) -> Any:
    """A number or array as `dtype` has it: without fraction, or as a truth value."""
    if dtype.startswith(("int", "uint")):
        if _is_array(value):
            return value.astype(np.int64)
        return int(value)
    if dtype == "bool":
        return value != 0
    return value
