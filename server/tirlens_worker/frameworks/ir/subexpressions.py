"""The expressions in an expression of the IR."""

from __future__ import annotations

from inspect import isroutine
from typing import Any, Iterator

#: The operands of a ``Select``.
SELECT = ("condition", "true_value", "false_value")
#: The attributes that hold the operands of an expression.
_OPERANDS = ("args", "indices", "a", "b", "value", "base", "vectors", "body", *SELECT)


def subexpressions(node: Any) -> Iterator[Any]:
    """`node` and all expressions in it, also in indices of loads, outermost first."""
    if node is None or isinstance(node, (bool, int, float, str)):
        return
    yield node
    for part in operands(node):
        yield from subexpressions(part)


def operands(node: Any) -> Iterator[Any]:
    """The operands of an expression; the indices of a load are operands.

    Expressions are callable from apache-tvm 0.27 on; methods are left out as routines.
    """
    for name in _OPERANDS:
        part = getattr(node, name, None)
        if part is None or isroutine(part):
            continue
        yield from part if hasattr(part, "__len__") and not isinstance(part, str) else (part,)
