"""Visits of all parts of a function, adapted or not."""

from __future__ import annotations

from typing import Any, Callable

from .. import removed_names
from ..ir import dialect
from ..ir.subexpressions import subexpressions
from . import nodes

_EXPRESSIONS = ("value", "condition", "min", "extent", "data")


def visit_parts(body: Any, visit: Callable[[Any], Any]) -> None:
    """Call `visit` with each part of a statement after its own parts.

    Of an adapted statement, the statements inside it come after it.
    """
    if type(body).__module__ != nodes.__name__:
        removed_names.post_order_visit(body, visit)
        return
    for stmt in dialect.statements(body):
        for name in _EXPRESSIONS:
            for part in subexpressions(_expression(stmt, name)):
                visit(part)
        for index in getattr(stmt, "indices", ()):
            for part in subexpressions(index):
                visit(part)
        visit(stmt)


def _expression(stmt: Any, name: str) -> Any:
    found = getattr(stmt, name, None)
    return None if isinstance(found, tuple) else found
