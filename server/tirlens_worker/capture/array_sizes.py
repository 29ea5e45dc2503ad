"""The sizes of the dynamic dimensions of a kernel, from the arrays that it is launched with."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence


def named_sizes(extents: Sequence[Any], shape: Sequence[int]) -> Dict[str, int]:
    """What an array of `shape` says of the names in the `extents` of a parameter.

    An extent is a name, or a sum or product of one name and a number.
    """
    found: Dict[str, int] = {}
    if len(extents) != len(shape):
        return found
    for extent, size in zip(extents, shape):
        found.update(_name_sizes(extent, int(size)))
    return found


def _name_sizes(extent: Any, size: int) -> Dict[str, int]:
    if _is_name(extent):
        return {str(extent.name): size}
    first, second = getattr(extent, "a", None), getattr(extent, "b", None)
    number = number_of(second)
    if first is None or number is None:
        return {}
    kind = type(extent).__name__
    if kind == "Add":
        return _name_sizes(first, size - number)
    if kind == "Sub":
        return _name_sizes(first, size + number)
    if kind == "Mul" and number:
        return _name_sizes(first, size // number)
    return {}


def _is_name(extent: Any) -> bool:
    return type(extent).__name__ in ("Var", "SizeVar")


def number_of(extent: Any) -> Optional[int]:
    """The value of an extent that is a number."""
    if isinstance(extent, int):
        return extent
    value = getattr(extent, "value", None)
    return int(value) if isinstance(value, int) else None


_OPERATIONS: Dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "Div": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "Mod": lambda a, b: a % b,
    "Min": min,
    "Max": max,
}


def size_of(extent: Any, sizes: Dict[str, int]) -> int:
    """The value of an extent, given the `sizes` of names.

    Raises:
        ValueError: it depends on something else.
    """
    number = number_of(extent)
    if number is not None:
        return number
    if _is_name(extent) and extent.name in sizes:
        return sizes[extent.name]
    operation = _OPERATIONS.get(type(extent).__name__)
    if operation is not None:
        return operation(size_of(extent.a, sizes), size_of(extent.b, sizes))
    if type(extent).__name__ == "Cast":
        return size_of(extent.value, sizes)
    raise ValueError("the size {} is not known".format(extent))


def result_shape(extents: Sequence[Any], sizes: Dict[str, int]) -> List[int]:
    """The shape of a result."""
    return [size_of(extent, sizes) for extent in extents]
