"""Trip counts of loops whose extent is data: as many as traverse the loop's arrays once.

A decoder reads the length of a sequence, or of its part of one, from memory and traverses keys
that are declared for the longest sequence.  Blocks or outer iterations that traverse parts of the
same dimension share it.  ``for k in range(lengths[i] // tile)`` therefore implies a value of
``lengths[i]``; the same value resolves other conditions on the length.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from tirlens_counting.expressions import (
    free_variables,
    is_data_dependent,
    loads,
    operands,
    simplify,
    substitute,
)
from tirlens_counting.intervals import bounds
from tirlens_worker.facts import (
    Access,
    Branch,
    Buffer,
    Caveat,
    Expr,
    KernelFacts,
    Let,
    Loop,
    Node,
    Statement,
)

from .facts_walk import node_expressions, replace_loads, walk_nodes
from .scope import CountingScope


@dataclass(frozen=True)
class TripEstimate:
    """The trip count with which a loop traverses one dimension of an array."""

    trips: int
    buffer: str


def estimate_trips(
    loop: Loop,
    scope: CountingScope,
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Sequence[Expr]],
) -> TripEstimate | None:
    """The trip count that traverses the arrays of a loop once; None without such an array.

    Accesses without a data-dependent condition bound it by the shortest array.  Accesses under
    such conditions (cached and new keys, say) are alternatives: the longest array counts.  A table
    in which indices are looked up is an array of the loop, too: the pages of a cache.  An array in
    shared memory counts where no global one is traversed.
    """
    always: list[TripEstimate] = []
    sometimes: list[TripEstimate] = []
    shared: list[TripEstimate] = []
    for name, indices, certain in _indexed_arrays(loop.body, scope):
        buffer = buffers[name]
        if buffer.scope != "global" and not buffer.scope.startswith("shared"):
            continue
        for axis, (index, size) in enumerate(zip(indices, shapes[name], strict=False)):
            step = slope(index, loop.var)
            if isinstance(size, int) and step:
                other_indices = indices[:axis] + indices[axis + 1 :]
                most = size / abs(step)
                share = most / _dimension_sharers(index, other_indices, loop.var, scope)
                found = TripEstimate(math.ceil(share if share >= 1 else most), buffer.name)
                if buffer.scope == "global":
                    (always if certain else sometimes).append(found)
                else:
                    shared.append(found)
    if always:
        return min(always, key=lambda one: one.trips)
    return max(sometimes or shared, key=lambda one: one.trips, default=None)


def _indexed_arrays(
    nodes: Sequence[Node], scope: CountingScope
) -> Iterator[tuple[str, list[Expr], bool]]:
    """The arrays of a body with their indices, also of loads in indices of others."""
    for access, inside, certain in _accesses_in(nodes, scope, True):
        indices = [inside.resolve(index) for index in access.indices]
        yield access.buffer, indices, certain
        for load in {load for index in indices for load in loads(index)}:
            yield load[1], list(load[2:]), certain


def slope(expr: Expr, name: str) -> Fraction | None:
    """The slope of an expression in a variable; None where it is not linear."""
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
        if op == "+":
            return sum(known, Fraction(0))
        first, others = (known[0], known[1:]) if len(known) > 1 else (Fraction(0), known)
        return first - sum(others)
    if op == "*" and len(parts) == 2:
        for part, factor in ((parts[0], expr[2]), (parts[1], expr[1])):
            if isinstance(factor, int) and part is not None:
                return part * factor
    if op in ("//", "truncdiv") and isinstance(expr[2], int) and expr[2] > 0:
        return None if parts[0] is None else parts[0] / expr[2]
    return None


def _dimension_sharers(
    index: Expr, other_indices: Sequence[Expr], own: str, scope: CountingScope
) -> int:
    """How many values of outer variables address parts of the same dimension.

    The digits of a split variable, ``bx // heads`` and ``bx % heads``, count separately.
    """
    elsewhere = frozenset[Expr]().union(*map(_parts, other_indices))
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
    """The variables of an expression, and the digits of split variables."""
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
    """The accesses of a body, their scopes, and whether they depend on no data."""
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


# Longer than any array in memory.
MAX_LENGTH = 1 << 40
_LENGTH_VARIABLE = "(a length)"


class LengthEstimate(NamedTuple):
    """The value that is assumed for all elements of an array of lengths, and the reason."""

    array: str
    value: int
    reason: str


def estimate_length(
    loop: Loop,
    extent: Expr,
    once: TripEstimate,
    scope: CountingScope,
    buffers: Mapping[str, Buffer],
) -> LengthEstimate | None:
    """The largest length for which a loop of `extent` has at most the trip count `once`.

    None unless the extent contains exactly one element of an integer array and grows with it.
    """
    found = set(loads(extent))
    if len(found) != 1:
        return None
    (load,) = found
    array = buffers[load[1]]
    if array.scope != "global" or len(array.shape) != 1 or not array.dtype.startswith("int"):
        return None
    named = replace_loads(extent, {array.id: (0, _LENGTH_VARIABLE)})
    growth = slope(simplify(named), _LENGTH_VARIABLE)
    if growth is None or growth <= 0:
        return None

    def most(value: int) -> float:
        return bounds(simplify(substitute(named, {_LENGTH_VARIABLE: value})), scope.domain.box)[1]

    longer = bisect_right(range(MAX_LENGTH), once.trips, key=most)
    if longer in (0, MAX_LENGTH):
        return None
    length = longer - 1
    how = f"assumed to be {length}, with which {loop.var} traverses {once.buffer} once"
    return LengthEstimate(array.id, length, f"{array.name} is data: {how}")


def substitute_lengths(facts: KernelFacts, lengths: Mapping[str, LengthEstimate]) -> KernelFacts:
    """`facts` with a number for every element of these arrays, and a caveat for each array.

    Facts that load none of these arrays have the numbers already and are returned as they are.
    """
    if not any(
        load[1] in lengths
        for node in walk_nodes(facts.body)
        for expr in node_expressions(node)
        for load in loads(expr)
    ):
        return facts
    values: dict[str, tuple[Expr, Expr]] = {name: (0, item.value) for name, item in lengths.items()}
    notes = tuple(Caveat(item.reason) for item in lengths.values())
    return replace(facts, body=replace_loads(facts.body, values), caveats=(*facts.caveats, *notes))
