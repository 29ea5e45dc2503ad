"""Sizes and arrays that the text does not give, as far as it relates them to each other.

An argument without a value is an `UnknownArgument`. Its dimensions are `UnknownSize`, the same
object wherever the text asks for the same dimension, and arithmetic with one gives another with its
operands. Two arguments of a call that are the same size are then known to be equal, and one that
is computed of another is known to be its half, although neither has a value.
"""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tirlens.evaluation.values import Unknown, Value

# Of operands in an expression: a longer one relates nothing that one sees.
_MOST_OPERANDS = 8
_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
}
# Functions of frameworks that divide and round up.
_ROUNDED_UP = ("cdiv", "ceildiv", "ceil_div")
_MOST_CONDITIONS = 64


@dataclass(eq=False, repr=False)
class UnknownSize(Unknown):
    """A number that is not known: a dimension, or ``operands[0] sign operands[1]``.

    The sign may be the name of a function of Python: ``min``.
    """

    sign: str = ""
    operands: tuple[Value, ...] = ()

    def count(self) -> int:
        """The number of operands in it."""
        return sum(one.count() if isinstance(one, UnknownSize) else 1 for one in self.operands) or 1


@dataclass(eq=False, repr=False)
class UnknownArgument(Unknown):
    """An argument without a value: an array, a number, or another object.

    As a number it is the size `number`. `first` are the dimensions that are known to come first,
    and `of` the array whose dimensions follow them. `rank` is known once its shape is unpacked.
    An attribute has its `owner` and its `name`.
    """

    first: tuple[Value, ...] = ()
    of: UnknownArgument | None = None
    rank: int | None = None
    number: UnknownSize = field(default_factory=UnknownSize)
    dimensions: dict[int, UnknownSize] = field(default_factory=dict[int, UnknownSize])
    owner: UnknownArgument | None = None
    name: str = ""
    attributes: dict[str, UnknownArgument] = field(default_factory=dict[str, "UnknownArgument"])

    def dimension(self, place: int) -> Value:
        """The size of a dimension; a negative place counts from the last."""
        if place < 0 and self.rank is not None:
            place += self.rank
        if 0 <= place < len(self.first):
            return self.first[place]
        if self.of is not None:
            return self.of.dimension(place if place < 0 else place - len(self.first))
        return self.dimensions.setdefault(place, UnknownSize())

    def all_dimensions(self, rank: int) -> list[Value]:
        """All dimensions of an array that has `rank` of them."""
        array: UnknownArgument | None = self
        while array is not None:
            array.rank, rank = rank, rank - len(array.first)
            array = array.of
        return [self.dimension(position) for position in range(self.rank or 0)]

    def with_first(self) -> UnknownArgument:
        """The array with a dimension of one element before the others: ``unsqueeze(0)``."""
        rank = None if self.rank is None else self.rank + 1
        return UnknownArgument((1,), self, rank)


@dataclass(frozen=True, eq=False)
class UnknownShape(Unknown):
    """The shape of an unknown array."""

    of: UnknownArgument


@dataclass(frozen=True, eq=False)
class Condition:
    """A comparison of two numbers that holds, of which one is not known."""

    sign: str
    left: Value
    right: Value


def attribute(base: UnknownArgument, name: str) -> Unknown:
    """The attribute of an argument: the shape of an array, a method, a field of a configuration."""
    if name == "shape":
        return UnknownShape(base)
    if name not in base.attributes:
        base.attributes[name] = UnknownArgument(owner=base, name=name)
    return base.attributes[name]


def arithmetic(operator: type[ast.operator], left: Value, right: Value) -> UnknownSize | None:
    """A number that is computed of others, of which one is not known; None of anything else."""
    sign = _SIGNS.get(operator)
    first, second = _number(left), _number(right)
    if sign is None or first is None or second is None:
        return None
    made = UnknownSize(sign, (first, second))
    return made if made.count() <= _MOST_OPERANDS else None


def function(name: str, operands: list[Value]) -> UnknownSize | None:
    """The least or greatest of two numbers, or their quotient rounded up; None of anything else."""
    if len(operands) != 2 or not any(isinstance(one, Unknown) for one in operands):
        return None
    first, second = map(_number, operands)
    if first is None or second is None:
        return None
    if name in ("min", "max"):
        made = UnknownSize(name, (first, second))
        return made if made.count() <= _MOST_OPERANDS else None
    if name in _ROUNDED_UP:
        more = arithmetic(ast.Add, first, second)
        less = more and arithmetic(ast.Sub, more, 1)
        return less and arithmetic(ast.FloorDiv, less, second)
    return None


def condition(operator: ast.cmpop, left: Value, right: Value, holds: bool) -> Condition | None:
    """What a comparison that holds, or does not, says; None if it is not of numbers."""
    signs = _COMPARISONS.get(type(operator))
    first, second = _number(left), _number(right)
    if signs is None or first is None or second is None:
        return None
    return Condition(signs[0] if holds else signs[1], first, second)


def note(conditions: list[Condition], found: Condition | None) -> None:
    """Add a condition to those that hold in a program."""
    if found is not None and len(conditions) < _MOST_CONDITIONS:
        conditions.append(found)


def relations(arguments: Mapping[str, Value], conditions: list[Condition]) -> Iterator[str]:
    """What is known of the unknown numbers among the arguments of a call, as conditions in Python.

    ``dim == 2 * heads``, ``topk % block == 0``: the names are those of the parameters.
    """
    numbers = {name: _number(value) for name, value in arguments.items()}
    names: dict[UnknownSize, str] = {}
    for name, number in numbers.items():
        if isinstance(number, UnknownSize):
            known = names.setdefault(number, name)
            if known != name:
                yield f"{name} == {known}"

    def text(value: Value, is_whole: bool = False) -> str | None:
        if not isinstance(value, UnknownSize):
            return str(value)
        if value in names and not is_whole:
            return names[value]
        parts = [text(one) for one in value.operands]
        if len(parts) < 2 or None in parts:
            return None
        if value.sign.isidentifier():
            return f"{value.sign}({parts[0]}, {parts[1]})"
        return f"({parts[0]} {value.sign} {parts[1]})"

    for number, name in names.items():
        value = text(number, is_whole=True)
        if value is not None:
            yield f"{name} == {value}"
    for one in conditions:
        left, right = text(one.left), text(one.right)
        if left is not None and right is not None:
            yield f"{left} {one.sign} {right}"


def is_number(value: Value) -> bool:
    """Whether a value is a number, known or not."""
    return _number(value) is not None


def _number(value: Value) -> Any:
    """A number, known or not; None of anything else."""
    if isinstance(value, UnknownArgument):
        return value.number
    return value if isinstance(value, UnknownSize) or type(value) is int else None
