"""L1 hits on sectors that the previous loop iteration loaded.

A thread that advances along a row by one element an iteration misses L1 once in a 32-byte sector,
not once an iteration: L1 keeps a loaded sector at least until the next iteration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tirlens_counting.arrays import np
from tirlens_counting.expressions import UnknownValueError, evaluate
from tirlens_worker.facts import Access

from ...counting.kernel_counts import AccessCount
from ...tree.context import (
    CONCURRENT_KINDS,
    GRID_KINDS,
    SECTOR_BYTES,
    EnclosingLoop,
    LoopContext,
    dtype_bytes,
)
from ...tree.node import Leaf

# Number of evaluated iterations; later ones are assumed to be like these.
MAX_ITERATIONS = 32


def new_sector_share(node: Leaf, vector: int) -> float:
    """The share of iterations in which a warp loads a sector new to it.

    `vector` is the elements of one vector instruction of the statement.
    """
    loop = _innermost_sequential_loop(node.context)
    if loop is None or loop.trip_count <= 1:
        return 1.0
    iterations = min(loop.trip_count, MAX_ITERATIONS)
    env = {
        **_lane_values(node, vector),
        loop.var: node.context.first_values[loop.var] + np.arange(iterations),
    }
    shares = [
        _access_new_sector_share(node, entry, env, iterations)
        for entry in node.count.accesses
        if entry.access.mode != "write" and entry.buffer.scope == "global"
    ]
    return max(shares, default=1.0)


def _access_new_sector_share(
    node: Leaf, entry: AccessCount, env: Mapping[str, Any], iterations: int
) -> float:
    access: Access = entry.access
    if access.extents or access.route != "thread":
        return 1.0
    try:
        flat: Any = 0
        for size, index in zip(entry.buffer.shape, access.indices, strict=True):
            resolve = node.context.resolve
            flat = flat * evaluate(resolve(size), env) + evaluate(resolve(index), env)
    except (UnknownValueError, ValueError, ZeroDivisionError):
        return 1.0
    found = np.asarray(flat, dtype=np.int64)
    lanes = np.broadcast_to(found, (found.shape[0] if found.ndim > 1 else 1, iterations))
    sectors = lanes * dtype_bytes(entry.buffer.dtype) // SECTOR_BYTES
    changes = np.any(sectors[:, 1:] != sectors[:, :-1], axis=0)
    return (1 + int(np.count_nonzero(changes))) / iterations


def _innermost_sequential_loop(context: LoopContext) -> EnclosingLoop | None:
    return next(
        (
            loop
            for loop in reversed(context.loops)
            if loop.kind not in CONCURRENT_KINDS | GRID_KINDS
        ),
        None,
    )


def _lane_values(node: Leaf, vector: int) -> dict[str, Any]:
    """The values of loop variables in the lanes of the first warp, one row a lane."""
    tiles = [loop for loop in node.context.loops if loop.kind in ("parallel", "vectorized")]
    found: dict[str, Any] = dict(node.context.first_values)
    if node.source.per == "thread" or not tiles:
        values = node.context.first_warp
        return found | {name: value[:, None] for name, value in values.items()}
    extents = tuple(loop.trip_count for loop in tiles)
    flat = np.arange(node.context.warp_size) * vector % math.prod(extents)
    places = np.unravel_index(flat, extents)
    return found | {loop.var: context[:, None] for loop, context in zip(tiles, places, strict=True)}
