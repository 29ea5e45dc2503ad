"""Configurations of a kernel: values of its parameters, and the product of lists of values."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

#: Python expressions by the name of the parameter.
Arguments: TypeAlias = Mapping[str, str]

#: The most configurations of one search.
MOST_CONFIGURATIONS = 1_000_000
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?::([x+])(\d+))?")


class SpaceError(ValueError):
    """An axis is not written as one, or has too many values."""


@dataclass(frozen=True)
class Axis:
    """A parameter and its values, as Python expressions."""

    name: str
    values: tuple[str, ...]


def parse_axis(text: str) -> Axis:
    """The axis of ``NAME=V1,V2,...``, ``NAME=A..B``, ``NAME=A..B:xF`` or ``NAME=A..B:+S``.

    A range has both ends; ``:xF`` multiplies from one value to the next, ``:+S`` adds.

    Raises:
        SpaceError: it is written otherwise.
    """
    name, equals, written = text.partition("=")
    name, written = name.strip(), written.strip()
    if not equals or not name.isidentifier() or not written:
        raise SpaceError(
            f"{text[:80]!r}: expected NAME=V1,V2,... or a range NAME=A..B, NAME=A..B:x2 or "
            "NAME=A..B:+64"
        )
    found = _RANGE.fullmatch(written)
    if found:
        return Axis(name, tuple(map(str, _range(text, *found.groups()))))
    return Axis(name, tuple(dict.fromkeys(_expressions(text, written))))


def _range(text: str, first: str, last: str, sign: str | None, step: str | None) -> Sequence[int]:
    start, end, by = int(first), int(last), int(step or 1)
    if start > end or by < 1 or (sign == "x" and (by < 2 or start < 1)):
        raise SpaceError(f"{text[:80]!r} has no values")
    if sign == "x":
        values: list[int] = []
        while start <= end:
            values.append(start)
            start *= by
        return values
    found = range(start, end + 1, by)
    if len(found) > MOST_CONFIGURATIONS:
        raise SpaceError(f"{text[:80]!r} has more than {MOST_CONFIGURATIONS:,} values")
    return found


def _expressions(text: str, written: str) -> Iterator[str]:
    """The expressions of a list, each as `ast.unparse` writes it."""
    try:
        node = ast.parse(f"({written},)", mode="eval").body
    except (SyntaxError, ValueError):
        raise SpaceError(f"{text[:80]!r}: the values are no Python expressions") from None
    assert isinstance(node, ast.Tuple)
    return map(ast.unparse, node.elts)


def product(axes: Sequence[Axis], own: Sequence[Arguments] = ()) -> tuple[Arguments, ...]:
    """All combinations of the values of `axes`, each with every distinct rest of `own`.

    The parameters that no axis names have the values of the configurations `own`.

    Raises:
        SpaceError: there are more than `MOST_CONFIGURATIONS`.
    """
    names = [axis.name for axis in axes]
    if len(set(names)) < len(names):
        raise SpaceError(f"{next(n for n in names if names.count(n) > 1)} is given twice")
    rests = distinct(
        {name: value for name, value in arguments.items() if name not in names}
        for arguments in own or ({},)
    )
    count = len(rests)
    for axis in axes:
        count *= len(axis.values)
    if count > MOST_CONFIGURATIONS:
        raise SpaceError(f"{count:,} configurations; at most {MOST_CONFIGURATIONS:,} are ranked")
    return tuple(
        {**dict(zip(names, values, strict=True)), **rest}
        for values in itertools.product(*(axis.values for axis in axes))
        for rest in rests
    )


def distinct(configurations: Iterator[Arguments] | Sequence[Arguments]) -> tuple[Arguments, ...]:
    """The configurations without repetitions, in their order."""
    return tuple({tuple(sorted(one.items())): one for one in configurations}.values())


def value_of(expression: str) -> Any:
    """The number, text, bool or None that an expression is; the expression itself otherwise."""
    try:
        value = ast.literal_eval(expression)
    except (ValueError, SyntaxError, TypeError):
        return expression
    return value if value is None or isinstance(value, (bool, int, float, str)) else expression
