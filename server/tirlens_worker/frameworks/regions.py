"""Boxes of buffers that are given as runs of elements."""

from __future__ import annotations

from ..facts import Buffer, Expr
from ..ops import Region


def flat(buffer: Buffer, offset: Expr, extent: Expr) -> Region:
    """A run of `extent` elements from `offset`: whole rows where it is a whole number of them."""
    size = 1
    leading = []
    for position in range(len(buffer.shape) - 1, -1, -1):
        if size == extent and type(extent) is int:
            break
        if type(buffer.shape[position]) is not int:
            break
        size *= buffer.shape[position]  # type: ignore[operator]
        leading.append(position)
    if type(extent) is int and size == extent and type(offset) is int:
        first = len(buffer.shape) - len(leading)
        indices, rest = [], offset
        for dim in range(first - 1, -1, -1):
            extent_here = buffer.shape[dim]
            if type(extent_here) is not int:
                return Region(buffer, (offset,), (extent,))
            rest_units = rest // size
            indices.append(rest_units % extent_here)
            rest = rest_units // extent_here * size
        corner = tuple(reversed(indices)) + (0,) * len(leading)
        return Region(buffer, corner, (1,) * first + buffer.shape[first:])
    if len(buffer.shape) == 1:
        return Region(buffer, (offset,), (extent,))
    zeros = (0,) * (len(buffer.shape) - 1)
    return Region(buffer, (*zeros, offset), (*(1 for _ in zeros), extent))
