"""An array of any number of dimensions on one list of Python numbers, in row-major order.

Operators broadcast as those of numpy do, and a result without dimensions is a plain number.
Slices are copies: nothing is written through a view.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, cast

from .dtypes import BOOL, FLOAT, INT, OBJECT, DType, common_dtype, dtype_of, dtype_of_values

Shape = tuple[int, ...]


def broadcast_shape(*shapes: Shape) -> Shape:
    """The shape to which all of `shapes` are broadcast.

    Raises:
        ValueError: they do not fit each other.
    """
    found: list[int] = []
    for axis in range(-max(map(len, shapes)), 0):
        lengths = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        if len(lengths) > 1:
            raise ValueError(f"shapes {shapes} cannot be broadcast together")
        found.append(lengths.pop() if lengths else 1)
    return tuple(found)


def broadcast(values: list[Any], shape: Shape, target: Shape) -> list[Any]:
    """The elements of an array of `shape`, repeated to those of an array of shape `target`."""
    if shape == target:
        return values
    shape = (1,) * (len(target) - len(shape)) + shape
    inner = 1
    for length, wanted in zip(reversed(shape), reversed(target), strict=True):
        if length != wanted:
            if length != 1:
                raise ValueError(f"{shape} cannot be broadcast to {target}")
            if inner == 1:
                values = [value for value in values for _ in range(wanted)]
            elif inner == len(values):
                values = values * wanted
            else:
                rows = range(0, len(values), inner)
                values = [x for row in rows for x in values[row : row + inner] * wanted]
        inner *= wanted
    return values


def row_strides(shape: Shape) -> list[int]:
    """How far apart in the list neighbours along each axis are."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * shape[axis]
    return strides


def positions(offsets: Sequence[Sequence[int]]) -> list[int]:
    """The sums of one offset of each axis, in row-major order."""
    found = [0]
    for axis in offsets:
        found = [before + offset for before in found for offset in axis]
    return found


def _floor_divide(a: Any, b: Any) -> Any:
    return a // b if b else 0


def _modulo(a: Any, b: Any) -> Any:
    return a % b if b else 0


def _divide(a: Any, b: Any) -> float:
    if b:
        return float(a / b)
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a)


# Operators of any numbers, which the types of the module `operator` do not say.
_python: Any = operator
# Division by zero, which numpy answers and Python refuses.
_WITH_ZERO: dict[Any, Callable[[Any, Any], Any]] = {
    _python.floordiv: _floor_divide,
    _python.mod: _modulo,
    _python.truediv: _divide,
}


def _operators(function: Callable[[Any, Any], Any], dtype: DType | None = None) -> tuple[Any, Any]:
    """The two methods of an operator: with the array on its left, and on its right."""

    def forward(self: Array, other: Any) -> Any:
        return apply(function, self, other, dtype)

    def backward(self: Array, other: Any) -> Any:
        return apply(function, other, self, dtype)

    return forward, backward


class Array:
    """Numbers in row-major order with a shape and an element type."""

    __slots__ = ("dtype", "shape", "values")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: list[Any], shape: Shape, dtype: DType) -> None:
        self.values = values
        self.shape = shape
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return len(self.values)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        return operator.index(self.item())

    def item(self) -> Any:
        """The only element.

        Raises:
            ValueError: there are none or several.
        """
        (value,) = self.values
        return value

    def tolist(self) -> Any:
        """The elements as nested lists."""
        if not self.shape:
            return self.values[0]
        found: Any = list(self.values)
        for length in reversed(self.shape[1:]):
            rows = range(0, max(len(found), 1), length) if length else ()
            found = [found[row : row + length] for row in rows]
        return found

    def tobytes(self) -> bytes:
        """Bytes that are equal for equal arrays."""
        return repr((self.shape, self.values)).encode()

    def astype(self, dtype: Any) -> Array:
        """A copy with elements of another type."""
        to = dtype_of(dtype)
        convert = {"b": bool, "i": int, "f": float}.get(to.kind)
        values = list(map(convert, self.values)) if convert else list(self.values)
        return Array(values, self.shape, to)

    def ravel(self) -> Array:
        """The elements in one dimension."""
        return Array(list(self.values), (len(self.values),), self.dtype)

    def reshape(self, *shape: int) -> Array:
        """The elements in another shape; a length of -1 is what is left."""
        known = math.prod(length for length in shape if length >= 0)
        whole = tuple(
            length if length >= 0 else (len(self.values) // known if known else 0)
            for length in shape
        )
        return Array(self.values, whole, self.dtype)

    def _reduce(self, function: Callable[[list[Any]], Any], axis: Any, dtype: DType) -> Any:
        if axis is None:
            return function(self.values)
        given = cast("tuple[int, ...]", axis if isinstance(axis, tuple) else (axis,))
        gone = {one % self.ndim for one in given}
        kept = [one for one in range(self.ndim) if one not in gone]
        strides = row_strides(self.shape)
        along = [range(0, strides[a] * self.shape[a], strides[a]) for a in range(self.ndim)]
        inner = positions([along[one] for one in sorted(gone)])
        values = self.values
        found = [
            function([values[start + offset] for offset in inner])
            for start in positions([along[one] for one in kept])
        ]
        if not kept:
            return found[0]
        return Array(found, tuple(self.shape[one] for one in kept), dtype)

    def any(self, axis: Any = None) -> Any:
        """Whether any element holds."""
        return self._reduce(any, axis, BOOL)

    def all(self, axis: Any = None) -> Any:
        """Whether all elements hold."""
        return self._reduce(all, axis, BOOL)

    def sum(self, axis: Any = None) -> Any:
        """The sum of the elements."""
        if self.dtype.kind == "f":
            return self._reduce(math.fsum, axis, FLOAT)
        return self._reduce(sum, axis, OBJECT if self.dtype.kind == "O" else INT)

    def mean(self, axis: Any = None) -> Any:
        """The mean of the elements."""
        return self._reduce(lambda part: math.fsum(part) / len(part), axis, FLOAT)

    def min(self, axis: Any = None) -> Any:
        """The least element."""
        return self._reduce(min, axis, self.dtype)

    def max(self, axis: Any = None, initial: Any = None) -> Any:
        """The greatest element, and at least `initial`."""
        more = [] if initial is None else [initial]
        return self._reduce(lambda part: max(part + more), axis, self.dtype)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Array):
            if key.dtype.kind == "b" and key.ndim == self.ndim:
                found = [value for value, kept in zip(self.values, key.values, strict=True) if kept]
                return Array(found, (len(found),), self.dtype)
            if self.ndim == 1 and key.dtype.kind != "b":
                return Array([self.values[at] for at in key.values], key.shape, self.dtype)
            raise IndexError("not an index of this array")
        if isinstance(key, slice) and self.ndim == 1:
            found = self.values[key]
            return Array(found, (len(found),), self.dtype)
        offsets, shape = self._select(key)
        found = [self.values[at] for at in positions(offsets)]
        return Array(found, shape, self.dtype) if shape else found[0]

    def __setitem__(self, key: Any, given: Any) -> None:
        if isinstance(key, Array) and key.dtype.kind == "b":
            where = [at for at, chosen in enumerate(key.values) if chosen]
            shape: Shape = (len(where),)
        elif isinstance(key, Array):
            where, shape = key.values, key.shape
        else:
            offsets, shape = self._select(key)
            where = positions(offsets)
        values, mine, _ = operand(given)
        for at, value in zip(where, broadcast(values, mine, shape), strict=True):
            self.values[at] = value

    def _select(self, key: Any) -> tuple[list[Sequence[int]], Shape]:
        """The offsets along each axis that an index selects, and the shape of the selection."""
        keys = list(cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,)))
        missing = self.ndim - sum(one is not None and one is not Ellipsis for one in keys)
        at = keys.index(Ellipsis) if any(one is Ellipsis for one in keys) else len(keys)
        keys[at : at + 1] = [slice(None)] * missing
        offsets: list[Sequence[int]] = []
        shape: list[int] = []
        axis = 0
        strides = row_strides(self.shape)
        chosen: Sequence[int]
        for one in keys:
            if one is None:
                shape.append(1)
                continue
            length, stride = self.shape[axis], strides[axis]
            axis += 1
            if isinstance(one, slice):
                chosen = range(length)[cast("slice[int]", one)]
            elif isinstance(one, Array):
                # One axis of an open mesh (`ix_`).
                chosen = one.values
            else:
                place: int = range(length)[cast("int", one)]
                offsets.append([place * stride])
                continue
            offsets.append([index * stride for index in chosen])
            shape.append(len(chosen))
        return offsets, tuple(shape)

    __add__, __radd__ = _operators(_python.add)
    __sub__, __rsub__ = _operators(_python.sub)
    __mul__, __rmul__ = _operators(_python.mul)
    __floordiv__, __rfloordiv__ = _operators(_python.floordiv)
    __mod__, __rmod__ = _operators(_python.mod)
    __truediv__, __rtruediv__ = _operators(_python.truediv, FLOAT)
    __and__, __rand__ = _operators(_python.and_)
    __or__, __ror__ = _operators(_python.or_)
    __xor__, __rxor__ = _operators(_python.xor)
    __lshift__, __rlshift__ = _operators(_python.lshift)
    __rshift__, __rrshift__ = _operators(_python.rshift)
    __lt__, __gt__ = _operators(operator.lt, BOOL)[0], _operators(operator.gt, BOOL)[0]
    __le__, __ge__ = _operators(operator.le, BOOL)[0], _operators(operator.ge, BOOL)[0]
    __eq__, __ne__ = _operators(operator.eq, BOOL)[0], _operators(operator.ne, BOOL)[0]

    def __matmul__(self, vector: Array) -> Any:
        length = len(vector)
        found = [
            sum(map(operator.mul, self.values[row : row + length], vector.values))
            for row in range(0, len(self.values), length)
        ]
        shape = self.shape[:-1]
        return Array(found, shape, common_dtype(self.dtype, vector.dtype)) if shape else found[0]

    def __neg__(self) -> Array:
        return map_elements(operator.neg, self, self.dtype)

    def __abs__(self) -> Array:
        return map_elements(abs, self, self.dtype)

    def __invert__(self) -> Array:
        is_bool = self.dtype.kind == "b"
        return map_elements(operator.not_ if is_bool else operator.invert, self, self.dtype)


def operand(given: Any) -> tuple[list[Any], Shape, DType]:
    """The elements, shape and type of an array or number."""
    if isinstance(given, Array):
        return given.values, given.shape, given.dtype
    if isinstance(given, (list, tuple)):
        raise TypeError("sequences are no operands")
    return [given], (), dtype_of_values([given])


def apply(
    function: Callable[[Any, Any], Any], left: Any, right: Any, dtype: DType | None = None
) -> Any:
    """`function` of each pair of elements, of type `dtype` if not of the operands'."""
    a, a_shape, a_type = operand(left)
    b, b_shape, b_type = operand(right)
    dtype = dtype or common_dtype(a_type, b_type)
    if a_shape == b_shape:
        shape = a_shape
    elif not b_shape:
        shape = a_shape
        b = repeat(b[0], len(a))  # type: ignore[assignment]
    elif not a_shape:
        shape = b_shape
        a = repeat(a[0], len(b))  # type: ignore[assignment]
    else:
        shape = broadcast_shape(a_shape, b_shape)
        a, b = broadcast(a, a_shape, shape), broadcast(b, b_shape, shape)
    if function in _WITH_ZERO and dtype.kind != "O" and 0 in (b if b_shape else (right,)):
        function = _WITH_ZERO[function]
    found = list(map(function, a, b))
    return Array(found, shape, dtype) if shape else found[0]


def map_elements(function: Callable[[Any], Any], given: Array, dtype: DType) -> Array:
    """`function` of each element."""
    return Array(list(map(function, given.values)), given.shape, dtype)


class NDArray:
    """The name of array types in annotations."""

    def __class_getitem__(cls, _: Any) -> type[Array]:
        return Array
