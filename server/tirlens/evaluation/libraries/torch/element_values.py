"""The values of small integer tensors: lengths of sequences, offsets, sizes of groups.

Programs derive sizes from them: the number of sequences, the longest, the sum. Known are the
contents of tensors with at most one dimension.
"""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from tirlens.evaluation.libraries.torch.shapes import Contents, Tensor, scalar
from tirlens.evaluation.values import UNKNOWN, External, Unknown, Value

MAX_ELEMENTS = 4096
_Operation = Callable[[int, int], Any]
_REDUCTIONS: dict[str, Callable[[Contents], int]] = {
    "max": max,
    "amax": max,
    "min": min,
    "amin": min,
    "sum": sum,
}
_INTEGERS = ("int", "long", "uint")


def is_integer(dtype: Value) -> bool:
    """Whether a dtype is one of integers."""
    name = dtype.path.rpartition(".")[2] if isinstance(dtype, External) else ""
    return name.startswith(_INTEGERS)


def fill(made: Tensor, value: Value) -> Tensor:
    """`made` with `value` in each element, where it is a small tensor of integers."""
    if type(value) is not int or not is_integer(made.dtype) or len(made.shape) > 1:
        return made
    size = made.shape[0] if made.shape else 1
    if type(size) is not int or size > MAX_ELEMENTS:
        return made
    return replace(made, contents=(value,) * size)


def of_values(positional: list[Value], named: dict[str, Value]) -> Value:
    """``torch.tensor(values)``; `UNKNOWN` if the number of values is not known."""
    value = positional[0] if positional else UNKNOWN
    dtype = named.get("dtype")
    if isinstance(value, Tensor):
        return value if dtype is None else replace(value, dtype=dtype)
    shape: list[Value] = []
    first = value
    while isinstance(first, (list, tuple, range)):
        shape.append(len(cast("list[Value]", first)))
        first = first[0] if first else 0
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(first, Tensor):
        shape += first.shape
    default = "torch.int64" if type(first) is int else "torch.float32"
    made = Tensor(tuple(shape), External(default) if dtype is None else dtype)
    if len(shape) > 1 or not is_integer(made.dtype):
        return made
    values = [scalar(one) for one in (value if shape else [value])]
    known = len(values) <= MAX_ELEMENTS and all(type(one) is int for one in values)
    return replace(made, contents=tuple(values)) if known else made


def combine(made: Tensor, operation: _Operation | None, left: Value, right: Value) -> Tensor:
    """`made`, the result of an arithmetic operation, with its contents where both are known."""
    a, b = _operand(left), _operand(right)
    if operation is None or a is None or b is None or len(made.shape) > 1:
        return made
    if len(a) != len(b) and 1 not in (len(a), len(b)):
        return made
    length = max(len(a), len(b)) if a and b else 0
    pairs = zip(a * length if len(a) == 1 else a, b * length if len(b) == 1 else b, strict=True)
    values = tuple(operation(x, y) for x, y in pairs)
    return replace(made, contents=values) if all(type(v) is int for v in values) else made


def select(base: Tensor, key: Value, made: Tensor) -> Tensor:
    """`made`, the result of ``base[key]``, with its contents."""
    if base.contents is None or len(base.shape) != 1:
        return made
    if type(key) is int:
        return replace(made, contents=(base.contents[key],))
    if isinstance(key, slice) and all(
        part is None or type(part) is int for part in (key.start, key.stop, key.step)
    ):
        return replace(made, contents=base.contents[key])
    return made


def with_item(base: Tensor, key: Value, value: Value) -> Tensor:
    """`base` after ``base[key] = value``."""
    given = _operand(value)
    if base.contents is None or len(base.shape) != 1 or given is None:
        return replace(base, contents=None)
    contents = list(base.contents)
    places = _places(key, len(contents))
    if places is None or len(given) not in (1, len(places)):
        return replace(base, contents=None)
    for place, one in zip(places, given * len(places) if len(given) == 1 else given, strict=True):
        contents[place] = one
    return replace(base, contents=tuple(contents))


def _places(key: Value, length: int) -> list[int] | None:
    """The places that a number or slice selects of `length`; None if that is not known."""
    if type(key) is int:
        return [key] if -length <= key < length else None
    if not isinstance(key, slice):
        return None
    bounds = (key.start, key.stop, key.step)
    if any(part is not None and type(part) is not int for part in bounds):
        return None
    return list(range(length)[key])


def reduce_contents(base: Tensor, name: str, made: Value) -> Value:
    """`made`, the result of a reduction over all dimensions, with its value."""
    reduction = _REDUCTIONS.get(name)
    if base.contents and reduction is not None and isinstance(made, Tensor) and not made.shape:
        return replace(made, contents=(reduction(base.contents),))
    return made


def join_contents(parts: list[Tensor], made: Tensor) -> Tensor:
    """`made`, the concatenation of `parts`, with its contents where those of all are known."""
    if len(made.shape) != 1 or any(part.contents is None for part in parts):
        return made
    values = itertools.chain.from_iterable(cast("Contents", part.contents) for part in parts)
    return replace(made, contents=tuple(values))


def pad_contents(base: Tensor, widths: list[Value], value: Value, made: Tensor) -> Tensor:
    """`made`, the result of ``pad(base, (low, high))``, with its contents."""
    if base.contents is None or len(base.shape) != 1 or len(widths) != 2:
        return made
    if type(value) is not int or any(type(width) is not int or width < 0 for width in widths):
        return made
    low, high = widths
    return replace(made, contents=(value,) * low + base.contents + (value,) * high)


def item(base: Tensor) -> Value:
    """``x.item()``, ``int(x)``."""
    return base.contents[0] if base.contents and len(base.contents) == 1 else UNKNOWN


def to_list(base: Tensor) -> Value:
    """``x.tolist()``."""
    if base.contents is None:
        return UNKNOWN
    return list(base.contents) if base.shape else base.contents[0]


def cumulative_sum(base: Tensor, dtype: Value) -> Tensor:
    """``x.cumsum(0)``."""
    contents = base.contents
    sums = None if contents is None else tuple(itertools.accumulate(contents))
    return Tensor(base.shape, dtype, sums)


def differences(base: Tensor) -> Value:
    """``x.diff()`` of a tensor with one dimension."""
    if len(base.shape) != 1:
        return UNKNOWN
    size = base.shape[0] - 1 if type(base.shape[0]) is int else UNKNOWN
    contents = base.contents
    pairs = None if contents is None else tuple(b - a for a, b in itertools.pairwise(contents))
    return Tensor((size,), base.dtype, pairs)


def _operand(value: Value) -> Contents | None:
    if isinstance(value, Tensor):
        return value.contents
    return (value,) if type(value) is int else None
