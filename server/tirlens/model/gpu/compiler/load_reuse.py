"""Reuse of loads: among a thread's elements of a tile, and among iterations of unrolled loops.

tilelang unrolls a thread's elements of a tile (``#pragma unroll``) into straight-line code, in
which the compiler loads an address once; ``__restrict__`` pointers exclude aliases.  A condition
that separates elements makes a branch for each of them, and each branch loads again.  nvcc 13.0
for sm_90a issues 34 loads for ``c[i, j] += p[i, j] * s[i] * t[j]`` on 64 elements of a thread (2
rows by 32 columns of a wgmma result), and 128 where the last columns are masked.

Unrolled iterations are straight-line code, in which LLVM's GVN (part of NVVM) loads a value once
for all iterations that use it, if nothing in between stores to its array; so with a value that all
lanes of a vector use.  The window of a stencil advances by less than its width: nvcc 13.0 for sm_86
issues 435 of the 1,800 loads of an unrolled 15 x 15 filter over eight rows of a thread, two rows
apart, its 29 x 15 distinct ones, in an order for which 40 registers are enough.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tirlens_counting.arrays import np
from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    free_variables,
    is_data_dependent,
)
from tirlens_counting.intervals import bounds
from tirlens_worker.facts import Access, Buffer, Expr, Statement

from ...tree.context import NO_LOOPS, EnclosingLoop, LoopContext, StoreLoops
from .distinct_elements import distinct_matrix_share, distinct_vector_share

# Limit of the iterations of straight-line code; outer loops beyond it count as rolled.
MAX_ITERATIONS = 1 << 14


class Tile(NamedTuple):
    """The tile loops around a statement, and the distribution of their elements over threads."""

    names: tuple[str, ...]
    extents: tuple[int, ...]
    threads: int
    vector: int
    is_matrix: bool


def issued_load_share(
    access: Access,
    accesses: Sequence[Access],
    context: LoopContext,
    conditions: Sequence[Expr],
    tile: Tile,
) -> float:
    """The share of a thread's elements for which an access is an instruction.

    `accesses` are all accesses of the statement.
    """
    if access.mode != "read" or access.route != "thread" or not tile.names:
        return 1.0
    indices = [context.resolve(index) for index in access.indices]
    needed = frozenset[str]().union(*map(free_variables, indices))
    varies = tuple(name in needed for name in tile.names)
    if all(varies) or any(map(is_data_dependent, indices)):
        return 1.0
    if any(one.mode != "read" and one.buffer == access.buffer for one in accesses):
        return 1.0
    if any(_varies_within_tile(condition, context, tile.names) for condition in conditions):
        return 1.0
    if not tile.is_matrix or len(tile.extents) == 1:
        return distinct_vector_share(tile.extents, varies, tile.threads, tile.vector)
    share = distinct_matrix_share(tile.extents, varies, tile.threads)
    # A load that the elements of a vector share is one instruction for all of them.
    return share if varies[-1] else min(share * tile.vector, 1.0)


def _varies_within_tile(condition: Expr, context: LoopContext, names: Sequence[str]) -> bool:
    """Whether a condition may differ between the elements of a tile."""
    resolved = context.resolve(condition)
    if free_variables(resolved).isdisjoint(names) and not is_data_dependent(resolved):
        return False
    return bounds(resolved, context.ranges) != (1, 1)


def reads_per_load(
    access: Access, statement: Statement, buffer: Buffer, context: LoopContext, written: StoreLoops
) -> float:
    """The mean number of reads of the program that one load of straight-line code serves.

    Accesses of one statement to one array count together.  1 where addresses are not known.
    """
    if access.mode != "read" or access.extents or access.guard is not None:
        return 1.0
    loops = _straight_loops(context, written.get(access.buffer, NO_LOOPS))
    if not loops:
        return 1.0
    concurrent = [
        one
        for one in statement.accesses
        if one.buffer == access.buffer and one.mode == "read" and not one.extents and not one.guard
    ]
    # A statement that reads an address twice loads it once.
    indices = list(dict.fromkeys(tuple(map(context.resolve, one.indices)) for one in concurrent))
    if any(is_data_dependent(index) for indices_of in indices for index in indices_of):
        return 1.0
    names = NO_LOOPS.union(*(free_variables(one) for indices_of in indices for one in indices_of))
    # Lanes with elements of their own are one instruction already.
    loops = [loop for loop in loops if loop.kind == "unroll" or loop.var not in names]
    varying = [loop for loop in loops if loop.var in names]
    same = math.prod(loop.trip_count for loop in loops if loop.var not in names)
    try:
        distinct = _count_distinct(indices, buffer, context, varying)
    except (UnknownValueError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        return float(same)
    iterations = math.prod(loop.trip_count for loop in varying)
    return same * iterations * len(indices) / max(distinct, 1)


def _straight_loops(context: LoopContext, written: frozenset[str]) -> list[EnclosingLoop]:
    """The enclosing straight-line loops without a store to the array."""
    chosen = NO_LOOPS.union(*map(free_variables, context.conditions))
    found: list[EnclosingLoop] = []
    iterations = 1
    for loop in reversed(context.loops):
        iterations *= loop.extent or MAX_ITERATIONS
        straight = loop.kind in ("unroll", "vectorized") and iterations <= MAX_ITERATIONS
        if not straight or loop.var in written or loop.var in chosen:
            break
        found.append(loop)
    return found


def _count_distinct(
    indices: Sequence[tuple[Any, ...]],
    buffer: Buffer,
    context: LoopContext,
    loops: Sequence[EnclosingLoop],
) -> int:
    """The number of distinct elements of these accesses in one thread over the loops."""
    first: Mapping[str, Any] = context.first_values
    iterations = (first[loop.var] + np.arange(loop.trip_count) for loop in loops)
    axes = np.meshgrid(*iterations, indexing="ij")
    env = {**first, **{loop.var: axis for loop, axis in zip(loops, axes, strict=True)}}
    offsets: list[Any] = []
    for indices_of in indices:
        flat: Any = np.zeros_like(axes[0]) if axes else np.zeros(1, dtype=np.int64)
        # The leading size does not enter an offset.
        for size, index in zip((0, *buffer.shape[1:]), indices_of, strict=True):
            flat = flat * evaluate(context.resolve(size), env) + evaluate(index, env)
        offsets.append(flat.ravel())
    return len(np.unique(np.concatenate(offsets)))
