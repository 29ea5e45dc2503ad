"""Reads texts beside the event loop: soon after an edit, at once for what is opened or saved."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from tirlens.ide.text import split_lines
from tirlens.session.analysis import Reading

if TYPE_CHECKING:
    from tirlens.session.document import Document
    from tirlens.session.listener import Listener

_DEBOUNCE_S = 0.1
_FIRST_READING_LIMIT_S = 1.0


class Readings:
    """Keeps what the texts of open documents say up to date with what they are."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._readers: dict[Document, asyncio.Task[None]] = {}

    def soon(self, document: Document) -> None:
        """Read `document` when the typing pauses."""
        reader = self._readers.get(document)
        if reader is None or reader.done():
            self._begin(document, _DEBOUNCE_S)

    def now(self, document: Document) -> None:
        """Read `document` at once."""
        self.forget(document)
        self._begin(document, 0.0)

    def forget(self, document: Document) -> None:
        """Read `document` no more."""
        reader = self._readers.pop(document, None)
        if reader is not None:
            reader.cancel()

    def close(self) -> None:
        """Read no document any more."""
        for document in list(self._readers):
            self.forget(document)

    async def first(self, document: Document) -> None:
        """Wait until `document` has been read once: milliseconds after it was opened."""
        # What comes meanwhile may put another reader in this one's place.
        while document.reading is None and (reader := self._readers.get(document)) is not None:
            _, late = await asyncio.wait([reader], timeout=_FIRST_READING_LIMIT_S)
            if late:
                return

    async def of_saved_text(self, document: Document) -> Reading:
        """What the text of the last open or save says."""
        text = document.saved_text
        await self.first(document)
        readings = (document.reading, document.analysis and document.analysis.reading)
        known = next((item for item in readings if item is not None and item.text == text), None)
        reading = known or await _read(text)
        if document.text == text:
            # What was read here need not be read again when the typing pauses.
            document.reading = reading
        return reading

    def _begin(self, document: Document, delay_s: float) -> None:
        reader = asyncio.ensure_future(self._read_on(document, delay_s))
        self._readers[document] = reader

        def ended(_: object) -> None:
            if self._readers.get(document) is reader:
                del self._readers[document]

        reader.add_done_callback(ended)

    async def _read_on(self, document: Document, delay_s: float) -> None:
        """Read the text until what was read is what is there."""
        while True:
            await asyncio.sleep(delay_s)
            if document.reading is not None and document.reading.text == document.text:
                return
            is_first = document.reading is None
            began = time.perf_counter()
            reading = document.reading = await _read(document.text)
            # A long text is read less often, lest reading be all that is done while one types.
            delay_s = max(_DEBOUNCE_S, 3 * (time.perf_counter() - began))
            if is_first:
                self._listener.read(document)
            if document.text == reading.text:
                return  # At once, for the first lenses wait for the end of this.


async def _read(text: str) -> Reading:
    from tirlens import source

    assert source
    return await asyncio.to_thread(_read_now, text)


def _read_now(text: str) -> Reading:
    from tirlens import source

    return Reading(text, tuple(split_lines(text)), source.read(text))
