"""Shapes and dtypes of what methods of tensors return."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from tirlens.evaluation.libraries.torch import element_values
from tirlens.evaluation.libraries.torch.functions import product
from tirlens.evaluation.libraries.torch.shapes import (
    Tensor,
    axes_of,
    flat,
    itemsize,
    product_of,
    reshape,
    with_size,
)
from tirlens.evaluation.values import UNKNOWN, External, Value

_INTEGER_RESULTS = {"argmax", "argmin", "argsort", "count_nonzero"}
_WITH_INDICES = ("max", "min", "median", "mode")


def reinterpret(base: Tensor, dtype: External) -> Tensor:
    """``x.view(torch.uint8)``: the last dimension holds the same bytes."""
    old, new = itemsize(base.dtype), itemsize(dtype)
    if not base.shape or type(base.shape[-1]) is not int or old is None or new is None:
        return Tensor(base.shape, dtype)
    return Tensor((*base.shape[:-1], base.shape[-1] * old // new), dtype)


def reduce(base: Tensor, name: str, positional: list[Value], named: dict[str, Value]) -> Value:
    given = named.get("dim", named.get("axis", positional[0] if positional else None))
    dtype = External("torch.int64") if name in _INTEGER_RESULTS else base.dtype
    if given is None or name == "norm":
        return element_values.reduce_contents(base, name, Tensor((), dtype))
    axes = axes_of(given, len(base.shape))
    if axes is None:
        return UNKNOWN
    keep = named.get("keepdim") is True
    shape = tuple(
        1 if axis in axes else size
        for axis, size in enumerate(base.shape)
        if keep or axis not in axes
    )
    made = element_values.reduce_contents(base, name, Tensor(shape, dtype))
    return (made, Tensor(shape, External("torch.int64"))) if name in _WITH_INDICES else made


def _cast_to(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    dtypes = [
        item
        for item in (*positional, *named.values())
        if isinstance(item, External) and item.path not in ("torch.device",)
    ]
    given = [item for item in positional if isinstance(item, Tensor)]
    dtype = dtypes[-1] if dtypes else given[0].dtype if given else named.get("dtype", base.dtype)
    contents = base.contents if element_values.is_integer(dtype) else None
    return Tensor(base.shape, dtype, contents)


def _cumulative_sum(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    is_integer = element_values.is_integer(base.dtype)
    default = External("torch.int64") if is_integer else base.dtype
    return element_values.cumulative_sum(base, named.get("dtype", default))


def _new_tensor(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    return element_values.of_values(positional, {"dtype": base.dtype, **named})


def _transpose(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    axes = axes_of(tuple([*positional, *named.values()][:2]), len(base.shape))
    if axes is None or len(axes) != 2:
        return UNKNOWN
    shape = list(base.shape)
    shape[axes[0]], shape[axes[1]] = shape[axes[1]], shape[axes[0]]
    return base.with_shape(tuple(shape))


def _permute(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    axes = axes_of(flat(positional, named), len(base.shape))
    return UNKNOWN if axes is None else base.with_shape(tuple(base.shape[axis] for axis in axes))


def _unsqueeze(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    axes = axes_of([*positional, *named.values()][0], len(base.shape) + 1)
    if axes is None:
        return UNKNOWN
    return base.with_shape((*base.shape[: axes[0]], 1, *base.shape[axes[0] :]))


def _squeeze(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    given = [*positional, *named.values()]
    axes = axes_of(given[0], len(base.shape)) if given else range(len(base.shape))
    if axes is None:
        return UNKNOWN
    kept = (size for axis, size in enumerate(base.shape) if axis not in axes or size != 1)
    return base.with_shape(tuple(kept))


def _flatten(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    first = positional[0] if positional else named.get("start_dim", 0)
    last = positional[1] if len(positional) > 1 else named.get("end_dim", -1)
    axes = axes_of((first, last), len(base.shape))
    if axes is None:
        return UNKNOWN
    low, high = axes
    merged = product_of(base.shape[low : high + 1])
    return base.with_shape((*base.shape[:low], merged, *base.shape[high + 1 :]))


def _unflatten(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    if len(positional) != 2 or not isinstance(positional[1], (tuple, list)):
        return UNKNOWN
    axes = axes_of(positional[0], len(base.shape))
    if axes is None:
        return UNKNOWN
    axis = axes[0]
    inner = reshape((base.shape[axis],), tuple(cast("tuple[Value, ...]", positional[1])))
    return base.with_shape((*base.shape[:axis], *inner, *base.shape[axis + 1 :]))


def _size(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    given = [*positional, *named.values()]
    if not given:
        return base.shape
    return base.shape[given[0]] if type(given[0]) is int else UNKNOWN


def _expand(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    sizes = flat(positional, named)
    padded = (*([1] * (len(sizes) - len(base.shape))), *base.shape)
    return base.with_shape(
        tuple(old if size == -1 else size for size, old in zip(sizes, padded, strict=False))
    )


def _repeat(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    counts = flat(positional, named)
    padded = (*([1] * (len(counts) - len(base.shape))), *base.shape)
    return base.with_shape(tuple(product_of((a, b)) for a, b in zip(counts, padded, strict=False)))


def _split(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    parts = positional[0] if positional else UNKNOWN
    axis = named.get("dim", positional[1] if len(positional) > 1 else 0)
    axes = axes_of(axis, len(base.shape))
    if axes is None:
        return UNKNOWN
    size = base.shape[axes[0]]
    if type(parts) is int and type(size) is int and parts:
        parts = [min(parts, size - start) for start in range(0, size, parts)]
    if not isinstance(parts, (list, tuple)):
        return UNKNOWN
    return tuple(with_size(base, axes[0], one) for one in cast("list[Value]", parts))


def _chunk(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    count = positional[0] if positional else named.get("chunks", UNKNOWN)
    axes = axes_of(named.get("dim", positional[1] if len(positional) > 1 else 0), len(base.shape))
    if axes is None or type(count) is not int or count < 1:
        return UNKNOWN
    size = base.shape[axes[0]]
    each = -(-size // count) if type(size) is int else UNKNOWN
    return tuple(with_size(base, axes[0], each) for _ in range(count))


def _unbind(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    axes = axes_of(named.get("dim", positional[0] if positional else 0), len(base.shape))
    if axes is None or not base.shape or type(base.shape[axes[0]]) is not int:
        return UNKNOWN
    inner = base.with_shape((*base.shape[: axes[0]], *base.shape[axes[0] + 1 :]))
    return (inner,) * min(base.shape[axes[0]], 64)


def _top(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    count = named.get("k", positional[0] if positional else UNKNOWN)
    given = named.get("dim", positional[1] if len(positional) > 1 else -1)
    axes = axes_of(given, len(base.shape))
    if axes is None:
        return UNKNOWN
    made = with_size(base, axes[0], count)
    return made, Tensor(made.shape, External("torch.int64"))


def _sort(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    return base, Tensor(base.shape, External("torch.int64"))


def _running_extreme(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    """``x.cummax(dim)``: the values and their places."""
    return base.with_shape(base.shape), Tensor(base.shape, External("torch.int64"))


def strides_of(base: Tensor) -> tuple[Value, ...]:
    """The strides of a tensor, as if it were contiguous."""
    return tuple(product_of(base.shape[axis + 1 :]) for axis in range(len(base.shape)))


def _stride(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    strides = strides_of(base)
    if not positional:
        return strides
    return strides[positional[0]] if type(positional[0]) is int else UNKNOWN


def _shape_of_other(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    """``x.view_as(y)``."""
    other = (*positional, *named.values(), UNKNOWN)[0]
    return base.with_shape(other.shape) if isinstance(other, Tensor) else UNKNOWN


def _gather(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    index = named.get("index", positional[1] if len(positional) > 1 else UNKNOWN)
    return base.with_shape(index.shape) if isinstance(index, Tensor) else UNKNOWN


def _index_select(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    axes = axes_of(named.get("dim", positional[0] if positional else None), len(base.shape))
    index = named.get("index", positional[1] if len(positional) > 1 else UNKNOWN)
    if axes is None or not isinstance(index, Tensor) or len(index.shape) != 1:
        return UNKNOWN
    return with_size(base, axes[0], index.shape[0])


def _select(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    axes = axes_of(named.get("dim", positional[0] if positional else None), len(base.shape))
    if axes is None:
        return UNKNOWN
    return base.with_shape((*base.shape[: axes[0]], *base.shape[axes[0] + 1 :]))


def _narrow(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    axes = axes_of(named.get("dim", positional[0] if positional else None), len(base.shape))
    length = named.get("length", positional[2] if len(positional) > 2 else UNKNOWN)
    return UNKNOWN if axes is None else with_size(base, axes[0], length)


def _move_axis(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    given = [*positional, *named.values()][:2]
    axes = axes_of(tuple(given), len(base.shape))
    if axes is None or len(axes) != 2:
        return UNKNOWN
    rest = [size for axis, size in enumerate(base.shape) if axis != axes[0]]
    rest.insert(axes[1], base.shape[axes[0]])
    return base.with_shape(tuple(rest))


def _repeat_interleave(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    count = named.get("repeats", positional[0] if positional else UNKNOWN)
    given = named.get("dim", positional[1] if len(positional) > 1 else None)
    if type(count) is not int:
        return UNKNOWN
    if given is None:
        return base.with_shape((product_of((*base.shape, count)),))
    axes = axes_of(given, len(base.shape))
    if axes is None:
        return UNKNOWN
    return with_size(base, axes[0], product_of((base.shape[axes[0]], count)))


def _new_full(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    return Tensor(flat(positional[:1], {}), named.get("dtype", base.dtype))


_Method = Callable[[Tensor, "list[Any]", "dict[str, Any]"], Any]
METHODS: dict[str, _Method] = {
    "to": _cast_to,
    "cumsum": _cumulative_sum,
    "diff": lambda base, positional, named: (
        UNKNOWN if positional else element_values.differences(base)
    ),
    "item": lambda base, positional, named: element_values.item(base),
    "tolist": lambda base, positional, named: element_values.to_list(base),
    "new_tensor": _new_tensor,
    "type": _cast_to,
    "transpose": _transpose,
    "swapaxes": _transpose,
    "t": lambda base, positional, named: base.with_shape(base.shape[::-1]),
    "permute": _permute,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "flatten": _flatten,
    "unflatten": _unflatten,
    "size": _size,
    "expand": _expand,
    "repeat": _repeat,
    "split": _split,
    "chunk": _chunk,
    "unbind": _unbind,
    "topk": _top,
    "sort": _sort,
    "cummax": _running_extreme,
    "cummin": _running_extreme,
    "argsort": lambda base, positional, named: Tensor(base.shape, External("torch.int64")),
    "numel": lambda base, positional, named: product_of(base.shape),
    "nelement": lambda base, positional, named: product_of(base.shape),
    "dim": lambda base, positional, named: len(base.shape),
    "stride": _stride,
    "is_contiguous": lambda base, positional, named: True,
    "new_empty": lambda base, positional, named: Tensor(
        flat(positional, {}), named.get("dtype", base.dtype)
    ),
    "new_zeros": lambda base, positional, named: Tensor(
        flat(positional, {}), named.get("dtype", base.dtype)
    ),
    "new_ones": lambda base, positional, named: Tensor(
        flat(positional, {}), named.get("dtype", base.dtype)
    ),
    "new_full": _new_full,
    "matmul": lambda base, positional, named: product([base, *positional]),
    "mm": lambda base, positional, named: product([base, *positional]),
    "bmm": lambda base, positional, named: product([base, *positional]),
    "view_as": _shape_of_other,
    "reshape_as": _shape_of_other,
    "expand_as": _shape_of_other,
    "gather": _gather,
    "take_along_dim": _gather,
    "index_select": _index_select,
    "select": _select,
    "narrow": _narrow,
    "movedim": _move_axis,
    "moveaxis": _move_axis,
    "swapdims": _transpose,
    "tile": _repeat,
    "repeat_interleave": _repeat_interleave,
    "broadcast_to": _expand,
}
