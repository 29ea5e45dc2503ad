"""The file of a notebook (nbformat 4): its text, and its places as a user names them.

Cells have numbers from 1 among all cells, those with notes included, as in editors and ruff.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, cast

from tirlens.ide.notebook_text import Cell, join_cells, offsets
from tirlens_worker.facts import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

SUFFIX = ".ipynb"


class NotebookError(ValueError):
    """A file is no notebook with Python cells."""


@dataclass(frozen=True)
class CellSpan(Span):
    """A range of the text of the cell with the number `cell`; lines are those of the cell."""

    cell: int = 1


@dataclass(frozen=True)
class CellPlaces:
    """The places of a notebook's Python cells in its text.

    Attributes
    ----------
    cells
        For each Python cell its number, and how many lines of the text are above it.
    """

    cells: Sequence[tuple[int, int]] = ()

    def in_cell(self, span: Span) -> Span:
        """A span of the text as one of its cell; spans of other files stay."""
        if span.file is not None or not self.cells:
            return span
        above = [cell for cell in self.cells if cell[1] < span.line]
        number, offset = above[-1] if above else self.cells[0]
        values = {field.name: getattr(span, field.name) for field in fields(Span)}
        values |= {"line": span.line - offset, "end_line": max(span.end_line - offset, 1)}
        return CellSpan(**values, cell=number)


#: Of a file that is no notebook.
NO_CELLS = CellPlaces()


@dataclass(frozen=True)
class NotebookFile(CellPlaces):
    """The text of a notebook's Python cells, as `join_cells` makes it."""

    text: str = ""


def read_notebook(content: str) -> NotebookFile:
    """The Python cells of the file of a notebook.

    Raises
    ------
    NotebookError
        `content` is no notebook of nbformat 4, or one of another language.
    """
    try:
        notebook: Any = json.loads(content)
        found = [
            (number, _source(cell))
            for number, cell in enumerate(notebook["cells"], 1)
            if cell["cell_type"] == "code"
        ]
        language = _language(notebook.get("metadata"))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise NotebookError("is no notebook of nbformat 4") from None
    if language.lower() not in ("python", "ipython"):
        raise NotebookError(f"is a notebook of the language {language[:80]}, not Python")
    cells = [Cell("", 0, text) for _, text in found]
    places = zip((number for number, _ in found), offsets(cells), strict=True)
    return NotebookFile(tuple(places), join_cells(cells))


def _source(cell: Any) -> str:
    source: Any = cell["source"]
    return source if isinstance(source, str) else "".join(cast("list[str]", source))


def _language(metadata: Any) -> str:
    """The language of the code cells, Python where the notebook does not say."""
    for part, key in (("language_info", "name"), ("kernelspec", "language")):
        value = cast("dict[str, dict[str, Any]]", metadata or {}).get(part, {}).get(key)
        if isinstance(value, str) and value:
            return value
    return "python"
