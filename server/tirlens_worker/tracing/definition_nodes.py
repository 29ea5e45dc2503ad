"""What is asked of the syntax tree of a definition at each attempt to call it."""

from __future__ import annotations

import ast
import functools
from typing import Callable, Tuple, TypeVar

T = TypeVar("T")

# Definitions of the kernels that are traced in turns.
_MAX_DEFINITIONS = 16


@functools.lru_cache(maxsize=_MAX_DEFINITIONS)
def nodes_of(definition: ast.AST) -> Tuple[ast.AST, ...]:
    """All nodes of a definition."""
    return tuple(ast.walk(definition))


def once_for_each(function: Callable[[ast.AST], T]) -> Callable[[ast.AST], T]:
    """`function`, whose results for the last definitions are stored.  Nobody may change them."""
    return functools.lru_cache(maxsize=_MAX_DEFINITIONS)(function)
