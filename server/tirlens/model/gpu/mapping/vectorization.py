"""The longest vector of neighbouring elements that one instruction of a thread can move.

`thread_mapping` has the rules for tiles.  Addresses are element offsets at the first points of a
tile.

In TVM the iterations of the outermost vectorized loop are the lanes of each access in it.  A
statement whose lanes a condition or a loop bound separates is scalarized (``Scalarize`` in
``src/tirx/transform/vectorize_loop.cc``); accesses to elements that are not contiguous are split.

tilelang plans vectors itself (``VectorizePlanner`` in ``src/transform/loop_vectorize.cc``): along
the innermost loop, with one length for all accesses of a vectorized loop, such that each access is
contiguous and aligned, or loads one element for all lanes, and no condition separates the lanes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tirlens_counting.arrays import np, npt
from tirlens_counting.expressions import (
    UnknownValueError,
    conjuncts,
    evaluate,
    free_variables,
    is_data_dependent,
    linear,
    operands,
    operators,
    simplify,
)
from tirlens_worker.facts import Access, Buffer, Expr, Statement

from ...tree.context import EnclosingLoop, LoopContext, dtype_bytes
from .lane_offsets import IntArray, drop_uniform_loads, element_offsets
from .memory_requests import MAX_INSTRUCTION_BYTES

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
SELECTS = frozenset({"select", "opaque", "load"})


def divisible_vector(total: int, innermost: int, threads: int) -> int:
    """The longest power-of-two vector that divides `total` elements evenly over `threads`.

    A vector is within one row of `innermost` elements.
    """
    vector = math.gcd(MAX_INSTRUCTION_BYTES, max(innermost, 1))
    while vector > 1 and total % (threads * vector):
        vector //= 2
    return vector


def has_selected_index(access: Access, context: LoopContext) -> bool:
    """Whether a condition selects an index, which the compiler does not vectorise."""
    return any(
        not operators(context.resolve(index)).isdisjoint(SELECTS) for index in access.indices
    )


def has_unaligned_start(access: Access, context: LoopContext) -> bool:
    """Whether the position of an access in its row is data, so that no alignment is known."""
    return bool(access.indices) and is_data_dependent(context.resolve(access.indices[-1]))


def contiguous_vector(offset: IntArray, buffer: Buffer, most: int) -> int:
    """The longest vector of at most 16 bytes whose elements are contiguous, or all equal."""
    limit = max(int(MAX_INSTRUCTION_BYTES / dtype_bytes(buffer.dtype)), 1)
    while most > limit:
        most //= 2
    return aligned_vector(offset, most)


def aligned_vector(offset: IntArray, most: int) -> int:
    """The longest vector whose elements are contiguous and aligned, or all equal."""
    vector = most
    while vector > 1:
        rows = group_values(offset, vector)
        steps = rows[:, 1:] - rows[:, :-1]
        if len(rows) and (steps == 1).all() and not (rows[:, 0] % vector).any():
            return vector
        if len(rows) and not steps.any():
            return vector
        vector //= 2
    return 1


def uniform_vector(
    conditions: Sequence[Expr],
    context: LoopContext,
    env: Mapping[str, Any],
    vector: int,
    along: str | None = None,
) -> int:
    """The longest vector for whose elements each condition has one value.

    The elements are `along` a loop, by default the innermost tile loop.
    """
    if along is None:
        along = next(
            (loop.var for loop in reversed(context.loops) if loop.kind == "parallel"), None
        )
    for condition in conditions:
        if vector == 1:
            return 1
        resolved = context.resolve(condition)
        if is_data_dependent(resolved) or not all(name in env for name in free_variables(resolved)):
            continue
        for bound in _unit_bounds(resolved, along):
            vector = math.gcd(vector, abs(bound)) if bound else vector
        holds = np.asarray(evaluate(resolved, env), dtype=bool)
        if holds.ndim == 0:
            continue
        while vector > 1:
            rows = group_values(holds, vector)
            if bool(np.all(rows.all(axis=1) == rows.any(axis=1))):
                break
            vector //= 2
    return vector


def _unit_bounds(condition: Expr, along: str | None) -> Iterator[int]:
    """The constants of a condition's comparisons in which a loop variable has the factor 1.

    ``base + i < n`` splits a vector unless `n` is a multiple of its length, as the base is.
    """
    if along is None:
        return
    for part in conjuncts(condition):
        if isinstance(part, tuple) and part[0] in ("<", ">="):
            terms, constant = linear(simplify(("-", part[1], part[2])))
            if abs(terms.get(along, 0)) == 1:
                yield constant


def group_values(values: npt.NDArray[Any], vector: int) -> Any:
    """The values in groups of `vector`, without an incomplete last group."""
    whole: Any = values[: len(values) // vector * vector]
    return whole.reshape(-1, vector)


def explicit_vectors(
    statement: Statement,
    context: LoopContext,
    buffers: Mapping[str, Buffer],
    planned: bool,
    widest: int,
) -> tuple[int, ...]:
    """The vector length of each access of a statement; `planned` by tilelang, at most `widest`."""
    alone = (1,) * len(statement.accesses)
    loop = _vector_loop(context, planned)
    if loop is None or (not planned and _is_scalarized(statement, context, loop)):
        return alone
    offsets = [_vector_offsets(access, buffers, context, loop) for access in statement.accesses]
    if planned:
        vector = plan_vector(statement, context, buffers, widest)
        return tuple(1 if _are_equal(offset, vector) else vector for offset in offsets)
    return tuple(loop.trip_count if _are_contiguous(offset) else 1 for offset in offsets)


def plan_vector(
    statement: Statement,
    context: LoopContext,
    buffers: Mapping[str, Buffer],
    widest: int = MAX_INSTRUCTION_BYTES,
) -> int:
    """The longest power-of-two vector that tilelang plans for one statement."""
    loop = _vector_loop(context, planned=True)
    if loop is None:
        return 1
    vector = math.gcd(loop.trip_count, widest)
    for access in statement.accesses:
        buffer = buffers[access.buffer]
        offset = _vector_offsets(access, buffers, context, loop)
        if offset is None:
            return 1
        own = buffer.scope.startswith("local")
        points = offset.ravel()
        vector = (
            aligned_vector(points, vector) if own else contiguous_vector(points, buffer, vector)
        )
        if _are_equal(offset, vector):
            if access.mode != "read":
                return 1  # several stores to one element: the last one counts
        else:
            vector = math.gcd(vector, *_loop_steps(access, buffers, context, loop))
    conditions = list(_conditions(statement, context))
    if any(is_data_dependent(one) and loop.var in free_variables(one) for one in conditions):
        return 1
    lanes = _lane_values(context, loop)
    points = {name: _broadcast_lanes(value, context, loop).ravel() for name, value in lanes.items()}
    return uniform_vector(conditions, context, points, vector, loop.var)


def _vector_loop(context: LoopContext, planned: bool) -> EnclosingLoop | None:
    """The loop whose iterations are the lanes; None without a vectorized loop of several."""
    loop = next((one for one in context.loops if one.kind == "vectorized"), None)
    if loop is not None and planned:
        loop = context.loops[-1]
    return loop if loop is not None and loop.trip_count > 1 else None


def _conditions(statement: Statement, context: LoopContext) -> Iterator[Expr]:
    """The conditions around a statement, and those of its accesses and operations."""
    guards = (node.guard for node in (*statement.accesses, *statement.arith))
    for condition in (*context.conditions, *guards):
        if condition is not None:
            yield context.resolve(condition)


def _is_scalarized(statement: Statement, context: LoopContext, loop: EnclosingLoop) -> bool:
    """Whether a condition or a loop bound differs between the lanes of a statement."""
    lengths = (length for name, _, length in context.path if name)
    return any(
        _varies_by_lane(one, loop, context) for one in (*_conditions(statement, context), *lengths)
    )


def _varies_by_lane(expr: Expr, loop: EnclosingLoop, context: LoopContext) -> bool:
    """Whether a compared value differs between lanes.

    A quotient by a multiple of the number of lanes does not.
    """
    if not isinstance(expr, tuple):
        return expr == loop.var
    if loop.var not in free_variables(expr):
        return False
    if expr[0] in ("and", "or", "not"):
        return any(_varies_by_lane(part, loop, context) for part in operands(expr))
    compared = operands(expr) if expr[0] in COMPARISONS else (expr,)
    try:
        sides = [np.asarray(evaluate(part, _lane_values(context, loop))) for part in compared]
    except (UnknownValueError, ZeroDivisionError):
        return True
    return any(bool(side.ndim) and bool(np.any(np.diff(side))) for side in sides)


def _lane_values(context: LoopContext, loop: EnclosingLoop) -> dict[str, Any]:
    """The values of variables: a row for each thread of a warp, a column for each lane."""
    rows = {name: np.asarray(value)[..., None] for name, value in context.first_warp_values.items()}
    return {**rows, loop.var: np.arange(loop.trip_count, dtype=np.int64)}


def _broadcast_lanes(values: Any, context: LoopContext, loop: EnclosingLoop) -> IntArray:
    """Values broadcast to a row for each thread of a warp and a column for each lane."""
    return np.broadcast_to(
        np.asarray(values, dtype=np.int64), (context.first_warp_lanes, loop.trip_count)
    )


def _vector_offsets(
    access: Access, buffers: Mapping[str, Buffer], context: LoopContext, loop: EnclosingLoop
) -> IntArray | None:
    """The element offsets of the lanes of each thread of a warp; None if data-dependent."""
    buffer = buffers[access.buffer]
    lanes = _lane_values(context, loop)
    uniform = drop_uniform_loads(
        access, context, buffers, {**context.first_warp_values, loop.var: lanes[loop.var]}
    )
    offset = element_offsets(uniform, buffer, context, lanes)
    return None if offset is None else _broadcast_lanes(offset, context, loop)


def _loop_steps(
    access: Access, buffers: Mapping[str, Buffer], context: LoopContext, loop: EnclosingLoop
) -> Iterator[int]:
    """The distances of elements between iterations of the other enclosing loops."""
    first = _vector_offsets(access, buffers, context, loop)
    for other in context.loops:
        if other != loop and other.trip_count > 1:
            low, high = context.ranges[other.var]
            ranges = {**context.ranges, other.var: (low + 1, high)}
            moved = _vector_offsets(access, buffers, replace(context, ranges=ranges), loop)
            if first is not None and moved is not None:
                yield from np.unique(moved - first).tolist()


def _are_contiguous(offset: IntArray | None) -> bool:
    return offset is not None and bool(np.all(np.diff(offset) == 1))


def _are_equal(offset: IntArray | None, vector: int) -> bool:
    """Whether the elements of a vector are all equal."""
    return offset is None or not np.any(np.diff(group_values(offset.ravel(), vector)))
