"""Notebooks: the session has the Python cells of each as one document, the client has cells.

`Part` is the one place where lines of the document become lines of a cell, and back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lsprotocol import types

from tirlens.ide.document_text import apply
from tirlens.ide.notebook_file import NO_CELLS, CellPlaces
from tirlens.ide.notebook_text import Cell, join_cells, offsets
from tirlens.lsp import convert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirlens.ide.document_text import Encoding
    from tirlens.session import Document
    from tirlens_worker.facts import Span


@dataclass(frozen=True)
class Part:
    """The lines of a document that the client has under one URI: all, or those of a cell.

    Attributes
    ----------
    uri, version
        The client's name of the lines, and its number of their text.
    offset
        How many lines of the document are above them.
    """

    document: Document
    uri: str
    version: int
    offset: int
    lines: Sequence[str]

    @classmethod
    def whole(cls, document: Document) -> Part:
        """A document that is no notebook."""
        return cls(document, document.uri, document.version, 0, document.lines)

    def has(self, line: int) -> bool:
        """Whether the 1-based line of the document is one of these."""
        is_whole = self.uri == self.document.uri
        return is_whole or self.offset < line <= self.offset + len(self.lines)

    def span(self, span: Span) -> Span:
        """A span of the document as one of these lines."""
        return replace(
            span, line=span.line - self.offset, end_line=max(span.end_line - self.offset, 1)
        )


@dataclass(frozen=True)
class Parts:
    """A document as the client has it: in one part, or a part for each cell."""

    document: Document
    parts: Sequence[Part]

    def at(self, line: int) -> Part:
        """The part that has the 1-based `line` of the document, or the last one."""
        found = next((part for part in self.parts if part.has(line)), None)
        return found or (self.parts[-1] if self.parts else Part.whole(self.document))

    def place(self, span: Span, encoding: Encoding) -> tuple[Part, types.Range]:
        """A span of the document for the client."""
        part = self.at(span.line)
        return part, convert.range_of(part.lines, part.span(span), encoding)


class Notebooks:
    """The cells of the open notebooks, by the URIs of the notebooks."""

    def __init__(self) -> None:
        self._cells: dict[str, list[Cell]] = {}
        self._owners: dict[str, str] = {}

    def owner(self, uri: str) -> str:
        """The URI of the document that has the lines of `uri`."""
        return self._owners.get(uri, uri)

    def parts(self, document: Document) -> Parts:
        """The parts of a document."""
        cells = self._cells.get(document.uri)
        if cells is None:
            return Parts(document, [Part.whole(document)])
        found = [
            Part(document, cell.uri, cell.version, offset, cell.lines)
            for cell, offset in zip(cells, offsets(cells), strict=True)
            if cell.lines
        ]
        return Parts(document, found)

    def places(self, uri: str) -> CellPlaces:
        """The numbers of the Python cells of a notebook among all its cells."""
        cells = self._cells.get(uri)
        if cells is None:
            return NO_CELLS
        numbered = enumerate(zip(cells, offsets(cells), strict=True), 1)
        return CellPlaces(
            tuple((number, above) for number, (cell, above) in numbered if cell.lines)
        )

    def open(
        self, notebook: types.NotebookDocument, texts: Sequence[types.TextDocumentItem]
    ) -> str:
        """Open a notebook, and return its text."""
        self.close(notebook.uri)
        self._cells[notebook.uri] = []
        return self._replace(notebook.uri, 0, 0, [cell.document for cell in notebook.cells], texts)

    def change(
        self, uri: str, change: types.NotebookDocumentCellChanges, encoding: Encoding
    ) -> tuple[str, list[str]]:
        """Change the cells of a notebook; its text, and the cells that it has no more."""
        before = self._cells.get(uri, [])
        if (structure := change.structure) is not None:
            array = structure.array
            added = [cell.document for cell in array.cells or ()]
            texts = structure.did_open or ()
            self._replace(uri, array.start, array.delete_count, added, texts)
        for content in change.text_content or ():
            self._edit(uri, content, encoding)
        cells = self._cells.get(uri, [])
        now = {cell.uri for cell in cells}
        return join_cells(cells), [cell.uri for cell in before if cell.uri not in now]

    def close(self, uri: str) -> list[str]:
        """Close a notebook; the cells that it had."""
        cells = [cell.uri for cell in self._cells.pop(uri, [])]
        for cell in cells:
            self._owners.pop(cell, None)
        return cells

    def _replace(
        self,
        uri: str,
        start: int,
        count: int,
        added: Sequence[str],
        texts: Sequence[types.TextDocumentItem],
    ) -> str:
        before = list(self._cells.get(uri, []))
        known = {cell.uri: cell for cell in before}
        for item in texts:
            is_python = str(getattr(item.language_id, "value", item.language_id)) == "python"
            known[item.uri] = Cell(item.uri, item.version, item.text if is_python else None)
        new = [known.get(cell) or Cell(cell, 0, None) for cell in added]
        cells = [*before[:start], *new, *before[start + count :]]
        self._cells[uri] = cells
        present = {cell.uri for cell in cells}
        for cell in before:
            if cell.uri not in present:
                self._owners.pop(cell.uri, None)
        self._owners.update(dict.fromkeys(present, uri))
        return join_cells(cells)

    def _edit(
        self, uri: str, content: types.NotebookDocumentCellContentChanges, encoding: Encoding
    ) -> None:
        def with_change(cell: Cell) -> Cell:
            if cell.uri != content.document.uri or cell.text is None:
                return cell
            text = cell.text
            for change in content.changes:
                if isinstance(change, types.TextDocumentContentChangePartial):
                    text = apply(text, convert.edit(change), encoding)
                else:
                    text = change.text
            return Cell(cell.uri, content.document.version, text)

        self._cells[uri] = [with_change(cell) for cell in self._cells.get(uri, [])]
