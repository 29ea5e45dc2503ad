"""Case splits on conditions with powers of two, which most values of a variable decide.

``(2 << step) * i < n`` holds for every step where `i` is zero, and for few steps elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from .expressions import NEGATED, Expr, free_variables, operators
from .intervals import bounds
from .problem import Problem, make_problem


def split_shift_conditions(part: Problem) -> list[Problem] | None:
    """The problem split where the value of such a condition changes from known to unknown.

    None where there is no such condition, or no end of a range that decides it.
    """
    for condition in part.factors():
        if not isinstance(condition, tuple) or condition[0] not in NEGATED:
            continue
        if "<<" in operators(condition):
            for name in sorted(free_variables(condition)):
                cuts = sorted(set(_split_points(condition, name, part)))
                if cuts:
                    low, high = part.box[name]
                    firsts, lasts = (low, *cuts), (*(cut - 1 for cut in cuts), high)
                    return [
                        make_problem({**part.box, name: ends}, part.factors(), part.projected)
                        for ends in zip(firsts, lasts, strict=True)
                    ]
    return None


def _split_points(condition: Expr, name: str, part: Problem) -> Iterator[int]:
    """The ends of the ranges, at both ends of a variable, on which the condition is constant."""
    low, high = part.box[name]

    def is_constant(first: int, last: int) -> bool:
        least, most = bounds(condition, {**part.box, name: (first, last)})
        return least == most

    if is_constant(low, low):
        inside, outside = low, high
        while outside - inside > 1:
            middle = (inside + outside) // 2
            inside, outside = (middle, outside) if is_constant(low, middle) else (inside, middle)
        yield outside
    if is_constant(high, high):
        outside, inside = low, high
        while inside - outside > 1:
            middle = (inside + outside) // 2
            outside, inside = (outside, middle) if is_constant(middle, high) else (middle, inside)
        yield inside
