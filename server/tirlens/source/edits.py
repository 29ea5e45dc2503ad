"""Mechanical changes of a kernel, as edits of its text."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from tirlens.source.literal_numbers import OutsideError, last_name, literal_number
from tirlens.source.number_edits import Number, Replacement, edit_numbers, text_between
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


@dataclass(frozen=True)
class ArrayExtent:
    """The extent `now` of a dimension of an array, and the other one `then`."""

    array: str
    dimension: int
    now: int
    then: int


@dataclass(frozen=True)
class Sizes:
    """Other sizes in the kernel at `span`, whose tiles have names in the text.

    `extents` are those of arrays that it allocates.  `threads` are those of the launch at a span,
    and `stages` those of the loop at a span; None where they remain.
    """

    span: Span
    extents: tuple[ArrayExtent, ...]
    threads: tuple[Span, int] | None = None
    stages: tuple[Span, int] | None = None


Change = LoopKind | Threads | Opening | LongerRows | LoopVariables | Sizes


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
            elif isinstance(node, ast.Call) and last_name(node.func) == "Kernel":
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
            raise OutsideError
        for node in self.text.nodes:
            if isinstance(node, ast.Attribute) and node.attr in ("prim_func", "Kernel", "macro"):
                return text_between(self.text, node.value, node.value)
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
            inside = _shift_change(change, -lines_before)
            try:
                found = _edit_statement(statements[place].text, inside, call)
            except OutsideError:
                return _edit(self._index, change, call)
            return found and replace(found, span=_shift(found.span, lines_before))
        return _edit(self._index, change, call)


@lru_cache(maxsize=2048)
def _edit_statement(text: str, change: Change, call: str) -> Replacement | None:
    """The edit of one top-level statement, whose lines count from 1.

    Raises:
        OutsideError: the edit depends on other statements.
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
    if isinstance(change, Sizes):
        return edit_numbers(index.text, list(_sizes(index, change)), call, index.is_part)
    return _longer_rows(index, change)


def _shift_change(change: Change, lines: int) -> Change:
    shifted = replace(change, span=_shift(change.span, lines))
    if not isinstance(shifted, Sizes):
        return shifted
    threads, stages = (
        None if one is None else (_shift(one[0], lines), one[1])
        for one in (shifted.threads, shifted.stages)
    )
    return replace(shifted, threads=threads, stages=stages)


def _shift(span: Span, lines: int) -> Span:
    return replace(span, line=span.line + lines, end_line=span.end_line + lines)


def _loop_kind(index: _Index, change: LoopKind, call: str) -> Replacement | None:
    text, found = index.text, index.loops.get(change.span.line, [])
    over = found[0].iter if len(found) == 1 else None
    if not isinstance(over, ast.Call) or last_name(over.func) not in _SEQUENTIAL_LOOPS:
        return None
    if last_name(over.func) == change.kind:
        if change.stages is None or len(over.args) > _LOOP_BOUNDS:
            return None
        return _with_argument(index, over, "num_stages", change.stages, call)
    script = _script(index, over.func)
    if over.keywords or not over.args or script is None:
        return None
    stages = "" if change.stages is None else f"num_stages={change.stages}"
    bounds = text_between(text, over.args[0], over.args[-1])
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
        ", ".join(text_between(text, nodes[place], nodes[place]) for place in change.order)
        for nodes in (names, extents)
    ]
    first, last = text.span(names[0]), text.span(extents[-1])
    between = text_between(text, loop.iter.func, loop.iter.func)
    at = Span(first.line, first.column, last.end_line, last.end_column)
    opening = f"{parts[0]} in {between}({parts[1]}"
    if text_between(text, loop.target, loop.target).startswith("("):
        return None
    return Replacement(at, opening, f"for {parts[0]} in ...")


def _script(index: _Index, function: ast.expr) -> str | None:
    """The name under which the text has the script's language, as in ``T.serial``."""
    if isinstance(function, ast.Attribute):
        return text_between(index.text, function.value, function.value)
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
        number = literal_number(text, given, call, analysed, index.is_part)
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


def _opening(index: _Index, change: Opening) -> Replacement | None:
    text = index.text
    launches = [
        (node, item.context_expr.func)
        for node in index.blocks.get(change.span.line, [])
        for item in node.items
        if isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) == "Kernel"
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


def _shape(index: _Index, line: int, array: str) -> list[ast.expr]:
    """The extents with which the kernel at a line allocates an array, if in one place."""
    found = [
        node.value.args[0]
        for node in index.assignments.get(line, [])
        if [last_name(target) for target in node.targets] == [array]
        and isinstance(node.value, ast.Call)
        and node.value.args
    ]
    shape = found[0] if len(found) == 1 else None
    return shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else []


def _sizes(index: _Index, change: Sizes) -> Iterator[Number | None]:
    """The numbers that a change of sizes writes; None for one that is not found."""
    for one in change.extents:
        shape = _shape(index, change.span.line, one.array)
        name = shape[one.dimension] if one.dimension < len(shape) else None
        yield Number(name, one.now, one.then, name.id) if isinstance(name, ast.Name) else None
    if change.threads is not None:
        span, threads = change.threads
        yield _argument(index.launches.get(span.line), "threads", threads)
    if change.stages is not None:
        span, stages = change.stages
        loops = index.loops.get(span.line, [])
        yield _argument(loops[0].iter if len(loops) == 1 else None, "num_stages", stages)


def _argument(call: ast.expr | None, name: str, value: int) -> Number | None:
    keywords = call.keywords if isinstance(call, ast.Call) else []
    given = next((keyword.value for keyword in keywords if keyword.arg == name), None)
    return given and Number(given, None, value, name)


def _longer_rows(index: _Index, change: LongerRows) -> Replacement | None:
    text, shape = index.text, _shape(index, change.span.line, change.array)
    if not shape:
        return None
    row = shape[-1]
    sum_ = isinstance(row, ast.BinOp) and isinstance(row.op, _SUMMAND_OPERATORS)
    if not sum_ and not isinstance(row, _SUMMANDS):
        return None
    length = f"{text_between(text, row, row)} + {change.elements}"
    return Replacement(text.span(row), length, f"{change.array}: rows of {length}")
