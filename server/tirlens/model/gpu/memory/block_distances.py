"""The distance in launch order between the blocks that access the same data, as in a stencil."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tirlens_counting.expressions import UnknownValueError, evaluate
from tirlens_worker.facts import Buffer, Expr

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS, LoopContext
from .tile_sequences import AXES

_NOT_SEQUENTIAL = GRID_KINDS | CONCURRENT_KINDS | {"unroll"}


def has_no_sequential_loop(context: LoopContext) -> bool:
    """Whether no sequential loop encloses a statement."""
    return all(loop.kind in _NOT_SEQUENTIAL for loop in context.loops)


def block_strides(
    indices: Sequence[Expr], buffer: Buffer, context: LoopContext
) -> tuple[float, float, float] | None:
    """The distance in elements between the starts of neighbouring blocks along x, y and z."""
    grid = {AXES.get(loop.tag or ""): loop.var for loop in context.loops if loop.kind in GRID_KINDS}
    first = _element_offset(indices, buffer, context, context.first_values)
    if first is None:
        return None
    strides = [0.0, 0.0, 0.0]
    for axis, name in grid.items():
        if axis is None or name not in context.first_values:
            continue
        values = {**context.first_values, name: context.first_values[name] + 1}
        moved = _element_offset(indices, buffer, context, values)
        if moved is None:
            return None
        strides[axis] = moved - first
    return strides[0], strides[1], strides[2]


def _element_offset(
    indices: Sequence[Expr], buffer: Buffer, context: LoopContext, values: Mapping[str, Any]
) -> float | None:
    try:
        flat = 0.0
        for size, index in zip(buffer.shape, indices, strict=True):
            flat = flat * evaluate(context.resolve(size), values) if flat else 0.0
            flat += evaluate(context.resolve(index), values)
        return flat
    except (UnknownValueError, TypeError, ValueError, ZeroDivisionError):
        return None


def block_distance(
    elements: float, strides: tuple[float, float, float], grid: Sequence[int]
) -> int:
    """The distance in launch order to the block that starts `elements` later."""
    extents = (*grid, 1, 1, 1)[:3]
    later = (1, extents[0], extents[0] * extents[1])
    found = 0
    for axis in sorted(range(3), key=lambda axis: -abs(strides[axis])):
        stride = strides[axis]
        number = int(elements / stride) if stride else 0
        if abs(number) < extents[axis]:  # beyond the grid: another row of the same block
            elements -= number * stride
            found += number * later[axis]
    return found
