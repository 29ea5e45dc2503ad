"""Parse a text in pieces of a few statements, so that other threads can run in between.

Python's parser holds the GIL: a file of thousands of lines would delay the answers of the language
server by a tenth of a second.  If all pieces parse, they are the statements of the whole text: a
piece that ended within a statement, a string or a bracket would not parse.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence

# A piece has so many lines, but more in a long text: the empty lines before it take time too.
_LINES = 40
_PIECES = 100
# How often a piece is made longer if it ends within something, a docstring for example.
_LONGER = 4
_BEGINS = re.compile(r"[A-Za-z_@\"']")
_CONTINUES = re.compile(r"(else|elif|except|finally)\b")
_CUT_SHORT = re.compile(r"was never closed|triple-quoted|unexpected EOF|end of file")


class Pieces:
    """Parses versions of one text; a piece that two versions share is parsed once."""

    def __init__(self) -> None:
        self._parsed: dict[tuple[int, str], list[ast.stmt]] = {}

    def parse(self, lines: Sequence[str]) -> ast.Module:
        """The tree of `lines`.

        Raises:
            SyntaxError: that which Python has for the text as a whole.
        """
        starts = [*_starts(lines), len(lines)]
        body: list[ast.stmt] = []
        errors: list[SyntaxError] = []
        at = 0
        while at < len(starts) - 1:
            taken = 1
            try:
                for taken in range(1, min(1 + _LONGER, len(starts) - at)):
                    try:
                        body += self._piece(lines, starts[at], starts[at + taken])
                        break
                    except SyntaxError as error:
                        if _is_inside(error, starts[at + taken]):
                            raise
                else:
                    return parse(lines)
            except SyntaxError as error:
                errors.append(error)
            at += taken
        if len(errors) == 1:
            raise errors[0]
        return parse(lines) if errors else ast.Module(body, [])

    def _piece(self, lines: Sequence[str], first: int, last: int) -> list[ast.stmt]:
        content = "\n".join(lines[first:last])
        found = self._parsed.get((first, content))
        if found is None:
            found = parse([*[""] * first, content]).body
            self._parsed[first, content] = found
        return found


def parse(lines: Sequence[str]) -> ast.Module:
    """The tree of `lines` as Python parses them, at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse("\n".join(lines))


def begins_statement(line: str) -> bool:
    """Whether a statement of the module begins on `line`, judging by the line alone."""
    return _BEGINS.match(line) is not None and _CONTINUES.match(line) is None


def _starts(lines: Sequence[str]) -> Iterator[int]:
    """The indices of the lines at which pieces begin."""
    yield 0
    last, enough = 0, max(_LINES, len(lines) // _PIECES)
    for index, line in enumerate(lines):
        is_decorated = index > 0 and lines[index - 1].startswith("@")
        if index - last >= enough and not is_decorated and begins_statement(line):
            yield index
            last = index


def _is_inside(error: SyntaxError, end: int) -> bool:
    """Whether an error has nothing to do with where its piece, before line `end`, was cut off."""
    return (error.lineno or end) < end and _CUT_SHORT.search(error.msg) is None
