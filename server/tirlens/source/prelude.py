"""The statements on which a kernel that is local to a function depends."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tirlens.source.find import Found
from tirlens.syntax_trees import Definition, bound_names, loaded_names, walk


def prelude(found: Found) -> tuple[ast.stmt, ...]:
    """The statements of the enclosing functions that bind what a local kernel uses.

    They are those from which its free variables follow, taken from the straight line of
    statements before it, in their order.
    """
    around = [item for item in found.scope if not isinstance(item, ast.ClassDef)]
    needed = loaded_names(found.owner)
    out: list[ast.stmt] = []
    inside: Definition = found.owner
    for function in reversed(around):
        for statement in reversed(list(_statements_before(function.body, inside))):
            if bound_names([statement]) & needed:
                out.append(statement)
                needed |= loaded_names(statement)
        inside = function
    return tuple(reversed(out))


def _statements_before(body: list[ast.stmt], target: ast.AST) -> Iterator[ast.stmt]:
    """The statements before `target` on the way to it."""
    for statement in body:
        if statement is target:
            return
        if any(node is target for node in walk(statement)):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(statement, name, None)
                if isinstance(block, list) and any(
                    node is target
                    for item in block  # pyright: ignore[reportUnknownVariableType]
                    for node in walk(item)  # pyright: ignore[reportUnknownArgumentType]
                ):
                    yield from _statements_before(block, target)  # pyright: ignore[reportUnknownArgumentType]
            return
        yield statement
