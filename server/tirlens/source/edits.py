"""Mechanical changes of a kernel, as edits of its text."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from tirlens.source.parse import Text, parse
from tirlens.source.source_file import SourceFile
from tirlens_worker.facts import Span

# The iterators of sequential loops; `range` is the same as the script's `serial`.
_SEQUENTIAL_LOOPS = frozenset({"range", "serial", "unroll", "Pipelined"})
# Expressions that bind at least as tightly as a sum, to which a summand can be appended.
_SUMMANDS = (ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.Subscript)
_SUMMAND_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
# ``T.Pipelined(start, stop)``: what follows may be what is to be set.
_LOOP_BOUNDS = 2


@dataclass(frozen=True)
class LoopKind:
    """The loop at `span` runs over ``T.kind(...)``, with ``num_stages`` `stages` if given."""

    span: Span
    kind: str
    stages: int | None = None


@dataclass(frozen=True)
class Threads:
    """The ``T.Kernel`` at `span` launches `threads` threads a block."""

    span: Span
    threads: int


@dataclass(frozen=True)
class Opening:
    """`statement` is the first in the ``with T.Kernel`` of the kernel at `span`."""

    span: Span
    statement: str


@dataclass(frozen=True)
class LongerRows:
    """The rows of `array`, allocated in the kernel at `span`, are longer by `elements`."""

    span: Span
    array: str
    elements: int


@dataclass(frozen=True)
class LoopVariables:
    """The loop at `span` over several extents has its variables in the order of these places."""

    span: Span
    order: tuple[int, ...]


Change = LoopKind | Threads | Opening | LongerRows | LoopVariables


@dataclass(frozen=True)
class Replacement:
    """`new_text` in place of `span`; `title` describes the edit."""

    span: Span
    new_text: str
    title: str


class _OutsideError(Exception):
    """The edit depends on the text outside of the top-level statement that was parsed."""


class _Index:
    """The nodes that edits concern, by line: a walk of the text for each edit takes too long.

    `is_part`: the text is one top-level statement of a longer one.
    """

    def __init__(self, text: Text, is_part: bool) -> None:
        self.text = text
        self.is_part = is_part
        self.loops: dict[int, list[ast.For]] = {}
        """The loops that begin at a line."""
        self.launches: dict[int, ast.Call] = {}
        """The first call of ``Kernel`` that covers a line."""
        self.blocks: dict[int, list[ast.With]] = {}
        """The ``with`` statements inside the definition at a line."""
        self.assignments: dict[int, list[ast.Assign]] = {}
        """The assignments inside the definition at a line."""
        for node in text.nodes:
            if isinstance(node, ast.For):
                self.loops.setdefault(node.lineno, []).append(node)
            elif isinstance(node, ast.Call) and _name(node.func) == "Kernel":
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    self.launches.setdefault(line, node)
            elif isinstance(node, ast.With):
                for line in self._definitions_around(node):
                    self.blocks.setdefault(line, []).append(node)
            elif isinstance(node, ast.Assign):
                for line in self._definitions_around(node):
                    self.assignments.setdefault(line, []).append(node)

    @cached_property
    def language(self) -> str | None:
        """The name under which the text has the script's language, as in ``T.prim_func``."""
        if self.is_part:
            raise _OutsideError
        for node in self.text.nodes:
            if isinstance(node, ast.Attribute) and node.attr in ("prim_func", "Kernel", "macro"):
                return _source_between(self.text, node.value, node.value)
        return None

    def _definitions_around(self, node: ast.AST) -> set[int]:
        """The lines of the functions and classes around `node`."""
        return {getattr(outer, "lineno", 0) for outer in self.text.enclosing(node)}


class Editor:
    """Edits of one text.

    Most depend on one top-level statement alone.  They are found by parsing that, and reused while
    its text and the change are the same.
    """

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._ends = [statement.end_line for statement in source.statements]

    @cached_property
    def _index(self) -> _Index:
        return _Index(parse(self._source.text), is_part=False)

    def edit(self, change: Change, call: str = "") -> Replacement | None:
        """The edit that makes `change` in a kernel that is analysed with the arguments of `call`.

        None where the change is not a single unambiguous edit: the value is computed, or is an
        argument of the call.
        """
        if change.span.file is not None:
            return None
        statements = self._source.statements
        place = bisect_left(self._ends, change.span.line)
        if place < len(statements) and statements[place].line <= change.span.line:
            lines_before = statements[place].line - 1
            inside = replace(change, span=_shift(change.span, -lines_before))
            try:
                found = _edit_statement(statements[place].text, inside, call)
            except _OutsideError:
                return _edit(self._index, change, call)
            return found and replace(found, span=_shift(found.span, lines_before))
        return _edit(self._index, change, call)


@lru_cache(maxsize=2048)
def _edit_statement(text: str, change: Change, call: str) -> Replacement | None:
    """The edit of one top-level statement, whose lines count from 1.

    Raises:
        _OutsideError: the edit depends on other statements.
    """
    return _edit(_index_statement(text), change, call)


@lru_cache(maxsize=4)
def _index_statement(text: str) -> _Index:
    # The advice of one kernel comes one after the other.
    return _Index(parse(text), is_part=True)


def _edit(index: _Index, change: Change, call: str) -> Replacement | None:
    if isinstance(change, LoopKind):
        return _loop_kind(index, change, call)
    if isinstance(change, Threads):
        launch = index.launches.get(change.span.line)
        return launch and _with_argument(index, launch, "threads", change.threads, call)
    if isinstance(change, Opening):
        return _opening(index, change)
    if isinstance(change, LoopVariables):
        return _loop_variables(index, change)
    return _longer_rows(index, change)


def _shift(span: Span, lines: int) -> Span:
    return replace(span, line=span.line + lines, end_line=span.end_line + lines)


def _loop_kind(index: _Index, change: LoopKind, call: str) -> Replacement | None:
    text, found = index.text, index.loops.get(change.span.line, [])
    over = found[0].iter if len(found) == 1 else None
    if not isinstance(over, ast.Call) or _name(over.func) not in _SEQUENTIAL_LOOPS:
        return None
    if _name(over.func) == change.kind:
        if change.stages is None or len(over.args) > _LOOP_BOUNDS:
            return None
        return _with_argument(index, over, "num_stages", change.stages, call)
    script = _script(index, over.func)
    if over.keywords or not over.args or script is None:
        return None
    stages = "" if change.stages is None else f"num_stages={change.stages}"
    bounds = _source_between(text, over.args[0], over.args[-1])
    arguments = f"{bounds}, {stages}" if stages else bounds
    title = f"T.{change.kind}({f'..., {stages}' if stages else '...'})"
    return Replacement(text.span(over), f"{script}.{change.kind}({arguments})", title)


def _loop_variables(index: _Index, change: LoopVariables) -> Replacement | None:
    text, found = index.text, index.loops.get(change.span.line, [])
    loop = found[0] if len(found) == 1 else None
    if (
        loop is None
        or not isinstance(loop.target, ast.Tuple)
        or not isinstance(loop.iter, ast.Call)
    ):
        return None
    names, extents = loop.target.elts, loop.iter.args
    if len(names) != len(change.order) or len(extents) != len(change.order):
        return None
    if any(isinstance(node, ast.Starred) for node in (*names, *extents)):
        return None
    parts = [
        ", ".join(_source_between(text, nodes[place], nodes[place]) for place in change.order)
        for nodes in (names, extents)
    ]
    first, last = text.span(names[0]), text.span(extents[-1])
    between = _source_between(text, loop.iter.func, loop.iter.func)
    at = Span(first.line, first.column, last.end_line, last.end_column)
    opening = f"{parts[0]} in {between}({parts[1]}"
    if _source_between(text, loop.target, loop.target).startswith("("):
        return None
    return Replacement(at, opening, f"for {parts[0]} in ...")


def _script(index: _Index, function: ast.expr) -> str | None:
    """The name under which the text has the script's language, as in ``T.serial``."""
    if isinstance(function, ast.Attribute):
        return _source_between(index.text, function.value, function.value)
    return index.language


def _with_argument(
    index: _Index, call: ast.Call, name: str, value: int, analysed: str
) -> Replacement | None:
    """Set the keyword argument `name` of `call`, in the call or where its value is defined."""
    text = index.text
    title = f"{name}={value}"
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    given = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    if given is not None:
        number = _number(index, given, call, analysed)
        return number and Replacement(text.span(number), str(value), title)
    last = max(
        [*call.args, *(keyword.value for keyword in call.keywords)],
        key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0),
        default=None,
    )
    if last is None:
        return None
    end = text.span(last)
    at = Span(end.end_line, end.end_column, end.end_line, end.end_column)
    return Replacement(at, f", {name}={value}", title)


def _number(index: _Index, value: ast.expr, at: ast.AST, analysed: str) -> ast.Constant | None:
    """The literal number of a value, also through a parameter's default or a variable."""
    if isinstance(value, ast.Constant):
        return value if type(value.value) is int else None
    if not isinstance(value, ast.Name):
        return None
    for scope in reversed(index.text.enclosing(at)):
        assigned = list(_assignments(scope, value.id))
        if isinstance(scope, ast.FunctionDef) and (default := _default(scope, value.id)):
            position, number = default
            given = bool(assigned) or _gives(analysed, scope.name, position, value.id)
            return None if given else number
        if assigned:
            return _only_number(assigned)
    if index.is_part:
        raise _OutsideError
    return _only_number(list(_assignments(index.text.tree, value.id)))


def _default(function: ast.FunctionDef, name: str) -> tuple[int, ast.Constant | None] | None:
    """The place of a parameter among the positional ones (else -1) and its default, a number."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    names = [argument.arg for argument in positional]
    if name in names:
        position = names.index(name)
        number = position - len(names) + len(arguments.defaults)
        value = arguments.defaults[number] if number >= 0 else None
        return position, _only_number([value])
    keywords = [argument.arg for argument in arguments.kwonlyargs]
    if name in keywords:
        return -1, _only_number([arguments.kw_defaults[keywords.index(name)]])
    return None


def _gives(call: str, function: str, position: int, name: str) -> bool:
    """Whether a call gives an argument, or is not known not to."""
    try:
        made = ast.parse(call, mode="eval").body
    except SyntaxError:
        return True
    if not isinstance(made, ast.Call) or _name(made.func) != function:
        return True
    starred = any(isinstance(argument, ast.Starred) for argument in made.args)
    by_name = any(keyword.arg in (name, None) for keyword in made.keywords)
    return starred or by_name or 0 <= position < len(made.args)


def _assignments(scope: ast.AST, name: str) -> Iterator[ast.expr | None]:
    """The values that a scope's own statements assign to `name`; None for another binding."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            (target,) = node.targets
            if isinstance(target, ast.Name) and target.id == name:
                yield node.value
                continue
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            yield None
        yield from _assignments(node, name)


def _only_number(values: list[ast.expr | None]) -> ast.Constant | None:
    value = values[0] if len(values) == 1 else None
    return value if isinstance(value, ast.Constant) and type(value.value) is int else None


def _opening(index: _Index, change: Opening) -> Replacement | None:
    text = index.text
    launches = [
        (node, item.context_expr.func)
        for node in index.blocks.get(change.span.line, [])
        for item in node.items
        if isinstance(item.context_expr, ast.Call) and _name(item.context_expr.func) == "Kernel"
    ]
    if len(launches) != 1:
        return None
    ((block, function),) = launches
    script, first = _script(index, function), text.span(block.body[0])
    before = text.lines[first.line - 1][: first.column]
    if script is None or before.strip():
        return None
    at = Span(first.line, 0, first.line, 0)
    return Replacement(at, f"{before}{script}.{change.statement}\n", f"T.{change.statement}")


def _longer_rows(index: _Index, change: LongerRows) -> Replacement | None:
    text = index.text
    found = [
        node.value.args[0]
        for node in index.assignments.get(change.span.line, [])
        if [_name(target) for target in node.targets] == [change.array]
        and isinstance(node.value, ast.Call)
        and node.value.args
    ]
    shape = found[0] if len(found) == 1 else None
    if not isinstance(shape, (ast.Tuple, ast.List)) or not shape.elts:
        return None
    row = shape.elts[-1]
    sum_ = isinstance(row, ast.BinOp) and isinstance(row.op, _SUMMAND_OPERATORS)
    if not sum_ and not isinstance(row, _SUMMANDS):
        return None
    length = f"{_source_between(text, row, row)} + {change.elements}"
    return Replacement(text.span(row), length, f"{change.array}: rows of {length}")


def _name(expr: ast.AST | None) -> str:
    """The last name of ``a.b.c``."""
    if isinstance(expr, ast.Attribute):
        return expr.attr
    return expr.id if isinstance(expr, ast.Name) else ""


def _source_between(text: Text, first: ast.AST, last: ast.AST) -> str:
    """The text from one expression to the end of another."""
    span = text.span(first, last)
    lines = list(text.lines[span.line - 1 : span.end_line])
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    return "\n".join(lines)
