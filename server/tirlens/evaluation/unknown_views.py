"""The dimensions of views of arrays that the text does not give: ``q.view(-1, heads * width)``.

What one dimension holds of others is known where the array's dimensions have names.
"""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence

from tirlens.evaluation.unknown_sizes import (
    UnknownArgument,
    UnknownShape,
    UnknownSize,
    arithmetic,
    is_number,
)
from tirlens.evaluation.values import UNKNOWN, Value

# Methods of arrays that change neither the order nor the sizes of dimensions.
_SAME_SHAPE = frozenset(
    ["contiguous", "to", "half", "float", "bfloat16", "double", "cuda", "cpu", "detach", "clone"]
)


def view(array: UnknownArgument, sizes: Sequence[Value]) -> UnknownArgument | None:
    """``x.view(sizes)`` and ``x.reshape(sizes)``; one of the sizes may be -1."""
    if not sizes or not all(map(is_number, sizes)):
        return None
    given = [size for size in sizes if not _is_rest(size)]
    if len(given) < len(sizes) - 1:
        return None
    return _array([_rest(array, given) if _is_rest(size) else size for size in sizes])


def flatten(array: UnknownArgument, places: Sequence[Value]) -> UnknownArgument | None:
    """``x.flatten(first, last)``, of an array whose number of dimensions is known."""
    own = _dimensions(array)
    first, last = [*places, *(0, -1)[len(places) :]][:2]
    if own is None or type(first) is not int or type(last) is not int:
        return None
    low, high = first % len(own), last % len(own)
    return _array([*own[:low], _product(own[low : high + 1]), *own[high + 1 :]])


def permute(array: UnknownArgument, places: Sequence[Value]) -> UnknownArgument | None:
    """``x.permute(places)``."""
    own = _dimensions(array)
    if own is None or len(own) != len(places):
        return None
    chosen = [own[place] for place in places if type(place) is int]
    return _array(chosen) if len(chosen) == len(own) else None


def transpose(array: UnknownArgument, places: Sequence[Value]) -> UnknownArgument | None:
    """``x.transpose(one, other)``."""
    own = _dimensions(array)
    if own is None or len(places) != 2:
        return None
    one, other = places
    if type(one) is not int or type(other) is not int:
        return None
    own[one], own[other] = own[other], own[one]
    return _array(own)


def squeeze(array: UnknownArgument, places: Sequence[Value]) -> UnknownArgument | None:
    """``x.squeeze(0)`` of an array with a first dimension of one element."""
    if list(places) != [0] or array.first[:1] != (1,):
        return None
    if len(array.first) == 1 and array.of is not None:
        return array.of
    own = _dimensions(array)
    return None if own is None else _array(own[1:])


VIEWS: dict[str, Callable[[UnknownArgument, Sequence[Value]], UnknownArgument | None]] = {
    "view": view,
    "reshape": view,
    "flatten": flatten,
    "permute": permute,
    "transpose": transpose,
    "squeeze": squeeze,
}
"""By name of the method; each gives None where nothing is known of the result."""


def call(method: UnknownArgument, positional: list[Value]) -> Value:
    """The result of a method of an unknown array, as far as it says something of the shape."""
    array = method.owner
    if array is None:
        return UNKNOWN
    if method.name in _SAME_SHAPE:
        return array
    made = VIEWS[method.name](array, _flat(positional)) if method.name in VIEWS else None
    if made is not None:
        return made
    if method.name == "unsqueeze" and positional == [0]:
        return array.with_first()
    if method.name == "size" and not positional:
        return UnknownShape(array)
    if method.name == "size" and type(positional[0]) is int:
        return array.dimension(positional[0])
    return UNKNOWN


def _flat(positional: Sequence[Value]) -> Sequence[Value]:
    """The sizes of ``view(a, b)`` and ``view((a, b))``."""
    first = positional[0] if positional else None
    return first if isinstance(first, (tuple, list)) else positional


def _is_rest(size: Value) -> bool:
    return type(size) is int and size == -1


def _array(sizes: Sequence[Value]) -> UnknownArgument:
    return UnknownArgument(tuple(sizes), rank=len(sizes))


def _dimensions(array: UnknownArgument) -> list[Value] | None:
    """All dimensions; None where their number is not known."""
    return None if not array.rank else array.all_dimensions(array.rank)


def _rest(array: UnknownArgument, given: Sequence[Value]) -> Value:
    """The size that the elements of an array have with the `given` ones."""
    own = _dimensions(array)
    if own is None:
        return UnknownSize()
    left: list[Value] = []
    for size in given:
        if size in own:
            own.remove(size)
        else:
            left.append(size)
    whole, part = _product(own), _product(left)
    return whole if part == 1 else arithmetic(ast.FloorDiv, whole, part) or UnknownSize()


def _product(sizes: Sequence[Value]) -> Value:
    return functools.reduce(_times, sizes, 1)


def _times(left: Value, right: Value) -> Value:
    if type(left) is int and type(right) is int:
        return left * right
    if left == 1:
        return right
    return arithmetic(ast.Mult, left, right) or UnknownSize()
