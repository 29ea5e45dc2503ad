"""How often a thread computes what only some of the loops around it change.

The elements of a tile loop that one thread has, and those of an unrolled loop, are one piece of
straight code: the compiler computes a value that is the same for several of them once.  So it does
for the turns of a loop in whose body nothing that the value is made of changes (LLVM's LICM).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tirlens_worker.facts import Arith

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS, LoopContext
from ..mapping.distinct_elements import (
    distinct_element_share,
    distinct_matrix_share,
    distinct_vector_share,
)
from ..mapping.thread_mapping import ThreadMapping
from .conversions import is_packed

STRAIGHT_LOOP_KINDS = frozenset({"unroll", "vectorized"})


def issued_share(
    arith: Arith, place: LoopContext, spread: ThreadMapping, threads: int, matrix: bool
) -> float:
    """The share of an operation's executions that are instructions, at most 1.

    `matrix` tells that the elements lie on the threads as a matrix instruction's result does.
    """
    if arith.over is None:
        return 1.0
    tile = [loop for loop in place.loops if loop.kind in ("parallel", "vectorized")]
    over = frozenset(arith.over)
    if any(loop.kind == "parallel" for loop in tile):
        extents = tuple(loop.extent or 1 for loop in tile)
        varies = tuple(loop.var in over for loop in tile)
        if all(varies):
            return 1.0
        if matrix and len(extents) > 1:
            return distinct_matrix_share(extents, varies, max(threads, 1))
        return distinct_element_share(extents, varies, max(threads, 1), spread.vector)
    return 1.0 / max(math.prod(_invariant_iterations(place, over)), 1)


def _invariant_iterations(place: LoopContext, over: frozenset[str]) -> Iterator[int]:
    """The turns of the loops around, from the inside out, for all of which a value is the same."""
    out = True  # of all the loops inside
    for loop in reversed(place.loops):
        if loop.kind in GRID_KINDS | CONCURRENT_KINDS - STRAIGHT_LOOP_KINDS:
            continue
        if loop.var in over:
            # One value for each turn would have to be kept in registers.
            out = False
        elif out or loop.kind in STRAIGHT_LOOP_KINDS:
            yield loop.extent or 1


def address_share(
    names: frozenset[str], place: LoopContext, spread: ThreadMapping | None, threads: int
) -> float:
    """For how many of its vectors of a tile a thread computes anew what `names` change."""
    tile = [loop for loop in place.loops if loop.kind in ("parallel", "vectorized")]
    varies = tuple(loop.var in names for loop in tile)
    if spread is None or not tile or all(varies):
        return 1.0
    extents = tuple(loop.extent or 1 for loop in tile)
    return distinct_vector_share(extents, varies, max(threads, 1), spread.vector)


def packed_share(arith: Arith, spread: ThreadMapping) -> float:
    """Instructions of an operation on neighbours: two floats become two halves in one (F2FP)."""
    if arith.op != "cast" or arith.accumulator is None or spread.vector < 2:
        return 1.0
    return 0.5 if is_packed(arith.dtype, arith.accumulator) else 1.0
