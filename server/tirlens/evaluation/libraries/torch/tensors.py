"""Shapes and dtypes of the tensors that functions, methods and subscripts of torch return."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import replace

from tirlens.evaluation.libraries.torch import element_values
from tirlens.evaluation.libraries.torch.functions import FUNCTIONS, join
from tirlens.evaluation.libraries.torch.methods import METHODS, reduce, reinterpret
from tirlens.evaluation.libraries.torch.same_shape import (
    COMPARISONS,
    OF_TWO,
    SAME_SHAPE,
    SAME_VALUES,
    is_in_place,
)
from tirlens.evaluation.libraries.torch.shapes import (
    Tensor,
    comparison,
    elementwise,
    flat,
    is_mask,
    reshape,
)
from tirlens.evaluation.values import UNKNOWN, External, Unknown, Value

_MADE = {"randn", "rand", "empty", "zeros", "ones", "full", "randint", "empty_strided", "rand_fp8"}
_MADE_OF_INTEGERS = {"randint", "randperm", "arange"}
_CASTS = {
    "half": "float16", "float": "float32", "bfloat16": "bfloat16", "double": "float64",
    "int": "int32", "long": "int64", "bool": "bool", "short": "int16",
}  # fmt: skip
_LEGACY = {
    "LongTensor": "torch.int64", "IntTensor": "torch.int32", "FloatTensor": "torch.float32",
}  # fmt: skip
_REDUCTIONS = {
    "sum", "mean", "amax", "amin", "prod", "std", "var", "norm", "logsumexp", "any", "all",
    "argmax", "argmin", "max", "min", "median", "mode", "nansum", "nanmean", "count_nonzero",
}  # fmt: skip
_RESHAPES = {"view", "reshape"}


def create(name: str, positional: list[Value], named: dict[str, Value]) -> Value:
    """What ``torch.<name>`` returns where it makes a tensor or changes one; else `UNKNOWN`."""
    like = name.endswith("_like")
    if like and positional and isinstance(positional[0], Tensor):
        made = Tensor(positional[0].shape, named.get("dtype", positional[0].dtype))
        return element_values.fill(made, _fill(name, positional, named))
    if name in ("arange", "randperm"):
        return _arange(name, positional, named)
    if name in _MADE:
        default = "torch.int64" if name in _MADE_OF_INTEGERS else "torch.float32"
        shape = _shape_of(name, positional, named)
        made = Tensor(shape, named.get("dtype", External(default)))
        return element_values.fill(made, _fill(name, positional, named))
    if name in ("tensor", "as_tensor"):
        return element_values.of_values(positional, named)
    if name in _LEGACY:
        return _legacy(positional, _LEGACY[name])
    if name in ("cat", "concat", "concatenate", "stack"):
        return join(name, positional, named)
    known = FUNCTIONS.get(name)
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
    """What a method of a tensor returns; `UNKNOWN` for a method that is not known."""
    known = METHODS.get(name)
    if known is not None:
        return known(base, positional, named)
    if name in _CASTS and not positional:
        dtype = External(f"torch.{_CASTS[name]}")
        contents = base.contents if element_values.is_integer(dtype) else None
        return Tensor(base.shape, dtype, contents)
    if name in ("max", "min") and positional and isinstance(positional[0], Tensor):
        return elementwise(base, positional[0])
    if name in _REDUCTIONS:
        return reduce(base, name, positional, named)
    if name == "view" and positional and isinstance(positional[0], External):
        return reinterpret(base, positional[0])
    if name in _RESHAPES:
        shape = reshape(base.shape, flat(positional, named))
        return replace(base, shape=shape, contents=base.contents if len(shape) == 1 else None)
    if name in SAME_VALUES:
        return base
    if name in COMPARISONS:
        return comparison(base, positional[0] if positional else base)
    if name in OF_TWO:
        return replace(elementwise(base, (*positional, base)[0]), contents=None)
    is_same = name in SAME_SHAPE or is_in_place(name)
    return replace(base, contents=None) if is_same else UNKNOWN


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
        elif isinstance(key, Tensor) and is_mask(key):
            # All may be selected, and a good part is.
            out.append(size)
            axis += len(key.shape) - 1
        elif isinstance(key, Tensor):
            out += key.shape
        elif not isinstance(key, (int, Unknown)):
            out.append(UNKNOWN)
    made = base.with_shape(tuple(out))
    return element_values.select(base, keys[0], made) if len(keys) == 1 else made


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
    return flat([size] if size is not None else positional, {})


def _arange(name: str, positional: list[Value], named: dict[str, Value]) -> Tensor:
    bounds = [named[key] for key in ("start", "end", "step") if key in named]
    length = _count([*positional, *bounds])
    made = Tensor((length,), named.get("dtype", External("torch.int64")))
    known = type(length) is int and length <= element_values.MAX_ELEMENTS
    if name == "randperm" or not known or not element_values.is_integer(made.dtype):
        return made
    return replace(made, contents=tuple(range(*positional, *bounds)))


def _fill(name: str, positional: list[Value], named: dict[str, Value]) -> Value:
    """The value of all elements of a new tensor, if it is one; of random ones the middle."""
    if name.startswith(("zeros", "ones")):
        return int(name.startswith("ones"))
    if name in ("full", "full_like"):
        return named.get("fill_value", positional[1] if len(positional) > 1 else UNKNOWN)
    if name != "randint":
        return UNKNOWN
    bounds = [item for item in positional if type(item) is int]
    low = named.get("low", bounds[0] if len(bounds) > 1 else 0)
    high = named.get("high", bounds[-1] if bounds else UNKNOWN)
    return (low + high) // 2 if type(low) is int and type(high) is int else UNKNOWN


def _legacy(positional: list[Value], dtype: str) -> Value:
    """``torch.LongTensor(values)``, or of a size."""
    if positional and type(positional[0]) is int:
        return Tensor(tuple(positional), External(dtype))
    return element_values.of_values(positional, {"dtype": External(dtype)})
