"""Reuse of loads among a thread's elements of a tile.

tilelang unrolls a thread's elements of a tile (``#pragma unroll``) into straight-line code, in
which the compiler loads an address once; ``__restrict__`` pointers exclude aliases.  A condition
that separates elements makes a branch for each of them, and each branch loads again.  nvcc 13.0
for sm_90a issues 34 loads for ``c[i, j] += p[i, j] * s[i] * t[j]`` on 64 elements of a thread (2
rows by 32 columns of a wgmma result), and 128 where the last columns are masked.
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
    """The tile loops around a statement, and the distribution of their elements over threads."""

    names: tuple[str, ...]
    extents: tuple[int, ...]
    threads: int
    vector: int
    is_matrix: bool


def issued_load_share(
    access: Access,
    beside: Sequence[Access],
    context: LoopContext,
    conditions: Sequence[Expr],
    tile: Tile,
) -> float:
    """The share of a thread's elements for which an access is an instruction.

    `beside` are all accesses of the statement.
    """
    if access.mode != "read" or access.route != "thread" or not tile.names:
        return 1.0
    indices = [context.resolve(index) for index in access.indices]
    needed = frozenset[str]().union(*map(free_variables, indices))
    varies = tuple(name in needed for name in tile.names)
    if all(varies) or any(map(is_data_dependent, indices)):
        return 1.0
    if any(one.mode != "read" and one.buffer == access.buffer for one in beside):
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
