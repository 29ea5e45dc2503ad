"""Conversion of dataclasses to JSON values and back, by their annotations.

The key ``"$"`` of a JSON object names the dataclass, so that members of unions and subclasses are
decoded.  Fields with default values are left out.  This module runs on Python 3.8 and imports only
the standard library.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import typing
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Tuple,
    Type,
    TypeVar,
    cast,
)

T = TypeVar("T")


class DecodeError(ValueError):
    """The data does not match the class to decode."""


def to_json(value: Any) -> Any:
    """The JSON value of `value`, which consists of dataclasses, tuples, mappings and scalars."""
    return _encoder(value.__class__)(value)


def from_json(cls: Type[T], data: Any) -> T:
    """The `cls` that `to_json` encoded.

    Raises:
        DecodeError: a field is missing or `data` does not match `cls`.
    """
    try:
        return _decode_dataclass(cls, data)
    except (TypeError, KeyError, AttributeError) as error:
        raise DecodeError("not a {}: {}".format(cls.__name__, error)) from error


def dumps(value: Any) -> bytes:
    """`value` as compact JSON in UTF-8."""
    return json.dumps(to_json(value), separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def loads(cls: Type[T], payload: bytes) -> T:
    """The `cls` that `dumps` encoded.

    Raises:
        DecodeError: a field is missing or the data does not match `cls`.
    """
    return from_json(cls, json.loads(payload.decode("utf-8", "surrogatepass")))


@functools.lru_cache(maxsize=None)
def _defaults(cls: type) -> Tuple[Tuple[str, Any], ...]:
    out: List[Tuple[str, Any]] = []
    for field in dataclasses.fields(cls):
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        out.append((field.name, default))
    return tuple(out)


@functools.lru_cache(maxsize=None)
def _encoder(cls: type) -> Callable[[Any], Any]:
    """The conversion of values of a class, which is looked up once for each value."""
    if dataclasses.is_dataclass(cls):
        return functools.partial(_encode_dataclass, cls.__name__, _defaults(cls))
    if issubclass(cls, (tuple, list)):
        return lambda value: list(map(to_json, value))
    if issubclass(cls, Mapping):
        return lambda value: {str(key): to_json(element) for key, element in value.items()}
    return lambda value: value


def _encode_dataclass(name: str, defaults: Tuple[Tuple[str, Any], ...], value: Any) -> Any:
    out: Dict[str, Any] = {"$": name}
    for field, default in defaults:
        entry = getattr(value, field)
        if entry is default or (default is not dataclasses.MISSING and entry == default):
            continue
        out[field] = to_json(entry)
    return out


@functools.lru_cache(maxsize=None)
def _decoders(cls: type) -> Dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {name: _decoder(hint) for name, hint in hints.items()}


def _decode_dataclass(cls: type, data: Mapping[str, Any]) -> Any:
    decoders = _decoders(cls)
    return cls(**{key: decoders[key](entry) for key, entry in data.items() if key != "$"})


def _tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_tuples(element) for element in cast(List[Any], value))
    if isinstance(value, dict):
        return {key: _tuples(element) for key, element in cast(Dict[str, Any], value).items()}
    return value


def _is_dataclass(hint: Any) -> bool:
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


def _with_subclasses(classes: Iterable[Any]) -> Iterator[Any]:
    for cls in classes:
        yield cls
        yield from _with_subclasses(cls.__subclasses__())


def _decoder(hint: Any) -> Callable[[Any], Any]:
    origin = typing.get_origin(hint)
    arguments: Tuple[Any, ...] = typing.get_args(hint)
    if _is_dataclass(hint):
        return functools.partial(_decode_dataclass, hint)
    if origin is typing.Union:
        classes = {cls.__name__: cls for cls in _with_subclasses(filter(_is_dataclass, arguments))}
        if len(classes) == 1 and len(arguments) == 2 and type(None) in arguments:
            inner = _decoder(next(iter(classes.values())))
            return lambda data: None if data is None else inner(data)
        if classes:
            return lambda data: (
                None if data is None else _decode_dataclass(classes[data["$"]], data)
            )
        return _tuples
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        element = _decoder(arguments[0])
        return lambda data: tuple(element(part) for part in data)
    return _tuples
