"""Lines of statements without spans: those of the blocks that they belong to.

Functions that are made of tensor expressions have no spans, and neither have the loops that a
schedule adds.  A loop gets the line of the first block inside it.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ...facts import Span

Sites = Tuple[Span, ...]
_INNER = ("init", "body", "block", "then_case", "else_case")


class BlockLines(NamedTuple):
    """Lines by the names of blocks: where a block was written, and the steps that added others."""

    written: Mapping[str, int]
    added: Mapping[str, int]


NO_LINES = BlockLines({}, {})


def block_names(prim_func: Any) -> List[str]:
    """The names of the blocks of a function, without the root's, in the order of the program."""
    names = [str(stmt.name_hint) for stmt in statements(prim_func.body) if _is_block(stmt)]
    return [name for name in names if name != "root"]


def line_table(prim_func: Any, lines: BlockLines, path: str) -> Dict[int, Sites]:
    """The sites of the statements of a function that have no spans, by hash."""
    table: Dict[int, Sites] = {}
    _Walk(lines, path, table).visit(prim_func.body, ())
    return table


class _Walk:
    """Enters the statements without spans in `table`.

    A loop gets the first site inside it.  Sites that were written are preferred to those of steps:
    a loop that a schedule adds around an old block is a loop of this block.
    """

    def __init__(self, lines: BlockLines, path: str, table: Dict[int, Sites]) -> None:
        self._lines, self._path, self._table = lines, path, table

    def visit(self, stmt: Any, around: Sites) -> Tuple[Sites, Sites]:
        """The first site inside `stmt` that was written, and the first of a step.

        `around` are the sites of the enclosing block.
        """
        own = _own_sites(stmt)
        block = stmt if _is_block(stmt) else getattr(stmt, "block", None)
        name = None if block is None else str(block.name_hint)
        written = own or self._sites(self._lines.written, name)
        added = () if written else self._sites(self._lines.added, name)
        around = written or added or around
        for child in _children(stmt):
            inner = self.visit(child, around)
            written, added = written or inner[0], added or inner[1]
        if not own and (written or added or around):
            self._table[hash(stmt)] = written or added or around
        return written, added

    def _sites(self, lines: Mapping[str, int], name: Optional[str]) -> Sites:
        line = None if name is None else lines.get(name)
        return () if line is None else (Span(line, 0, line, 0, self._path),)


def _own_sites(stmt: Any) -> Sites:
    span = getattr(stmt, "span", None)
    if span is None or getattr(span, "line", 0) <= 0:
        return ()
    return (Span(int(span.line), 0, int(span.line), 0, str(span.source_name.name)),)


def _children(stmt: Any) -> Iterator[Any]:
    for name in _INNER:
        child = getattr(stmt, name, None)
        if child is not None:
            yield child
    for child in getattr(stmt, "seq", None) or ():
        yield child


def statements(stmt: Any) -> Iterator[Any]:
    """The statement and those inside it, in the order of the program."""
    yield stmt
    for child in _children(stmt):
        yield from statements(child)


def _is_block(stmt: Any) -> bool:
    return type(stmt).__name__ in ("SBlock", "Block")
