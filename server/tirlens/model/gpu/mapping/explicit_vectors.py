"""Vectors that a program writes itself: how many lanes of a vectorized loop one instruction moves.

TVM makes the outermost vectorized loop the lanes of each access in it, in whatever loops these
stand, and scalars of a statement whose lanes a condition or the length of a loop tells apart
(``Scalarize`` in ``src/tirx/transform/vectorize_loop.cc``).  Accesses whose lanes are no
neighbours are taken apart one by one.

tilelang plans anew (``VectorizePlanner`` in ``src/transform/loop_vectorize.cc``): the vector lies
along the innermost loop, and has for all accesses of a vectorized loop the one length for which
each is of aligned neighbours, or loads one element for all, and which no condition tells apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    free_variables,
    is_data_dependent,
    operands,
)
from tirlens_worker.facts import Access, Buffer, Expr, Statement

from ...tree.context import EnclosingLoop, LoopContext
from .lane_offsets import IntArray, drop_uniform_loads, element_offsets
from .vectorization import (
    MAX_VECTOR_BYTES,
    aligned_vector,
    contiguous_vector,
    group_values,
    uniform_vector,
)

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


def explicit_vectors(
    statement: Statement,
    place: LoopContext,
    buffers: Mapping[str, Buffer],
    planned: bool,
    widest: int,
) -> tuple[int, ...]:
    """The lanes of each access of a statement; `planned` by tilelang, of at most `widest`."""
    alone = (1,) * len(statement.accesses)
    loop = _vector_loop(place, planned)
    if loop is None or (not planned and _is_scalarized(statement, place, loop)):
        return alone
    offsets = [_vector_offsets(access, buffers, place, loop) for access in statement.accesses]
    if planned:
        vector = plan_vector(statement, place, buffers, widest)
        return tuple(1 if _are_equal(offset, vector) else vector for offset in offsets)
    return tuple(loop.extent or 1 if _are_contiguous(offset) else 1 for offset in offsets)


def plan_vector(
    statement: Statement,
    place: LoopContext,
    buffers: Mapping[str, Buffer],
    widest: int = MAX_VECTOR_BYTES,
) -> int:
    """The longest vector, a power of two, that tilelang can make of a statement by itself."""
    loop = _vector_loop(place, planned=True)
    if loop is None:
        return 1
    vector = math.gcd(loop.extent or 1, widest)
    for access in statement.accesses:
        buffer = buffers[access.buffer]
        offset = _vector_offsets(access, buffers, place, loop)
        if offset is None:
            return 1
        own = buffer.scope.startswith("local")
        points = offset.ravel()
        vector = (
            aligned_vector(points, vector) if own else contiguous_vector(points, buffer, vector)
        )
        if _are_equal(offset, vector):
            if access.mode != "read":
                return 1  # of several stores to one element the last counts
        else:
            vector = math.gcd(vector, *_loop_steps(access, buffers, place, loop))
    conditions = list(_conditions(statement, place))
    if any(is_data_dependent(one) and loop.var in free_variables(one) for one in conditions):
        return 1
    lanes = _lane_values(place, loop)
    points = {name: _broadcast_lanes(value, place, loop).ravel() for name, value in lanes.items()}
    return uniform_vector(conditions, place, points, vector, loop.var)


def _vector_loop(place: LoopContext, planned: bool) -> EnclosingLoop | None:
    """The loop whose turns are lanes, if a vectorized one stands around and has more than one."""
    loop = next((one for one in place.loops if one.kind == "vectorized"), None)
    if loop is not None and planned:
        loop = place.loops[-1]
    return loop if loop is not None and (loop.extent or 1) > 1 else None


def _conditions(statement: Statement, place: LoopContext) -> Iterator[Expr]:
    """The conditions on the way to a statement, and those of its own accesses and operations."""
    guards = (item.guard for item in (*statement.accesses, *statement.arith))
    for condition in (*place.conditions, *guards):
        if condition is not None:
            yield place.resolve(condition)


def _is_scalarized(statement: Statement, place: LoopContext, loop: EnclosingLoop) -> bool:
    """Whether a condition or the length of a loop tells the lanes of a statement apart."""
    lengths = (length for name, _, length in place.path if name)
    return any(
        _varies_by_lane(one, loop, place) for one in (*_conditions(statement, place), *lengths)
    )


def _varies_by_lane(expr: Expr, loop: EnclosingLoop, place: LoopContext) -> bool:
    """Whether something that is compared is another in other lanes.

    A quotient by a multiple of the lanes is not, from which TVM takes them away.
    """
    if not isinstance(expr, tuple):
        return expr == loop.var
    if loop.var not in free_variables(expr):
        return False
    if expr[0] in ("and", "or", "not"):
        return any(_varies_by_lane(part, loop, place) for part in operands(expr))
    compared = operands(expr) if expr[0] in COMPARISONS else (expr,)
    try:
        sides = [np.asarray(evaluate(part, _lane_values(place, loop))) for part in compared]
    except (UnknownValueError, ZeroDivisionError):
        return True
    return any(bool(side.ndim) and bool(np.any(np.diff(side))) for side in sides)


def _lane_values(place: LoopContext, loop: EnclosingLoop) -> dict[str, Any]:
    """The values of variables: a row for each thread of a warp, a column for each turn."""
    rows = {name: np.asarray(value)[..., None] for name, value in place.first_warp_values.items()}
    return {**rows, loop.var: np.arange(loop.extent or 1, dtype=np.int64)}


def _broadcast_lanes(values: Any, place: LoopContext, loop: EnclosingLoop) -> IntArray:
    """A row for each thread of a warp, a column for each turn, of what may be the same for all."""
    return np.broadcast_to(
        np.asarray(values, dtype=np.int64), (place.first_warp_lanes, loop.extent or 1)
    )


def _vector_offsets(
    access: Access, buffers: Mapping[str, Buffer], place: LoopContext, loop: EnclosingLoop
) -> IntArray | None:
    """Where the lanes of each thread of a warp lie; None where that depends on data."""
    buffer = buffers[access.buffer]
    lanes = _lane_values(place, loop)
    settled = drop_uniform_loads(
        access, place, buffers, {**place.first_warp_values, loop.var: lanes[loop.var]}
    )
    offset = element_offsets(settled, buffer, place, lanes)
    return None if offset is None else _broadcast_lanes(offset, place, loop)


def _loop_steps(
    access: Access, buffers: Mapping[str, Buffer], place: LoopContext, loop: EnclosingLoop
) -> Iterator[int]:
    """How far the elements move from turn to turn of the other loops around."""
    first = _vector_offsets(access, buffers, place, loop)
    for other in place.loops:
        if other != loop and (other.extent or 1) > 1:
            low, high = place.ranges[other.var]
            ranges = {**place.ranges, other.var: (low + 1, high)}
            moved = _vector_offsets(access, buffers, replace(place, ranges=ranges), loop)
            if first is not None and moved is not None:
                yield from np.unique(moved - first).tolist()


def _are_contiguous(offset: IntArray | None) -> bool:
    return offset is not None and bool(np.all(np.diff(offset) == 1))


def _are_equal(offset: IntArray | None, vector: int) -> bool:
    """Whether the elements of a vector are all the same."""
    return offset is None or not np.any(np.diff(group_values(offset.ravel(), vector)))
