"""Definitions of functions in the text of a module."""

from __future__ import annotations

import ast

from tirlens.source.module_names import FunctionNode


def definition(tree: ast.Module, name: str) -> FunctionNode | None:
    """The function of a dotted name, ``matmul`` or ``Class.method``; None if there is none."""
    body: list[ast.stmt] = tree.body
    node: ast.stmt | None = None
    for part in name.split("."):
        node = next(
            (
                item
                for item in body
                if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
                and item.name == part
            ),
            None,
        )
        body = node.body if isinstance(node, ast.ClassDef) else []
    return node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def returned_parameters(factory: FunctionNode | None) -> tuple[str, ...]:
    """The parameters of the function that a factory defines and returns; none if it does not."""
    if factory is None:
        return ()
    inner = {item.name: item for item in factory.body if isinstance(item, ast.FunctionDef)}
    for item in reversed(factory.body):
        if isinstance(item, ast.Return) and isinstance(item.value, ast.Name):
            found = inner.get(item.value.id)
            given = () if found is None else (*found.args.posonlyargs, *found.args.args)
            return tuple(one.arg for one in given)
    return ()
