"""Tables of the page, which a reader sorts and filters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tirlens.ide import labels
from tirlens.ide.escaping import visible
from tirlens.ide.measured_page.schema import Cell as CellData
from tirlens.ide.measured_page.schema import Column as ColumnData
from tirlens.ide.measured_page.schema import ColumnKind, NumberCell, Table
from tirlens.ide.report_page.axes import fraction

#: Rows of a table; the document stays small, and a note says what is left out.
MOST_ROWS = 3000
# Names of templates within templates have kilobytes.
_MOST_CHARACTERS = 240
_MOST_DETAIL = 2000
_UNNAMED = frozenset({"Kernel", "Kernel2", "device_kernel"})

#: A text, or a text with the number that it is sorted by; None is not known.
Cell = str | tuple[str, float | None]


@dataclass(frozen=True)
class Column:
    """A column: the `kind` of its cells is ``text``, ``number``, or ``share`` for those with a bar.

    `about` says what the figures are.
    """

    name: str
    kind: ColumnKind = "number"
    about: str = ""


@dataclass(frozen=True)
class TableView:
    """A table.

    Attributes
    ----------
    rows
        The cells of each row; those of ``share`` columns are sorted by their part of one.
    categories
        The category of each row, for its colour; empty for a table without colours.
    note
        What is said above it.
    marks_kernels
        The rows are the kernels of the timeline, in their order, and can be marked there.
    details
        A sentence below each row, empty for none; empty for a table without.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    categories: Sequence[str] = ()
    note: str = ""
    marks_kernels: bool = False
    details: Sequence[str] = ()


def table_data(table: TableView) -> Table:
    """The JSON of a table; texts have no control characters and at most some hundred characters."""
    left_out = len(table.rows) - MOST_ROWS
    notes = [table.note] if table.note else []
    if left_out > 0:
        notes.append(f"The first {MOST_ROWS:,} of {len(table.rows):,} rows.")
    return {
        "title": table.title,
        "note": " ".join(notes),
        "columns": [ColumnData(column.name, column.kind, column.about) for column in table.columns],
        "rows": [[_cell(cell) for cell in row] for row in table.rows[:MOST_ROWS]],
        "categories": list(table.categories[:MOST_ROWS]),
        "shorts": [_short(row[0]) for row in table.rows[:MOST_ROWS]],
        "marks": table.marks_kernels,
        "details": [_sentence(detail) for detail in table.details[:MOST_ROWS]],
    }


def displayed_name(name: str) -> str:
    """A name of a trace as the page has it."""
    flat = " ".join(visible(name[: 2 * _MOST_CHARACTERS]).split())
    return flat if len(flat) <= _MOST_CHARACTERS else flat[: _MOST_CHARACTERS - 3] + "..."


def short_name(name: str) -> str:
    """The function's own name, for a narrow mark: ``void at::native::copy<4>(int)`` is ``copy``.

    Of CUTLASS's functions, whose names say nothing, it is that of their first argument.
    """
    words = displayed_name(name).replace("(anonymous namespace)::", "").removeprefix("void ")
    head, *arguments = re.split(r"[<(,>]", words)
    own = head.strip().rsplit("::", 1)[-1]
    if own in _UNNAMED and arguments and arguments[0].strip():
        own = arguments[0].strip().rsplit("::", 1)[-1]
    return own or words


def _sentence(text: str) -> str:
    return labels.cut(" ".join(visible(text).split()), _MOST_DETAIL)


def _short(cell: Cell) -> str:
    return short_name(cell if isinstance(cell, str) else cell[0])


def _cell(cell: Cell) -> CellData:
    if isinstance(cell, str):
        return displayed_name(cell)
    text, value = cell
    return NumberCell(displayed_name(text), None if value is None else _number(value))


def _number(value: float) -> float:
    """A key to sort by, with the digits that a table shows and some more."""
    return int(value) if value == int(value) and abs(value) < 1e15 else float(f"{value:.6g}")


def share_cell(text: str, part: float | None) -> Cell:
    """A cell with a bar for a part of one."""
    return (text, None if part is None else fraction(part))
