"""Shapes and dtypes of what functions of torch return that take several tensors, or sequences."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from tirlens.evaluation.libraries.torch import element_values
from tirlens.evaluation.libraries.torch.shapes import Tensor, elementwise
from tirlens.evaluation.values import UNKNOWN, External, Value

_Function: TypeAlias = Callable[["list[Any]", "dict[str, Any]"], Any]


def _where(positional: list[Value], named: dict[str, Value]) -> Value:
    if len(positional) < 3:
        return UNKNOWN
    mask, left, right = positional[:3]
    chosen = left if isinstance(left, Tensor) else right
    if not isinstance(chosen, Tensor) or not isinstance(mask, Tensor):
        return UNKNOWN
    shape = elementwise(mask, elementwise(left, right)).shape
    return Tensor(shape, chosen.dtype)


def _pad(positional: list[Value], named: dict[str, Value]) -> Value:
    base, widths = positional[0], positional[1] if len(positional) > 1 else named.get("pad")
    if not isinstance(base, Tensor) or not isinstance(widths, (list, tuple)):
        return base
    shape = list(base.shape)
    for position, (low, high) in enumerate(zip(widths[::2], widths[1::2], strict=False)):
        axis = len(shape) - 1 - position
        if axis >= 0:
            parts = (shape[axis], low, high)
            shape[axis] = sum(parts) if all(type(part) is int for part in parts) else UNKNOWN
    fill = named.get("value", positional[3] if len(positional) > 3 else 0)
    return element_values.pad_contents(base, list(widths), fill or 0, base.with_shape(tuple(shape)))


def _linear(positional: list[Value], named: dict[str, Value]) -> Value:
    left, weight = positional[0], positional[1] if len(positional) > 1 else named.get("weight")
    if not isinstance(left, Tensor) or not isinstance(weight, Tensor) or not weight.shape:
        return UNKNOWN
    return left.with_shape((*left.shape[:-1], weight.shape[0]))


def _einsum(positional: list[Value], named: dict[str, Value]) -> Value:
    """The shape by the letters of the equation; dimensions after ``...`` are not known."""
    text = positional[0] if positional else UNKNOWN
    operands = [item for item in positional[1:] if isinstance(item, Tensor)]
    if not isinstance(text, str) or "->" not in text or "." in text:
        return UNKNOWN
    left, _, right = text.replace(" ", "").partition("->")
    sizes = {
        letter: size
        for letters, operand in zip(left.split(","), operands, strict=False)
        for letter, size in zip(letters, operand.shape, strict=False)
    }
    if not operands:
        return UNKNOWN
    return operands[0].with_shape(tuple(sizes.get(letter, UNKNOWN) for letter in right))


def _outer(positional: list[Value], named: dict[str, Value]) -> Value:
    left, right = (*positional, UNKNOWN, UNKNOWN)[:2]
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return UNKNOWN
    return left.with_shape((*left.shape, *right.shape))


def _attention(positional: list[Value], named: dict[str, Value]) -> Value:
    """``scaled_dot_product_attention(query, key, value)``."""
    names = ("query", "key", "value")
    given = dict(zip(names, positional, strict=False)) | named
    query, value = given.get("query"), given.get("value")
    if not isinstance(query, Tensor) or not isinstance(value, Tensor) or not value.shape:
        return UNKNOWN
    return query.with_shape((*query.shape[:-1], value.shape[-1]))


def _embedding(positional: list[Value], named: dict[str, Value]) -> Value:
    given = dict(zip(("input", "weight"), positional, strict=False)) | named
    places, table = given.get("input"), given.get("weight")
    if not isinstance(places, Tensor) or not isinstance(table, Tensor):
        return UNKNOWN
    return table.with_shape((*places.shape, *table.shape[1:]))


def _one_hot(positional: list[Value], named: dict[str, Value]) -> Value:
    base = positional[0] if positional else named.get("tensor")
    count = named.get("num_classes", positional[1] if len(positional) > 1 else UNKNOWN)
    return base.with_shape((*base.shape, count)) if isinstance(base, Tensor) else UNKNOWN


def _places_of(position: int, name: str) -> _Function:
    """A search that gives a place for each element of an argument."""

    def find(positional: list[Value], named: dict[str, Value]) -> Value:
        searched = named.get(name, positional[position] if len(positional) > position else None)
        return (
            Tensor(searched.shape, External("torch.int64"))
            if isinstance(searched, Tensor)
            else UNKNOWN
        )

    return find


def join(name: str, positional: list[Value], named: dict[str, Value]) -> Value:
    items = positional[0] if positional else UNKNOWN
    if not isinstance(items, (list, tuple)) or not items:
        return UNKNOWN
    parts = [item for item in cast("list[Value]", items) if isinstance(item, Tensor)]
    if len(parts) != len(cast("list[Value]", items)):
        return UNKNOWN
    axis = named.get("dim", named.get("axis", positional[1] if len(positional) > 1 else 0))
    shape = list(parts[0].shape)
    if type(axis) is not int:
        return UNKNOWN
    if name == "stack":
        shape.insert(axis % (len(shape) + 1), len(parts))
    elif shape:
        sizes: list[Any] = [
            part.shape[axis] if len(part.shape) > axis else UNKNOWN for part in parts
        ]
        shape[axis] = sum(sizes) if all(type(size) is int for size in sizes) else UNKNOWN
    return element_values.join_contents(parts, parts[0].with_shape(tuple(shape)))


def product(positional: list[Value]) -> Value:
    left, right = (*positional, UNKNOWN, UNKNOWN)[:2]
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return UNKNOWN
    if not right.shape or not left.shape:
        return UNKNOWN
    return left.with_shape((*left.shape[:-1], right.shape[-1]))


# Functions of torch whose result has not the shape and dtype of their first argument.
FUNCTIONS: dict[str, _Function] = {
    "where": _where,
    "pad": _pad,
    "linear": _linear,
    "einsum": _einsum,
    "outer": _outer,
    "scaled_dot_product_attention": _attention,
    "embedding": _embedding,
    "one_hot": _one_hot,
    "searchsorted": _places_of(1, "input"),
    "bucketize": _places_of(0, "input"),
    "matmul": lambda positional, named: product(positional),
    "mm": lambda positional, named: product(positional),
    "bmm": lambda positional, named: product(positional),
}
