"""Linear forms of expressions, and the trip counts of loops whose conditions are linear."""

from __future__ import annotations

from typing import Optional, Tuple

from ...facts import Expr
from ...ops.build import plus, times

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def trips(condition: Expr, counter: str, holds: bool = True) -> Optional[Expr]:
    """The first value of `counter`, from 0 on, at which `condition` is not `holds`.

    It may be negative if the condition never holds.  None if the condition is not a comparison
    that is linear in the counter, or if it always holds.
    """
    if not isinstance(condition, tuple):
        return None
    if condition[0] == "not":
        return trips(condition[1], counter, not holds)
    if len(condition) != 3 or condition[0] not in _OPPOSITE:
        return None
    operator = condition[0] if holds else _OPPOSITE[condition[0]]
    left, right = linear(condition[1], counter), linear(condition[2], counter)
    if left is None or right is None:
        return None
    slope = left[0] - right[0]
    # The condition is: slope * counter `operator` gap.
    gap = minus(right[1], left[1])
    if operator in (">", ">="):
        operator, slope, gap = "<" if operator == ">" else "<=", -slope, minus(0, gap)
    if operator == "!=" and slope in (1, -1):
        return gap if slope == 1 else minus(0, gap)
    if slope <= 0 or operator not in ("<", "<="):
        return None
    last = gap if operator == "<" else plus(gap, 1)
    return last if slope == 1 else _floordiv(plus(last, slope - 1), slope)


def linear(value: Expr, name: str) -> Optional[Tuple[int, Expr]]:
    """`value` as ``slope * name + rest``; None where it is not of that form."""
    if value == name and isinstance(value, str):
        return 1, 0
    if not isinstance(value, tuple):
        return 0, value
    if not mentions(value, name):
        return 0, value
    if len(value) != 3 or value[0] not in "+-*":
        return None
    left, right = linear(value[1], name), linear(value[2], name)
    if left is None or right is None:
        return None
    if value[0] == "+":
        return left[0] + right[0], plus(left[1], right[1])
    if value[0] == "-":
        return left[0] - right[0], minus(left[1], right[1])
    if left[0] and right[0]:
        return None
    (slope, rest), factor = (left, right[1]) if left[0] else (right, left[1])
    if not isinstance(factor, int):
        return None
    return slope * factor, times(rest, factor)


def mentions(value: Expr, name: str) -> bool:
    """Whether the variable `name` occurs in `value`."""
    if isinstance(value, str):
        return value == name
    return isinstance(value, tuple) and any(mentions(part, name) for part in value[1:])


def minus(left: Expr, right: Expr) -> Expr:
    """The difference; no subtraction of 0, constants are folded."""
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    return left if right == 0 else ("-", left, right)


def _floordiv(left: Expr, right: int) -> Expr:
    return left // right if isinstance(left, int) else ("//", left, right)
