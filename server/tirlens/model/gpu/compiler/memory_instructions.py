"""Load and store instructions: the requests of the program's accesses that the compiler issues.

It loads once what several elements or unrolled iterations of a thread share (`load_reuse`), and
merges scalar accesses of shared memory into vectors.  LLVM's LoadStoreVectorizer, which NVVM runs,
merges accesses of straight-line code to adjacent addresses: up to four elements and 16 bytes, if
the first address is aligned to the vector.  It knows the alignment of arrays in shared memory, but
of arrays in global memory only that of their elements.  nvcc 13.0 for sm_86 turns ``a[row, k]`` and
``b[k, i]`` in unrolled loops of 16 steps and 8 columns into one LDS.128 of four floats, or one
LDS.64 of four halves, along either loop.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tirlens_counting.arrays import np, npt
from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Access, Buffer, Statement

from ...constants import constant
from ...tree.context import (
    CONCURRENT_KINDS,
    GRID_KINDS,
    EnclosingLoop,
    LoopContext,
    StoreLoops,
    dtype_bytes,
)
from ...tree.node import Leaf
from ...tree.thread_mapping import SHARED_SCOPES, Mapped, MemoryRequest, ThreadMapping
from ..mapping import element_offsets, memory_request
from .load_reuse import Tile, issued_load_share, reads_per_load

MAX_JOINED_ELEMENTS = constant(
    "MAX_JOINED_ELEMENTS",
    4,
    kind="compiler",
    unit="elements",
    meaning="Most scalar accesses of shared memory that are merged into one instruction.",
    source="LLVM's LoadStoreVectorizer, which NVVM runs",
)
MAX_JOINED_BYTES = constant(
    "MAX_JOINED_BYTES",
    16,
    kind="compiler",
    unit="bytes",
    meaning="Most bytes of scalar accesses of shared memory that are merged into one instruction.",
    source="LLVM's LoadStoreVectorizer, which NVVM runs",
)

# With more elements of a tile, none are merged.
MAX_POINTS = 1 << 16


def issue_requests(
    leaf: Leaf, mapped: Mapped, buffers: Mapping[str, Buffer], store_loops: StoreLoops
) -> ThreadMapping:
    """The load and store instructions that the compiler issues for a statement's accesses.

    Parameters
    ----------
    leaf
        The statement.
    mapped
        The thread mappings of the kernel.
    buffers
        The arrays of the kernel by id.
    store_loops
        The loops around the stores to each array.

    Returns
    -------
    ThreadMapping
        The mapping of the statement with the vectors, merged iterations and issued shares of the
        requests that remain.
    """
    statement, mapping = leaf.source, mapped.mappings[leaf]
    if not mapping.requests:
        return mapping
    if statement.per == "thread":
        requests = tuple(
            [
                None
                if request is None
                else _issue_request(request, access, leaf, buffers, store_loops)
                for access, request in zip(statement.accesses, mapping.requests, strict=True)
            ]
        )
        return replace(mapping, requests=requests)
    guards = [
        node.guard for node in (*statement.accesses, *statement.arith) if node.guard is not None
    ]
    conditions = (*leaf.context.conditions, *guards)
    tile = _tile(leaf, mapped)
    shares = [
        issued_load_share(access, statement.accesses, leaf.context, conditions, tile)
        for access in statement.accesses
    ]
    requests = tuple(
        [
            request
            if request is None or conditions
            else _issue_tile_request(request, access, leaf, buffers[access.buffer], tile)
            for access, request in zip(statement.accesses, mapping.requests, strict=True)
        ]
    )
    return replace(mapping, issued_shares=tuple(shares), requests=requests)


def _issue_request(
    request: MemoryRequest,
    access: Access,
    leaf: Leaf,
    buffers: Mapping[str, Buffer],
    store_loops: StoreLoops,
) -> MemoryRequest:
    """The request of a per-thread access, with merged vectors and reused loads."""
    buffer = buffers[access.buffer]
    if request.vector == 1:
        vector = join_shared_accesses(access, leaf.source, buffer, leaf.context)
        if vector > 1:
            is_load = access.mode == "read"
            joined = memory_request(request.lane_offsets, vector, buffer, True, is_load)
            request = replace(joined, lanes=request.lanes)
    iterations = reads_per_load(access, leaf.source, buffer, leaf.context, store_loops)
    return replace(request, merged_iterations=iterations)


def _issue_tile_request(
    request: MemoryRequest, access: Access, leaf: Leaf, buffer: Buffer, tile: Tile
) -> MemoryRequest:
    """The request of an access in a tile loop, with merged elements of a thread."""
    joined = 1 if request.is_swizzled else join_tile_elements(access, leaf, buffer, tile)
    if joined == 1:
        return request
    vector = joined * tile.vector
    merged = memory_request(request.lane_offsets, vector, buffer, True, access.mode == "read")
    return replace(merged, lanes=request.lanes)


def join_tile_elements(access: Access, leaf: Leaf, buffer: Buffer, tile: Tile) -> int:
    """How many of a thread's vectors of a tile one instruction moves, from shared memory.

    tilelang unrolls the elements of a thread.  Those that follow each other in the array are merged
    as those of unrolled iterations: nvcc 13.5 for sm_90a loads 128 elements of a row, one in each
    of 128 threads, by 32 LDS.128.
    """
    if buffer.scope not in SHARED_SCOPES or access.extents or tile.is_matrix or not tile.names:
        return 1
    if any(one.buffer == access.buffer for one in leaf.source.accesses if one is not access):
        return 1
    total = math.prod(tile.extents)
    repeats = total // (tile.threads * tile.vector)
    most = min(MAX_JOINED_ELEMENTS, int(MAX_JOINED_BYTES / dtype_bytes(buffer.dtype)))
    most //= tile.vector
    if min(repeats, most) < 2 or total > MAX_POINTS or total % (tile.threads * tile.vector):
        return 1
    context = leaf.context
    points = np.unravel_index(np.arange(0, total, tile.vector), tile.extents)
    env = {**context.first_values, **dict(zip(tile.names, points, strict=True))}
    found = element_offsets(access, buffer, context, env)
    if found is None or not found.ndim:
        return 1
    steps = [
        moved - found
        for loop in context.loops
        if loop.kind not in GRID_KINDS | CONCURRENT_KINDS and loop.trip_count > 1
        if (moved := element_offsets(access, buffer, context, _next_values(env, loop))) is not None
    ]
    by_thread = np.reshape(found, (repeats, tile.threads))
    while most > 1:
        if repeats % most == 0:
            firsts = by_thread[::most]
            is_contiguous = all(
                np.all(by_thread[number::most] - firsts == number * tile.vector)
                for number in range(most)
            )
            width = most * tile.vector
            if is_contiguous and not any(np.any(one % width) for one in (firsts, *steps)):
                return most
        most //= 2
    return 1


def _next_values(env: Mapping[str, Any], loop: EnclosingLoop) -> dict[str, Any]:
    return {**env, loop.var: env[loop.var] + 1}


def _tile(leaf: Leaf, mapped: Mapped) -> Tile:
    """The distribution over threads of the elements of the tile loops around a statement."""
    loops = [loop for loop in leaf.context.loops if loop.kind in ("parallel", "vectorized")]
    return Tile(
        tuple(loop.var for loop in loops),
        tuple(loop.trip_count for loop in loops),
        max(leaf.threads, 1),
        mapped.mappings[leaf].vector,
        has_matrix_layout(leaf, mapped.accumulators),
    )


def has_matrix_layout(leaf: Leaf, accumulators: frozenset[str]) -> bool:
    """Whether the elements of a statement have the layout of a matrix instruction's result."""
    return any(access.buffer in accumulators for access in leaf.source.accesses)


def join_shared_accesses(
    access: Access,
    statement: Statement,
    buffer: Buffer,
    context: LoopContext,
) -> int:
    """Elements of consecutive unrolled iterations that one instruction moves."""
    if not buffer.scope.startswith("shared") or access.guard is not None:
        return 1
    others = (one for one in statement.accesses if one is not access)
    if any(one.buffer == access.buffer for one in others):
        return 1  # a store may write what the next iteration loads
    chosen = frozenset[str]().union(*map(free_variables, context.conditions))
    for loop in _unrolled_loops(context):
        most = min(MAX_JOINED_ELEMENTS, int(MAX_JOINED_BYTES / dtype_bytes(buffer.dtype)))
        while loop.trip_count % most:
            most //= 2
        if loop.var not in chosen:
            found = _aligned_vector(access, buffer, context, loop, most)
            if found > 1:
                return found
    return 1


def _unrolled_loops(context: LoopContext) -> Iterator[EnclosingLoop]:
    """The enclosing unrolled loops, from the innermost."""
    for loop in reversed(context.loops):
        if loop.kind != "unroll":
            return
        yield loop


def _aligned_vector(
    access: Access,
    buffer: Buffer,
    context: LoopContext,
    loop: EnclosingLoop,
    most: int,
) -> int:
    """The longest vector along `loop` that is aligned in every iteration."""
    env = context.first_warp_values
    first = element_offsets(access, buffer, context, env)
    if first is None:
        return 1
    steps: list[npt.NDArray[np.int64]] = []
    for other in context.loops:
        if other.kind in ("grid", "cluster", "block") or other.trip_count == 1:
            continue
        moved = element_offsets(access, buffer, context, _next_values(env, other))
        if moved is None:
            return 1
        step = moved - first
        if other.var == loop.var:
            if not np.all(step == 1):
                return 1
        else:
            steps.append(step)
    while most > 1 and any(np.any(offset % most) for offset in (first, *steps)):
        most //= 2
    return most
