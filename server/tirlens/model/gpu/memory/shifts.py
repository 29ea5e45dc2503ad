"""What neighbouring blocks read of each other's data: stencils.

Accesses of one array that start some elements apart in every block read, each of them, what another
block reads by another access.  Blocks start in launch order, and one whose code has no loops reads
all at its start: between two reads of the same bytes lies what the blocks in between touch (the
layer condition of stencils; amd-lab-notes, finite-difference/docs/Laplacian_Part4: three planes
must fit in L2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tirlens_counting.expressions import UnknownValueError, evaluate
from tirlens_worker.facts import Buffer, Expr

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS, LoopContext
from .walks import AXES

_STRAIGHT = GRID_KINDS | CONCURRENT_KINDS | {"unroll"}


def is_straight(place: LoopContext) -> bool:
    """Whether no loop that takes its turns one after the other stands around a statement."""
    return all(loop.kind in _STRAIGHT for loop in place.loops)


def block_strides(
    indices: Sequence[Expr], buffer: Buffer, place: LoopContext
) -> tuple[float, float, float] | None:
    """How many elements further on the next block along x, y and z starts to read."""
    grid = {AXES.get(loop.tag or ""): loop.var for loop in place.loops if loop.kind in GRID_KINDS}
    first = _place_of(indices, buffer, place, place.first_values)
    if first is None:
        return None
    strides = [0.0, 0.0, 0.0]
    for axis, name in grid.items():
        if axis is None or name not in place.first_values:
            continue
        values = {**place.first_values, name: place.first_values[name] + 1}
        moved = _place_of(indices, buffer, place, values)
        if moved is None:
            return None
        strides[axis] = moved - first
    return strides[0], strides[1], strides[2]


def _place_of(
    indices: Sequence[Expr], buffer: Buffer, place: LoopContext, values: Mapping[str, Any]
) -> float | None:
    try:
        flat = 0.0
        for size, index in zip(buffer.shape, indices, strict=True):
            flat = flat * evaluate(place.resolve(size), values) if flat else 0.0
            flat += evaluate(place.resolve(index), values)
        return flat
    except (UnknownValueError, TypeError, ValueError, ZeroDivisionError):
        return None


def blocks_apart(elements: float, strides: tuple[float, float, float], grid: Sequence[int]) -> int:
    """How many blocks later in launch order the block is that starts `elements` further on."""
    extents = (*grid, 1, 1, 1)[:3]
    later = (1, extents[0], extents[0] * extents[1])
    found = 0
    for axis in sorted(range(3), key=lambda axis: -abs(strides[axis])):
        stride = strides[axis]
        number = int(elements / stride) if stride else 0
        if abs(number) < extents[axis]:  # more than there are: another row of the block's own
            elements -= number * stride
            found += number * later[axis]
    return found
