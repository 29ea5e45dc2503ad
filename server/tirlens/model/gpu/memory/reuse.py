"""What a warp finds in L1 because the turn of a loop before brought it.

A thread that walks along a row by one element a turn waits for memory once a sector, not once a
turn.  L1 keeps the sectors of 32 bytes that a load has brought at least until the next turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tirlens_counting.expressions import UnknownValueError, evaluate
from tirlens_worker.facts import Access

from ...counting.kernel_counts import AccessCount
from ...tree.context import (
    CONCURRENT_KINDS,
    GRID_KINDS,
    SECTOR_BYTES,
    WARP,
    EnclosingLoop,
    LoopContext,
    dtype_bytes,
)
from ...tree.node import CostNode

# Turns beyond these are taken to be like the first ones.
MOST_TURNS = 32


def fresh_share(item: CostNode) -> float:
    """The share of turns in which a warp loads from a sector that its last turn did not touch."""
    loop = _innermost(item.context)
    if loop is None or (loop.extent or 1) <= 1:
        return 1.0
    turns = min(loop.extent or 1, MOST_TURNS)
    env = {**_lanes(item), loop.var: item.context.first_values[loop.var] + np.arange(turns)}
    shares = [
        _fresh(item, entry, env, turns)
        for entry in item.count.accesses
        if entry.access.mode != "write" and entry.buffer.scope == "global"
    ]
    return max(shares, default=1.0)


def _fresh(item: CostNode, entry: AccessCount, env: Mapping[str, Any], turns: int) -> float:
    access: Access = entry.access
    if access.extents or access.route != "thread":
        return 1.0
    try:
        flat: Any = 0
        for size, index in zip(entry.buffer.shape, access.indices, strict=True):
            resolve = item.context.resolve
            flat = flat * evaluate(resolve(size), env) + evaluate(resolve(index), env)
    except (UnknownValueError, ValueError, ZeroDivisionError):
        return 1.0
    found = np.asarray(flat, dtype=np.int64)
    lanes = np.broadcast_to(found, (found.shape[0] if found.ndim > 1 else 1, turns))
    sectors = lanes * dtype_bytes(entry.buffer.dtype) // SECTOR_BYTES
    changes = np.any(sectors[:, 1:] != sectors[:, :-1], axis=0)
    return (1 + int(np.count_nonzero(changes))) / turns


def _innermost(place: LoopContext) -> EnclosingLoop | None:
    return next(
        (loop for loop in reversed(place.loops) if loop.kind not in CONCURRENT_KINDS | GRID_KINDS),
        None,
    )


def _lanes(item: CostNode) -> dict[str, Any]:
    """Where the lanes of the first warp stand, a row for each lane."""
    tiles = [loop for loop in item.context.loops if loop.kind in ("parallel", "vectorized")]
    found: dict[str, Any] = dict(item.context.first_values)
    if item.source.per == "thread" or not tiles:
        values = item.context.first_warp
        return found | {name: value[:, None] for name, value in values.items()}
    extents = tuple(max(loop.extent or 1, 1) for loop in tiles)
    vector = item.mapping.vector if item.mapping is not None else 1
    flat = np.arange(WARP) * vector % math.prod(extents)
    places = np.unravel_index(flat, extents)
    return found | {loop.var: place[:, None] for loop, place in zip(tiles, places, strict=True)}
