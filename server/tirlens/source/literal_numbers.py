"""Literal numbers of a text: values of variables, and defaults of parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tirlens.source.parse import Text


class OutsideError(Exception):
    """The edit depends on the text outside of the top-level statement that was parsed."""


def literal_number(
    text: Text, value: ast.expr, at: ast.AST, analysed: str, is_part: bool
) -> ast.Constant | None:
    """The literal number of a value at a node, also through a parameter's default or a variable.

    None where it is computed, or where the call `analysed` gives it.

    Raises:
        OutsideError: it is defined outside of the text, which `is_part` of a longer one.
    """
    if isinstance(value, ast.Constant):
        return value if type(value.value) is int else None
    if not isinstance(value, ast.Name):
        return None
    for scope in reversed(text.enclosing(at)):
        assigned = list(_assignments(scope, value.id))
        if isinstance(scope, ast.FunctionDef) and (default := _default(scope, value.id)):
            position, number = default
            given = bool(assigned) or _gives(analysed, scope.name, position, value.id)
            return None if given else number
        if assigned:
            return _only_number(assigned)
    if is_part:
        raise OutsideError
    return _only_number(list(_assignments(text.tree, value.id)))


def _default(function: ast.FunctionDef, name: str) -> tuple[int, ast.Constant | None] | None:
    """The place of a parameter among the positional ones (else -1) and its default, a number."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    names = [argument.arg for argument in positional]
    if name in names:
        position = names.index(name)
        number = position - len(names) + len(arguments.defaults)
        value = arguments.defaults[number] if number >= 0 else None
        return position, _only_number([value])
    keywords = [argument.arg for argument in arguments.kwonlyargs]
    if name in keywords:
        return -1, _only_number([arguments.kw_defaults[keywords.index(name)]])
    return None


def _gives(call: str, function: str, position: int, name: str) -> bool:
    """Whether a call gives an argument, or is not known not to."""
    try:
        made = ast.parse(call, mode="eval").body
    except SyntaxError:
        return True
    if not isinstance(made, ast.Call) or last_name(made.func) != function:
        return True
    starred = any(isinstance(argument, ast.Starred) for argument in made.args)
    by_name = any(keyword.arg in (name, None) for keyword in made.keywords)
    return starred or by_name or 0 <= position < len(made.args)


def _assignments(scope: ast.AST, name: str) -> Iterator[ast.expr | None]:
    """The values that a scope's own statements assign to `name`; None for another binding."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            (target,) = node.targets
            if isinstance(target, ast.Name) and target.id == name:
                yield node.value
                continue
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            yield None
        yield from _assignments(node, name)


def _only_number(values: list[ast.expr | None]) -> ast.Constant | None:
    value = values[0] if len(values) == 1 else None
    return value if isinstance(value, ast.Constant) and type(value.value) is int else None


def last_name(expr: ast.AST | None) -> str:
    """The last name of ``a.b.c``."""
    if isinstance(expr, ast.Attribute):
        return expr.attr
    return expr.id if isinstance(expr, ast.Name) else ""
