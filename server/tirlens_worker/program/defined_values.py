"""The values that the definitions of kernels have while the file's code runs.

A factory need not return its kernel: it compiles it, puts it into an object, adds it to a module,
or passes it to another function.  The decorated definition has a value in any case.  A decorator
that is added outside of those in the text records it; the text itself is not changed.
"""

from __future__ import annotations

import ast
from typing import Any, Callable, Collection, Dict, List, Mapping, Optional

from ..statements import walk_statements
from .document import Document

_NAME = "__tirlens_defined__"
# Of each definition: a loop may define a kernel for each of many configurations.
_MAX_VALUES = 8
_values: Dict[int, List[Any]] = {}


def record_definitions(document: Document, lines: Optional[Collection[int]] = None) -> None:
    """Record the values of the decorated functions inside others.

    Only of those whose ``def`` is at one of `lines`, if these are given.
    """
    inner = {
        node.lineno: node
        for outer in walk_statements(document.tree)
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in walk_statements(outer)
        if isinstance(node, ast.FunctionDef) and node is not outer and node.decorator_list
    }
    for line, node in inner.items():
        if lines is None or line in lines:
            node.decorator_list.insert(0, _decorator(line, node.decorator_list[0]))


def _decorator(line: int, first: ast.expr) -> ast.expr:
    """The decorator at the place of the `first` one, at which `inspect` finds the function."""
    call = ast.Call(ast.Name(_NAME, ast.Load()), [ast.Constant(line)], [])
    for part in ast.walk(call):
        ast.copy_location(part, first)
    return call


def names() -> Dict[str, Any]:
    """The name that the added decorators have in the module."""

    def at(line: int) -> Callable[[Any], Any]:
        def record(value: Any) -> Any:
            found = _values.setdefault(line, [])
            if len(found) < _MAX_VALUES:
                found.append(value)
            return value

        return record

    return {_NAME: at}


def of(line: int) -> List[Any]:
    """The values of the definition at `line` since `forget` was called."""
    return _values.get(line, [])


def all_values() -> Dict[int, List[Any]]:
    """The values of all definitions by line, since `forget` was called."""
    return {line: list(values) for line, values in _values.items()}


def restore(values: Mapping[int, List[Any]]) -> None:
    """Make the values those that `all_values` returned."""
    _values.clear()
    _values.update({line: list(found) for line, found in values.items()})


def forget() -> None:
    """Forget all values."""
    _values.clear()
