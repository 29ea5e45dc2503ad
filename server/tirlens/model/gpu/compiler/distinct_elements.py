"""The share of distinct elements among a thread's elements of a tile, along some of its axes.

`varies` says of each axis whether it counts: elements that differ only along others are equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from tirlens_counting.arrays import np, npt

# Number of evaluated elements of a thread; more are assumed to be like these.
MAX_ELEMENTS = 1024


@lru_cache(maxsize=512)
def distinct_vector_share(
    extents: tuple[int, ...], varies: tuple[bool, ...], threads: int, vector: int
) -> float:
    """The share of a thread's vectors; flattened elements go to threads cyclically by vector."""
    total = math.prod(extents)
    starts = np.arange(0, max(total, 1), threads * vector)[:MAX_ELEMENTS]
    axes = np.unravel_index(starts, extents)
    kept = [axis for axis, varied in zip(axes, varies, strict=True) if varied]
    return _count_distinct(kept) / len(starts)


@lru_cache(maxsize=512)
def distinct_element_share(
    extents: tuple[int, ...], varies: tuple[bool, ...], threads: int, vector: int
) -> float:
    """The share of a thread's elements in such a tile."""
    total = math.prod(extents)
    rounds = max(-(-total // (threads * vector)), 1)
    rounds = min(rounds, max(MAX_ELEMENTS // vector, 1))
    first = np.arange(rounds)[:, None] * (threads * vector) + np.arange(vector)[None, :]
    mine = first.ravel()
    mine = mine[mine < total]
    axes = np.unravel_index(mine, extents)
    return _count_distinct([axis for axis, kept in zip(axes, varies, strict=True) if kept]) / len(
        mine
    )


def distinct_matrix_share(
    extents: tuple[int, ...], varies: tuple[bool, ...], threads: int
) -> float:
    """The share in a matrix instruction's result, in which four threads share a row."""
    mine = max(math.prod(extents) / threads, 1.0)
    columns = min(max(extents[-1] / 4, 1.0), mine)
    rows = mine / columns
    needed = (rows if any(varies[:-1]) else 1.0) * (columns if varies[-1] else 1.0)
    return needed / mine


def _count_distinct(axes: Sequence[npt.NDArray[np.intp]]) -> int:
    return len(set(zip(*(axis.tolist() for axis in axes), strict=True))) if axes else 1
