"""The types of an array's elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

# Kinds of elements, as of numpy: truth values, integers of 64 bits, floats, integers of any size.
_RANK = "bifO"


class DType:
    """The type of an array's elements: one of four kinds."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (DType, type)) and self.kind == dtype_of(other).kind

    def __hash__(self) -> int:
        return hash(self.kind)


BOOL, INT, FLOAT, OBJECT = map(DType, _RANK)


def dtype_of(given: Any) -> DType:
    """The element type that `bool`, `int`, `float`, `object` or a `DType` names."""
    if isinstance(given, DType):
        return given
    return {bool: BOOL, int: INT, float: FLOAT}.get(given, OBJECT)


def common_dtype(left: DType, right: DType) -> DType:
    """The narrowest type that has the numbers of both."""
    return DType(max(left.kind, right.kind, key=_RANK.index))


def dtype_of_values(values: Iterable[Any]) -> DType:
    """The narrowest type that has all of these numbers."""
    kinds: set[type] = set(map(type, values))
    if kinds <= {bool}:
        return BOOL if kinds else FLOAT
    return FLOAT if float in kinds else INT
