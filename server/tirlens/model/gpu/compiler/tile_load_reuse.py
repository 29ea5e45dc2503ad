"""How often a thread loads what only some of the axes of a tile change.

tilelang unrolls the elements of a tile that one thread has (``#pragma unroll``): they are one piece
of straight code, in which the compiler loads the same place once.  It knows that other arrays do
not overlap, for their pointers are ``__restrict__``.  A condition that tells elements apart makes
a branch of each, and behind each branch the load is there again: nvcc 13.0 for sm_90a makes of
``c[i, j] += p[i, j] * s[i] * t[j]`` on 64 elements of a thread, 2 rows by 32 columns of a wgmma's
result, 34 loads, and 128 where the last columns are cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tirlens_counting.expressions import free_variables, is_data_dependent
from tirlens_counting.intervals import bounds
from tirlens_worker.facts import Access, Expr

from ...tree.context import LoopContext
from ..mapping.distinct_elements import distinct_matrix_share, distinct_vector_share


class Tile(NamedTuple):
    """The tile loops around a statement, and how their elements lie on the threads."""

    names: tuple[str, ...]
    extents: tuple[int, ...]
    threads: int
    vector: int
    is_matrix: bool


def issued_load_share(
    access: Access,
    beside: Sequence[Access],
    place: LoopContext,
    conditions: Sequence[Expr],
    tile: Tile,
) -> float:
    """For which share of a thread's elements an access `beside` others is an instruction."""
    if access.mode != "read" or access.route != "thread" or not tile.names:
        return 1.0
    indices = [place.resolve(index) for index in access.indices]
    needed = frozenset[str]().union(*map(free_variables, indices))
    varies = tuple(name in needed for name in tile.names)
    if all(varies) or any(map(is_data_dependent, indices)):
        return 1.0
    if any(one.mode != "read" and one.buffer == access.buffer for one in beside):
        return 1.0
    if any(_varies_within_tile(condition, place, tile.names) for condition in conditions):
        return 1.0
    if not tile.is_matrix or len(tile.extents) == 1:
        return distinct_vector_share(tile.extents, varies, tile.threads, tile.vector)
    share = distinct_matrix_share(tile.extents, varies, tile.threads)
    # An element that its neighbours of a vector need too is an instruction for all of them.
    return share if varies[-1] else min(share * tile.vector, 1.0)


def _varies_within_tile(condition: Expr, place: LoopContext, names: Sequence[str]) -> bool:
    """Whether a condition may hold for some elements of a tile and not for others."""
    resolved = place.resolve(condition)
    if free_variables(resolved).isdisjoint(names) and not is_data_dependent(resolved):
        return False
    return bounds(resolved, place.ranges) != (1, 1)
