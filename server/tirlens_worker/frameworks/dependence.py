"""On which variables a value depends: what a compiler need not compute anew for the others.

Integer expressions are taken as the framework simplifies them: of ``(i * 8 + j) // 64`` with j
below 8 only i is left, and so it is of ``(i * 64 + j) % 64`` for j below 64.
"""

from __future__ import annotations

from math import gcd
from typing import Any, Dict, FrozenSet, List, Optional, Tuple

from ..facts import Expr
from . import dialect
from .expressions import Expressions, is_integer
from .ranges import Ranges
from .writes import writes

#: The names that a value depends on; None: on more than names tell.
Over = Optional[FrozenSet[str]]
_NOTHING: FrozenSet[str] = frozenset()
_PARTS = ("a", "b", "value", "condition", "true_value", "false_value", "base", "vectors", "args")


class Dependence:
    """The dependence of the IR's values, in the names of a reader's scope."""

    def __init__(self, reader: Expressions) -> None:
        self._reader = reader
        self._known: Dict[int, Over] = {}

    def of(self, node: Any) -> Over:
        """What the value of `node` depends on."""
        if isinstance(node, (bool, int, float, str)) or node is None:
            return _NOTHING
        key = dialect.key(node)
        if key not in self._known:
            self._known[key] = self._of(node)
        return self._known[key]

    def _of(self, node: Any) -> Over:
        name = dialect.kind(node)
        scope = self._reader.scope
        if name in ("Var", "SizeVar"):
            if dialect.key(node) in scope.over:
                return scope.over[dialect.key(node)]
            return names(self._reader.expr(node), scope.ranges)
        if name in dialect.LOADS:
            return self._of_load(node)
        if name in dialect.BINARY and is_integer(dialect.dtype_of(node)):
            value = self._reader.expr(node)
            found = names(value, scope.ranges)
            if found is not None:
                return found
        return self._together(
            part for attribute in _PARTS for part in _parts(getattr(node, attribute, None))
        )

    def _of_load(self, node: Any) -> Over:
        buffer = self._reader.buffer(dialect.buffer_of(node))
        known = self._reader.scope.scalars.get(buffer.id)
        if known is not None:
            return names(known, self._reader.scope.ranges)
        found = self._together(node.indices)
        if buffer.scope.startswith("local") and buffer.scope != "local.fragment":
            # A thread's own variable changes from iteration to iteration, and on a GPU tile
            # operations write it too.
            bindings = self._reader.bindings
            if bindings.has_grid or bindings.scopes or found is None:
                return None
            changed = self._changed(dialect.buffer_of(node))
            return None if changed is None else found | changed
        return found

    def _changed(self, buffer: Any) -> Over:
        """The loops around the value in which an array is written; None if one has no counter."""
        found = _NOTHING
        for name, body in self._reader.scope.loops:
            if any(write.buffer.same_as(buffer) for write in writes(body)):
                if name is None:
                    return None
                found |= {name}
        return found

    def _together(self, nodes: Any) -> Over:
        found = _NOTHING
        for node in nodes:
            more = self.of(node)
            if more is None:
                return None
            found |= more
        return found


def names(value: Expr, ranges: Ranges) -> Over:
    """The variables that an integer expression depends on; None where data take part in it."""
    if isinstance(value, str):
        return frozenset((value,))
    if not isinstance(value, tuple):
        return _NOTHING
    if value[0] in ("load", "opaque"):
        return None
    operands = value[2:] if value[0] == "cast" else value[1:]
    if value[0] in ("//", "%", "truncdiv", "truncmod") and type(value[2]) is int:
        kept = _kept(value[0], value[1], value[2], ranges)
        if kept is not None:
            return kept
    found = _NOTHING
    for operand in operands:
        more = names(operand, ranges)
        if more is None:
            return None
        found |= more
    return found


def _kept(operator: str, value: Expr, divisor: int, ranges: Ranges) -> Over:
    """What is left of a linear expression divided by a constant; None where it is not linear.

    The parts that together stay below the greatest common divisor of the others and of the divisor
    do not reach a quotient, and multiples of the divisor no remainder.
    """
    terms = _terms(value)
    low, _ = ranges.of(value)
    if terms is None or divisor <= 0 or (operator.startswith("trunc") and (low is None or low < 0)):
        return None
    if operator == "//" and isinstance(value, tuple) and value[0] == "//" and _positive(value[2]):
        return _kept("//", value[1], value[2] * divisor, ranges)
    parts: List[Tuple[int, Expr]] = sorted(terms, key=lambda term: abs(term[0]))
    if "mod" in operator or operator == "%":
        parts = [(factor, part) for factor, part in parts if factor % divisor]
        return _of_all([part for _, part in parts], ranges)
    for dropped in range(len(parts), 0, -1):
        unit = divisor
        for factor, _ in parts[dropped:]:
            unit = gcd(unit, factor)
        reach = [ranges.of(("*", part, factor)) for factor, part in parts[:dropped]]
        lowest = [-1 if low is None else low for low, _ in reach]
        highest = [divisor if high is None else high for _, high in reach]
        if min(lowest) >= 0 and sum(highest) < unit:
            return _of_all([part for _, part in parts[dropped:]], ranges)
    return _of_all([part for _, part in parts], ranges)


def _positive(value: Expr) -> bool:
    return type(value) is int and value > 0


def _of_all(values: List[Expr], ranges: Ranges) -> Over:
    found = _NOTHING
    for value in values:
        more = names(value, ranges)
        if more is None:
            return None
        found |= more
    return found


def _terms(value: Expr, factor: int = 1) -> Optional[List[Tuple[int, Expr]]]:
    """A sum as its parts, each with its constant factor."""
    if isinstance(value, tuple) and value[0] == "+":
        left, right = _terms(value[1], factor), _terms(value[2], factor)
        return None if left is None or right is None else left + right
    if isinstance(value, tuple) and value[0] == "*":
        for one, other in ((value[1], value[2]), (value[2], value[1])):
            if type(one) is int:
                return _terms(other, factor * one)
    if isinstance(value, float):
        return None
    return [(factor * value, 1)] if type(value) is int else [(factor, value)]


def _parts(value: Any) -> Tuple[Any, ...]:
    if value is None:
        return ()
    return tuple(value) if dialect.kind(value) in ("Array", "list", "tuple") else (value,)
