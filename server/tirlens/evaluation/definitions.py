"""Definitions of functions in the text of a module."""

from __future__ import annotations

import ast

from tirlens.syntax_trees import Definition, FunctionNode, definitions


def definitions_of(tree: ast.Module, name: str) -> list[FunctionNode]:
    """The functions of a dotted name: ``matmul``, ``Class.method``, ``test_add.matmul``."""
    found: list[Definition | ast.Module] = [tree]
    for part in name.split("."):
        found = [inner for item in found for inner in definitions(item.body) if inner.name == part]
    return [node for node in found if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def returned_parameters(factory: FunctionNode) -> tuple[str, ...]:
    """The parameters of the function that a factory defines and returns; none if it does not."""
    inner = {item.name: item for item in factory.body if isinstance(item, ast.FunctionDef)}
    for item in reversed(factory.body):
        if isinstance(item, ast.Return) and isinstance(item.value, ast.Name):
            found = inner.get(item.value.id)
            given = () if found is None else (*found.args.posonlyargs, *found.args.args)
            return tuple(one.arg for one in given)
    return ()
