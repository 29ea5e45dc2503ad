"""Texts that an editor has loaded again, because their files changed on disk.

A checkout, a formatter, an agent or another window writes the file. The editor replaces the text of
its buffer and has nothing to save, so it reports no save. A text that is its file's is saved.
"""

from __future__ import annotations

import asyncio
import io
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirlens.file_reader import read_bytes
from tirlens.ide.document_text import split_lines
from tirlens.ide.notebook_file import SUFFIX, read_notebook

if TYPE_CHECKING:
    from pathlib import Path

    from tirlens.session.document import Document

_DEBOUNCE_S = 0.1
_MAX_BYTES = 12 << 20


@dataclass(frozen=True)
class _FileText:
    """The lines of a file, and what its status said when it was read."""

    status: tuple[int, int, int]
    lines: tuple[str, ...]


class Reloads:
    """Compares the texts of open documents with their files.

    Parameters
    ----------
    on_reload
        Receives a document whose text was not the saved one and is its file's.
    """

    def __init__(self, on_reload: Callable[[Document], None]) -> None:
        self._on_reload = on_reload
        self._checks: dict[Document, asyncio.Task[None]] = {}
        self._files: dict[Document, _FileText | None] = {}

    def check_soon(self, document: Document) -> None:
        """Compare `document` with its file in a moment, once for all changes until then."""
        if document not in self._checks:
            check = asyncio.ensure_future(self._check(document))
            self._checks[document] = check

            def remove(_: object) -> None:
                if self._checks.get(document) is check:
                    del self._checks[document]

            check.add_done_callback(remove)

    def forget(self, document: Document) -> None:
        """Compare `document` no more."""
        self._files.pop(document, None)
        check = self._checks.pop(document, None)
        if check is not None:
            check.cancel()

    def close(self) -> None:
        """Compare no document any more."""
        for document in list(self._checks):
            self.forget(document)

    async def _check(self, document: Document) -> None:
        while True:
            await asyncio.sleep(_DEBOUNCE_S)
            if document.text == document.saved_text:
                return
            text = document.text
            known = self._files.get(document)
            found = await asyncio.to_thread(_read, document.path, known)
            self._files[document] = found
            if document.text == text:
                break
        if found is not None and text != document.saved_text and found.lines == document.lines:
            self._on_reload(document)


def _read(path: Path, known: _FileText | None) -> _FileText | None:
    """The text of a file, which is `known` if its status has not changed; None if there is none."""
    try:
        found = path.stat()
        status = (found.st_mtime_ns, found.st_size, found.st_ino)
        if known is not None and known.status == status:
            return known
        content = read_bytes(path, _MAX_BYTES)
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding)
        if path.suffix == SUFFIX:
            text = read_notebook(text).text
        return _FileText(status, split_lines(text))
    except (OSError, SyntaxError, ValueError, LookupError):
        return None
