"""Replacements of text, and of the literal numbers that names have."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tirlens.source.literal_numbers import literal_number
from tirlens.source.parse import Text
from tirlens_worker.facts import Span


@dataclass(frozen=True)
class Replacement:
    """`new_text` in place of `span`; `title` describes the edit."""

    span: Span
    new_text: str
    title: str


@dataclass(frozen=True)
class Number:
    """An expression of a text that is `now`, whatever it is if None, and shall be `then`."""

    value: ast.expr
    now: int | None
    then: int
    name: str


def edit_numbers(
    text: Text, numbers: Sequence[Number | None], call: str, is_part: bool
) -> Replacement | None:
    """The edit that gives all numbers their other values where they are defined.

    The text between them remains.  None where one of them is not found, is computed or is given by
    the `call`, or where two of them are one number of the text and shall differ.

    Raises:
        OutsideError: a number is defined outside of the text, which `is_part` of a longer one.
    """
    values: dict[ast.Constant, tuple[str, int]] = {}
    for one in numbers:
        if one is None:
            return None
        number = literal_number(text, one.value, one.value, call, is_part)
        if number is None or one.now not in (None, number.value):
            return None
        if values.setdefault(number, (one.name, one.then))[1] != one.then:
            return None
    if not values:
        return None
    ends = sorted(values, key=lambda node: (node.lineno, node.col_offset))
    parts = [str(values[ends[0]][1])]
    for number, following in itertools.pairwise(ends):
        here, there = text.span(number), text.span(following)
        between = Span(here.end_line, here.end_column, there.line, there.column)
        parts += [_text_of(text, between), str(values[following][1])]
    title = ", ".join(f"{name}={then}" for name, then in values.values())
    return Replacement(text.span(ends[0], ends[-1]), "".join(parts), title)


def text_between(text: Text, first: ast.AST, last: ast.AST) -> str:
    """The text from one expression to the end of another."""
    return _text_of(text, text.span(first, last))


def _text_of(text: Text, span: Span) -> str:
    lines = list(text.lines[span.line - 1 : span.end_line])
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    return "\n".join(lines)
