"""Shapes and dtypes of the tensors that functions and methods of torch return.

A dimension is a number or `UNKNOWN`. A tensor's dtype is the path of torch's name for it, or
`UNKNOWN`.
"""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from tirlens.repository.values import UNKNOWN, Data, External, Unknown, Value

_MADE = {"randn", "rand", "empty", "zeros", "ones", "full", "randint", "empty_strided", "rand_fp8"}
_MADE_OF_INTEGERS = {"randint", "randperm", "arange"}
_CASTS = {
    "half": "float16", "float": "float32", "bfloat16": "bfloat16", "double": "float64",
    "int": "int32", "long": "int64", "bool": "bool", "short": "int16",
}  # fmt: skip
_REDUCTIONS = {
    "sum", "mean", "amax", "amin", "prod", "std", "var", "norm", "logsumexp", "any", "all",
    "argmax", "argmin", "max", "min",
}  # fmt: skip
_INTEGER_RESULTS = {"argmax", "argmin", "argsort"}
_RESHAPES = {"view", "reshape"}
# Results that have another shape in a way that is not followed.
_UNKNOWN_SHAPES = {
    "nonzero", "unique", "tolist", "item", "numpy", "data_ptr", "masked_select", "gather",
    "element_size", "backward", "register_hook", "storage", "untyped_storage",
    "index_select", "repeat_interleave", "diff", "bincount", "grad", "grad_fn", "requires_grad",
}  # fmt: skip


@dataclass(frozen=True)
class Tensor(Data):
    """A tensor of torch."""

    shape: tuple[Value, ...]
    dtype: Value

    def with_shape(self, shape: tuple[Value, ...]) -> Tensor:
        """A tensor of the same dtype."""
        return Tensor(shape, self.dtype)


def create(name: str, positional: list[Value], named: dict[str, Value]) -> Value:
    """What ``torch.<name>`` returns where it makes a tensor or changes one; else `UNKNOWN`."""
    like = name.endswith("_like")
    if like and positional and isinstance(positional[0], Tensor):
        return Tensor(positional[0].shape, named.get("dtype", positional[0].dtype))
    if name in ("arange", "randperm"):
        length = _count(positional)
        return Tensor((length,), named.get("dtype", External("torch.int64")))
    if name in _MADE:
        default = "torch.int64" if name in _MADE_OF_INTEGERS else "torch.float32"
        return Tensor(_shape_of(name, positional, named), named.get("dtype", External(default)))
    if name in ("tensor", "as_tensor"):
        return _of_values(positional, named)
    if name in ("cat", "concat", "concatenate", "stack"):
        return _join(name, positional, named)
    known = _FUNCTIONS.get(name)
    if known is not None:
        return known(positional, named)
    if positional and isinstance(positional[0], Tensor):
        return method(positional[0], name, positional[1:], named)
    return UNKNOWN


def attribute(base: Tensor, name: str) -> Value:
    """``x.shape``, ``x.dtype``, ``x.T``, ``x.ndim``; None for the name of a method."""
    values: dict[str, Value] = {
        "shape": base.shape,
        "dtype": base.dtype,
        "ndim": len(base.shape),
        "device": External("torch.device"),
        "is_cuda": True,
        "grad": base,
        "data": base,
    }
    if name in ("T", "mT"):
        return base.with_shape((*base.shape[:-2], *base.shape[-2:][::-1]))
    return values.get(name)


def method(base: Tensor, name: str, positional: list[Value], named: dict[str, Value]) -> Value:
    """What a method of a tensor returns; a method that is not known keeps shape and dtype."""
    known = _METHODS.get(name)
    if known is not None:
        return known(base, positional, named)
    if name in _UNKNOWN_SHAPES:
        return UNKNOWN
    if name in _CASTS and not positional:
        return Tensor(base.shape, External(f"torch.{_CASTS[name]}"))
    if name in ("max", "min") and positional and isinstance(positional[0], Tensor):
        return elementwise(base, positional[0])
    if name in _REDUCTIONS:
        return _reduce(base, name, positional, named)
    if name == "view" and positional and isinstance(positional[0], External):
        return _reinterpret(base, positional[0])
    if name in _RESHAPES:
        return base.with_shape(_reshape(base.shape, _flat(positional, named)))
    return base


def elementwise(left: Value, right: Value) -> Value:
    """The tensor of an arithmetic operation."""
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return left.with_shape(_broadcast(left.shape, right.shape))
    return left if isinstance(left, Tensor) else right


def comparison(left: Value, right: Value) -> Tensor:
    """The mask of a comparison, of which one side is a tensor."""
    return Tensor(elementwise(left, right).shape, External("torch.bool"))


def subscript(base: Tensor, keys: tuple[Value, ...]) -> Tensor:
    """``x[i]``, ``x[a:b]``, ``x[..., None]``; slices are `slice` objects."""
    given = sum(1 for key in keys if key is not None and key is not Ellipsis)
    out: list[Value] = []
    axis = 0
    for key in keys if Ellipsis in keys else (*keys, Ellipsis):
        if key is None:
            out.append(1)
            continue
        if key is Ellipsis:
            rest = len(base.shape) - given
            out += base.shape[axis : axis + rest]
            axis += rest
            continue
        size = base.shape[axis] if axis < len(base.shape) else UNKNOWN
        axis += 1
        if isinstance(key, slice):
            out.append(_slice_size(size, key))
        elif isinstance(key, Tensor) and _is_mask(key):
            # All may be selected, and a good part is.
            out.append(size)
            axis += len(key.shape) - 1
        elif isinstance(key, Tensor):
            out += key.shape
        elif not isinstance(key, (int, Unknown)):
            out.append(UNKNOWN)
    return base.with_shape(tuple(out))


def _is_mask(key: Tensor) -> bool:
    return isinstance(key.dtype, External) and key.dtype.path == "torch.bool"


def product_of(sizes: tuple[Value, ...]) -> Value:
    """The number of elements; `UNKNOWN` if a dimension is."""
    return math.prod(sizes) if all(type(size) is int for size in sizes) else UNKNOWN


def _slice_size(size: Value, key: slice) -> Value:
    parts = (key.start, key.stop, key.step)
    if any(isinstance(part, Unknown) for part in parts):
        return UNKNOWN
    if type(size) is not int:
        full = key.start in (None, 0) and isinstance(key.stop, int) and key.stop > 0
        return key.stop if full and key.step is None else UNKNOWN
    return len(range(*key.indices(size)))


def _count(positional: list[Value]) -> Value:
    bounds = [item for item in positional if type(item) is int]
    return len(range(*bounds)) if bounds and len(bounds) == len(positional) else UNKNOWN


def _shape_of(name: str, positional: list[Value], named: dict[str, Value]) -> tuple[Value, ...]:
    size = named.get("size", named.get("shape"))
    if size is None and name == "randint":
        size = next((item for item in positional if isinstance(item, (tuple, list))), UNKNOWN)
    if size is None and name in ("full", "empty_strided"):
        size = positional[0]
    return _flat([size] if size is not None else positional, {})


def _flat(positional: list[Value], named: dict[str, Value]) -> tuple[Value, ...]:
    given = positional or list(named.values())[:1]
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        return tuple(cast("tuple[Value, ...]", given[0]))
    return tuple(item if type(item) is int else UNKNOWN for item in given)


def _of_values(positional: list[Value], named: dict[str, Value]) -> Value:
    shape: list[Value] = []
    value = positional[0] if positional else UNKNOWN
    if isinstance(value, Tensor):
        return value
    while isinstance(value, (list, tuple)):
        shape.append(len(cast("list[Value]", value)))
        value = value[0] if value else 0
    default = "torch.int64" if isinstance(value, int) else "torch.float32"
    return Tensor(tuple(shape), named.get("dtype", External(default)))


def _reinterpret(base: Tensor, dtype: External) -> Tensor:
    """``x.view(torch.uint8)``: the last dimension holds the same bytes."""
    old, new = itemsize(base.dtype), itemsize(dtype)
    if not base.shape or type(base.shape[-1]) is not int or old is None or new is None:
        return Tensor(base.shape, dtype)
    return Tensor((*base.shape[:-1], base.shape[-1] * old // new), dtype)


def itemsize(dtype: Value) -> int | None:
    """The bytes of an element; None for a dtype that is not known."""
    if not isinstance(dtype, External):
        return None
    name = dtype.path.rpartition(".")[2]
    digits = re.search(r"\d+", name)
    bits = 8 if name == "bool" else int(digits[0]) if digits else 0
    return bits // 8 or None


def _where(positional: list[Value], named: dict[str, Value]) -> Value:
    if len(positional) < 3:
        return UNKNOWN
    mask, left, right = positional[:3]
    chosen = left if isinstance(left, Tensor) else right
    if not isinstance(chosen, Tensor) or not isinstance(mask, Tensor):
        return UNKNOWN
    shape = elementwise(mask, elementwise(left, right)).shape
    return Tensor(shape, chosen.dtype)


def _pad(positional: list[Value], named: dict[str, Value]) -> Value:
    base, widths = positional[0], positional[1] if len(positional) > 1 else named.get("pad")
    if not isinstance(base, Tensor) or not isinstance(widths, (list, tuple)):
        return base
    shape = list(base.shape)
    for place, (low, high) in enumerate(zip(widths[::2], widths[1::2], strict=False)):
        axis = len(shape) - 1 - place
        if axis >= 0:
            parts = (shape[axis], low, high)
            shape[axis] = sum(parts) if all(type(part) is int for part in parts) else UNKNOWN
    return base.with_shape(tuple(shape))


def _linear(positional: list[Value], named: dict[str, Value]) -> Value:
    left, weight = positional[0], positional[1] if len(positional) > 1 else named.get("weight")
    if not isinstance(left, Tensor) or not isinstance(weight, Tensor) or not weight.shape:
        return UNKNOWN
    return left.with_shape((*left.shape[:-1], weight.shape[0]))


def _einsum(positional: list[Value], named: dict[str, Value]) -> Value:
    """The shape by the letters of the equation; dimensions after ``...`` are not known."""
    text = positional[0] if positional else UNKNOWN
    operands = [item for item in positional[1:] if isinstance(item, Tensor)]
    if not isinstance(text, str) or "->" not in text or "." in text:
        return UNKNOWN
    left, _, right = text.replace(" ", "").partition("->")
    sizes = {
        letter: size
        for letters, operand in zip(left.split(","), operands, strict=False)
        for letter, size in zip(letters, operand.shape, strict=False)
    }
    if not operands:
        return UNKNOWN
    return operands[0].with_shape(tuple(sizes.get(letter, UNKNOWN) for letter in right))


def _outer(positional: list[Value], named: dict[str, Value]) -> Value:
    left, right = (*positional, UNKNOWN, UNKNOWN)[:2]
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return UNKNOWN
    return left.with_shape((*left.shape, *right.shape))


def _join(name: str, positional: list[Value], named: dict[str, Value]) -> Value:
    items = positional[0] if positional else UNKNOWN
    if not isinstance(items, (list, tuple)) or not items:
        return UNKNOWN
    parts = [item for item in cast("list[Value]", items) if isinstance(item, Tensor)]
    if len(parts) != len(cast("list[Value]", items)):
        return UNKNOWN
    axis = named.get("dim", named.get("axis", positional[1] if len(positional) > 1 else 0))
    shape = list(parts[0].shape)
    if type(axis) is not int:
        return UNKNOWN
    if name == "stack":
        shape.insert(axis % (len(shape) + 1), len(parts))
    elif shape:
        sizes: list[Any] = [
            part.shape[axis] if len(part.shape) > axis else UNKNOWN for part in parts
        ]
        shape[axis] = sum(sizes) if all(type(size) is int for size in sizes) else UNKNOWN
    return parts[0].with_shape(tuple(shape))


def _product(positional: list[Value]) -> Value:
    left, right = (*positional, UNKNOWN, UNKNOWN)[:2]
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return UNKNOWN
    if not right.shape or not left.shape:
        return UNKNOWN
    return left.with_shape((*left.shape[:-1], right.shape[-1]))


def _axes(value: Value, rank: int) -> list[int] | None:
    found = value if isinstance(value, (tuple, list)) else (value,)
    axes = [axis for axis in cast("tuple[Value, ...]", found) if type(axis) is int]
    return [axis % max(rank, 1) for axis in axes] if len(axes) == len(found) else None


def _reduce(base: Tensor, name: str, positional: list[Value], named: dict[str, Value]) -> Value:
    given = named.get("dim", named.get("axis", positional[0] if positional else None))
    dtype = External("torch.int64") if name in _INTEGER_RESULTS else base.dtype
    if given is None or name == "norm":
        return Tensor((), dtype)
    axes = _axes(given, len(base.shape))
    if axes is None:
        return UNKNOWN
    keep = named.get("keepdim") is True
    shape = tuple(
        1 if axis in axes else size
        for axis, size in enumerate(base.shape)
        if keep or axis not in axes
    )
    made = Tensor(shape, dtype)
    return (made, Tensor(shape, External("torch.int64"))) if name in ("max", "min") else made


def _reshape(old: tuple[Value, ...], new: tuple[Value, ...]) -> tuple[Value, ...]:
    holes = [size for size in new if size == -1]
    if len(holes) != 1:
        return new
    total = product_of(old)
    rest = product_of(tuple(size for size in new if size != -1))
    known = type(total) is int and type(rest) is int and rest and total % rest == 0
    return tuple((total // rest if known else UNKNOWN) if size == -1 else size for size in new)


def _broadcast(left: tuple[Value, ...], right: tuple[Value, ...]) -> tuple[Value, ...]:
    long, short = (left, right) if len(left) >= len(right) else (right, left)
    padded = (*([1] * (len(long) - len(short))), *short)
    return tuple(b if a == 1 else a for a, b in zip(long, padded, strict=True))


def _cast_to(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    dtypes = [
        item
        for item in (*positional, *named.values())
        if isinstance(item, External) and item.path not in ("torch.device",)
    ]
    given = [item for item in positional if isinstance(item, Tensor)]
    dtype = dtypes[-1] if dtypes else given[0].dtype if given else named.get("dtype", base.dtype)
    return Tensor(base.shape, dtype)


def _transpose(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    axes = _axes(tuple([*positional, *named.values()][:2]), len(base.shape))
    if axes is None or len(axes) != 2:
        return UNKNOWN
    shape = list(base.shape)
    shape[axes[0]], shape[axes[1]] = shape[axes[1]], shape[axes[0]]
    return base.with_shape(tuple(shape))


def _permute(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    axes = _axes(_flat(positional, named), len(base.shape))
    return UNKNOWN if axes is None else base.with_shape(tuple(base.shape[axis] for axis in axes))


def _unsqueeze(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    axes = _axes([*positional, *named.values()][0], len(base.shape) + 1)
    if axes is None:
        return UNKNOWN
    return base.with_shape((*base.shape[: axes[0]], 1, *base.shape[axes[0] :]))


def _squeeze(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    given = [*positional, *named.values()]
    axes = _axes(given[0], len(base.shape)) if given else range(len(base.shape))
    if axes is None:
        return UNKNOWN
    kept = (size for axis, size in enumerate(base.shape) if axis not in axes or size != 1)
    return base.with_shape(tuple(kept))


def _flatten(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    first = positional[0] if positional else named.get("start_dim", 0)
    last = positional[1] if len(positional) > 1 else named.get("end_dim", -1)
    axes = _axes((first, last), len(base.shape))
    if axes is None:
        return UNKNOWN
    low, high = axes
    merged = product_of(base.shape[low : high + 1])
    return base.with_shape((*base.shape[:low], merged, *base.shape[high + 1 :]))


def _unflatten(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    if len(positional) != 2 or not isinstance(positional[1], (tuple, list)):
        return UNKNOWN
    axes = _axes(positional[0], len(base.shape))
    if axes is None:
        return UNKNOWN
    axis = axes[0]
    inner = _reshape((base.shape[axis],), tuple(cast("tuple[Value, ...]", positional[1])))
    return base.with_shape((*base.shape[:axis], *inner, *base.shape[axis + 1 :]))


def _size(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    given = [*positional, *named.values()]
    if not given:
        return base.shape
    return base.shape[given[0]] if type(given[0]) is int else UNKNOWN


def _expand(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    sizes = _flat(positional, named)
    padded = (*([1] * (len(sizes) - len(base.shape))), *base.shape)
    return base.with_shape(
        tuple(old if size == -1 else size for size, old in zip(sizes, padded, strict=False))
    )


def _repeat(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    counts = _flat(positional, named)
    padded = (*([1] * (len(counts) - len(base.shape))), *base.shape)
    return base.with_shape(tuple(product_of((a, b)) for a, b in zip(counts, padded, strict=False)))


def _split(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    parts = positional[0] if positional else UNKNOWN
    axis = named.get("dim", positional[1] if len(positional) > 1 else 0)
    axes = _axes(axis, len(base.shape))
    if axes is None:
        return UNKNOWN
    size = base.shape[axes[0]]
    if type(parts) is int and type(size) is int and parts:
        parts = [min(parts, size - start) for start in range(0, size, parts)]
    if not isinstance(parts, (list, tuple)):
        return UNKNOWN
    return tuple(_with_size(base, axes[0], one) for one in cast("list[Value]", parts))


def _chunk(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    count = positional[0] if positional else named.get("chunks", UNKNOWN)
    axes = _axes(named.get("dim", positional[1] if len(positional) > 1 else 0), len(base.shape))
    if axes is None or type(count) is not int or count < 1:
        return UNKNOWN
    size = base.shape[axes[0]]
    each = -(-size // count) if type(size) is int else UNKNOWN
    return tuple(_with_size(base, axes[0], each) for _ in range(count))


def _unbind(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    axes = _axes(named.get("dim", positional[0] if positional else 0), len(base.shape))
    if axes is None or not base.shape or type(base.shape[axes[0]]) is not int:
        return UNKNOWN
    inner = base.with_shape((*base.shape[: axes[0]], *base.shape[axes[0] + 1 :]))
    return (inner,) * min(base.shape[axes[0]], 64)


def _top(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    count = named.get("k", positional[0] if positional else UNKNOWN)
    given = named.get("dim", positional[1] if len(positional) > 1 else -1)
    axes = _axes(given, len(base.shape))
    if axes is None:
        return UNKNOWN
    made = _with_size(base, axes[0], count)
    return made, Tensor(made.shape, External("torch.int64"))


def _sort(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    return base, Tensor(base.shape, External("torch.int64"))


def _stride(base: Tensor, positional: list[Value], named: dict[str, Value]) -> Value:
    strides = tuple(product_of(base.shape[axis + 1 :]) for axis in range(len(base.shape)))
    if not positional:
        return strides
    return strides[positional[0]] if type(positional[0]) is int else UNKNOWN


def _with_size(base: Tensor, axis: int, size: Value) -> Tensor:
    return base.with_shape((*base.shape[:axis], size, *base.shape[axis + 1 :]))


_Function = Callable[["list[Any]", "dict[str, Any]"], Any]
# Functions of torch whose result has not the shape and dtype of their first argument.
_FUNCTIONS: dict[str, _Function] = {
    "where": _where,
    "pad": _pad,
    "linear": _linear,
    "einsum": _einsum,
    "outer": _outer,
    "matmul": lambda positional, named: _product(positional),
    "mm": lambda positional, named: _product(positional),
    "bmm": lambda positional, named: _product(positional),
}
_Method = Callable[[Tensor, "list[Any]", "dict[str, Any]"], Any]
_METHODS: dict[str, _Method] = {
    "to": _cast_to,
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
    "argsort": lambda base, positional, named: Tensor(base.shape, External("torch.int64")),
    "numel": lambda base, positional, named: product_of(base.shape),
    "nelement": lambda base, positional, named: product_of(base.shape),
    "dim": lambda base, positional, named: len(base.shape),
    "stride": _stride,
    "is_contiguous": lambda base, positional, named: True,
    "new_empty": lambda base, positional, named: Tensor(
        _flat(positional, {}), named.get("dtype", base.dtype)
    ),
    "new_zeros": lambda base, positional, named: Tensor(
        _flat(positional, {}), named.get("dtype", base.dtype)
    ),
    "matmul": lambda base, positional, named: _product([base, *positional]),
}
