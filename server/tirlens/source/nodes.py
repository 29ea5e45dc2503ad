"""Walks over syntax trees, without the nodes that only mark what another one is.

These are contexts (`ast.Load`) and operators, about half of all nodes.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator

# The fields with statements, or with parts of a statement that have statements.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
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
        if not isinstance(node, _SCOPES):
            for field in _BLOCKS:
                pending += getattr(node, field, ())
