"""Requests as dataclasses: their JSON Schema, and their values from the arguments of a call.

The fields of a request are the arguments of its tool. Each is declared by `argument`, and its type
is one of the few that `_kind_of` knows.
"""

from __future__ import annotations

import difflib
import functools
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from tirlens.tools.errors import ToolError

R = TypeVar("R")
_MOST_CHARACTERS = 4096
_MOST_ITEMS = 64
_LARGEST = 2**63 - 1


def argument(doc: str, default: Any = MISSING, **limits: Any) -> Any:
    """A field of a request.

    Parameters
    ----------
    doc
        What it is, for the one who sends it.
    default
        Its value where it is not sent; it must be sent where there is none.
    limits
        ``example``, ``minimum``, ``maximum`` (of a number), ``characters`` (of a text).
    """
    return field(default=default, kw_only=True, metadata={"doc": doc, **limits})


@dataclass(frozen=True)
class _Kind:
    """A type of argument: its schema, what it is in words, and a check that returns its value."""

    schema: Mapping[str, Any]
    words: str
    read: Callable[[Any], Any]


def schema_of(request: type[Any]) -> dict[str, Any]:
    """The JSON Schema of the arguments of a tool."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for item, kind in _fields(request):
        properties[item.name] = {**kind.schema, "description": item.metadata["doc"]}
        if item.default is MISSING:
            required.append(item.name)
    found = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": required} if required else found


def read_request(request: type[R], arguments: object) -> R:
    """The request with the arguments of a call.

    Raises
    ------
    ToolError
        An argument is missing, unknown, or has a wrong value.
    """
    if not isinstance(arguments, Mapping):
        raise ToolError("argument", "The arguments must be an object: {NAME: VALUE, ...}.")
    given = cast("Mapping[object, Any]", arguments)
    known = {item.name: (item, kind) for item, kind in _fields(request)}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(str(name)[:80], known, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ToolError(
                "argument",
                f"There is no argument {str(name)!r:.100}.{hint} Known are: {', '.join(known)}.",
            )
    values: dict[str, Any] = {}
    for name, (item, kind) in known.items():
        value = given.get(name)
        # Many programs send null for what they leave out.
        if value is None:
            if item.default is MISSING:
                raise _wrong(name, item, kind, "is missing")
            continue
        try:
            values[name] = kind.read(value)
        except ValueError as error:
            raise _wrong(name, item, kind, str(error) or f"must be {kind.words}") from None
    return request(**values)


def _wrong(name: str, item: Any, kind: _Kind, why: str) -> ToolError:
    doc, example = item.metadata["doc"], item.metadata.get("example")
    if why == "is missing":
        why = f"is missing: {kind.words}, {doc[:1].lower()}{doc[1:]}"
    return ToolError(
        "argument",
        f"{name} {why.rstrip('.')}.",
        {} if example is None else {name: example},
    )


@functools.cache
def _fields(request: type[Any]) -> list[tuple[Any, _Kind]]:
    hints = get_type_hints(request)
    return [(item, _kind_of(hints[item.name], item.metadata)) for item in fields(request)]


def _kind_of(hint: Any, limits: Mapping[str, Any]) -> _Kind:
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (one for one in get_args(hint) if one is not type(None))
    if get_origin(hint) is Literal:
        return _choice(get_args(hint))
    if hint is str:
        return _text(limits.get("characters", _MOST_CHARACTERS))
    if hint is bool:
        return _Kind({"type": "boolean"}, "true or false", _read_flag)
    if hint is int:
        return _number(limits.get("minimum", 0), limits.get("maximum", _LARGEST))
    if get_origin(hint) is tuple:
        return _list(_kind_of(get_args(hint)[0], limits))
    assert get_args(hint) == (str, int), hint
    return _Kind(
        {"type": "object", "additionalProperties": {"type": "integer"}},
        'an object of whole numbers by name, such as {"M": 4096}',
        _read_sizes,
    )


def _choice(words: tuple[str, ...]) -> _Kind:
    def read(value: Any) -> str:
        if value not in words:
            raise ValueError
        return value

    return _Kind({"enum": list(words)}, f"one of {', '.join(words)}", read)


def _text(most: int) -> _Kind:
    def read(value: Any) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= most:
            raise ValueError
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("is no UTF-8") from None
        return value

    return _Kind({"type": "string"}, f"a text of 1 to {most:,} characters", read)


def _number(least: int, most: int) -> _Kind:
    def read(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise ValueError
        return value

    schema: dict[str, Any] = {"type": "integer"}
    if least:
        schema["minimum"] = least
    if most < _LARGEST:
        schema["maximum"] = most
    upper = "2^63 - 1" if most == _LARGEST else f"{most:,}"
    return _Kind(schema, f"a whole number from {least} to {upper}", read)


def _list(kind: _Kind) -> _Kind:
    def read(value: Any) -> tuple[Any, ...]:
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)) or len(cast("list[Any]", items)) > _MOST_ITEMS:
            raise ValueError
        return tuple(map(kind.read, cast("list[Any]", items)))

    return _Kind(
        {"type": "array", "items": kind.schema},
        f"a list of at most {_MOST_ITEMS}, each {kind.words}",
        read,
    )


def _read_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _read_sizes(value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping) or len(cast("Mapping[Any, Any]", value)) > _MOST_ITEMS:
        raise ValueError
    sizes = cast("Mapping[Any, Any]", value)
    for name, size in sizes.items():
        if not isinstance(name, str) or not name.isidentifier() or len(name) > 100:
            raise ValueError
        if type(size) is not int or not 0 <= size <= _LARGEST:
            raise ValueError
    return dict(sizes)
