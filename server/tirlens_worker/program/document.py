"""The analysed text: its syntax tree, and the locations of errors in it."""

from __future__ import annotations

import ast
import linecache
import os
import re
import traceback
from types import TracebackType
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

from ..facts import Span
from ..frameworks.locations.source_text import SourceText
from ..lines import split_lines
from ..protocol import Problem
from ..statements import walk_statements
from .assertions import describe_assertion

# TVM's parser reports an error as text; ``--> file:line:column`` is its own 1-based position.
_DIAGNOSTIC = re.compile(r"-->\s*(?P<file>.+?):(?P<line>\d+):(?P<column>\d+)")
_TRACEBACK_LIMIT = 8000
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)

Definition = Union[ast.FunctionDef, ast.ClassDef]


class Document:
    """One version of one file.

    The syntax tree has no statements at the lines `leave_out`, each a first and a last one.
    `raised_in` are the files in the tracebacks of the errors that became a `problem`. `source` are
    the lines and statements to which the locations of all kernels refer.

    Raises:
        SyntaxError: the text is not Python for this interpreter.
    """

    def __init__(self, path: str, text: str, leave_out: Sequence[Tuple[int, int]] = ()) -> None:
        self.path = path
        self.text = text
        self.raised_in: Set[str] = set()
        self.lines: List[str] = split_lines(text, True)
        lines = list(self.lines) if leave_out else []
        for first, last in leave_out:
            lines[first - 1 : last] = ["\n"] * (last - first + 1)
        parsed = "".join(lines) if leave_out else text
        # A byte order mark is not part of the program, but counts in columns of the first line.
        self.tree = ast.parse(parsed[1:] if parsed[:1] == "\ufeff" else parsed, path)
        self.source = SourceText(text, self.tree)
        self._by_position: Optional[Dict[Tuple[int, int], ast.stmt]] = None

    def fill_linecache(self) -> None:
        """Make `inspect` and the parsers of the frameworks read the unsaved text, not the file.

        `linecache.checkcache` does not drop an entry without a modification time.
        """
        lines = split_lines(self.text, True)
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        linecache.cache[self.path] = (len(self.text), None, lines, self.path)

    def statement_at(self, span: Span) -> Optional[ast.stmt]:
        """The statement at the start of `span`, which may be the start of its first decorator."""
        if self._by_position is None:
            self._by_position = {}
            for node in walk_statements(self.tree):
                if isinstance(node, ast.stmt):
                    self._by_position[(node.lineno, self.column_of(node))] = node
                    for decorator in getattr(node, "decorator_list", ()):
                        key = (decorator.lineno, self.column_of(node))
                        self._by_position.setdefault(key, node)
        return self._by_position.get((span.line, span.column))

    def definitions(self, container: ast.AST) -> Dict[str, ast.stmt]:
        """The functions and classes defined in the body of `container`; the last of a name."""
        return {
            node.name: node
            for node in getattr(container, "body", ())
            if isinstance(node, _DEFINITIONS)
        }

    def definitions_along(self, dotted: str, line: Optional[int] = None) -> List[Definition]:
        """The definitions along a dotted name; empty if one is missing.

        Of several definitions of a name, the one that contains `line` is used, else the first.
        """
        node: ast.AST = self.tree
        path: List[Definition] = []
        for part in dotted.split("."):
            inside = (inner for inner in walk_statements(node) if isinstance(inner, _DEFINITIONS))
            named = (definition for definition in inside if definition.name == part)
            found = next(named, None)
            if found is None:
                return []
            if line is not None and not _is_around(found, line):
                found = next(
                    (definition for definition in named if _is_around(definition, line)), found
                )
            path.append(found)
            node = found
        return path

    @property
    def replaced(self) -> List[Definition]:
        """The top-level definitions that a later definition of the same name replaces."""
        last = self.definitions(self.tree)
        return [
            node
            for node in self.tree.body
            if isinstance(node, _DEFINITIONS) and last[node.name] is not node
        ]

    def replaced_at(self, line: int) -> Optional[Definition]:
        """The `replaced` definition that contains `line`."""
        return next((node for node in self.replaced if _is_around(node, line)), None)

    def span_of(self, node: Any) -> Span:
        """The span of a syntax node; of a `def` or `class` without its decorators and body."""
        start = self.column_of(node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            end = len(self._line(node.lineno).rstrip())
            return Span(node.lineno, start, node.lineno, max(end, start))
        end_line = node.end_lineno or node.lineno
        end_column = _code_points(self._line(end_line), node.end_col_offset or 0)
        return Span(node.lineno, start, end_line, end_column)

    def span_of_line(self, line: int) -> Span:
        """The span of a line without its indentation."""
        line = min(max(line, 1), max(len(self.lines), 1))
        text = self._line(line).rstrip()
        start = len(text) - len(text.lstrip())
        return Span(line, start, line, len(text))

    def problem(
        self,
        kind: str,
        error: BaseException,
        kernel: Optional[str] = None,
        at: Optional[Span] = None,
    ) -> Problem:
        """The problem of `error`, at its location in this text, or else at `at`."""
        span, message = self._locate(error)
        self.raised_in.update(_files_of(error))
        return Problem(
            kind=kind,
            message=message or describe(error),
            span=span or at,
            kernel=kernel,
            detail=trace_text(error),
        )

    def _locate(self, error: BaseException) -> Tuple[Optional[Span], Optional[str]]:
        if isinstance(error, SyntaxError) and self._is_this(error.filename) and error.lineno:
            return self._syntax_span(error), "syntax error: {}".format(error.msg)
        for cause in chain(error):
            node = getattr(cause, "node", None)
            if type(cause).__name__ == "ParserError" and getattr(node, "lineno", None):
                # Lines and columns of TVM's syntax nodes are relative to the function.
                message = first_line(str(cause)) or describe(error)
                return self._diagnostic_span(error) or self._frame_span(error), message
        span = self._diagnostic_span(error)
        if span is not None:
            return span, _diagnostic_message(str(error))
        return self._frame_span(error), None

    def _diagnostic_span(self, error: BaseException) -> Optional[Span]:
        for cause in chain(error):
            for match in _DIAGNOSTIC.finditer(str(cause)):
                if self._is_this(match.group("file")):
                    line, column = int(match.group("line")), int(match.group("column")) - 1
                    whole = self.span_of_line(line)
                    column = _code_points(self._line(line), column)
                    if whole.column <= column < whole.end_column:
                        return Span(line, column, line, whole.end_column)
                    return whole
        return None

    def _frame_span(self, error: BaseException) -> Optional[Span]:
        found = None
        for cause in chain(error):
            line = self._innermost_line(cause.__traceback__)
            found = found or line
        return self.span_of_line(found) if found else None

    def _innermost_line(self, trace: Optional[TracebackType]) -> Optional[int]:
        line = None
        while trace is not None:
            if self._is_this(trace.tb_frame.f_code.co_filename):
                line = trace.tb_lineno
            trace = trace.tb_next
        return line

    def _syntax_span(self, error: SyntaxError) -> Span:
        line = min(error.lineno or 1, max(len(self.lines), 1))
        text = self._line(line).rstrip("\r\n")
        column = min(max((error.offset or 1) - 1, 0), len(text))
        return Span(line, column, line, max(column + 1, len(text)))

    def _is_this(self, filename: Optional[str]) -> bool:
        return filename == self.path

    def _line(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def column_of(self, node: Any) -> int:
        """The column at which a syntax node starts, in code points."""
        return _code_points(self._line(node.lineno), node.col_offset)


def _is_around(node: Definition, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def describe(error: BaseException) -> str:
    """A one-line description of an error."""
    if isinstance(error, AssertionError):
        found = describe_assertion(error)
        if found is not None:
            return found[:500]
    name = type(error).__name__
    text = _diagnostic_message(str(error)) if "-->" in str(error) else first_line(str(error))
    if isinstance(error, ImportError):
        return text or "import failed"
    return "{}: {}".format(name, text) if text else name


def missing_name(error: NameError) -> str:
    """The name that is not defined."""
    return getattr(error, "name", None) or str(error).partition("'")[2].partition("'")[0]


def first_line(text: str) -> str:
    """The first line of `text` that is not blank, its first 500 characters."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:500]


def trace_text(error: BaseException) -> str:
    """The traceback; only the end of a long one, which has the cause."""
    parts = traceback.format_exception(type(error), error, error.__traceback__)
    return "".join(parts)[-_TRACEBACK_LIMIT:]


def _diagnostic_message(text: str) -> str:
    """The message after ``error:`` in the output of TVM's renderer.

    Of a program that is not well-formed, what is wrong with it in the place of how to ignore it.
    """
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in text.splitlines()]
    message = _line_after("error:", lines)
    cause = _line_after("Traceback:", lines)
    if message and cause:
        return "{}: {}".format(message.partition(". ")[0], cause)[:500]
    return message or first_line(text)


def _line_after(word: str, lines: Sequence[str]) -> str:
    """What follows `word` in the first of `lines` that begins with it; empty if none does."""
    return next((line[len(word) :].strip() for line in lines if line.startswith(word)), "")


def chain(error: Optional[BaseException]) -> List[BaseException]:
    """`error` and its causes, the innermost last."""
    found: List[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return found


def _files_of(error: BaseException) -> Iterator[str]:
    """The files in the tracebacks of `error`, and those with syntax errors."""
    for cause in chain(error):
        if isinstance(cause, SyntaxError) and cause.filename:
            yield cause.filename
        trace = cause.__traceback__
        while trace is not None:
            yield trace.tb_frame.f_code.co_filename
            trace = trace.tb_next


def _code_points(line: str, utf8_offset: int) -> int:
    if line.isascii():
        return min(utf8_offset, len(line))
    return len(line.encode("utf-8")[:utf8_offset].decode("utf-8", "ignore"))


def relative_levels(tree: ast.AST) -> int:
    """The greatest level of the relative imports of a text: 2 for ``from ..ops import x``."""
    nodes = walk_statements(tree)
    return max((node.level for node in nodes if isinstance(node, ast.ImportFrom)), default=0)


def package_of(path: str, levels: int = 0) -> Tuple[str, str]:
    """The dotted name of `path` as a module, and the folder that must be on the search path.

    The nearest `levels` folders are packages also without ``__init__.py`` (PEP 420), because
    relative imports refer to them.
    """
    folder = os.path.dirname(os.path.abspath(path))
    names = [os.path.splitext(os.path.basename(path))[0]]
    while len(names) <= levels or os.path.isfile(os.path.join(folder, "__init__.py")):
        parent, name = os.path.split(folder)
        if not name.isidentifier() or parent == folder:
            break
        names.append(name)
        folder = parent
    return ".".join(reversed(names)), folder
