"""The statements of a syntax tree, without visits of their expressions, which are most of it."""

from __future__ import annotations

import ast
from collections import deque
from typing import Deque, Iterator

# The fields with statements, or with parts of a statement that have statements.
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")


def walk_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """`tree` and all statements, exception handlers and cases in it, in the order of `ast.walk`.

    `tree` is one of these or a module.
    """
    waiting: Deque[ast.AST] = deque([tree])
    while waiting:
        node = waiting.popleft()
        for field in _BLOCKS:
            waiting.extend(getattr(node, field, ()))
        yield node
