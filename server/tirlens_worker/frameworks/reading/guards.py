"""Guards: the conditions under which a part of a statement happens."""

from __future__ import annotations

from dataclasses import replace
from typing import Iterable, Optional, Tuple, TypeVar

from ...facts import Access, Arith, Expr

Part = TypeVar("Part", Arith, Access)


def add_guard(guard: Optional[Expr], parts: Tuple[Part, ...]) -> Tuple[Part, ...]:
    """`parts` under `guard` in addition to their own."""
    if guard is None:
        return parts
    return tuple(
        part
        if is_implied(guard, (part.guard,))
        else replace(part, guard=guard if part.guard is None else ("and", guard, part.guard))
        for part in parts
    )


def is_implied(condition: Expr, known: Iterable[Optional[Expr]]) -> bool:
    """Whether a condition is among others, or among the parts of their conjunctions."""
    return any(
        condition == one
        or (isinstance(one, tuple) and one[0] == "and" and is_implied(condition, one[1:]))
        for one in known
    )


def both_hold(guard: Optional[Expr], condition: Expr) -> Expr:
    """The conjunction of `guard` and `condition`; None as a guard always holds."""
    return condition if guard is None else ("and", guard, condition)
