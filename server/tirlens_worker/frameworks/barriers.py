"""What is known of barriers: how many arrivals end a phase, and the parity of the first wait.

A kernel keeps the number of its turns in scalars and waits for a parity that follows from them.
What these scalars hold at first says which phase the first wait is for, however they go on.
"""

from __future__ import annotations

from typing import Callable, Dict, Optional, Tuple

from ..facts import Expr

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
    """Of one kernel; barriers and scalars go by their buffers' ids."""

    def __init__(self) -> None:
        self.arrivals: Dict[str, Tuple[Expr, ...]] = {}
        self._initial: Dict[str, Expr] = {}

    def counts(self, barrier: str, number: int, arrivals: Expr) -> None:
        """So many arrivals end a phase of one of an array of barriers."""
        known = self.arrivals.get(barrier, ())
        self.arrivals[barrier] = (*known, *((arrivals,) * (number + 1 - len(known))))

    def remember(self, scalar: str, value: Optional[Expr]) -> None:
        """What a scalar held before it was changed for the first time."""
        if value is not None:
            self._initial.setdefault(scalar, value)

    def first(self, value: Expr, start: Callable[[str], Optional[int]]) -> Optional[int]:
        """`value` where it is first computed; `start` tells the first value of a variable."""
        if isinstance(value, (bool, int)):
            return int(value)
        if isinstance(value, str):
            return start(value)
        if not isinstance(value, tuple):
            return None
        if value[0] == "load":
            known = self._initial.get(str(value[1]))
            return None if known is None else self.first(known, start)
        if value[0] == "cast":
            return self.first(value[2], start)
        if value[0] == "select":
            condition = self.first(value[1], start)
            return None if condition is None else self.first(value[2 if condition else 3], start)
        left, right = self.first(value[1], start), self.first(value[-1], start)
        if left is None or right is None:
            return None
        if value[0] in ("~", "not"):
            return ~left if value[0] == "~" else int(not left)
        try:
            return int(_OPERATORS[value[0]](left, right))
        except (KeyError, ZeroDivisionError, ValueError):
            return None
