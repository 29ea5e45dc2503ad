"""Tables of TOML as the data classes whose fields they give."""

from __future__ import annotations

import collections.abc
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, TypeVar, cast, get_origin

from cattrs import Converter
from cattrs.errors import (
    BaseValidationError,
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
)
from cattrs.gen import make_dict_structure_fn, mapping_structure_factory  # pyright: ignore[reportUnknownVariableType]

from tirlens.hardware.quantity import field_types

_Table = TypeVar("_Table")
_Hook = Callable[[Any, Any], Any]
# An integer of TOML may be too large for a float.
GREATEST = 1e300


class StructureError(ValueError):
    """What is wrong with a table, by the dotted key where it is."""

    def __init__(self, key: str, what: str) -> None:
        super().__init__(what)
        self.key = key


def structure(kind: type[_Table], table: Mapping[str, Any]) -> _Table:
    """A table as `kind`, or `StructureError` for a key that is missing, unknown or of no sense."""
    try:
        return _converter().structure(table, kind)
    except BaseValidationError as error:
        raise StructureError(*_first(error, ())) from None


@cache
def _converter() -> Converter:
    converter = Converter(forbid_extra_keys=True)

    def of_data_class(kind: Any) -> _Hook:
        return _of_table(make_dict_structure_fn(kind, converter))

    def of_mapping(kind: Any) -> _Hook:
        return _of_table(mapping_structure_factory(kind, converter, dict))

    converter.register_structure_hook(float, _float)
    converter.register_structure_hook(int, _int)
    converter.register_structure_hook(str, _text)
    converter.register_structure_hook_func(_is_of(tuple), lambda value, _: tuple(_texts(value)))
    converter.register_structure_hook_func(
        _is_of(frozenset), lambda value, _: frozenset(_texts(value))
    )
    converter.register_structure_hook_factory(is_dataclass, of_data_class)
    converter.register_structure_hook_factory(_is_of(collections.abc.Mapping), of_mapping)
    return converter


def _is_of(origin: type) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) is origin


def _of_table(read: _Hook) -> _Hook:
    def read_table(value: Any, kind: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError("must be a table")
        return read(value, kind)

    return read_table


def _float(value: Any, _: Any) -> float:
    return float(_number(value))


def _int(value: Any, _: Any) -> int:
    number = _number(value)
    if isinstance(number, float) and not number.is_integer():
        raise ValueError(f"must be a whole number, not {value}")
    return int(number)


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("must be a number")
    return min(max(value, -GREATEST), GREATEST)


def _text(value: Any, _: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("must be a text")
    return value


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):  # pyright: ignore[reportUnknownVariableType]
        raise ValueError("must be a list of texts")
    return cast("list[str]", value)


def _first(error: BaseException, path: tuple[str, ...]) -> tuple[str, str]:
    """The key and the message of the first error, from the outside to the inside."""
    if isinstance(error, ForbiddenExtraKeysError):
        known = ", ".join(field_types(error.cl))
        return ".".join((*path, min(error.extra_fields))), f"unknown key; known are {known}"
    if isinstance(error, KeyError):
        return ".".join(path), "missing"
    if isinstance(error, ClassValidationError):
        placed, others = error.group_exceptions()
        # A key that is unknown may be the misspelt one that is missing.
        for inner in others:
            return _first(inner, path)
        for inner, note in placed:
            return _first(inner, (*path, note.name))
    if isinstance(error, IterableValidationError):
        for inner, note in error.group_exceptions()[0]:
            return _first(inner, (*path, str(note.index)))
    return ".".join(path), str(error)


__all__ = ["StructureError", "structure"]
