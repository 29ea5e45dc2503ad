"""A syntax tree of a text, also of one that does not parse as a whole."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from functools import cached_property

from tirlens.source.pieces import Pieces, begins_statement
from tirlens.source.source_file import SyntaxProblem
from tirlens.syntax_trees import DEFINITIONS, child_nodes, walk
from tirlens_worker.facts import Span

_MAX_REPAIRS = 40
# The tree of a longer text takes minutes and gigabytes.
# A statement's tree has about a kilobyte, and is visited several times.
_MAX_STATEMENTS = 100_000
_MAX_CHARACTERS = 2 << 20
_TOO_LONG = (
    f"it is longer than {_MAX_STATEMENTS:,} lines or statements, "
    f"or than {_MAX_CHARACTERS >> 20} MiB"
)


@dataclass(frozen=True)
class Text:
    """A text in lines, and the tree of all of it that parses."""

    lines: tuple[str, ...]
    tree: ast.Module
    problems: tuple[SyntaxProblem, ...] = ()

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree but contexts and operators."""
        return list(walk(self.tree))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of each of the `nodes`."""
        return {child: node for node in self.nodes for child in child_nodes(node)}

    def span(self, node: ast.AST, end: ast.AST | None = None) -> Span:
        """The span of `node`, without the decorators of a definition."""
        last = end or node
        line, end_line = _number(node, "lineno"), _number(last, "end_lineno")
        return Span(
            line,
            self.column(line, _number(node, "col_offset")),
            end_line,
            self.column(end_line, _number(last, "end_col_offset")),
        )

    def extent(self, node: ast.AST) -> Span:
        """The span of `node`, with its decorators."""
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        whole = self.span(node)
        if not decorators:
            return whole
        return Span(decorators[0].lineno, whole.column, whole.end_line, whole.end_column)

    def column(self, line: int, byte_offset: int) -> int:
        """The code-point column of a byte offset, which is what `ast` counts in."""
        if not 1 <= line <= len(self.lines):
            return byte_offset
        text = self.lines[line - 1]
        if text.isascii():
            return byte_offset
        return len(text.encode("utf-8", "surrogatepass")[:byte_offset].decode("utf-8", "ignore"))

    def enclosing(self, node: ast.AST) -> tuple[ast.AST, ...]:
        """The functions and classes around `node`, the outermost first."""
        chain: list[ast.AST] = []
        current = self.parents.get(node)
        while current is not None:
            if isinstance(current, DEFINITIONS):
                chain.append(current)
            current = self.parents.get(current)
        return tuple(reversed(chain))


def parse(text: str) -> Text:
    """The lines and tree of `text`; what does not parse is a problem and left out of the tree."""
    # Counted before it is split: the lines of a text of many short ones are ten times its size.
    statements = 1 + sum(map(text.count, "\n\r;")) - text.count("\r\n")
    if len(text) > _MAX_CHARACTERS or statements > _MAX_STATEMENTS:
        return _make_text([], ast.Module([], []), [_unreadable(_TOO_LONG)])
    lines = re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))
    work, pieces = list(lines), Pieces()
    problems: list[SyntaxProblem] = []
    for _ in range(_MAX_REPAIRS):
        try:
            return _make_text(lines, pieces.parse(work), problems)
        except SyntaxError as error:
            if not problems:
                problems.append(_problem(error, lines))
            if not _neutralise(work, error, pieces):
                break
        except (RecursionError, MemoryError):
            problems.append(_unreadable("expressions are nested too deeply"))
            break
        except ValueError as error:
            problems.append(_unreadable(str(error)))
            break
    return _make_text(lines, ast.Module([], []), problems)


def _unreadable(reason: str) -> SyntaxProblem:
    return SyntaxProblem(f"cannot be parsed: {reason}", Span(1, 0, 1, 0))


def _make_text(lines: list[str], tree: ast.Module, problems: list[SyntaxProblem]) -> Text:
    return Text(tuple(lines), tree, tuple(problems))


def _problem(error: SyntaxError, lines: list[str]) -> SyntaxProblem:
    line = min(max(error.lineno or 1, 1), len(lines))
    column = min(max((error.offset or 1) - 1, 0), len(lines[line - 1]))
    end_line, end_column = error.end_lineno or line, (error.end_offset or 0) - 1
    if end_line > len(lines) or (end_line, end_column) <= (line, column):
        end_line, end_column = line, max(column + 1, len(lines[line - 1]))
    message = error.msg
    if message == "invalid syntax":
        message += _error_context(lines, line, column)
    return SyntaxProblem(message, Span(line, column, end_line, end_column))


def _error_context(lines: list[str], line: int, column: int) -> str:
    """The token at an error, and the unclosed bracket before it."""
    found = re.match(r"\w+|\S", lines[line - 1][column:])
    text = f" at '{found[0]}'" if found else ""
    opened: list[tuple[str, int]] = []
    before = "\n".join([*lines[: line - 1], lines[line - 1][:column]]) + "\n"
    try:
        for token in tokenize.generate_tokens(io.StringIO(before).readline):
            if token.type == tokenize.OP and token.string in "([{":
                opened.append((token.string, token.start[0]))
            elif token.type == tokenize.OP and token.string in ")]}" and opened:
                opened.pop()
    except (tokenize.TokenError, SyntaxError):
        pass  # The text ends within the bracket that is looked for.
    if opened:
        bracket, where = opened[-1]
        text += f": '{bracket}' of line {where} is not closed before it"
    return text


def _neutralise(lines: list[str], error: SyntaxError, pieces: Pieces) -> bool:
    """Replace the line of a syntax error by ``pass``, or clear its top-level statement."""
    at = min(max(error.lineno or 1, 1), len(lines)) - 1
    text = lines[at]
    if text.strip() and text.strip() != "pass":
        indent = text[: len(text) - len(text.lstrip())]
        trial = [*lines[:at], indent + "pass", *lines[at + 1 :]]
        try:
            pieces.parse(trial)
        except SyntaxError as again:
            progressed = (again.lineno or 0) > at + 1
        except (ValueError, RecursionError, MemoryError):
            return False
        else:
            progressed = True
        if progressed:
            lines[:] = trial
            return True
    first, last = _top_level_statement(lines, at)
    if not any(line.strip() for line in lines[first:last]):
        return False
    lines[first:last] = [""] * (last - first)
    return True


def _top_level_statement(lines: list[str], at: int) -> tuple[int, int]:
    """The lines of the statement around `at` by indentation, with its decorators."""
    while at > 0 and not begins_statement(lines[at]):
        at -= 1
    first = at
    while first > 0 and lines[first - 1].startswith("@"):
        first -= 1
    last = at + 1
    while last < len(lines) and not begins_statement(lines[last]):
        last += 1
    return first, last


def _number(node: ast.AST, name: str) -> int:
    return int(getattr(node, name))
