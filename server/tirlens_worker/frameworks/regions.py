"""Boxes of buffers that are given as runs of elements."""

from __future__ import annotations

from typing import List, Tuple

from ..facts import Buffer, Expr
from ..ops import Region


def flat(buffer: Buffer, offset: Expr, extent: Expr) -> Region:
    """A run of `extent` elements from `offset`: a box of whole rows where it is one."""
    shape = _constant(buffer.shape)
    if isinstance(offset, int) and isinstance(extent, int) and shape is not None:
        rows = _whole_rows(shape, offset, extent)
        if rows is not None:
            return Region(buffer, *rows)
    zeros: Tuple[Expr, ...] = (0,) * (len(buffer.shape) - 1)
    ones: Tuple[Expr, ...] = (1,) * (len(buffer.shape) - 1)
    return Region(buffer, (*zeros, offset), (*ones, extent))


def _constant(shape: Tuple[Expr, ...]) -> "Tuple[int, ...] | None":
    sizes = tuple(size for size in shape if isinstance(size, int))
    return sizes if len(sizes) == len(shape) else None


def _whole_rows(
    shape: Tuple[int, ...], offset: int, extent: int
) -> "Tuple[Tuple[int, ...], Tuple[int, ...]] | None":
    """Corner and size of the trailing dimensions that `extent` elements fill exactly."""
    size, first = 1, len(shape)
    while first > 0 and size < extent:
        first -= 1
        size *= shape[first]
    if size != extent or offset % size:
        return None
    position = offset // size
    corner: List[int] = []
    for dim in range(first - 1, -1, -1):
        corner.append(position % shape[dim])
        position //= shape[dim]
    return tuple(reversed(corner)) + (0,) * (len(shape) - first), (1,) * first + shape[first:]
