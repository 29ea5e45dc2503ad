"""The type of a function of a library, and what many of them have in common."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from tirlens.evaluation import unknown_sizes
from tirlens.evaluation.libraries.torch.shapes import Tensor, scalar
from tirlens.evaluation.operations import apply
from tirlens.evaluation.values import UNKNOWN, External, Instance, Value, is_known

LibraryFunction: TypeAlias = Callable[["list[Value]", "dict[str, Value]"], Value]


def first(positional: list[Value], named: dict[str, Value]) -> Value:
    """A function that returns its argument."""
    return positional[0] if positional else UNKNOWN


def attributes_of(positional: list[Value], named: dict[str, Value]) -> Value:
    """A function that returns the attributes of an object as a dict."""
    owner = positional[0] if positional else UNKNOWN
    return dict(owner.attributes) if isinstance(owner, Instance) else UNKNOWN


def of_constants(function: Callable[..., Any]) -> LibraryFunction:
    """A function without effects, which is called where all its arguments are constants."""

    def call(positional: list[Value], named: dict[str, Value]) -> Value:
        if not all(is_known(item) for item in (*positional, *named.values())):
            return unknown_sizes.function(function.__name__, positional) or UNKNOWN
        numbers = [_number(item) for item in positional]
        if any(isinstance(item, (External, Tensor)) for item in numbers):
            return UNKNOWN
        return apply(function, *numbers, **named)

    return call


def _number(value: Value) -> Value:
    """The integers that a small tensor holds, for functions of numbers."""
    if isinstance(value, (list, tuple)):
        items = [scalar(item) for item in cast("list[Value]", value)]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, Tensor) and len(value.shape) == 1 and value.contents:
        return list(value.contents)
    return scalar(value)
