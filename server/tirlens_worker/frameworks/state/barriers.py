"""Barriers: the arrivals that end a phase, and the parity of the first wait.

A kernel counts its iterations in scalars and computes the parity of a wait from them.  The initial
values of these scalars determine the phase of the first wait.
"""

from __future__ import annotations

from typing import Callable, Dict, Mapping, Optional, Tuple

from ...facts import Expr
from ..symbolic.evaluation import evaluate


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
    found = evaluate(value, first_of, initial)
    return None if found is None else int(found)
