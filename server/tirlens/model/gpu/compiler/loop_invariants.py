"""Loop-invariant code motion: the share of an operation's executions that are instructions.

A thread's elements of a tile loop, and the iterations of an unrolled loop, are straight-line code,
in which the compiler computes an equal value once.  It hoists a value out of a rolled loop that
changes none of its operands (LLVM's LICM).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tirlens_worker.facts import Arith

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS, LoopContext
from ...tree.thread_mapping import ThreadMapping
from .distinct_elements import distinct_element_share, distinct_matrix_share, distinct_vector_share
from .instruction_costs import is_packed

STRAIGHT_LOOP_KINDS = frozenset({"unroll", "vectorized"})


def issued_share(
    arith: Arith, context: LoopContext, mapping: ThreadMapping, threads: int, matrix: bool
) -> float:
    """The share of an operation's executions that are instructions, at most 1.

    `matrix` says whether the elements have the layout of a matrix instruction's result.
    """
    if arith.over is None:
        return 1.0
    tile = [loop for loop in context.loops if loop.kind in ("parallel", "vectorized")]
    over = frozenset(arith.over)
    if any(loop.kind == "parallel" for loop in tile):
        extents = tuple(loop.trip_count for loop in tile)
        varies = tuple(loop.var in over for loop in tile)
        if all(varies):
            return 1.0
        if matrix and len(extents) > 1:
            return distinct_matrix_share(extents, varies, max(threads, 1))
        return distinct_element_share(extents, varies, max(threads, 1), mapping.vector)
    return 1.0 / max(math.prod(_invariant_iterations(context, over)), 1)


def _invariant_iterations(context: LoopContext, over: frozenset[str]) -> Iterator[int]:
    """The trip counts of enclosing loops, from the innermost, in which a value is invariant."""
    out = True  # of all the loops inside
    for loop in reversed(context.loops):
        if loop.kind in GRID_KINDS | CONCURRENT_KINDS - STRAIGHT_LOOP_KINDS:
            continue
        if loop.var in over:
            # Hoisting further out would keep one value for each iteration in registers.
            out = False
        elif out or loop.kind in STRAIGHT_LOOP_KINDS:
            yield loop.trip_count


def address_share(names: frozenset[str], context: LoopContext, vector: int, threads: int) -> float:
    """The share of a thread's vectors of a tile for which a term in `names` is computed."""
    tile = [loop for loop in context.loops if loop.kind in ("parallel", "vectorized")]
    varies = tuple(loop.var in names for loop in tile)
    if not tile or all(varies):
        return 1.0
    extents = tuple(loop.trip_count for loop in tile)
    return distinct_vector_share(extents, varies, max(threads, 1), vector)


def packed_share(arith: Arith, mapping: ThreadMapping) -> float:
    """Instructions per operation on neighbours: one F2FP converts two floats to halves."""
    if arith.op != "cast" or arith.accumulator is None or mapping.vector < 2:
        return 1.0
    return 0.5 if is_packed(arith.dtype, arith.accumulator) else 1.0
