"""The values that a definition's assertions demand of its parameters and of its object.

A default may be one that the code refuses: ``trans_B=False`` with ``assert trans_B is True``.
"""

from __future__ import annotations

import ast
import operator
from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Type,
    cast,
)

from .definition_nodes import nodes_of, once_for_each

_COMPARISONS: Mapping[Type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Is: operator.eq,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
}


class Demand(NamedTuple):
    """A value that satisfies an assertion, as text, and the test for others."""

    text: str
    accepts: Callable[[Any], bool]


@once_for_each
def demands_of(function: ast.AST) -> Dict[str, List[Demand]]:
    """What the assertions of `function` demand of names, and of attributes of ``self``."""
    found: Dict[str, List[Demand]] = {}
    for node in nodes_of(function):
        if isinstance(node, ast.Assert):
            for test in conjuncts(node.test):
                pair = _demand(test)
                if pair is not None:
                    found.setdefault(pair[0], []).append(pair[1])
    return found


@once_for_each
def required_of(function: ast.AST) -> FrozenSet[str]:
    """The names of which ``assert block is not None`` says that they have a value."""
    return frozenset(
        _name(test.left)
        for node in nodes_of(function)
        if isinstance(node, ast.Assert)
        for test in conjuncts(node.test)
        if isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.IsNot)
        and getattr(test.comparators[0], "value", 0) is None
    )


@once_for_each
def integers_of(function: ast.AST) -> FrozenSet[str]:
    """The names, and attributes of ``self``, that are asserted to be an `int`."""
    return frozenset(
        _name(test.args[0])
        for node in nodes_of(function)
        if isinstance(node, ast.Assert)
        for test in conjuncts(node.test)
        if isinstance(test, ast.Call)
        and getattr(test.func, "id", "") == "isinstance"
        and len(test.args) == 2
        and getattr(test.args[1], "id", "") == "int"
    ) - {""}


def demanded_text(demands: List[Demand], default: Any) -> Optional[str]:
    """The value to take instead of `default`; None if that is accepted, or none is known."""
    try:
        if all(demand.accepts(default) for demand in demands):
            return None
        values = ((demand.text, ast.literal_eval(demand.text)) for demand in demands)
        accepted = (
            text for text, value in values if all(demand.accepts(value) for demand in demands)
        )
        return next(accepted, None)
    except Exception:
        # The default is of a type that cannot be compared.
        return None


def conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    """The parts of ``a and b and c``, or the condition itself."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from conjuncts(part)
    else:
        yield test


def _demand(test: ast.expr) -> Optional[Tuple[str, Demand]]:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and _name(test.operand):
        return _name(test.operand), Demand("False", operator.not_)
    if _name(test):
        return _name(test), Demand("True", bool)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not _name(test.left):
        return None
    return _comparison(_name(test.left), test.ops[0], test.comparators[0])


def _comparison(name: str, kind: ast.cmpop, other: ast.expr) -> Optional[Tuple[str, Demand]]:
    try:
        value: Any = ast.literal_eval(other)
    except ValueError:
        return None
    if isinstance(kind, ast.In):
        return _membership(name, value)
    compare = _COMPARISONS.get(type(kind))
    if compare is None:
        return None
    wanted: Any = value
    if isinstance(kind, (ast.NotEq, ast.Gt)):
        if type(value) is not int:
            return None
        wanted = value + 1

    def accepts(given: Any) -> bool:
        return bool(compare(given, value))

    return name, Demand(repr(wanted), accepts)


def _membership(name: str, values: Any) -> Optional[Tuple[str, Demand]]:
    listed: List[Any] = []
    if isinstance(values, (tuple, list, set)):
        listed.extend(cast("Sequence[Any]", values))

    def accepts(given: Any) -> bool:
        return given in listed

    return (name, Demand(repr(listed[0]), accepts)) if listed else None


def _name(node: ast.expr) -> str:
    """``x`` for the name and for ``self.x``; empty for other expressions."""
    if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self":
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
