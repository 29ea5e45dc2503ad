"""The source lines of statements of the IR.

apache-tvm 0.26 and later sets a span on nearly every node; a macro has a `SequentialSpan` from the
call in the kernel to the line in the macro.  tilelang (0.1.13 and later) stores only the innermost
line of a statement: `recording` adds the lines of the calls of macros.  Columns come from the
syntax tree of the document.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import os
import sys
from typing import Any, Callable, Dict, Generator, List, Optional, Tuple

from ...facts import Span
from ..ir import dialect
from . import parsed_spans
from .source_text import SourceText

Sites = Tuple[Span, ...]

_MARK = "tirlens-stack:"
_stacks: List[Tuple[Tuple[str, int], ...]] = []


@contextlib.contextmanager
def recording() -> Generator[None, None, None]:
    """While active, tilelang's statements have the calls of the macros that they come from."""
    # tilelang/language/eager/builder.py: set_fileline sets the line of the next statements,
    # _stamp_new_parent_stmts that of a loop or branch, macro_fileline_stack has the calls of the
    # current macros.
    builder = getattr(sys.modules.get("tilelang.language.eager.builder"), "Builder", None)
    set_line = getattr(builder, "set_fileline", None)
    stamp = getattr(builder, "_stamp_new_parent_stmts", None)
    if builder is None or set_line is None or stamp is None:
        yield
        return

    def set_fileline(self: Any, filename: str, lineno: int, name: str) -> None:
        set_line(self, filename, lineno, name)
        pending = getattr(self, "_span_pending", None)
        if pending is not None and pending[2] == filename:
            self._span_pending = (
                pending[0],
                pending[1],
                _file_with_stack(self, filename, lineno),
                lineno,
            )

    def stamp_new(self: Any, parent: Any, start: int, file: str, line: int) -> None:
        stamp(self, parent, start, _file_with_stack(self, file, line), line)

    builder.set_fileline = set_fileline
    builder._stamp_new_parent_stmts = stamp_new
    try:
        with parsed_spans.recording():
            yield
    finally:
        builder.set_fileline = set_line
        builder._stamp_new_parent_stmts = stamp


def _file_with_stack(builder: Any, filename: str, line: int) -> str:
    """`filename`, or in a macro a key of the stack of calls down to `line`."""
    outer = getattr(builder, "macro_fileline_stack", ())
    if not outer:
        return filename
    stack = tuple((str(one[0]), int(one[1])) for one in outer)
    _stacks.append((*stack, (filename, line)))
    return _MARK + str(len(_stacks) - 1)


def sites_of(stmt: Any) -> Sites:
    """The lines that tilelang recorded for a statement, outermost first; columns are not known."""
    ir = sys.modules.get("tilelang.ir")
    if ir is None or not hasattr(ir, "get_stmt_span"):
        return ()
    try:
        span = ir.get_stmt_span(stmt)
    except (TypeError, ValueError):
        return ()
    location = None if span is None else ir.span_to_location(span)
    if location is None:
        return parsed_spans.sites_of(stmt)
    return sites_at(*location)


def native_sites(span: Any) -> Sites:
    """The lines of a span of apache-tvm, those of calls of macros first; columns are left out."""
    parts = list(getattr(span, "spans", ())) or [span]
    found: List[Span] = []
    for part in parts:
        try:
            line, name = int(part.line), str(part.source_name.name)
        except (AttributeError, TypeError, ValueError):
            continue
        if line > 0:
            found.append(Span(line, 0, line, 0, name))
    return tuple(found)


def sites_at(name: str, line: int) -> Sites:
    """The lines of a file and line that tilelang recorded, those of calls of macros first."""
    stack = ((name, line),)
    if name.startswith(_MARK):
        stack = _stacks[int(name[len(_MARK) :])]
    user_lines = [one for one in stack if not _is_library(one[0])] or list(stack[:1])
    return tuple(Span(line, 0, line, 0, name) for name, line in user_lines if line > 0)


def _is_library(name: str) -> bool:
    package = getattr(sys.modules.get("tilelang"), "__file__", None)
    return package is not None and name.startswith(os.path.dirname(package) + os.sep)


def _has_span(stmt: Any) -> bool:
    return getattr(stmt, "span", None) is not None


class Locator:
    """Finds the sites of statements, with columns in code points of the document."""

    def __init__(
        self,
        source: Optional[SourceText],
        path: Optional[str],
        sites_of: Optional[Callable[[Any], Sites]],
    ) -> None:
        self._source = source or SourceText()
        self._lines = self._source.lines
        self._path = None if path is None else os.path.abspath(path)
        self._sites_of = sites_of
        self._seen: Dict[int, List[int]] = {}

    def line(self, sites: Sites) -> str:
        """The text of a statement's innermost line; empty if it is not known."""
        if not sites:
            return ""
        span = sites[-1]
        if span.file is not None:
            linecache.checkcache(span.file)
            return linecache.getline(span.file, span.line).strip()
        return self._lines[span.line - 1].strip() if span.line <= len(self._lines) else ""

    def sites(self, stmt: Any) -> Sites:
        """The source spans of `stmt`, that in the kernel first; empty if none is known."""
        found = () if self._sites_of is None else self._sites_of(stmt)
        if found:
            return tuple(self._complete_span(span, stmt) for span in found)
        native = getattr(stmt, "span", None)
        if native is None:
            return self._loop(stmt) if dialect.kind(stmt) == "For" else ()
        parts = getattr(native, "spans", None)
        spans = tuple(self._native(one) for one in (parts if parts is not None else (native,)))
        return tuple(span for span in spans if span is not None)

    def _loop(self, stmt: Any) -> Sites:
        """The ``for`` statement of a loop without a span, around the first statement in it."""
        inner = next((part for part in dialect.statements(stmt.body) if _has_span(part)), None)
        sites = () if inner is None else self.sites(inner)
        if not sites or sites[-1].file is not None:
            return ()
        node = self._source.loop_around(sites[-1].line, str(stmt.loop_var.name))
        if node is None or isinstance(node.target, ast.Tuple):
            # An inner loop of ``T.grid`` has the source of the outer one.
            return ()
        return (*sites[:-1], self._span_of(node.iter))

    def launch(self, name: str, within: Sites) -> Sites:
        """The ``T.launch_thread`` that binds the variable `name` in the function at `within`."""
        if not within or within[0].file is not None:
            return within
        span = within[0]
        for line in range(span.line, span.end_line + 1):
            for node in self._source.statements_at(line):
                call = _launch_of(node, name)
                if call is not None:
                    return (self._span_of(call),)
        return within

    def _native(self, span: Any) -> Optional[Span]:
        try:
            line, end_line = int(span.line), int(span.end_line)
            column, end_column = int(span.column), int(span.end_column)
            name = str(span.source_name.name)
        except (AttributeError, TypeError, ValueError):
            return None
        if line <= 0:
            return None
        file = self._file(name)
        if file is not None:
            return Span(line, max(column - 1, 0), end_line, max(end_column - 1, 0), file)
        return Span(
            line,
            self._code_points(line, column - 1),
            end_line,
            self._code_points(end_line, end_column - 1),
        )

    def _file(self, name: str) -> Optional[str]:
        if self._path is None or os.path.abspath(name) == self._path:
            return None
        return name

    def _code_points(self, line: int, byte: int) -> int:
        """The column in code points of a column in bytes of UTF-8."""
        if not 0 < line <= len(self._lines):
            return max(byte, 0)
        encoded = self._lines[line - 1].encode("utf-8", "surrogatepass")
        return len(encoded[: max(byte, 0)].decode("utf-8", "replace"))

    def _complete_span(self, span: Span, stmt: Any) -> Span:
        file = self._file(span.file or "")
        if file is not None:
            return Span(span.line, span.column, span.end_line, span.end_column, file)
        node = self._statement_at(span.line, stmt)
        if node is None:
            text = self._lines[span.line - 1] if span.line <= len(self._lines) else ""
            return Span(span.line, len(text) - len(text.lstrip()), span.line, len(text))
        return self._span_of(node)

    def _span_of(self, node: Any) -> Span:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return Span(
            node.lineno,
            self._code_points(node.lineno, node.col_offset),
            end_line,
            self._code_points(end_line, end_column),
        )

    def _statement_at(self, line: int, stmt: Any) -> Optional[ast.stmt]:
        nodes = self._source.statements_at(line)
        node_classes = {"For": (ast.For,), "IfThenElse": (ast.If,), "While": (ast.While,)}
        classes = node_classes.get(type(stmt).__name__)
        if classes is not None:
            return next((node for node in nodes if isinstance(node, classes)), _first(nodes))
        simple = [node for node in nodes if not isinstance(node, (ast.For, ast.If, ast.While))]
        if len(simple) < 2:
            return _first(simple or nodes)
        # Statements on one line are in the IR in the order of the text.
        seen = self._seen.setdefault(line, [])
        if hash(stmt) not in seen:
            seen.append(hash(stmt))
        return simple[seen.index(hash(stmt)) % len(simple)]


def _launch_of(node: ast.stmt, name: str) -> Optional[ast.Call]:
    """The call of ``launch_thread`` by which the statement binds `name`, if it does."""
    if isinstance(node, ast.With):
        pairs = [(entry.context_expr, entry.optional_vars) for entry in node.items]
    elif isinstance(node, ast.Assign):
        pairs = [(node.value, node.targets[0])]
    elif isinstance(node, ast.Expr):
        pairs = [(node.value, None)]
    else:
        return None
    for call, target in pairs:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        variable = target or (call.args[0] if call.args else None)
        if call.func.attr == "launch_thread" and getattr(variable, "id", None) == name:
            return call
    return None


def _first(nodes: List[ast.stmt]) -> Optional[ast.stmt]:
    return nodes[0] if nodes else None
