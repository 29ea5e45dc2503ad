"""Reading of texts in threads: soon after an edit, at once after an open or save."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from tirlens.ide.document_text import split_lines
from tirlens.session.analysis import Reading
from tirlens.session.events import EventSink, TextRead

if TYPE_CHECKING:
    from pathlib import Path

    from tirlens.session.document import Document

_DEBOUNCE_S = 0.1
_FIRST_READING_LIMIT_S = 1.0


class Readings:
    """Reads the texts of open documents.

    Parameters
    ----------
    emit
        Receives `TextRead` after the first reading of a document.
    """

    def __init__(self, emit: EventSink) -> None:
        self._emit = emit
        self._readers: dict[Document, asyncio.Task[None]] = {}
        self._in_progress: dict[tuple[str, Path], asyncio.Task[Reading]] = {}

    def start_soon(self, document: Document) -> None:
        """Read `document` when the typing pauses."""
        reader = self._readers.get(document)
        if reader is None or reader.done():
            self._start_reader(document, _DEBOUNCE_S)

    def start(self, document: Document) -> None:
        """Read `document` at once."""
        self.stop(document)
        self._start_reader(document, 0.0)

    def stop(self, document: Document) -> None:
        """Stop reading `document`."""
        reader = self._readers.pop(document, None)
        if reader is not None:
            reader.cancel()

    def close(self) -> None:
        """Stop reading all documents."""
        for document in list(self._readers):
            self.stop(document)

    async def first(self, document: Document) -> None:
        """Wait until `document` has been read once: milliseconds after it was opened."""
        # Another reader may replace this one in the meantime.
        while document.reading is None and (reader := self._readers.get(document)) is not None:
            _, unfinished = await asyncio.wait([reader], timeout=_FIRST_READING_LIMIT_S)
            if unfinished:
                return

    async def of_saved_text(self, document: Document) -> Reading:
        """The reading of the text of the last open or save."""
        text = document.saved_text
        await self.first(document)
        readings = (document.reading, document.analysis and document.analysis.reading)
        known = next((item for item in readings if item is not None and item.text == text), None)
        reading = known or await self._read(text, document.path)
        if document.text == text:
            # This reading serves the present text too.
            document.reading = reading
        return reading

    async def _read(self, text: str, path: Path) -> Reading:
        """The reading of `text`, once for all who wait for it."""
        key = text, path
        task = self._in_progress.get(key)
        if task is None:
            task = self._in_progress[key] = asyncio.ensure_future(read_text(text, path))
            task.add_done_callback(lambda _: self._in_progress.pop(key))
        return await asyncio.shield(task)

    def _start_reader(self, document: Document, delay_s: float) -> None:
        reader = asyncio.ensure_future(self._read_until_current(document, delay_s))
        self._readers[document] = reader

        def remove(_: object) -> None:
            if self._readers.get(document) is reader:
                del self._readers[document]

        reader.add_done_callback(remove)

    async def _read_until_current(self, document: Document, delay_s: float) -> None:
        """Read the text again until the reading is of the present text."""
        while True:
            await asyncio.sleep(delay_s)
            if document.reading is not None and document.reading.text == document.text:
                return
            is_first = document.reading is None
            began = time.perf_counter()
            reading = document.reading = await self._read(document.text, document.path)
            # A long text is read less often, so that reading does not fill the time between keys.
            delay_s = max(_DEBOUNCE_S, 3 * (time.perf_counter() - began))
            if is_first:
                self._emit(TextRead(document))
            if document.text == reading.text:
                return  # At once: the first lenses wait for the end of this task.


async def read_text(text: str, path: Path) -> Reading:
    """What the text of the file `path` says; it is read in a thread."""
    from tirlens import source

    assert source
    return await asyncio.to_thread(_read_now, text, path)


def _read_now(text: str, path: Path) -> Reading:
    from tirlens import source

    return Reading(text, split_lines(text), source.read(text, path))
