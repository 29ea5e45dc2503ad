"""Methods of Python's own values: texts, lists, dicts."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Any, cast

from tirlens.evaluation.control_flow import LimitError
from tirlens.evaluation.operations import UnknownValueError, apply
from tirlens.evaluation.values import MAX_ITEMS, UNKNOWN, Value, is_known, items_of

_METHODS = {
    str: {
        "split", "lower", "upper", "strip", "lstrip", "rstrip", "replace", "startswith",
        "endswith", "format", "join", "removeprefix", "removesuffix",
    },
    list: {"append", "extend", "insert", "pop", "index", "copy", "sort", "reverse", "count"},
    dict: {"get", "items", "keys", "values", "update", "copy", "pop", "setdefault"},
    tuple: {"index", "count"},
    set: {"add", "union", "copy"},
}  # fmt: skip
_OF_ANY_VALUES = ("append", "get", "update", "setdefault", "insert", "extend")
_DIGITS = re.compile(r"\d+")


def method(owner: Value, name: str, positional: list[Value], named: dict[str, Value]) -> Value:
    """What a method of a text, list, tuple, dict or set returns; `UNKNOWN` for another one."""
    if name == "get" and isinstance(owner, dict) and UNKNOWN in owner:
        return owner.get(positional[0], owner[UNKNOWN])
    if name not in _METHODS.get(type(owner), ()):
        return UNKNOWN
    if name not in _OF_ANY_VALUES and not is_known(positional):
        return UNKNOWN
    if isinstance(owner, str) and not all(is_known(item) for item in named.values()):
        return UNKNOWN
    if name == "extend":
        items = items_of(positional[0])
        return UNKNOWN if items is None else extend(cast("list[Value]", owner), items)
    if name == "format":
        return apply(_BoundedFormatter().format, owner, *positional, **named)
    value = getattr(owner, name)(*positional, **named)
    if isinstance(value, str) and len(value) > MAX_ITEMS:
        return UNKNOWN
    return list(value) if name in ("items", "keys", "values") else value


def extend(items: list[Value], more: Sequence[Value]) -> None:
    """Extend a list of the evaluated code.

    Raises:
        LimitError: it becomes too long, and what it holds is not known from here on.
    """
    if len(items) + len(more) > MAX_ITEMS:
        raise LimitError
    items.extend(more)


class _BoundedFormatter(string.Formatter):
    """Formats within limits of width and precision, and without attributes of values."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        if "." in field_name:
            raise UnknownValueError("an attribute")
        return super().get_field(field_name, args, kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        if any(len(digits) > 4 for digits in _DIGITS.findall(format_spec)):
            raise UnknownValueError("too large")
        return str(super().format_field(value, format_spec))
