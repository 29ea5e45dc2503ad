"""Barriers: the arrivals that end a phase, and the parity of the first wait.

A kernel counts its iterations in scalars and computes the parity of a wait from them.  The initial
values of these scalars determine the phase of the first wait.
"""

from __future__ import annotations

from typing import Callable, Dict, Mapping, Optional, Tuple

from ...facts import Expr

_OPERATORS: Dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "truncdiv": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "truncmod": lambda a, b: a % b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "min": min,
    "max": max,
}


class Barriers:
    """The barriers of one kernel, by the ids of their arrays."""

    def __init__(self) -> None:
        #: The arrivals that end a phase, for each barrier of an array.
        self.arrivals: Dict[str, Tuple[Expr, ...]] = {}

    def set_arrivals(self, barrier: str, number: int, arrivals: Expr) -> None:
        """Record that `arrivals` end a phase of the barrier `number` of an array."""
        known = self.arrivals.get(barrier, ())
        self.arrivals[barrier] = (*known, *((arrivals,) * (number + 1 - len(known))))


def first_value(
    value: Expr, initial: Mapping[str, Expr], first_of: Callable[[str], Optional[int]]
) -> Optional[int]:
    """The number that `value` is where it is computed for the first time; None if not known.

    `initial` has the initial values of scalars by buffer id, and `first_of` gives the first value
    of a variable.
    """
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, str):
        return first_of(value)
    if not isinstance(value, tuple):
        return None
    if value[0] == "load":
        known = initial.get(str(value[1]))
        return None if known is None else first_value(known, initial, first_of)
    if value[0] == "cast":
        return first_value(value[2], initial, first_of)
    if value[0] == "select":
        condition = first_value(value[1], initial, first_of)
        chosen = value[2 if condition else 3]
        return None if condition is None else first_value(chosen, initial, first_of)
    left = first_value(value[1], initial, first_of)
    right = first_value(value[-1], initial, first_of)
    if left is None or right is None:
        return None
    if value[0] in ("~", "not"):
        return ~left if value[0] == "~" else int(not left)
    try:
        return int(_OPERATORS[value[0]](left, right))
    except (KeyError, ZeroDivisionError, ValueError):
        return None
