"""Tensors that are shapes alone, and what is answered where their values are asked for.

Values that are asked of a shape are the ones that let most programs continue: comparisons hold,
counts are 1, other numbers are 0.
"""

# The values of torch, tvm and tilelang have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List

import torch

from . import origins, unknown_values

_MOST_LISTED = 1 << 22
# The attribute of a CPU tensor that a kernel may have written: its values are not known.
_UNKNOWN = "__tirlens_unknown__"
#: The attribute of a truth value that is not known, for what it is taken as.
HOLDS = "__tirlens_holds__"


def is_shape(value: Any) -> bool:
    """Whether the values of a tensor are not known."""
    return isinstance(value, torch.Tensor) and (value.is_meta or hasattr(value, _UNKNOWN))


def as_shape(value: Any) -> Any:
    """`value` as a shape; a leaf that gets a gradient becomes one itself."""
    if not isinstance(value, torch.Tensor) or value.is_meta:
        return value
    shape = value.detach().to("meta")
    if not value.requires_grad:
        return shape
    shape.requires_grad_(True)
    if not value.is_leaf or not hasattr(torch.utils, "swap_tensors"):
        return shape
    if isinstance(value, torch.nn.Parameter):
        shape = torch.nn.Parameter(shape)
    try:
        torch.utils.swap_tensors(value, shape)
    except RuntimeError:
        # Something else holds it.
        return shape
    return value


def forget_values(value: Any) -> None:
    """A kernel has been launched with this tensor, and may have written it.

    Integers are lengths and indices as a rule, which kernels read.
    """
    if isinstance(value, torch.Tensor) and not value.is_meta and value.is_floating_point():
        setattr(value, _UNKNOWN, True)


def leaves(value: Any) -> Iterator[Any]:
    """The values in lists, tuples and dicts."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    else:
        yield value


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """`value` with `function` of each value in its lists, tuples and dicts."""
    if isinstance(value, (list, tuple)):
        items = [map_leaves(function, item) for item in value]
        if isinstance(value, list):
            return items
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, dict):
        return {key: map_leaves(function, item) for key, item in value.items()}
    return function(value)


def _item(tensor: Any) -> Any:
    if hasattr(tensor, HOLDS) or tensor.dtype is torch.bool:
        return bool(getattr(tensor, HOLDS, False))
    if tensor.is_floating_point():
        return 0.0
    unknown_values.note_read(origins.user_frame(origins.caller()))
    return unknown_values.UnknownInt(1)


def as_number(value: Any) -> Any:
    """`value`, or its number if it is an integer tensor without dimensions: a size."""
    if not isinstance(value, torch.Tensor) or value.dim() or value.is_floating_point():
        return value
    return _item(value) if is_shape(value) else value.item()


def _item_of(tensor: Any) -> Any:
    return _float(tensor) if tensor.is_floating_point() else _item(tensor)


def _int(tensor: Any) -> int:
    """A whole number of a shape; of a number without a fraction, too, it is not known."""
    if tensor.is_floating_point():
        unknown_values.note_read(origins.user_frame(origins.caller()))
    return int(_item(tensor))


def _float(tensor: Any) -> float:
    # Programs make whole numbers of it: ``int(x.sum().item())``.
    unknown_values.note_read(origins.user_frame(origins.caller()))
    return float(_item(tensor))


def _list(tensor: Any) -> Any:
    unknown_values.note_read(origins.user_frame(origins.caller()))
    return _values_of(tensor).tolist()


def _values_of(tensor: Any) -> Any:
    if tensor.numel() > _MOST_LISTED:
        raise RuntimeError("the values of a tensor of {:,} elements".format(tensor.numel()))
    return torch.zeros(tensor.shape, dtype=tensor.dtype, device="cpu")


def _nonzero(tensor: Any, *_: Any, as_tuple: bool = False, **__: Any) -> Any:
    """The indices of all elements: which are not zero is not known."""
    rank, count = max(tensor.dim(), 1), tensor.numel()
    if as_tuple:
        return tuple(_at_most(count, torch.int64) for _ in range(rank))
    return unknown_values.mark_size(torch.empty((count, rank), dtype=torch.int64, device="meta"))


def _at_most(count: int, dtype: Any) -> Any:
    """An array of the most elements that there can be."""
    return unknown_values.mark_size(torch.empty((count,), dtype=dtype, device="meta"))


def _bincount(tensor: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """The counts of a shape: of `minlength` values, or of one if that is not known."""
    dtype = torch.int64 if weights is None else torch.float64
    found = torch.empty((max(int(minlength), 1),), dtype=dtype, device="meta")
    return found if minlength else unknown_values.mark_size(found)


def _repeat_interleave(tensor: Any, repeats: Any = None, dim: Any = None, **options: Any) -> Any:
    """The repetitions of the elements along a dimension, whose sum is not known of a shape."""
    size = options.get("output_size")
    repeats = tensor if repeats is None else repeats
    if not isinstance(repeats, torch.Tensor):
        return torch.repeat_interleave(as_shape(tensor), repeats, dim, **options)
    flat = as_shape(tensor).reshape(-1) if dim is None else as_shape(tensor)
    place = 0 if dim is None else dim
    shape = list(flat.shape)
    shape[place] = shape[place] if size is None else int(size)
    found = torch.empty(shape, dtype=flat.dtype, device="meta")
    return found if size is not None else unknown_values.mark_size(found)


def _getitem(tensor: Any, index: Any) -> Any:
    """An array by indices; a mask selects all elements."""
    parts = list(index) if isinstance(index, tuple) else [index]
    shaped = [part for part in parts if isinstance(part, torch.Tensor)]
    if not any(part.dtype in (torch.bool, torch.uint8) for part in shaped):
        return torch.Tensor.__getitem__(as_shape(tensor), map_leaves(as_shape, index))
    replaced: List[Any] = []
    for part in parts:
        if isinstance(part, torch.Tensor) and part.dtype in (torch.bool, torch.uint8):
            replaced += list(_nonzero(part, as_tuple=True))
        else:
            replaced.append(as_shape(part))
    found = torch.Tensor.__getitem__(as_shape(tensor), tuple(replaced))
    return unknown_values.mark_size(found)


def _unique(tensor: Any, *_: Any, **options: Any) -> Any:
    count = tensor.numel()
    values = _at_most(count, tensor.dtype)
    extra = [name for name in ("return_inverse", "return_counts") if options.get(name)]
    return (values, *(_at_most(count, torch.int64) for _ in extra)) if extra else values


#: The functions of torch that ask for values, and what they get of a shape.
OF_SHAPES: Dict[Any, Callable[..., Any]] = {
    torch.Tensor.item: _item_of,
    torch.Tensor.__bool__: lambda tensor: bool(_item(tensor)),
    torch.Tensor.__int__: _int,
    torch.Tensor.__index__: _int,
    torch.Tensor.__float__: _float,
    torch.Tensor.data_ptr: lambda tensor: id(tensor) << 20,
    torch.Tensor.tolist: _list,
    torch.Tensor.numpy: lambda tensor, **_: _values_of(tensor).numpy(),
    torch.Tensor.__array__: lambda tensor, *_: _values_of(tensor).numpy(),
    torch.Tensor.__repr__: lambda tensor, **_: "tensor(..., size={}, dtype={})".format(
        tuple(tensor.shape), tensor.dtype
    ),
    torch.Tensor.__format__: lambda tensor, spec: (
        format(_item(tensor), spec) if tensor.dim() == 0 else "tensor(...)"
    ),
    torch.Tensor.nonzero: _nonzero,
    torch.nonzero: _nonzero,
    torch.masked_select: lambda tensor, mask, **_: _at_most(tensor.numel(), tensor.dtype),
    torch.Tensor.masked_select: lambda tensor, mask: _at_most(tensor.numel(), tensor.dtype),
    torch.bincount: _bincount,
    torch.Tensor.bincount: _bincount,
    torch.repeat_interleave: _repeat_interleave,
    torch.Tensor.repeat_interleave: _repeat_interleave,
    torch.unique: _unique,
    torch.Tensor.unique: _unique,
    torch.Tensor.__getitem__: _getitem,
}
