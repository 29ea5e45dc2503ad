"""Branches that different threads take: what one of them changes, the others do not see."""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Tuple

from ..facts import Expr

Span = Tuple[Optional[int], Optional[int]]
_ANY: Span = (None, None)


class Held(NamedTuple):
    """What a scalar holds in all threads but those for which one of `roles` holds."""

    value: Expr
    roles: Tuple[Expr, ...]


def exclude(one: Expr, other: Expr) -> bool:
    """Whether two conditions never hold together, by the ranges they give to some expression."""
    left, right = _ranges(one), _ranges(other)
    return any(_apart(left[name], right[name]) for name in left.keys() & right.keys())


def _ranges(condition: Expr) -> Dict[Expr, Span]:
    """The values that expressions have where a conjunction of comparisons holds."""
    if not isinstance(condition, tuple):
        return {}
    operator = condition[0]
    if operator == "and":
        out = _ranges(condition[1])
        for name, (low, high) in _ranges(condition[2]).items():
            a, b = out.get(name, _ANY)
            lows = [value for value in (a, low) if value is not None]
            highs = [value for value in (b, high) if value is not None]
            out[name] = (max(lows, default=None), min(highs, default=None))
        return out
    if len(condition) != 3 or type(condition[2]) is not int:
        return {}
    name, value = condition[1], condition[2]
    spans: Dict[str, Span] = {
        "==": (value, value),
        "<": (None, value - 1),
        "<=": (None, value),
        ">": (value + 1, None),
        ">=": (value, None),
    }
    return {name: spans[operator]} if operator in spans else {}


def _apart(one: Span, other: Span) -> bool:
    for (low, _), (_, high) in ((one, other), (other, one)):
        if low is not None and high is not None and high < low:
            return True
    return False
