"""The thread mapping of a statement: vector width, coalescing and bank conflicts of its accesses.

A statement of a whole block (the body of parallel tile loops, a tile copy) is distributed over the
threads as by tilelang's loop partition (``src/transform/loop_partition.cc``,
``loop_vectorize.cc``).  The iterations are flattened in row-major order; the innermost `v` of them
are one vector instruction of a thread, the next ones the threads of the block, the rest
repetitions.  `v` is the largest power of two for which

* an access moves at most 16 bytes, and its `v` elements are contiguous and aligned, or all equal;
* the innermost extent and the elements of the block divide into such vectors;
* no condition separates the elements of a vector, and none depends on data.

Addresses are evaluated numerically, for the first warp and the first value of other variables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tirlens_counting.arrays import np
from tirlens_counting.expressions import UnknownValueError, free_variables
from tirlens_worker.facts import Access, Buffer, Expr, Statement

from ...tree.context import NO_STORE_LOOPS, LoopContext, StoreLoops, dtype_bytes
from ...tree.thread_mapping import NO_MAPPING, MemoryRequest, ThreadMapping, memory_space
from .active_threads import divides_lanes, find_activity, fullest_warp
from .lane_offsets import IntArray, drop_uniform_loads, element_offsets
from .memory_requests import MAX_INSTRUCTION_BYTES, memory_request
from .vectorization import (
    contiguous_vector,
    divisible_vector,
    explicit_vectors,
    has_selected_index,
    has_unaligned_start,
    uniform_vector,
)


@lru_cache(maxsize=512)
def _coordinates(extents: tuple[int, ...], first: int) -> tuple[IntArray, ...]:
    """The multi-indices of the first points of a row-major box."""
    index = np.arange(min(first, math.prod(extents)), dtype=np.int64)
    return tuple(np.asarray(axis, dtype=np.int64) for axis in np.unravel_index(index, extents))


def map_to_threads(
    statement: Statement,
    context: LoopContext,
    buffers: Mapping[str, Buffer],
    threads: int,
    fragments: frozenset[str] = frozenset(),
    widest: int = MAX_INSTRUCTION_BYTES,
    written: StoreLoops = NO_STORE_LOOPS,
    framework: str = "tvm",
    operands: frozenset[str] = frozenset(),
    lanes: float | None = None,
) -> ThreadMapping:
    """The thread mapping of a statement.

    Parameters
    ----------
    statement, place
        The statement and its loop context.
    buffers
        The kernel's arrays by id.
    threads
        The threads that execute the statement together.
    fragments
        The tiles whose layout is that of a matrix instruction's result.
    widest
        The longest vector that other statements of the same loop allow.
    written
        The loops around the stores to each array.
    framework
        ``tilelang`` plans vectors itself; ``tvm`` keeps those of the program.
    operands
        The tiles of which products read their operands.  tilelang swizzles these in shared memory
        and no others (``src/op/gemm.cc``, ``InferLayout``).
    lanes
        The active lanes of a warp on average; by default those of the first warp.
    """
    accesses = statement.accesses
    if not accesses and not statement.arith:
        return NO_MAPPING
    guards = [node.guard for node in (*accesses, *statement.arith) if node.guard is not None]
    data = [part for guard in guards for part in context.data_loads(guard)]
    element_loops = {loop.var for loop in context.loops if loop.kind in ("parallel", "vectorized")}
    if statement.per == "thread":
        element_loops |= {loop.var for loop in context.loops[-1:]}
    if element_loops:
        # The condition of a branch around a tile operation is evaluated before its first element.
        data.extend(context.condition_data_loads)
    serial = _is_reloaded(data, element_loops, buffers, written)
    if statement.per == "thread":
        planned = framework == "tilelang"
        vectors = explicit_vectors(statement, context, buffers, planned, widest)
        return _map_per_thread(statement, context, buffers, vectors, serial, threads, lanes)
    matrix = any(access.buffer in fragments for access in accesses)
    if matrix:
        # A thread holds two neighbouring elements of a row of a matrix instruction's result.
        widest = min(widest, 2)
    most = 1 if serial else widest
    conflict_free = matrix or framework != "tilelang"
    layout = _BlockLayout(max(threads, 1), most, matrix, conflict_free, operands)
    return _map_to_block(accesses, context, buffers, layout, (*context.conditions, *guards), serial)


def _is_reloaded(
    data: Sequence[tuple[Any, ...]],
    element_loops: Set[str],
    buffers: Mapping[str, Buffer],
    written: StoreLoops,
) -> bool:
    """Whether the data of conditions is loaded again for each element.

    `element_loops` are the variables that enumerate the elements.  Data that is the same for all
    elements (the length of a sequence), or that no element writes, is loaded once before.
    """
    return any(
        part[0] == "opaque"
        or part[1] not in buffers
        or not element_loops.isdisjoint(written.get(part[1], frozenset()))
        or bool(element_loops & free_variables(part))
        for part in data
    )


def _map_per_thread(
    statement: Statement,
    context: LoopContext,
    buffers: Mapping[str, Buffer],
    vectors: Sequence[int],
    serial: bool,
    threads: int,
    lanes: float | None,
) -> ThreadMapping:
    """The mapping of a statement of single threads, with the vectors of the program."""
    has_threads = any(loop.kind == "block" and loop.tag for loop in context.loops)
    warp = fullest_warp(context)
    sequential = context.sequential_trip_counts.keys()
    out: list[MemoryRequest | None] = []
    widest = 1
    for access, along in zip(statement.accesses, vectors, strict=True):
        buffer = buffers[access.buffer]
        if memory_space(access, buffers) is None:
            out.append(None)
            continue
        # A longer vector is several instructions.
        limit = max(int(MAX_INSTRUCTION_BYTES / dtype_bytes(buffer.dtype)), 1)
        vector = min(max(access.lanes, 1) * along, limit)
        request = start = None
        active, active_lanes = warp, lanes
        guard = access.guard
        if guard is not None and divides_lanes(guard, context, sequential):
            active = fullest_warp(context, guard)
            active_lanes = find_activity(context.under_condition(guard), threads).lanes
        env = {**context.first_values, **active}
        if has_threads:
            uniform = drop_uniform_loads(access, context, buffers, env)
            start = element_offsets(uniform, buffer, context, env)
        if start is not None:
            widest = max(widest, vector)
            number = next((len(values) for values in active.values()), context.warp_size)
            starts = start.tolist() if start.ndim else [start.item()] * number
            loads = access.mode == "read"
            request = memory_request(starts, vector, buffer, written=True, loads=loads)
            if active_lanes is not None and active_lanes != request.lanes:
                request = replace(request, lanes=active_lanes)
        out.append(request)
    return ThreadMapping(widest, 1.0, serial, tuple(out))


@dataclass(frozen=True)
class _BlockLayout:
    """How a tile operation is distributed over the threads of a block.

    `is_matrix`: 8 rows by 4 lanes, as of an mma.  Accesses to shared memory have no bank conflicts
    where `is_conflict_free`, and none to the arrays in `swizzled`.
    """

    threads: int
    max_vector: int
    is_matrix: bool
    is_conflict_free: bool
    swizzled: frozenset[str]


@lru_cache(maxsize=512)
def _lane_points(points: int, innermost: int, vector: int, matrix: bool, warp: int) -> IntArray:
    """The flattened points at which the lanes of a warp start."""
    lane = np.arange(warp, dtype=np.int64)
    start = lane * vector
    if matrix and innermost >= 8:
        start = lane // 4 * innermost + lane % 4 * 2
    return start[start < points]


def _map_to_block(
    accesses: Sequence[Access],
    context: LoopContext,
    buffers: Mapping[str, Buffer],
    layout: _BlockLayout,
    conditions: Sequence[Expr],
    serial: bool,
) -> ThreadMapping:
    threads = layout.threads
    parallel = [loop for loop in context.loops if loop.kind in ("parallel", "vectorized")]
    box = _operation_box(accesses, context)
    extents = (*(loop.trip_count for loop in parallel), *box) or (1,)
    total = max(math.prod(extents), 1)
    vector = min(layout.max_vector, divisible_vector(total, extents[-1], threads))
    window = context.warp_size * MAX_INSTRUCTION_BYTES
    if layout.is_matrix:
        window = max(window, context.warp_size // 4 * extents[-1])
    points = _coordinates(extents, window)
    env: dict[str, Any] = {
        **context.first_values,
        **{loop.var: axis for loop, axis in zip(parallel, points, strict=False)},
    }
    inside = points[len(parallel) :]
    offsets: list[IntArray | None] = []
    for access in accesses:
        offset = None
        if memory_space(access, buffers) is not None and access.route in (
            "thread",
            "tile",
            "async",
        ):
            uniform = drop_uniform_loads(access, context, buffers, env, is_block_wide=True)
            offset = element_offsets(uniform, buffers[access.buffer], context, env, inside)
            if (
                offset is None
                or has_selected_index(uniform, context)
                or has_unaligned_start(access, context)
            ):
                vector = 1
            if offset is not None:
                if not offset.ndim:
                    offset = np.full_like(points[0], offset)
                vector = min(vector, contiguous_vector(offset, buffers[access.buffer], vector))
        offsets.append(offset)
    vector = uniform_vector(conditions, context, env, vector)
    lanes = _lane_points(len(points[0]), extents[-1], vector, layout.is_matrix, context.warp_size)
    requests = tuple(
        None
        if offset is None
        else memory_request(
            offset[lanes].tolist(),
            vector,
            buffers[access.buffer],
            not layout.is_conflict_free and access.buffer not in layout.swizzled,
            access.mode == "read",
        )
        for access, offset in zip(accesses, offsets, strict=True)
    )
    return ThreadMapping(vector, max(total / (vector * threads), 1.0), serial, requests)


def _operation_box(accesses: Sequence[Access], context: LoopContext) -> tuple[int, ...]:
    """The extents above 1 of the largest box of a tile operation."""
    found: tuple[int, ...] = ()
    for access in accesses:
        try:
            sizes = [context.first_value(size) for size in access.extents]
        except UnknownValueError:
            continue
        box = tuple(int(size) for size in sizes if size > 1)
        if math.prod(box) > math.prod(found):
            found = box
    return found
