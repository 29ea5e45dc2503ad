"""Operations on constants, within limits of the size of what they make."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, cast


class UnknownValueError(Exception):
    """The text alone does not give this value."""


_MAX_ITEMS = 4096
_MAX_BITS = 256


def _times(left: Any, right: Any) -> Any:
    for items, count in ((left, right), (right, left)):
        if isinstance(items, (str, list, tuple)) and _size(items) * count > _MAX_ITEMS:
            raise UnknownValueError("too large")
    return left * right


def _size(value: Any) -> int:
    """The size of a value: the length of a string, the number of nested elements of a list."""
    if isinstance(value, (list, tuple)):
        return sum(map(_size, cast("list[Any]", value)), 1)
    return len(value) if isinstance(value, str) else 1


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        raise UnknownValueError("formats are not followed: their widths have no limit")
    return left % right


def _shift_left(left: Any, right: Any) -> Any:
    if right > _MAX_BITS:
        raise UnknownValueError("too large")
    return left << right


def power(base: Any, exponent: Any) -> Any:
    """``base ** exponent``, of a size that is bounded."""
    if not isinstance(exponent, (int, float)) or abs(exponent) > _MAX_BITS:
        raise UnknownValueError("too large")
    return base**exponent


#: No operation creates a value larger than `apply` allows, to bound the server's memory.
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: _times,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: _remainder,
    ast.LShift: _shift_left,
    ast.Pow: power,
    ast.RShift: lambda left, right: left >> right,
    ast.BitAnd: lambda left, right: left & right,
    ast.BitOr: lambda left, right: left | right,
    ast.BitXor: lambda left, right: left ^ right,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


def range_of(*bounds: int) -> list[int]:
    """``range`` as a list."""
    numbers = range(*bounds)
    if len(numbers) > _MAX_ITEMS:
        raise UnknownValueError("too large")
    return list(numbers)


def apply(function: Callable[..., Any], /, *operands: Any, **named: Any) -> Any:
    """The value of `function` on constants.

    Raises:
        UnknownValueError: the function fails, or its value is too large.
    """
    try:
        value = function(*operands, **named)
    except Exception as error:
        raise UnknownValueError(str(error)) from error
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise UnknownValueError("too large")
    if isinstance(value, (str, list, tuple, dict)) and len(value) > _MAX_ITEMS:  # pyright: ignore[reportUnknownArgumentType]
        raise UnknownValueError("too large")
    return cast("Any", value)
