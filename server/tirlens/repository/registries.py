"""Tables in which functions are registered, by a decorator, a call or an assignment.

A program that finds a kernel in such a table does not name it: it names the table, or what reads
the table. Python has imported the module that registers the kernel before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tirlens.evaluation.modules import Modules
from tirlens.evaluation.syntax import changed_names
from tirlens.evaluation.values import ModuleScope
from tirlens.syntax_trees import DEFINITIONS

_MAX_REEXPORTS = 3
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Methods that add to a table.
_CHANGE = frozenset({"add", "append", "extend", "insert", "register", "setdefault", "update"})


def tables_of(modules: Modules, scope: ModuleScope, statement: ast.stmt) -> set[tuple[str, str]]:
    """The names, each with its file, of what a top-level statement registers something with.

    They are the tables that it changes, and those that the functions change with which it decorates
    a definition, or that it calls.
    """
    found: set[tuple[str, str]] = set()
    for called in _registering_calls(statement):
        origin = _origin(modules, scope, called)
        if origin is not None:
            found |= {(name, origin[0].path) for name in _tables(*origin)}
    if not isinstance(statement, DEFINITIONS):
        for name in changed_names(statement):
            origin = _origin(modules, scope, ast.Name(name))
            if origin is not None:
                found.add((origin[1], origin[0].path))
    return found


def _registering_calls(statement: ast.stmt) -> Iterator[ast.expr]:
    """What decorates a definition, or is called by a statement."""
    if isinstance(statement, DEFINITIONS):
        expressions: list[ast.expr] = list(statement.decorator_list)
    else:
        expressions = [statement.value] if isinstance(statement, ast.Expr) else []
    for expression in expressions:
        while isinstance(expression, ast.Call):
            expression = expression.func
        yield expression


def _origin(
    modules: Modules, scope: ModuleScope, expression: ast.expr
) -> tuple[ModuleScope, str] | None:
    """The module that defines what a dotted name begins with, and its name there.

    None for what is no name of the repository.
    """
    parts: list[str] = []
    while isinstance(expression, ast.Attribute):
        parts.append(expression.attr)
        expression = expression.value
    if not isinstance(expression, ast.Name):
        return None
    parts = [expression.id, *reversed(parts)]
    for _ in range(_MAX_REEXPORTS):
        statement = next(iter(scope.bindings.get(parts[0], ())), None)
        if statement is None:
            return None
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            return scope, parts[0]
        following = _module_of_import(modules, scope, statement, parts)
        if following is None:
            return None
        scope, parts = following
    return None


def _module_of_import(
    modules: Modules, scope: ModuleScope, statement: ast.Import | ast.ImportFrom, parts: list[str]
) -> tuple[ModuleScope, list[str]] | None:
    """The module that an import reads the first of `parts` from, and what is left of them."""
    level, package = 0, ""
    if isinstance(statement, ast.ImportFrom):
        level, package = statement.level, statement.module or ""
    alias = next((one for one in statement.names if (one.asname or one.name) == parts[0]), None)
    wanted = [alias.name if alias is not None else parts[0], *parts[1:]]
    base = package.split(".") if package else []
    # The longest name that is one of a module: ``from package import registry`` imports one.
    for end in range(len(wanted) - 1, -1, -1):
        names = ".".join([*base, *wanted[:end]])
        path = modules.resolve(scope, names, level) if names or level else None
        found = None if path is None else modules.scope(path)
        if found is not None:
            return found, wanted[end:]
    return None


def _tables(scope: ModuleScope, name: str) -> set[str]:
    """The tables that a call of `name` changes: those of a function, or the object itself."""
    functions = [item for item in scope.bindings[name] if isinstance(item, _FUNCTIONS)]
    if not functions:
        return {name}
    changed = {
        target.id
        for function in functions
        for node in ast.walk(function)
        for target in _objects_changed_by(node)
        if isinstance(target, ast.Name)
    }
    return changed & set(scope.bindings)


def _objects_changed_by(node: ast.AST) -> Iterator[ast.expr]:
    """``a`` of ``a["key"] = value`` and ``a.append(value)``."""
    if isinstance(node, ast.Assign):
        yield from (item.value for item in node.targets if isinstance(item, ast.Subscript))
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute) and function.attr in _CHANGE:
        yield function.value
