"""A digest of the text that makes a kernel, to notice that it was edited.

The text is that of the kernel's top-level statement and of those that bind the names in it, without
comments, empty lines and spaces at the ends of lines.  It does not include other modules.
"""

from __future__ import annotations

import hashlib
import io
import re
import tokenize
from collections.abc import Iterable

from tirlens.source.source_file import SourceFile, Statement

_DIGITS = 16
_FORMATTED = re.compile(r"[rR]?[fF]")
_WORD = re.compile(r"[^\W\d]\w*")


class KernelDigests:
    """The digests of the kernels of a text."""

    def __init__(self, source: SourceFile) -> None:
        self._body = source.statements
        self._parts: dict[int, tuple[str, frozenset[str]]] = {}
        self._binding: dict[str, list[int]] = {}
        for index, statement in enumerate(self._body):
            for name in statement.binds | statement.changes:
                self._binding.setdefault(name, []).append(index)

    def at(self, line: int) -> str | None:
        """The digest of the kernel whose statement includes `line`.

        None where no statement does, as in a text with a syntax error.
        """
        own = [
            index
            for index, statement in enumerate(self._body)
            if statement.line <= line <= statement.end_line
        ]
        if not own:
            return None
        texts = (self._part(index)[0] for index in sorted(self._closure(own)))
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:_DIGITS]

    def _closure(self, own: Iterable[int]) -> set[int]:
        found = set(own)
        pending = list(found)
        while pending:
            names = self._part(pending.pop())[1]
            reached = {index for name in names for index in self._binding.get(name, ())} - found
            found |= reached
            pending += reached
        return found

    def _part(self, index: int) -> tuple[str, frozenset[str]]:
        """The text of a statement that counts, and the names in it."""
        if index not in self._parts:
            self._parts[index] = _code_and_names(self._body[index])
        return self._parts[index]


def _code_and_names(statement: Statement) -> tuple[str, frozenset[str]]:
    lines = statement.text.split("\n")
    names: set[str] = set()
    is_attribute = False
    try:
        for token in tokenize.generate_tokens(io.StringIO(statement.text).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
            elif token.type == tokenize.NAME and not is_attribute:
                names.add(token.string)
            elif token.type == tokenize.STRING and _FORMATTED.match(token.string):
                # Python before 3.12 has no tokens inside of it.
                names.update(_WORD.findall(token.string))
            is_attribute = token.string == "."
    except (tokenize.TokenError, SyntaxError):
        return statement.text, frozenset(_WORD.findall(statement.text))
    code = (line.rstrip() for line in lines)
    return "\n".join(line for line in code if line), frozenset(names)
