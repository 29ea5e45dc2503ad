"""Names and what they are bound to, in a module and the functions inside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tirlens.source.module_names import FunctionNode, parameter_defaults, parameters
from tirlens.source.nodes import child_nodes
from tirlens.source.values import Value

Position = tuple[int, int]
END: Position = (1 << 30, 0)


@dataclass(frozen=True)
class Binding:
    """A name is bound at `position` to item `path` of `value`; None if only known at run time."""

    position: Position
    value: ast.expr | None
    path: tuple[int, ...] = ()


@dataclass(frozen=True)
class Frame:
    """A module or one call of a function: its bindings, its arguments and its parent frame."""

    bindings: Mapping[str, list[Binding]]
    given: Mapping[str, Value]
    parent: Frame | None
    body: list[ast.stmt]

    def binding(self, name: str, position: Position) -> Binding | None:
        """The last binding of the name before the position."""
        before = [item for item in self.bindings.get(name, ()) if item.position < position]
        return before[-1] if before else None


def module_frame(tree: ast.Module) -> Frame:
    """The frame of a module's own level."""
    return Frame(_bindings(tree.body), {}, None, tree.body)


def function_frame(function: FunctionNode, given: Mapping[str, Value], parent: Frame) -> Frame:
    """The frame of a call with `given` arguments; other parameters have their defaults."""
    bindings: dict[str, list[Binding]] = {}
    defaults = parameter_defaults(function)
    start = (function.lineno, function.col_offset)
    for parameter in parameters(function):
        if parameter.arg not in given:
            default = defaults.get(parameter.arg)
            bindings[parameter.arg] = [Binding(start, default)]
    for name, found in _bindings(function.body).items():
        bindings.setdefault(name, []).extend(found)
    return Frame(bindings, given, parent, function.body)


def _bindings(body: list[ast.stmt]) -> dict[str, list[Binding]]:
    out: dict[str, list[Binding]] = {}
    for name, binding in _walk(body):
        out.setdefault(name, []).append(binding)
    for found in out.values():
        found.sort(key=lambda item: item.position)
    return out


def _walk(body: list[ast.stmt]) -> Iterator[tuple[str, Binding]]:
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, ast.Lambda):
            continue
        yield from _bindings_of(node)
        pending.extend(child_nodes(node))


def _bindings_of(node: ast.AST) -> Iterator[tuple[str, Binding]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _targets(target, node.value, (), _end(node))
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield from _targets(node.target, node.value, (), _end(node))
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        before = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        value = ast.copy_location(ast.BinOp(before, node.op, node.value), node)
        yield node.target.id, Binding(_end(node), value)
    elif isinstance(node, (ast.For, ast.comprehension)):
        # The first iteration of a loop represents all of them.
        where = (node.iter.end_lineno or 0, node.iter.end_col_offset or 0)
        yield from _targets(node.target, node.iter, (0,), where)
    elif isinstance(node, ast.With):
        for item in node.items:
            if item.optional_vars is not None:
                yield from _targets(item.optional_vars, None, (), (node.lineno, node.col_offset))


def _targets(
    target: ast.expr, value: ast.expr | None, path: tuple[int, ...], position: Position
) -> Iterator[tuple[str, Binding]]:
    if isinstance(target, ast.Name):
        yield target.id, Binding(position, value, path)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for index, item in enumerate(target.elts):
            yield from _targets(item, value, (*path, index), position)


def _end(node: ast.stmt) -> Position:
    """The end of a statement, from which on its target is bound."""
    return (node.end_lineno or node.lineno, (node.end_col_offset or 0) - 1)


def functions(chain: tuple[ast.AST, ...]) -> tuple[FunctionNode, ...]:
    """The functions of a chain of definitions."""
    return tuple(
        item for item in chain if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))
    )
