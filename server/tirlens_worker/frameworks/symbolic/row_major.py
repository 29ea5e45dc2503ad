"""Regions of row-major arrays from linear offsets, and the offsets of their corners."""

from __future__ import annotations

from typing import List, Tuple

from ...facts import Buffer, Expr
from ...ops import Region
from ...ops.build import bits, plus, times


def region_of_run(buffer: Buffer, offset: Expr, extent: Expr) -> Region:
    """The region of `extent` elements from `offset`: a box if they are whole rows."""
    shape = _constant(buffer.shape)
    if isinstance(offset, int) and isinstance(extent, int) and shape is not None:
        rows = _whole_rows(shape, offset, extent)
        if rows is not None:
            return Region(buffer, *rows)
    ones: Tuple[Expr, ...] = (1,) * (len(buffer.shape) - 1)
    if shape and not (isinstance(extent, int) and extent > shape[-1]):
        return Region(buffer, _corner(shape, offset), (*ones, extent))
    zeros: Tuple[Expr, ...] = (0,) * (len(buffer.shape) - 1)
    return Region(buffer, (*zeros, offset), (*ones, extent))


def _corner(shape: Tuple[int, ...], offset: Expr) -> Tuple[Expr, ...]:
    """The indices of the element at a flat offset."""
    corner: List[Expr] = []
    stride = 1
    for dimension in range(len(shape) - 1, -1, -1):
        index = offset if stride == 1 else ("//", offset, stride)
        corner.append(("%", index, shape[dimension]) if dimension else index)
        stride *= shape[dimension]
    return tuple(reversed(corner))


def strides(buffer: Buffer) -> Tuple[Expr, ...]:
    """The strides of an array in elements; row-major where none are declared."""
    if buffer.strides:
        return buffer.strides
    found: List[Expr] = []
    stride: Expr = 1
    for size in reversed(buffer.shape):
        found.append(stride)
        stride = times(size, stride)
    return tuple(reversed(found))


def corner_offset(region: Region) -> Expr:
    """The linear offset in elements of the corner of `region` in a row-major array."""
    total: Expr = 0
    for size, index in zip(region.buffer.shape, region.indices):
        total = plus(times(total, size), index)
    return total


def advance(region: Region, offset_bytes: Expr) -> Region:
    """The region whose corner is `offset_bytes` after the corner of `region`."""
    size = bits(region.buffer.dtype) // 8
    if offset_bytes == 0:
        return region
    if isinstance(offset_bytes, int):
        offset: Expr = offset_bytes // max(size, 1)
    else:
        offset = offset_bytes if size <= 1 else ("//", offset_bytes, size)
    last = plus(region.indices[-1], offset)
    return Region(region.buffer, (*region.indices[:-1], last), region.extents)


def _constant(shape: Tuple[Expr, ...]) -> "Tuple[int, ...] | None":
    sizes = tuple(size for size in shape if isinstance(size, int))
    return sizes if len(sizes) == len(shape) else None


def _whole_rows(
    shape: Tuple[int, ...], offset: int, extent: int
) -> "Tuple[Tuple[int, ...], Tuple[int, ...]] | None":
    """The corner and extents of the box of whole trailing dimensions; None if it is none."""
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
