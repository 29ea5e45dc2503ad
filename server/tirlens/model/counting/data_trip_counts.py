"""How often a loop turns whose extent is data: as often as it takes to pass over its arrays once.

A decoder that reads the length of a sequence, or of its part of one, from memory walks over keys
that are declared for the longest.  Where the parts of several blocks or outer turns lie in the same
dimension, they have it between them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tirlens_counting.expressions import free_variables, is_data_dependent, operands
from tirlens_counting.intervals import bounds
from tirlens_worker.facts import Access, Branch, Buffer, Expr, Let, Loop, Node, Statement

from .scope import CountingScope


@dataclass(frozen=True)
class TripEstimate:
    """The turns after which a loop has passed over one dimension of an array."""

    trips: int
    buffer: str


def estimate_trips(
    loop: Loop,
    scope: CountingScope,
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Sequence[Expr]],
) -> TripEstimate | None:
    """The turns that pass over the global arrays that a loop walks along, if there are any.

    No array is passed by; but of those that are read under conditions on data, new keys behind
    cached ones, each may be what some of the turns walk along.
    """
    always: list[TripEstimate] = []
    sometimes: list[TripEstimate] = []
    for access, inside, certain in _accesses_in(loop.body, scope, True):
        buffer = buffers[access.buffer]
        if buffer.scope != "global":
            continue
        indices = [inside.resolve(index) for index in access.indices]
        for axis, (index, size) in enumerate(zip(indices, shapes[access.buffer], strict=False)):
            step = slope(index, loop.var)
            if isinstance(size, int) and step is not None and step > 0:
                beside = indices[:axis] + indices[axis + 1 :]
                most = size / step
                share = most / _dimension_sharers(index, beside, loop.var, scope)
                found = TripEstimate(math.ceil(share if share >= 1 else most), buffer.name)
                (always if certain else sometimes).append(found)
    if always:
        return min(always, key=lambda one: one.trips)
    return max(sometimes, key=lambda one: one.trips, default=None)


def slope(expr: Expr, name: str) -> Fraction | None:
    """By how much an expression grows with a variable; None where it does not do so evenly."""
    if expr == name:
        return Fraction(1)
    if not isinstance(expr, tuple) or name not in free_variables(expr):
        return Fraction(0)
    op = expr[0]
    parts = [slope(part, name) for part in operands(expr)]
    if op == "cast":
        return parts[-1]
    if op in ("+", "-") and None not in parts:
        known = [part for part in parts if part is not None]
        if op == "-" and len(known) > 1:
            known[1:] = [-part for part in known[1:]]
        return -known[0] if op == "-" and len(known) == 1 else sum(known, Fraction(0))
    if op == "*" and len(parts) == 2:
        for part, factor in ((parts[0], expr[2]), (parts[1], expr[1])):
            if isinstance(factor, int) and part is not None:
                return part * factor
    if op in ("//", "truncdiv") and isinstance(expr[2], int) and expr[2] > 0:
        return None if parts[0] is None else parts[0] / expr[2]
    return None


def _dimension_sharers(index: Expr, beside: Sequence[Expr], own: str, scope: CountingScope) -> int:
    """How many values of outer variables have parts of the same dimension.

    Of a variable that is taken apart, ``bx // heads`` and ``bx % heads``, each part counts for
    itself.
    """
    elsewhere = frozenset[Expr]().union(*map(_parts, beside))
    count = 1
    for part in _parts(index) - elsewhere:
        (name,) = free_variables(part)
        if name in elsewhere or name == own or name in scope.threads:
            continue
        low, high = bounds(part, scope.domain.box)
        if math.isfinite(low) and math.isfinite(high):
            count *= max(int(high - low) + 1, 1)
    return count


def _parts(expr: Expr) -> frozenset[Expr]:
    """The variables of an expression, and the digits of those that are taken apart."""
    if isinstance(expr, str):
        return frozenset((expr,))
    if not isinstance(expr, tuple):
        return frozenset()
    if expr[0] in ("//", "%") and isinstance(expr[1], str) and isinstance(expr[2], int):
        return frozenset((expr,))
    return frozenset[Expr]().union(*map(_parts, operands(expr)))


def _accesses_in(
    nodes: Sequence[Node], scope: CountingScope, certain: bool
) -> Iterator[tuple[Access, CountingScope, bool]]:
    """The accesses of a body, where they are, and whether no data decide that they happen."""
    for node in nodes:
        if isinstance(node, Let):
            scope = replace(scope, env={**scope.env, node.var: scope.resolve(node.value)})
        elif isinstance(node, Statement):
            for access in node.accesses:
                yield access, scope, certain and _is_unconditional(access.guard, scope)
        elif isinstance(node, Branch):
            inside = certain and _is_unconditional(node.condition, scope)
            yield from _accesses_in((*node.then, *node.orelse), scope, inside)
        else:
            yield from _accesses_in(node.body, scope, certain)


def _is_unconditional(condition: Expr | None, scope: CountingScope) -> bool:
    return condition is None or not is_data_dependent(scope.resolve(condition))
