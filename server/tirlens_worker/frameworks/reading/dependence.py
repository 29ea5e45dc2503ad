"""The variables that a value depends on: a compiler does not compute it again for others.

Integer expressions are read as the framework simplifies them: ``(i * 8 + j) // 64`` with j below 8
depends on i alone, and ``(i * 64 + j) % 64`` with j below 64 on j alone.
"""

from __future__ import annotations

from math import gcd
from typing import Any, Dict, FrozenSet, List, Optional, Tuple

from ...facts import Expr
from ..ir import dialect
from ..ir.stores import writes
from ..state.kernel_state import KernelState
from ..symbolic.ranges import Ranges
from .expressions import Expressions, is_integer

#: The names that a value depends on; None if it depends on more than variables.
Variables = Optional[FrozenSet[str]]
_NOTHING: FrozenSet[str] = frozenset()
_PARTS = ("a", "b", "value", "condition", "true_value", "false_value", "base", "vectors", "args")


class Dependence:
    """The dependence of the IR's values on the kernel's variables."""

    def __init__(self, state: KernelState, expressions: Expressions) -> None:
        self._state = state
        self._expressions = expressions
        self._known: Dict[int, Variables] = {}

    def of(self, node: Any) -> Variables:
        """What the value of `node` depends on."""
        if isinstance(node, (bool, int, float, str)) or node is None:
            return _NOTHING
        key = dialect.key(node)
        if key not in self._known:
            self._known[key] = self._of(node)
        return self._known[key]

    def _of(self, node: Any) -> Variables:
        name = dialect.kind(node)
        ranges, dependences = self._state.ranges, self._state.properties.dependences
        if name in ("Var", "SizeVar"):
            if dialect.key(node) in dependences:
                return dependences[dialect.key(node)]
            return names(self._expressions.expr(node), ranges)
        if name in dialect.LOADS:
            return self._of_load(node)
        if name in dialect.BINARY and is_integer(dialect.dtype_of(node)):
            value = self._expressions.expr(node)
            found = names(value, ranges)
            if found is not None:
                return found
        return self._together(
            part for attribute in _PARTS for part in _parts(getattr(node, attribute, None))
        )

    def _of_load(self, node: Any) -> Variables:
        buffer = self._expressions.buffer(dialect.buffer_of(node))
        known = self._state.scalars.values.get(buffer.id)
        if known is not None:
            return names(known, self._state.ranges)
        found = self._together(node.indices)
        if buffer.scope.startswith("local") and buffer.scope != "local.fragment":
            # A thread's own variable changes from iteration to iteration, and on a GPU tile
            # operations write it too.
            bindings = self._state.bindings
            if bindings.has_grid or bindings.scopes or found is None:
                return None
            changed = self._writing_loops(dialect.buffer_of(node))
            return None if changed is None else found | changed
        return found

    def _writing_loops(self, buffer: Any) -> Variables:
        """The enclosing loops that write an array; None if one of them has no variable."""
        found = _NOTHING
        for name, body in self._state.position.loops:
            if any(write.buffer.same_as(buffer) for write in writes(body)):
                if name is None:
                    return None
                found |= {name}
        return found

    def _together(self, nodes: Any) -> Variables:
        found = _NOTHING
        for node in nodes:
            more = self.of(node)
            if more is None:
                return None
            found |= more
        return found


def names(value: Expr, ranges: Ranges) -> Variables:
    """The variables that an integer expression depends on; None where data take part in it."""
    if isinstance(value, str):
        return frozenset((value,))
    if not isinstance(value, tuple):
        return _NOTHING
    if value[0] in ("load", "opaque"):
        return None
    operands = value[2:] if value[0] == "cast" else value[1:]
    if value[0] in ("//", "%", "truncdiv", "truncmod") and type(value[2]) is int:
        divided = _of_division(value[0], value[1], value[2], ranges)
        if divided is not None:
            return divided
    found = _NOTHING
    for operand in operands:
        more = names(operand, ranges)
        if more is None:
            return None
        found |= more
    return found


def _of_division(operator: str, value: Expr, divisor: int, ranges: Ranges) -> Variables:
    """The variables of a linear expression divided by a constant; None if it is not linear.

    Terms whose sum is below the greatest common divisor of the others and of the divisor do not
    change the quotient.  Multiples of the divisor do not change the remainder.
    """
    terms = _terms(value)
    low, _ = ranges.of(value)
    if terms is None or divisor <= 0 or (operator.startswith("trunc") and (low is None or low < 0)):
        return None
    if operator == "//" and isinstance(value, tuple) and value[0] == "//" and _positive(value[2]):
        return _of_division("//", value[1], value[2] * divisor, ranges)
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


def _of_all(values: List[Expr], ranges: Ranges) -> Variables:
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
