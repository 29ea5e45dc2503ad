"""Guards: the conditions under which a part of a statement happens at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Iterable, Optional, Tuple, TypeVar

from ..facts import Access, Arith, Expr

Item = TypeVar("Item", Arith, Access)


def where(guard: Optional[Expr], items: Tuple[Item, ...]) -> Tuple[Item, ...]:
    """`items` under a guard beyond their own."""
    if guard is None:
        return items
    return tuple(
        item
        if implied(guard, (item.guard,))
        else replace(item, guard=guard if item.guard is None else ("and", guard, item.guard))
        for item in items
    )


def implied(condition: Expr, known: Iterable[Optional[Expr]]) -> bool:
    """Whether a condition stands among others, or among the parts of their conjunctions."""
    return any(
        condition == one
        or (isinstance(one, tuple) and one[0] == "and" and implied(condition, one[1:]))
        for one in known
    )


def both_hold(guard: Optional[Expr], condition: Expr) -> Expr:
    """When `condition` and `guard` hold; None as a guard always does."""
    return condition if guard is None else ("and", guard, condition)
