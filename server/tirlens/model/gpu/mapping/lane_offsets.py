"""Element offsets of an access, evaluated for all lanes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tirlens_counting.arrays import np, npt
from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    free_variables,
    is_data_dependent,
    simplify,
)
from tirlens_worker.facts import Access, Buffer, Expr

from ...tree.context import LoopContext, drop_loads

IntArray = npt.NDArray[np.int64]


def element_offsets(
    access: Access,
    buffer: Buffer,
    context: LoopContext,
    env: Mapping[str, Any],
    inside: Sequence[IntArray] = (),
) -> IntArray | None:
    """Element offsets of an access; None where they depend on data."""
    if len(access.indices) != len(buffer.shape):
        return None
    try:
        steps = iter(inside)
        sizes: Sequence[Expr] = access.extents or (1,) * len(access.indices)
        flat: Any = 0
        # The leading size does not enter an offset.
        shape = [1, *(_value(extent, context, env) for extent in buffer.shape[1:])]
        strides = _strides(buffer, context, env)
        for axis, (index, size) in enumerate(zip(access.indices, sizes, strict=True)):
            position = _value(index, context, env)
            if inside and _value(size, context, env) > 1:
                position = position + next(steps, 0)
            flat = flat + position * strides[axis] if strides else flat * shape[axis] + position
        return np.asarray(flat, dtype=np.int64)
    except (UnknownValueError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None


def _strides(buffer: Buffer, context: LoopContext, env: Mapping[str, Any]) -> list[Any]:
    """The strides of an array in elements; none where it is compact or they are not known."""
    try:
        return [_value(stride, context, env) for stride in buffer.strides]
    except UnknownValueError:
        return []


def _value(expr: Expr, context: LoopContext, env: Mapping[str, Any]) -> Any:
    return expr if isinstance(expr, int) else evaluate(context.resolve(expr), env)


def drop_uniform_loads(
    access: Access,
    context: LoopContext,
    buffers: Mapping[str, Buffer],
    env: Mapping[str, Any],
    is_block_wide: bool = False,
) -> Access:
    """An access without the loaded offsets that are equal in all threads.

    Such an offset, of a page or a token, is the start of a row.  Where the threads process a tile
    together (`is_block_wide`), a local variable has the same value in all of them.
    """
    indices = tuple(context.resolve(index) for index in access.indices)
    if not any(map(is_data_dependent, indices)):
        return access

    def is_common_to_lanes(load: tuple[Any, ...]) -> bool:
        own = buffers[load[1]].scope.startswith("local") if load[1] in buffers else True
        own = own and not is_block_wide
        return not own and not any(np.ndim(env.get(name, 0)) for name in free_variables(load))

    return replace(
        access, indices=tuple(simplify(drop_loads(index, is_common_to_lanes)) for index in indices)
    )
