"""Value numbering: expressions of the IR with the same value, which a compiler computes once."""

from __future__ import annotations

from typing import Any, Dict, Hashable, Tuple

from ..ir import dialect
from ..ir.subexpressions import operands

_CONSTANTS = frozenset({"IntImm", "FloatImm", "StringImm"})


class ValueNumbers:
    """Numbers expressions: those with the same text and no store between them have one number.

    An expression that occurs several times is visited once, however large it is.
    """

    def __init__(self) -> None:
        self._numbers: Dict[Hashable, int] = {}
        self._known: Dict[int, int] = {}

    def number(self, node: Any) -> int:
        """The number of the value of `node`."""
        if isinstance(node, (bool, int, float, str)) or node is None:
            return self._of(("constant", type(node).__name__, node))
        key = dialect.key(node)
        if key not in self._known:
            self._known[key] = self._of(self._form(node))
        return self._known[key]

    def _of(self, form: Hashable) -> int:
        return self._numbers.setdefault(form, len(self._numbers))

    def _form(self, node: Any) -> Tuple[Hashable, ...]:
        """The key of a value: the class of its node, its name or object, and its operands."""
        kind = dialect.kind(node)
        if kind in _CONSTANTS:
            return (kind, dialect.dtype_of(node), node.value)
        numbers = tuple(self.number(part) for part in operands(node))
        if kind in dialect.LOADS:
            return (kind, dialect.key(dialect.buffer_of(node)), *numbers)
        if kind == "Call":
            return (kind, dialect.op_name(node), dialect.dtype_of(node), *numbers)
        if not numbers:
            return (kind, dialect.key(node))
        return (kind, dialect.dtype_of(node), *numbers)
