"""How the elements of an access lie on the threads: vector width, requests, sectors, wavefronts.

A statement of a whole block (the body of parallel tile loops, a tile copy) is spread over the
threads as tilelang's loop partition does it (``src/transform/loop_partition.cc``,
``loop_vectorize.cc``): the iterations are flattened row by row, the innermost `v` of them become
one vector instruction of a thread, the next ones the block's threads, what is left repetitions.
`v` is the largest power of two for which

* an access moves at most 16 bytes and its `v` elements are contiguous and aligned, or all the same;
* the innermost extent and the elements of the block divide into such vectors;
* no condition tells the elements of a vector apart, and none depends on data.

Addresses are evaluated, not reasoned about: those of the first warp with every other variable at
its first value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from tirlens_counting.expressions import UnknownValueError, free_variables
from tirlens_worker.facts import Access, Buffer, Expr, Statement

from ...tree.context import NO_STORE_LOOPS, WARP, LoopContext, StoreLoops, dtype_bytes
from ..compiler.shared_vectors import join_shared_accesses
from ..compiler.tile_load_reuse import Tile, issued_load_share
from ..compiler.unrolled_load_reuse import reads_per_load
from .explicit_vectors import explicit_vectors
from .lane_offsets import IntArray, drop_uniform_loads, element_offsets
from .memory_requests import MemoryRequest, memory_request
from .vectorization import (
    MAX_VECTOR_BYTES,
    contiguous_vector,
    divisible_vector,
    has_selected_index,
    has_unaligned_start,
    uniform_vector,
)


@dataclass(frozen=True)
class ThreadMapping:
    """`repeats`: how many times a thread does its part of one execution of the statement.

    `serial` tells that a condition on data keeps those from running at the same time.  `requests`
    has an entry for each access, None where it is not made by load and store instructions or its
    addresses are not known.  `anew` is the share of the repeats in which an access is an
    instruction: a thread loads once what several of its elements need.
    """

    vector: int
    repeats: float
    is_serial: bool
    requests: tuple[MemoryRequest | None, ...]
    issued_shares: tuple[float, ...] = ()


NO_MAPPING = ThreadMapping(1, 1.0, False, ())


@lru_cache(maxsize=512)
def _coordinates(extents: tuple[int, ...], first: int) -> tuple[IntArray, ...]:
    """The multi-indices of the first `first` points of a row-major box."""
    index = np.arange(min(first, math.prod(extents)), dtype=np.int64)
    return tuple(np.asarray(axis, dtype=np.int64) for axis in np.unravel_index(index, extents))


def map_to_threads(
    statement: Statement,
    place: LoopContext,
    buffers: Mapping[str, Buffer],
    threads: int,
    fragments: frozenset[str] = frozenset(),
    widest: int = MAX_VECTOR_BYTES,
    written: StoreLoops = NO_STORE_LOOPS,
    framework: str = "tvm",
) -> ThreadMapping:
    """How a statement's accesses lie on the `threads` that execute it.

    `fragments` are the tiles whose layout a matrix instruction has set; `widest` is the longest
    vector that the other statements of the same loop allow; `written` tells which loops stand
    around what writes to each array.
    """
    accesses = statement.accesses
    if not accesses and not statement.arith:
        return NO_MAPPING
    guards = [item.guard for item in (*accesses, *statement.arith) if item.guard is not None]
    data = [part for guard in guards for part in place.data_loads(guard)]
    turning = {loop.var for loop in place.loops if loop.kind in ("parallel", "vectorized")}
    if statement.per == "thread":
        turning |= {loop.var for loop in place.loops[-1:]}
    if turning:
        # What a branch around a whole tile operation asks is known before its first element.
        data.extend(place.condition_data_loads)
    serial = _is_reloaded(data, turning, buffers, written)
    if statement.per == "thread":
        planned = framework == "tilelang"
        vectors = explicit_vectors(statement, place, buffers, planned, widest)
        return _map_per_thread(statement, place, buffers, vectors, serial, written)
    matrix = any(access.buffer in fragments for access in accesses)
    if matrix:
        # A thread of a matrix instruction has two neighbours of a row of its result.
        widest = min(widest, 2)
    most = 1 if serial else widest
    layout = _BlockLayout(max(threads, 1), most, matrix)
    return _map_to_block(accesses, place, buffers, layout, (*place.conditions, *guards), serial)


def _is_reloaded(
    data: Sequence[tuple[Any, ...]],
    turning: Set[str],
    buffers: Mapping[str, Buffer],
    written: StoreLoops,
) -> bool:
    """Whether the data of conditions come anew with the elements that they are asked for.

    Elements follow each other with the `turning` variables.  What an array holds for all of them,
    the length of a sequence, is loaded once before, and so is what no element of them writes.
    """
    return any(
        part[0] == "opaque"
        or part[1] not in buffers
        or not turning.isdisjoint(written.get(part[1], frozenset()))
        or bool(turning & free_variables(part))
        for part in data
    )


def _map_per_thread(
    statement: Statement,
    place: LoopContext,
    buffers: Mapping[str, Buffer],
    vectors: Sequence[int],
    serial: bool,
    written: StoreLoops,
) -> ThreadMapping:
    """Statements that each thread executes by itself: its `vectors` are written in the program.

    Beside these there are those that the compiler joins.
    """
    env = place.first_warp_values
    threads = any(loop.kind == "block" and loop.tag for loop in place.loops)
    out: list[MemoryRequest | None] = []
    widest = 1
    for access, along in zip(statement.accesses, vectors, strict=True):
        buffer = buffers[access.buffer]
        if memory_space(access, buffers) is None:
            out.append(None)
            continue
        # A longer vector takes several instructions.
        limit = max(int(MAX_VECTOR_BYTES / dtype_bytes(buffer.dtype)), 1)
        vector = min(max(access.lanes, 1) * along, limit)
        known = start = None
        if threads:
            settled = drop_uniform_loads(access, place, buffers, env)
            start = element_offsets(settled, buffer, place, env)
        if start is not None:
            widest = max(widest, vector)
            if vector == 1:
                vector = join_shared_accesses(access, statement, buffer, place, env)
            starts = start.tolist() if start.ndim else [start.item()] * place.first_warp_lanes
            loads = access.mode == "read"
            known = memory_request(starts, vector, buffer, written=True, loads=loads)
            often = reads_per_load(access, statement, buffer, place, written)
            if often > 1:
                known = replace(known, merged_iterations=often)
        out.append(known)
    return ThreadMapping(widest, 1.0, serial, tuple(out))


@dataclass(frozen=True)
class _BlockLayout:
    """`matrix`: the layout is that of a matrix instruction's result, 8 rows by 4 lanes."""

    threads: int
    max_vector: int
    is_matrix: bool


@lru_cache(maxsize=512)
def _lane_points(points: int, innermost: int, vector: int, matrix: bool) -> IntArray:
    """Which of the flattened points the lanes of a warp start at."""
    lane = np.arange(WARP, dtype=np.int64)
    start = lane * vector
    if matrix and innermost >= 8:
        start = lane // 4 * innermost + lane % 4 * 2
    return start[start < points]


def _map_to_block(
    accesses: Sequence[Access],
    place: LoopContext,
    buffers: Mapping[str, Buffer],
    layout: _BlockLayout,
    conditions: Sequence[Expr],
    serial: bool,
) -> ThreadMapping:
    threads = layout.threads
    parallel = [loop for loop in place.loops if loop.kind in ("parallel", "vectorized")]
    box = _operation_box(accesses, place)
    extents = (*(loop.extent or 1 for loop in parallel), *box) or (1,)
    total = max(math.prod(extents), 1)
    vector = min(layout.max_vector, divisible_vector(total, extents[-1], threads))
    window = WARP * MAX_VECTOR_BYTES
    if layout.is_matrix:
        window = max(window, 8 * extents[-1])
    points = _coordinates(extents, window)
    env: dict[str, Any] = {
        **place.first_values,
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
            settled = drop_uniform_loads(access, place, buffers, env, together=True)
            offset = element_offsets(settled, buffers[access.buffer], place, env, inside)
            if (
                offset is None
                or has_selected_index(settled, place)
                or has_unaligned_start(access, place)
            ):
                vector = 1
            if offset is not None:
                if not offset.ndim:
                    offset = np.full_like(points[0], offset)
                vector = min(vector, contiguous_vector(offset, buffers[access.buffer], vector))
        offsets.append(offset)
    vector = uniform_vector(conditions, place, env, vector)
    lanes = _lane_points(len(points[0]), extents[-1], vector, layout.is_matrix)
    requests = tuple(
        None
        if offset is None
        else memory_request(
            offset[lanes].tolist(), vector, buffers[access.buffer], False, access.mode == "read"
        )
        for access, offset in zip(accesses, offsets, strict=True)
    )
    tile = Tile(
        tuple(loop.var for loop in parallel),
        tuple(loop.extent or 1 for loop in parallel),
        threads,
        vector,
        layout.is_matrix,
    )
    anew = tuple(
        issued_load_share(access, accesses, place, conditions, tile) for access in accesses
    )
    return ThreadMapping(vector, max(total / (vector * threads), 1.0), serial, requests, anew)


def memory_space(access: Access, buffers: Mapping[str, Buffer]) -> str | None:
    """``global`` or ``shared`` where an access goes to memory, None for registers."""
    scope = buffers[access.buffer].scope
    if scope == "global":
        return "global"
    return "shared" if scope in ("shared", "shared.dyn") else None


def _operation_box(accesses: Sequence[Access], place: LoopContext) -> tuple[int, ...]:
    """The extents of the boxes of a tile operation, those of the larger box without its ones."""
    found: tuple[int, ...] = ()
    for access in accesses:
        try:
            sizes = [place.first_value(size) for size in access.extents]
        except UnknownValueError:
            continue
        box = tuple(int(size) for size in sizes if size > 1)
        if math.prod(box) > math.prod(found):
            found = box
    return found
