"""The parameters of a kernel's factory on which the shapes of its arrays depend."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tirlens.source.find import Found, own_nodes
from tirlens.syntax_trees import (
    FunctionNode,
    bound_names,
    own_statements,
    parameter_defaults,
    parameters,
)

# Calls that declare an array: ``T.match_buffer(a, (M, K))`` has the shape behind a pointer.
_MATCH = "match_buffer"
# Calls that create a size: the name that they are assigned to is a size itself.
_SIZES = frozenset({"const", "dynamic", "symbolic", "Var", "var", "int32", "int64"})
# A constant dimension above this is a size of its own; below, a factor such as a number of planes.
_LARGEST_FACTOR = 8
_QUOTIENTS = frozenset({"ceildiv", "cdiv", "floordiv"})


# The name of an array, which may be empty, and the expression of its shape.
Shape = tuple[str, ast.expr]


def array_shapes(found: Found) -> tuple[Shape, ...]:
    """The shapes of the arrays of a kernel's functions."""
    return tuple(shape for terminal in found.terminals for shape in _shapes(terminal))


def array_sizes(
    found: Found, shapes: Sequence[Shape], order: Sequence[str]
) -> dict[str, int | None]:
    """The sizes in the `shapes` of the arrays by name, with their defaults.

    Those of `order`, the parameters and constants, come last and in that order.  Empty where a
    shape depends on anything else.  Names that only divide another size, such as those of tiles, do
    not count.
    """
    if isinstance(found.owner, ast.ClassDef):
        return {}
    functions = [item for item in (found.owner, *found.terminals) if _is_function(item)]
    functions = list(dict.fromkeys(functions))
    values = _assigned_values(functions)
    given = {item.arg for item in parameters(found.owner)}
    names: set[str] = set()
    for _, shape in shapes:
        for name in _names(shape, values, given, frozenset()):
            if name is None:
                return {}
            names.add(name)
    defaults = parameter_defaults(found.owner)
    others = sorted(name for name in names if name not in order)
    ordered = (*others, *(name for name in order if name in names))
    return {name: _number(defaults.get(name)) for name in ordered}


def _number(node: ast.expr | None) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def dimension_names(shapes: Sequence[Shape]) -> dict[str, tuple[str, ...]]:
    """The names of the dimensions of each array; empty for a dimension that is no single name."""
    return {
        array: tuple(getattr(item, "id", "") for item in shape.elts)
        for array, shape in shapes
        if isinstance(shape, (ast.Tuple, ast.List))
    }


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))


def _shapes(function: FunctionNode) -> Iterator[Shape]:
    annotations = [(item.arg, item.annotation) for item in parameters(function)]
    for node in own_nodes(function):
        if isinstance(node, ast.AnnAssign):
            annotations.append((_last_name(node.target), node.annotation))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == _MATCH:
            shape = node.args[1] if len(node.args) > 1 else None
            shape = shape or next((one.value for one in node.keywords if one.arg == "shape"), None)
            if shape is not None:
                yield "", shape
    for array, annotation in annotations:
        if isinstance(annotation, ast.Call):
            shape = annotation.args[0] if annotation.args else None
        elif isinstance(annotation, ast.Subscript):
            inside = annotation.slice
            shape = inside.elts[0] if isinstance(inside, ast.Tuple) and inside.elts else inside
        else:
            shape = None
        if shape is not None and not isinstance(shape, ast.Constant):
            yield array, shape


def _assigned_values(functions: Sequence[FunctionNode]) -> dict[str, ast.expr | None]:
    """The value of each name that is assigned once in `functions`, else None."""
    found: dict[str, ast.expr | None] = {}
    for function in functions:
        for node in own_statements(function):
            if not isinstance(node, ast.Assign):
                continue
            simple: dict[str, ast.expr] = {}
            if len(node.targets) == 1:
                simple = dict(_pairs(node.targets[0], node.value))
            for name in bound_names([node]):
                found[name] = None if name in found else simple.get(name)
    return found


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names of a target with their values, those of a tuple one by one."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple):
        parts = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
        for one, part in zip(target.elts, parts, strict=False):
            yield from _pairs(one, part)


def _names(
    node: ast.expr,
    values: dict[str, ast.expr | None],
    given: set[str],
    inside: frozenset[str],
) -> Iterator[str | None]:
    """The sizes in an expression; None for a name that is none."""
    if isinstance(node, ast.Name):
        value = values.get(node.id)
        if node.id in given and node.id not in values:
            yield node.id
        elif value is None or node.id in inside:
            yield None
        elif isinstance(value, ast.Call) and _last_name(value.func) in _SIZES:
            yield _variable(value) or node.id
        else:
            yield from _names(value, values, given, inside | {node.id})
    elif isinstance(node, ast.BinOp):
        yield from _names(node.left, values, given, inside)
        if not isinstance(node.op, (ast.FloorDiv, ast.Mod, ast.Div)):
            yield from _names(node.right, values, given, inside)
    elif isinstance(node, ast.Call) and _last_name(node.func) in _QUOTIENTS and node.args:
        yield from _names(node.args[0], values, given, inside)
    elif isinstance(node, (ast.Tuple, ast.List)):
        for item in node.elts:
            if (_number(item) or 0) > _LARGEST_FACTOR:
                yield None
            else:
                yield from _names(item, values, given, inside)
    elif not isinstance(node, ast.Constant):
        yield None


def _variable(call: ast.Call) -> str:
    """The name in ``T.dynamic("m")``; empty where it is not one name."""
    text = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else ""
    return text if isinstance(text, str) and text.isidentifier() else ""


def _last_name(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))
