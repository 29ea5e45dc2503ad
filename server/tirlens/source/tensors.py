"""Shapes and dtypes of the torch tensors with which a file calls its kernels."""

from __future__ import annotations

from typing import Any, cast

from tirlens.source.values import Known, Sequence, Tensor, UnknownValueError, Value, Written

_SIZED = {"randn", "rand", "empty", "zeros", "ones"}
_LIKE = {"randn_like", "rand_like", "empty_like", "zeros_like", "ones_like", "full_like"}
_SAME = {
    "contiguous", "cuda", "cpu", "clone", "detach", "requires_grad_", "normal_", "uniform_",
    "random_", "zero_", "fill_", "abs", "exp", "clamp", "clamp_", "mul_", "div_", "add_",
    "sigmoid", "softmax", "relu", "neg",
}  # fmt: skip
_CASTS = {
    "half": "float16",
    "float": "float32",
    "bfloat16": "bfloat16",
    "double": "float64",
    "int": "int32",
    "long": "int64",
    "bool": "bool",
}


def create(
    path: str, positional: list[Value], named: dict[str, Value], *, torch: str
) -> Tensor | Written:
    """What a function of torch makes (``torch.randn(M, N, dtype=torch.float16)``).

    Raises:
        UnknownValueError: its shape does not follow from constants.
    """
    name = path.removeprefix("torch.")
    if name in _SIZED:
        return Tensor(_shape(named.get("size"), positional), _dtype(named, f"{torch}.float32"))
    if name == "full":
        return Tensor(_shape(named.get("size"), positional[:1]), _dtype(named, f"{torch}.float32"))
    if name == "randint":
        size = named.get("size") or positional[-1]
        return Tensor(_shape(size, []), _dtype(named, f"{torch}.int64"))
    if name == "arange":
        bounds = [_int(item) for item in positional]
        return Tensor((len(range(*bounds)),), _dtype(named, f"{torch}.int64"))
    if name in _LIKE and positional and isinstance(positional[0], Tensor):
        return Tensor(positional[0].shape, _dtype(named, positional[0].dtype))
    if name in _SAME and positional and isinstance(positional[0], Tensor):
        return positional[0]
    raise UnknownValueError(f"{path} is not followed")


def method(tensor: Tensor, name: str, positional: list[Value], named: dict[str, Value]) -> Value:
    """What a method of a tensor gives.

    Raises:
        UnknownValueError: the method's result has an unknown shape.
    """
    base = tensor.dtype.rpartition(".")[0]
    if name in _SAME:
        return tensor
    if name in _CASTS:
        return Tensor(tensor.shape, f"{base}.{_CASTS[name]}")
    if name in ("to", "type"):
        dtypes = [item for item in positional if isinstance(item, Written)]
        # The name of a device is a string and leaves the dtype as it is.
        return Tensor(tensor.shape, _dtype(named, dtypes[0].code if dtypes else tensor.dtype))
    if name in ("view", "reshape"):
        return Tensor(_reshape(tensor.shape, _shape(None, positional)), tensor.dtype)
    if name in ("transpose", "swapaxes"):
        return Tensor(_swap_axes(tensor.shape, *(_int(item) for item in positional)), tensor.dtype)
    if name == "t":
        return Tensor(tensor.shape[::-1], tensor.dtype)
    if name == "permute":
        order = _shape(None, positional)
        return Tensor(tuple(tensor.shape[axis] for axis in order), tensor.dtype)
    if name == "unsqueeze":
        axis = _int(positional[0]) % (len(tensor.shape) + 1)
        return Tensor((*tensor.shape[:axis], 1, *tensor.shape[axis:]), tensor.dtype)
    if name == "size":
        return Known(tensor.shape[_int(positional[0])] if positional else tensor.shape)
    raise UnknownValueError(f".{name}() is not followed")


def attribute(tensor: Tensor, name: str) -> Value:
    """``x.shape``, ``x.dtype``, ``x.T`` and ``x.ndim``."""
    if name == "shape":
        return Known(tensor.shape)
    if name == "ndim":
        return Known(len(tensor.shape))
    if name == "dtype":
        return Written(tensor.dtype)
    if name in ("T", "mT"):
        return Tensor((*tensor.shape[:-2], *tensor.shape[-2:][::-1]), tensor.dtype)
    raise UnknownValueError(f".{name} is not followed")


def elementwise(left: Value, right: Value) -> Tensor:
    """The tensor that arithmetic on a tensor and a number or an equal tensor makes."""
    if isinstance(left, Tensor) and isinstance(right, Tensor) and left.shape != right.shape:
        raise UnknownValueError("broadcasts")
    tensor = left if isinstance(left, Tensor) else right
    other = right if tensor is left else left
    if isinstance(tensor, Tensor) and isinstance(other, (Known, Tensor)):
        return tensor
    raise UnknownValueError("no arithmetic on tensors")


def _dtype(named: dict[str, Value], default: str) -> str:
    dtype = named.get("dtype")
    if dtype is None:
        return default
    if isinstance(dtype, Written):
        return dtype.code
    raise UnknownValueError("dtype is not known")


def _shape(size: Value | None, positional: list[Value]) -> tuple[int, ...]:
    if size is None and len(positional) == 1 and not _is_int(positional[0]):
        size = positional[0]
    if size is None:
        return tuple(_int(item) for item in positional)
    if isinstance(size, Sequence):
        return tuple(_int(item) for item in size.items)
    if isinstance(size, Known) and isinstance(size.value, (tuple, list)):
        return tuple(_int(Known(item)) for item in cast("tuple[Any, ...]", cast("Any", size).value))
    return (_int(size),)


def _is_int(value: Value) -> bool:
    return isinstance(value, Known) and type(value.value) is int


def _int(value: Value) -> int:
    if isinstance(value, Known) and type(value.value) is int:
        return value.value
    raise UnknownValueError("size is not known")


def _reshape(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    total, known = 1, 1
    for size in old:
        total *= size
    for size in new:
        known *= size if size >= 0 else 1
    if new.count(-1) != 1:
        return new
    if known == 0 or total % known:
        raise UnknownValueError("cannot be reshaped")
    return tuple(total // known if size == -1 else size for size in new)


def _swap_axes(shape: tuple[int, ...], first: int, second: int) -> tuple[int, ...]:
    axes = list(shape)
    if not all(-len(axes) <= axis < len(axes) for axis in (first, second)):
        raise UnknownValueError("no such axis")
    axes[first], axes[second] = axes[second], axes[first]
    return tuple(axes)
