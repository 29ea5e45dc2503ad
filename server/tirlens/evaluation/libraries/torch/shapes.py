"""Tensors of torch in the evaluation: their shapes and dtypes.

A dimension is a number or `UNKNOWN`. A tensor's dtype is the path of torch's name for it, or
`UNKNOWN`.
"""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeAlias, cast

from tirlens.evaluation.values import UNKNOWN, Data, External, Value

Contents: TypeAlias = "tuple[int, ...]"


@dataclass(frozen=True)
class Tensor(Data):
    """A tensor of torch; `contents` are the values of a small one of integers, if known."""

    shape: tuple[Value, ...]
    dtype: Value
    contents: Contents | None = None

    def items(self) -> list[Value] | None:
        """Tensors without dimensions for the values of a tensor with one."""
        if self.contents is None or len(self.shape) != 1:
            return None
        return [Tensor((), self.dtype, (value,)) for value in self.contents]

    def with_shape(self, shape: tuple[Value, ...]) -> Tensor:
        """A tensor of the same dtype."""
        return Tensor(shape, self.dtype)


def scalar(value: Value) -> Value:
    """The number that a tensor without dimensions holds, if known; other values as they are."""
    if isinstance(value, Tensor) and not value.shape and value.contents:
        return value.contents[0]
    return value


def elementwise(left: Value, right: Value) -> Value:
    """The tensor of an arithmetic operation."""
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return left.with_shape(broadcast(left.shape, right.shape))
    return left if isinstance(left, Tensor) else right


def comparison(left: Value, right: Value) -> Tensor:
    """The mask of a comparison, of which one side is a tensor."""
    return Tensor(elementwise(left, right).shape, External("torch.bool"))


def is_mask(key: Tensor) -> bool:
    return isinstance(key.dtype, External) and key.dtype.path == "torch.bool"


def product_of(sizes: tuple[Value, ...]) -> Value:
    """The number of elements; `UNKNOWN` if a dimension is."""
    return math.prod(sizes) if all(type(size) is int for size in sizes) else UNKNOWN


def itemsize(dtype: Value) -> int | None:
    """The bytes of an element; None for a dtype that is not known."""
    if not isinstance(dtype, External):
        return None
    name = dtype.path.rpartition(".")[2]
    digits = re.search(r"\d+", name)
    bits = 8 if name == "bool" else int(digits[0]) if digits else 0
    return bits // 8 or None


def flat(positional: list[Value], named: dict[str, Value]) -> tuple[Value, ...]:
    given = positional or list(named.values())[:1]
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        return tuple(scalar(item) for item in cast("tuple[Value, ...]", given[0]))
    sizes = (scalar(item) for item in given)
    return tuple(size if type(size) is int else UNKNOWN for size in sizes)


def axes_of(value: Value, rank: int) -> list[int] | None:
    found = value if isinstance(value, (tuple, list)) else (value,)
    axes = [axis for axis in cast("tuple[Value, ...]", found) if type(axis) is int]
    return [axis % max(rank, 1) for axis in axes] if len(axes) == len(found) else None


def reshape(old: tuple[Value, ...], new: tuple[Value, ...]) -> tuple[Value, ...]:
    holes = [size for size in new if size == -1]
    if len(holes) != 1:
        return new
    total = product_of(old)
    rest = product_of(tuple(size for size in new if size != -1))
    known = type(total) is int and type(rest) is int and rest and total % rest == 0
    return tuple((total // rest if known else UNKNOWN) if size == -1 else size for size in new)


def broadcast(left: tuple[Value, ...], right: tuple[Value, ...]) -> tuple[Value, ...]:
    long, short = (left, right) if len(left) >= len(right) else (right, left)
    padded = (*([1] * (len(long) - len(short))), *short)
    return tuple(b if a == 1 else a for a, b in zip(long, padded, strict=True))


def with_size(base: Tensor, axis: int, size: Value) -> Tensor:
    return base.with_shape((*base.shape[:axis], size, *base.shape[axis + 1 :]))
