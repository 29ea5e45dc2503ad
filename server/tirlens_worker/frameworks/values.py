"""Which expressions of the IR have the same value: a compiler computes it once."""

from __future__ import annotations

from typing import Any, Dict, Hashable, Tuple

from . import dialect
from .parts import inner

_CONSTANTS = frozenset({"IntImm", "FloatImm", "StringImm"})


class Values:
    """Numbers expressions so that those written alike, between which nothing is stored, are equal.

    An expression that stands in several places is looked at once, however large it is.
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
        """What tells a node from others: its class, what it names, and its operands."""
        kind = dialect.kind(node)
        if kind in _CONSTANTS:
            return (kind, dialect.dtype_of(node), node.value)
        operands = tuple(self.number(part) for part in inner(node))
        if kind in dialect.LOADS:
            return (kind, dialect.key(dialect.buffer_of(node)), *operands)
        if kind == "Call":
            return (kind, dialect.op_name(node), dialect.dtype_of(node), *operands)
        if not operands:
            return (kind, dialect.key(node))
        return (kind, dialect.dtype_of(node), *operands)
