"""Assignment of values to targets."""

from __future__ import annotations

import ast

from tirlens.evaluation import constraints
from tirlens.evaluation.libraries.torch import element_values
from tirlens.evaluation.libraries.torch.shapes import Tensor, scalar
from tirlens.evaluation.machine import Machine
from tirlens.evaluation.unknown_sizes import UnknownArgument, UnknownShape, UnknownSize
from tirlens.evaluation.values import (
    UNKNOWN,
    Class,
    Frame,
    Instance,
    Options,
    Value,
    is_known,
    items_of,
)


def assign(machine: Machine, target: ast.expr, value: Value, frame: Frame) -> None:
    if isinstance(target, ast.Name):
        frame.names[target.id] = value
        if frame.facts:
            constraints.forget(frame, target.id)
    elif isinstance(target, ast.Starred):
        assign(machine, target.value, value, frame)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(machine, target.elts, value, frame)
    elif isinstance(target, ast.Attribute):
        owner = machine.value(target.value, frame)
        if isinstance(owner, Instance):
            owner.attributes[target.attr] = value
        elif isinstance(owner, Class):
            owner.names[target.attr] = value
        elif isinstance(owner, Options):
            owner.values[target.attr] = value
    elif isinstance(target, ast.Subscript):
        owner = machine.value(target.value, frame)
        if isinstance(owner, Tensor):
            if owner.contents is not None:
                key = subscript_key(machine, target.slice, frame)
                changed = element_values.with_item(owner, key, value)
                assign(machine, target.value, changed, frame)
            return
        key: Value = machine.value(target.slice, frame)
        key = UNKNOWN if isinstance(key, (UnknownArgument, UnknownSize)) else key
        if isinstance(owner, dict) or (isinstance(owner, list) and is_known(key)):
            try:
                owner[key] = value
            except (TypeError, IndexError, KeyError):
                return


def subscript_key(machine: Machine, node: ast.expr, frame: Frame) -> Value:
    """The key of a subscript; a slice is a `slice`."""

    def part(given: ast.expr | None) -> Value:
        return None if given is None else scalar(machine.value(given, frame))

    if not isinstance(node, ast.Slice):
        return part(node)
    return slice(part(node.lower), part(node.upper), part(node.step))


def _unpack(machine: Machine, targets: list[ast.expr], value: Value, frame: Frame) -> None:
    items = items_of(value)
    star = next((n for n, item in enumerate(targets) if isinstance(item, ast.Starred)), None)
    if isinstance(value, UnknownShape) and star is None:
        items = value.of.all_dimensions(len(targets))
    if items is not None and star is not None:
        after = len(targets) - star - 1
        middle = items[star : len(items) - after]
        items = [*items[:star], middle, *items[len(items) - after :]]
    if items is None or len(items) != len(targets):
        items = [UNKNOWN] * len(targets)
    for inner, item in zip(targets, items, strict=True):
        assign(machine, inner, item, frame)
