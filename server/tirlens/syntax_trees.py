"""Walks over syntax trees, without the nodes that only mark what another one is.

These are contexts (`ast.Load`) and operators, about half of all nodes.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""The classes of `Definition`, for `isinstance`."""

# The fields with statements, or with parts of a statement that have statements.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_MARKS = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)


def child_nodes(node: ast.AST) -> list[ast.AST]:
    """The nodes in the fields of `node`, as `ast.iter_child_nodes` finds them, without marks."""
    found: list[ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            found += [
                item
                for item in value  # pyright: ignore[reportUnknownVariableType]
                if isinstance(item, ast.AST) and not isinstance(item, _MARKS)
            ]
        elif isinstance(value, ast.AST) and not isinstance(value, _MARKS):
            found.append(value)
    return found


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and all nodes in it, in the order of `ast.walk`, without marks."""
    pending = deque([node])
    while pending:
        node = pending.popleft()
        pending.extend(child_nodes(node))
        yield node


def own_statements(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.stmt]:
    """The statements of a function in any order, without those in functions and classes inside."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, DEFINITIONS):
            for field in _BLOCKS:
                pending += getattr(node, field, ())


def bound_names(body: list[ast.stmt]) -> set[str]:
    """The names that statements bind in their own scope (not inside functions and classes)."""
    out: set[str] = set()
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, DEFINITIONS):
            out.add(node.name)
            continue
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp)):
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            out.update((item.asname or item.name).split(".")[0] for item in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            out.add(node.id)
        pending.extend(child_nodes(node))
    return out


def parameters(node: FunctionNode) -> tuple[ast.arg, ...]:
    """The named parameters, positional first."""
    return (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)


def parameter_defaults(node: FunctionNode) -> dict[str, ast.expr]:
    """The default expression of each parameter that has one."""
    positional = [*node.args.posonlyargs, *node.args.args]
    defaults = node.args.defaults
    out = {
        arg.arg: default
        for arg, default in zip(
            positional[len(positional) - len(defaults) :], defaults, strict=True
        )
    }
    for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if default is not None:
            out[arg.arg] = default
    return out


def loaded_names(node: ast.AST) -> set[str]:
    """The names that are read in `node`."""
    return {
        item.id
        for item in walk(node)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)
    }


def definitions(body: list[ast.stmt]) -> Iterator[Definition]:
    """The functions and classes of a body, also those under `if`, `with`, `for` and `try`."""
    for node in body:
        if isinstance(node, DEFINITIONS):
            yield node
        else:
            for block in blocks(node):
                yield from definitions(block)


def blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The bodies of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    if isinstance(node, ast.Try):
        for handler in node.handlers:
            yield handler.body
    if isinstance(node, ast.Match):
        for case in node.cases:
            yield case.body
