"""Evaluation of expressions."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, cast

from tirlens.evaluation import unknown_sizes
from tirlens.evaluation.assignment import assign, subscript_key
from tirlens.evaluation.control_flow import RaisedError
from tirlens.evaluation.data_files import FilePath
from tirlens.evaluation.dynamic_sizes import note_record_sizes
from tirlens.evaluation.libraries import dispatch, names
from tirlens.evaluation.libraries.names import path_of
from tirlens.evaluation.libraries.torch import element_values, shapes, tensors
from tirlens.evaluation.libraries.torch.shapes import Tensor
from tirlens.evaluation.machine import Machine
from tirlens.evaluation.operations import BINARY, COMPARE, UNARY, apply
from tirlens.evaluation.unknown_sizes import UnknownShape
from tirlens.evaluation.values import (
    MAX_ITEMS,
    UNKNOWN,
    CallSite,
    Class,
    External,
    Frame,
    Function,
    Instance,
    ModuleScope,
    Super,
    Unknown,
    Value,
    is_known,
    is_plain,
    items_of,
    truth,
)

# Sets are lists, in the order of their items.
_SET_OPERATIONS: dict[type[ast.operator], Callable[[list[Value], list[Value]], list[Value]]] = {
    ast.BitOr: lambda left, right: [*left, *(item for item in right if item not in left)],
    ast.BitAnd: lambda left, right: [item for item in left if item in right],
    ast.Sub: lambda left, right: [item for item in left if item not in right],
}


def _constant(machine: Machine, node: ast.Constant, frame: Frame) -> Value:
    return node.value


def _name(machine: Machine, node: ast.Name, frame: Frame) -> Value:
    current: Frame | None = frame
    while current is not None:
        if node.id in current.names and (current is frame or not current.is_class):
            return current.names[node.id]
        current = current.parent
    if node.id == "__name__":
        return "__main__"
    if node.id == "__file__":
        return FilePath(frame.module.path)
    if node.id in frame.module.bindings or "*" in frame.module.bindings:
        found = machine.module_value(frame.module, node.id)
        if found is not UNKNOWN:
            return found
    return External(f"builtins.{node.id}") if dispatch.is_builtin(node.id) else UNKNOWN


def _attribute(machine: Machine, node: ast.Attribute, frame: Frame) -> Value:
    return machine.attribute(machine.value(node.value, frame), node.attr)


def _tuple(machine: Machine, node: ast.Tuple, frame: Frame) -> Value:
    items = elements(machine, node.elts, frame)
    return UNKNOWN if items is None else tuple(items)


def _list(machine: Machine, node: ast.List, frame: Frame) -> Value:
    items = elements(machine, node.elts, frame)
    return UNKNOWN if items is None else items


def _set(machine: Machine, node: ast.Set, frame: Frame) -> Value:
    return _list(machine, cast("ast.List", node), frame)


def elements(machine: Machine, nodes: list[ast.expr], frame: Frame) -> list[Value] | None:
    out: list[Value] = []
    for item in nodes:
        if isinstance(item, ast.Starred):
            spread = items_of(machine.value(item.value, frame))
            if spread is None:
                return None
            out += spread
        else:
            out.append(machine.value(item, frame))
    return out


def _dict(machine: Machine, node: ast.Dict, frame: Frame) -> Value:
    out: dict[Value, Value] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        value = machine.value(item, frame)
        if key is not None:
            name = machine.value(key, frame)
            if is_known(name):
                out[name] = value
        elif isinstance(value, dict):
            out |= cast("dict[Value, Value]", value)
        elif is_plain(value):
            raise TypeError(value)
    return out


def _bin_op(machine: Machine, node: ast.BinOp, frame: Frame) -> Value:
    return binary(
        machine, type(node.op), machine.value(node.left, frame), machine.value(node.right, frame)
    )


def binary(machine: Machine, operator: type[ast.operator], left: Value, right: Value) -> Value:
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        made = shapes.elementwise(left, right)
        return element_values.combine(made, BINARY.get(operator), left, right)
    if isinstance(left, FilePath) and operator is ast.Div:
        return machine.call(machine.attribute(left, "joinpath"), [right], {})
    if isinstance(left, (list, tuple)) and operator is ast.Add and type(left) is type(right):
        return left + right if len(left) + len(right) <= MAX_ITEMS else UNKNOWN
    if isinstance(left, list) and isinstance(right, list) and operator in _SET_OPERATIONS:
        return _SET_OPERATIONS[operator](left, right)
    if not (is_plain(left) and is_plain(right)):
        return unknown_sizes.arithmetic(operator, left, right) or UNKNOWN
    return apply(BINARY[operator], left, right)


def _unary_op(machine: Machine, node: ast.UnaryOp, frame: Frame) -> Value:
    value = machine.value(node.operand, frame)
    if isinstance(node.op, ast.Not):
        known = truth(value)
        return UNKNOWN if known is None else not known
    return apply(UNARY[type(node.op)], value) if is_plain(value) else value


def _bool_op(machine: Machine, node: ast.BoolOp, frame: Frame) -> Value:
    is_or, is_certain = isinstance(node.op, ast.Or), True
    *tested, last = node.values
    for item in tested:
        value = machine.value(item, frame)
        known = truth(value)
        if known is is_or:
            return value
        is_certain = is_certain and known is not None
    value = machine.value(last, frame)
    return value if is_certain or truth(value) is is_or else UNKNOWN


def _compare(machine: Machine, node: ast.Compare, frame: Frame) -> Value:
    left = machine.value(node.left, frame)
    for operator, item in zip(node.ops, node.comparators, strict=True):
        right = machine.value(item, frame)
        held = _comparison(machine, operator, left, right)
        if held is not True:
            return held
        left = right
    return True


def _comparison(machine: Machine, operator: ast.cmpop, left: Value, right: Value) -> Value:
    if isinstance(operator, (ast.Is, ast.IsNot)):
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return UNKNOWN
        same = left is right or (is_plain(left) and is_plain(right) and left == right)
        return same is isinstance(operator, ast.Is)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return shapes.comparison(left, right)
    if isinstance(operator, (ast.In, ast.NotIn)) and right in ([], (), {}, ""):
        return isinstance(operator, ast.NotIn)
    if not (is_known(left) and is_known(right)):
        return UNKNOWN
    if isinstance(operator, (ast.In, ast.NotIn)):
        if path_of(right) == "os.environ":
            return isinstance(operator, ast.NotIn)
        if not isinstance(right, (list, tuple, dict, set, str)):
            return UNKNOWN
        return (left in right) is isinstance(operator, ast.In)
    if isinstance(left, External) is not isinstance(right, External) and None not in (left, right):
        # Libraries compare their objects with texts: a dtype, a device.
        return UNKNOWN
    return bool(COMPARE[type(operator)](left, right))


def _if_exp(machine: Machine, node: ast.IfExp, frame: Frame) -> Value:
    known = truth(machine.value(node.test, frame))
    if known is not None:
        return machine.value(node.body if known else node.orelse, frame)
    body, other = machine.value(node.body, frame), machine.value(node.orelse, frame)
    return body if is_plain(body) and body is not None else other


def _named_expr(machine: Machine, node: ast.NamedExpr, frame: Frame) -> Value:
    value = machine.value(node.value, frame)
    assign(machine, node.target, value, frame)
    return value


def _subscript(machine: Machine, node: ast.Subscript, frame: Frame) -> Value:
    base = machine.value(node.value, frame)
    if isinstance(base, Tensor):
        keys = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return tensors.subscript(base, tuple(subscript_key(machine, item, frame) for item in keys))
    key = subscript_key(machine, node.slice, frame)
    if isinstance(key, slice):
        parts = (key.start, key.stop, key.step)
        if isinstance(base, (list, tuple, str)) and all(is_known(part) for part in parts):
            return base[key]
        return UNKNOWN
    if isinstance(base, UnknownShape) and type(key) is int:
        return base.of.dimension(key)
    if isinstance(base, ModuleScope) and isinstance(key, str):
        return machine.module_value(base, key)
    if isinstance(base, Class) and base.is_enum:
        return machine.attribute(base, str(key))
    if isinstance(base, Class):
        return base
    if isinstance(base, External) and names.is_generic(base.path):
        return base
    if isinstance(base, Instance):
        return machine.call_method(base, "__getitem__", key)
    if isinstance(base, dict) and UNKNOWN in base:
        return base.get(key, base[UNKNOWN])
    if isinstance(base, dict) and is_known(key) and key not in base and machine.try_depth:
        raise RaisedError
    if isinstance(base, (list, tuple, dict, str)) and is_known(key):
        return base[key]
    if isinstance(base, (dict, list, tuple)) and base:
        # One of a table's entries, whichever.
        entries = cast("list[Value]", list(base.values() if isinstance(base, dict) else base))
        return entries[0]
    return UNKNOWN


def _joined_str(machine: Machine, node: ast.JoinedStr, frame: Frame) -> Value:
    parts: list[str] = []
    for item in node.values:
        value = machine.value(item.value if isinstance(item, ast.FormattedValue) else item, frame)
        if not isinstance(value, (str, int)):
            value = machine.call(External("builtins.str"), [value], {})
        if not isinstance(value, (str, int)) or (
            isinstance(item, ast.FormattedValue) and item.format_spec is not None
        ):
            return UNKNOWN
        parts.append(str(value))
    return "".join(parts)


def _lambda(machine: Machine, node: ast.Lambda, frame: Frame) -> Value:
    machine.defined[node] = made = Function(node, frame, "lambda")
    return made


def _list_comp(machine: Machine, node: ast.ListComp, frame: Frame) -> Value:
    return _comprehension(machine, node.generators, [node.elt], frame)


def _dict_comp(machine: Machine, node: ast.DictComp, frame: Frame) -> Value:
    pairs = _comprehension(machine, node.generators, [node.key, node.value], frame)
    return dict(cast("list[tuple[Value, Value]]", pairs)) if isinstance(pairs, list) else UNKNOWN


def _comprehension(
    machine: Machine, generators: list[ast.comprehension], results: list[ast.expr], frame: Frame
) -> Value:
    out: list[Value] = []

    def iterate(depth: int, inside: Frame) -> bool:
        if depth == len(generators):
            made = [machine.value(item, inside) for item in results]
            out.append(made[0] if len(made) == 1 else tuple(made))
            return True
        generator = generators[depth]
        items = items_of(machine.value(generator.iter, inside))
        if items is None:
            return False
        for item in items:
            machine.step()
            assign(machine, generator.target, item, inside)
            tests = [truth(machine.value(test, inside)) for test in generator.ifs]
            if False not in tests and not iterate(depth + 1, inside):
                return False
        return True

    return out if iterate(0, Frame(frame.module, {}, frame)) else UNKNOWN


def _star(machine: Machine, node: ast.Starred, frame: Frame) -> Value:
    return machine.value(node.value, frame)


def _await(machine: Machine, node: ast.Await, frame: Frame) -> Value:
    return machine.value(node.value, frame)


def _yield(machine: Machine, node: ast.Yield, frame: Frame) -> Value:
    current = frame
    current.yields.append(None if node.value is None else machine.value(node.value, frame))
    return UNKNOWN


def _yield_from(machine: Machine, node: ast.YieldFrom, frame: Frame) -> Value:
    frame.yields.extend(items_of(machine.value(node.value, frame)) or ())
    return UNKNOWN


def _call(machine: Machine, node: ast.Call, frame: Frame) -> Value:
    function = machine.value(node.func, frame)
    positional = elements(machine, node.args, frame)
    named: dict[str, Value] = {}
    for keyword in node.keywords:
        value = machine.value(keyword.value, frame)
        if keyword.arg is not None:
            named[keyword.arg] = value
        elif isinstance(value, dict):
            items = cast("dict[Any, Value]", value).items()
            named |= {key: item for key, item in items if isinstance(key, str)}
    if isinstance(function, External) and function.path == "builtins.super":
        return super_of(machine, frame)
    note_record_sizes([*(positional or ()), *named.values()])
    machine.site = CallSite(frame.module.path, node, frame, function)
    value = machine.call(function, UNKNOWN if positional is None else positional, named)
    if isinstance(node.func, ast.Attribute) and _changes_contents(function):
        assign(machine, node.func.value, value, frame)
    return value


def _changes_contents(function: Value) -> bool:
    """Whether it is a method such as ``x.fill_`` of a tensor whose contents are known."""
    if not isinstance(function, dispatch.Method) or not isinstance(function.owner, Tensor):
        return False
    return function.owner.contents is not None and function.name.endswith("_")


def super_of(machine: Machine, frame: Frame) -> Value:
    current: Frame | None = frame
    while current is not None:
        if "__class__" in current.names:
            return Super(current.names["__self__"], current.names["__class__"])
        current = current.parent
    return UNKNOWN


VALUE: dict[type[ast.expr], Callable[[Machine, Any, Frame], Any]] = {
    ast.Attribute: _attribute,
    ast.Await: _await,
    ast.BinOp: _bin_op,
    ast.BoolOp: _bool_op,
    ast.Call: _call,
    ast.Compare: _compare,
    ast.Constant: _constant,
    ast.Dict: _dict,
    ast.DictComp: _dict_comp,
    ast.IfExp: _if_exp,
    ast.JoinedStr: _joined_str,
    ast.Lambda: _lambda,
    ast.List: _list,
    ast.ListComp: _list_comp,
    ast.Name: _name,
    ast.NamedExpr: _named_expr,
    ast.Set: _set,
    ast.Starred: _star,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.UnaryOp: _unary_op,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.GeneratorExp: _list_comp,
    ast.SetComp: _list_comp,
}
