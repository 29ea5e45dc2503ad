"""A document's text as the protocol and the Python tokenizer both see it: lines and columns.

A line ends at ``\\n``, ``\\r\\n`` or ``\\r`` and nowhere else: form feed, U+0085 and U+2028 are
ordinary characters, unlike in `str.splitlines`.  Columns come in the client's unit (UTF-8 bytes,
UTF-16 code units or code points) and are code points everywhere else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE_END = re.compile(r"\r\n|\r|\n")


def split_lines(text: str) -> tuple[str, ...]:
    """The lines of `text` without their ends; there is always at least one."""
    return tuple(_LINE_END.split(text) if "\r" in text else text.split("\n"))


def units(text: str, encoding: Encoding) -> int:
    """The length of `text` in the client's unit."""
    if text.isascii() or encoding == "utf-32":
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def to_code_points(line: str, column: int, encoding: Encoding) -> int:
    """The code point column of the client's `column`, at most the line's length.

    A column within a character that takes several units is moved to the character's start.
    """
    if line.isascii() or encoding == "utf-32":
        return min(column, len(line))
    passed = 0
    for index, character in enumerate(line):
        passed += units(character, encoding)
        if passed > column:
            return index
    return len(line)


@dataclass(frozen=True)
class Edit:
    """`new_text` in place of a range; lines are 0-based, columns in the client's unit."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int
    new_text: str


def apply(text: str, edit: Edit, encoding: Encoding) -> str:
    """`text` after `edit`.

    Positions past the end of a line mean its end, lines past the last one the end of the text,
    and a range whose ends are swapped is read in order, as the protocol and its clients do.
    """
    start = _offset(text, edit.start_line, edit.start_column, encoding)
    end = _offset(text, edit.end_line, edit.end_column, encoding)
    if end < start:
        start, end = end, start
    return text[:start] + edit.new_text + text[end:]


def _offset(text: str, line: int, column: int, encoding: Encoding) -> int:
    start = 0
    if "\r" not in text:
        for _ in range(line):
            start = text.find("\n", start) + 1
            if not start:
                return len(text)
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
    else:
        ends = _LINE_END.finditer(text)
        for _ in range(line):
            found = next(ends, None)
            if found is None:
                return len(text)
            start = found.end()
        found = next(ends, None)
        end = len(text) if found is None else found.start()
    return start + to_code_points(text[start:end], column, encoding)
