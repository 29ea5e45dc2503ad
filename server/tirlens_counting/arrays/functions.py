"""Functions of numpy for the arrays of `lists`, with the arguments that the model gives."""

from __future__ import annotations

import bisect
import contextlib
import math
import operator
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple, cast

from .dtypes import BOOL, FLOAT, INT, DType, common_dtype, dtype_of, dtype_of_values
from .lists import (
    Array,
    Shape,
    apply,
    broadcast,
    broadcast_shape,
    map_elements,
    operand,
    positions,
    row_strides,
)

_python: Any = operator
ndarray = Array
int64, intp, float64, bool_ = INT, INT, FLOAT, BOOL
_Size = int | Sequence[int]


class iinfo(NamedTuple):  # noqa: N801
    """The limits of an integer type."""

    dtype: DType
    max: int = 2**63 - 1


@contextlib.contextmanager
def errstate(**_: str) -> Any:
    """Nothing: `lists` divides by zero without a warning."""
    yield


def _shape(size: _Size) -> Shape:
    return (size,) if isinstance(size, int) else tuple(size)


def full(size: _Size, value: Any, dtype: Any = None) -> Array:
    """An array with one value everywhere."""
    kind = dtype_of_values([value]) if dtype is None else dtype_of(dtype)
    return Array([value] * math.prod(_shape(size)), _shape(size), kind).astype(kind)


def zeros(size: _Size, dtype: Any = float) -> Array:
    """An array of zeros."""
    return full(size, 0, dtype)


def ones(size: _Size, dtype: Any = float) -> Array:
    """An array of ones."""
    return full(size, 1, dtype)


def zeros_like(like: Array) -> Array:
    """Zeros in the shape of another array."""
    return zeros(like.shape, like.dtype)


def full_like(like: Array, value: Any) -> Array:
    """One value in the shape of another array."""
    (number,), _, _ = operand(value)
    return full(like.shape, number, like.dtype)


def arange(*bounds: int, dtype: Any = INT) -> Array:
    """The integers of a range."""
    values: list[Any] = list(range(*bounds))
    return Array(values, (len(values),), dtype_of(dtype))


def asarray(given: Any, dtype: Any = None) -> Array:
    """A number, a list or an array as an array."""
    if isinstance(given, (list, tuple)):
        parts = [asarray(part) for part in cast(Sequence[Any], given)]
        shape = (len(parts), *(parts[0].shape if parts else ()))
        values = [value for part in parts for value in part.values]
        found = Array(values, shape, dtype_of_values(values))
    else:
        found = given if isinstance(given, Array) else Array(*operand(given))
    if dtype is None or dtype_of(dtype) == found.dtype:
        return found
    return found.astype(dtype)


def array(given: Any, dtype: Any = None) -> Array:
    """A new array."""
    found = asarray(given, dtype)
    return Array(list(found.values), found.shape, found.dtype)


def ndim(given: Any) -> int:
    """The number of dimensions."""
    return given.ndim if isinstance(given, Array) else 0


def prod(given: Sequence[int]) -> int:
    """The product of numbers."""
    return math.prod(given)


def broadcast_to(given: Any, size: _Size) -> Array:
    """An array repeated to a shape."""
    values, shape, dtype = operand(given)
    return Array(broadcast(values, shape, _shape(size)), _shape(size), dtype)


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape to which all are broadcast."""
    return broadcast_shape(*shapes)


def broadcast_arrays(*given: Any) -> list[Array]:
    """Arrays repeated to one shape."""
    shape = broadcast_shape(*(operand(one)[1] for one in given))
    return [broadcast_to(one, shape) for one in given]


def where(condition: Any, left: Any, right: Any) -> Any:
    """Elements of `left` where the condition holds, else of `right`."""
    dtype = common_dtype(operand(left)[2], operand(right)[2])
    chosen, a, b = broadcast_arrays(condition, left, right)
    rows = zip(chosen.values, a.values, b.values, strict=True)
    found = [one if holds else other for holds, one, other in rows]
    return Array(found, chosen.shape, dtype) if chosen.shape else found[0]


def minimum(left: Any, right: Any) -> Any:
    """The lesser of each pair of elements."""
    return apply(min, left, right)


def maximum(left: Any, right: Any) -> Any:
    """The greater of each pair of elements."""
    return apply(max, left, right)


def multiply(left: Any, right: Any) -> Any:
    """The products."""
    return apply(operator.mul, left, right)


def logical_and(left: Any, right: Any) -> Any:
    """Whether both hold."""
    return apply(lambda a, b: bool(a) and bool(b), left, right, BOOL)


def logical_or(left: Any, right: Any) -> Any:
    """Whether one holds."""
    return apply(lambda a, b: bool(a) or bool(b), left, right, BOOL)


def logical_not(given: Any) -> Any:
    """Whether it does not hold."""
    return map_elements(operator.not_, given, BOOL) if isinstance(given, Array) else not given


def divmod(left: Array, right: Any) -> tuple[Array, Array]:  # noqa: A001
    """Quotients and remainders."""
    return left // right, left % right


def abs(given: Any) -> Any:  # noqa: A001
    """Absolute values."""
    return given.__abs__()


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def exp(given: Any) -> Any:
    """The exponential function."""
    found = map_elements(_exp, asarray(given), FLOAT)
    return found if found.shape else found.item()


def any(given: Any, axis: Any = None) -> Any:  # noqa: A001
    """Whether an element holds."""
    return asarray(given).any(axis)


def all(given: Any, axis: Any = None) -> Any:  # noqa: A001
    """Whether all elements hold."""
    return asarray(given).all(axis)


def sum(given: Array, axis: Any = None) -> Any:  # noqa: A001
    """The sum of elements."""
    return given.sum(axis)


def count_nonzero(given: Array) -> int:
    """The number of elements that hold."""
    return len(given.values) - given.values.count(0)


def average(given: Array, weights: Array) -> float:
    """The weighted mean of all elements."""
    weighted = asarray(apply(_python.mul, given, weights))
    return float(weighted.sum() / weights.sum())


def cumsum(given: Array, axis: int | None = None) -> Array:
    """Running sums of a list, or along the first axis (0) of a matrix."""
    if axis is None:
        return Array(list(accumulate(given.values)), (given.size,), given.dtype)
    rows = accumulate(given, operator.add)
    return Array([value for row in rows for value in row.values], given.shape, given.dtype)


def diff(given: Array, append: Any = None) -> Array:
    """The differences of neighbours along the last axis."""
    if append is not None:
        given = concatenate([given, [append]])
    return given[..., 1:] - given[..., :-1]


def concatenate(parts: Sequence[Any]) -> Array:
    """One-dimensional arrays, one after the other."""
    arrays = [asarray(part) for part in parts]
    values = [value for part in arrays for value in part.values]
    kinds = [part.dtype for part in arrays if part.values] or [arrays[0].dtype]
    return Array(values, (len(values),), max(kinds, key=lambda one: "bifO".index(one.kind)))


def append(given: Any, more: Any) -> Array:
    """Two arrays or numbers, one after the other."""
    return concatenate([asarray(given).ravel(), asarray(more).ravel()])


def stack(parts: Sequence[Array]) -> Array:
    """Arrays of one shape along a new first axis."""
    values = [value for part in parts for value in part.values]
    return Array(values, (len(parts), *parts[0].shape), parts[0].dtype)


def split(given: Array, parts: int) -> list[Array]:
    """Equal parts of a one-dimensional array."""
    length = len(given) // parts
    return [given[start : start + length] for start in range(0, length * parts, length)]


def ravel(given: Array) -> Array:
    """The elements in one dimension."""
    return given.ravel()


def reshape(given: Array, shape: Shape) -> Array:
    """The elements in another shape."""
    return given.reshape(*shape)


def expand_dims(given: Any, axis: int | Sequence[int]) -> Array:
    """The array with axes of length one at the given places of the result."""
    values, shape, dtype = operand(given)
    places = {axis} if isinstance(axis, int) else set(axis)
    lengths = iter(shape)
    total = len(shape) + len(places)
    return Array(values, tuple(1 if at in places else next(lengths) for at in range(total)), dtype)


def transpose(given: Array, axes: Any) -> Array:
    """The array with its axes in another order."""
    order: list[int] = [int(axis) for axis in (axes.values if isinstance(axes, Array) else axes)]
    if order == sorted(order):
        return given
    strides = row_strides(given.shape)
    offsets = [range(0, strides[a] * given.shape[a], strides[a]) for a in order]
    values = [given.values[at] for at in positions(offsets)]
    return Array(values, tuple(given.shape[axis] for axis in order), given.dtype)


def meshgrid(*axes: Any, indexing: str, sparse: bool = False) -> list[Array]:
    """Each axis along a dimension of its own, broadcast to all unless `sparse`."""
    assert indexing == "ij"
    open_mesh = ix_(*axes)
    return list(open_mesh) if sparse else broadcast_arrays(*open_mesh) if axes else []


def ix_(*axes: Any) -> tuple[Array, ...]:
    """Each axis along a dimension of its own."""
    arrays = [asarray(axis) for axis in axes]
    number = len(arrays)
    return tuple(
        Array(one.values, (1,) * at + (one.size,) + (1,) * (number - at - 1), one.dtype)
        for at, one in enumerate(arrays)
    )


def unravel_index(index: Array, extents: Shape) -> tuple[Array, ...]:
    """The coordinates of positions in row-major order."""
    flat: Any = index
    return tuple(
        flat // stride % extent
        for stride, extent in zip(row_strides(tuple(extents)), extents, strict=True)
    )


def sort(given: Array, axis: int | None = -1) -> Array:
    """The elements of a one-dimensional array in order, or of any array (axis None)."""
    assert axis is None or given.ndim == 1
    return Array(sorted(given.values), (given.size,), given.dtype)


def argsort(given: Sequence[int]) -> Array:
    """The positions of the elements in their order."""
    found = sorted(range(len(given)), key=given.__getitem__)
    return Array(found, (len(found),), INT)


def unique(given: Array, return_inverse: bool = False) -> Any:
    """The distinct elements in order, and the position of each element among them."""
    found = sorted(set(given.values))
    distinct = Array(found, (len(found),), given.dtype)
    if not return_inverse:
        return distinct
    place = {value: at for at, value in enumerate(found)}
    return distinct, Array([place[value] for value in given.values], (given.size,), INT)


def find_first(ordered: Array, values: Array) -> Array:
    """The first position at which each value keeps the order."""
    found = [bisect.bisect_left(ordered.values, value) for value in values.values]
    return Array(found, values.shape, INT)


searchsorted = find_first


def flatnonzero(given: Array) -> Array:
    """The positions of elements that hold."""
    found = [at for at, value in enumerate(given.values) if value]
    return Array(found, (len(found),), INT)


def bincount(numbers: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """How often each number occurs, or the sum of its weights."""
    length = max(max(numbers.values, default=-1) + 1, minlength)
    if weights is None:
        counts = [0] * length
        for number in numbers.values:
            counts[number] += 1
        return Array(counts, (length,), INT)
    sums = [0.0] * length
    for number, weight in zip(numbers.values, weights.values, strict=True):
        sums[number] += weight
    return Array(sums, (length,), FLOAT)
