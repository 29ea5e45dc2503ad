"""The session: the open documents of one editor, and what its user has chosen for them.

All methods run on the event loop and return at once; what takes time runs in the worker process
or in a thread.  The text that an analysis is of is the text of the last open or save.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tirlens.session.analyses import Analyses
from tirlens.session.document import Document
from tirlens.session.listener import Listener, Status
from tirlens.session.readings import Readings

if TYPE_CHECKING:
    from pathlib import Path

    from tirlens.session.configuration import Configuration
    from tirlens.session.workers import Workers


class Session:
    """The open documents of one editor."""

    def __init__(self, listener: Listener, configuration: Configuration) -> None:
        self.documents: dict[str, Document] = {}
        self.configuration = configuration
        self._listener = listener
        self._readings = Readings(listener)
        self._analyses = Analyses(listener, self._readings, lambda: self.configuration)

    @property
    def workers(self) -> Workers:
        """The worker processes, one queue for each interpreter."""
        return self._analyses.workers

    @property
    def durations_s(self) -> Sequence[float]:
        """How long the workers took for the last analyses."""
        return self._analyses.durations_s

    # Documents

    def open(self, uri: str, path: Path, version: int, text: str) -> None:
        """A document is opened, or opened again: it is read and analysed."""
        self.close(uri)
        document = self.documents[uri] = Document(uri, path, version, text, text)
        self._readings.now(document)
        self._analyses.begin(document)

    def change(self, uri: str, version: int, text: str) -> None:
        """The text has changed: it is read soon, and analysed when it is saved."""
        document = self.documents.get(uri)
        if document is None:
            return
        document.version = version
        if text != document.text:
            document.text = text
            self._readings.soon(document)

    def save(self, uri: str, text: str | None = None) -> None:
        """The document is saved: its text is analysed."""
        document = self.documents.get(uri)
        if document is None:
            return
        if text is not None and text != document.text:
            document.text = text
            self._readings.now(document)
        document.saved_text = document.text
        self._analyses.begin(document)
        self.written([document.path], document)

    def written(self, paths: Sequence[Path], by: Document | None = None) -> None:
        """Files have changed on disk: analyse what depends on them, but for the one saved `by`."""
        files = {os.path.realpath(path) for path in paths}
        for document in list(self.documents.values()):
            if document is not by and document.analysis is not None:
                found = document.analysis.files & files
                if found:
                    self._analyses.follow(document, found)

    def close(self, uri: str) -> None:
        """The document is closed: nothing of it is kept or published any more."""
        document = self.documents.pop(uri, None)
        if document is not None:
            self._analyses.give_up(document)
            self._readings.forget(document)

    async def first_reading(self, uri: str) -> None:
        """Wait until the text of `uri` has been read once: milliseconds after it was opened."""
        document = self.documents.get(uri)
        if document is not None:
            await self._readings.first(document)

    # What the user chooses

    def configure(self, configuration: Configuration) -> None:
        """New settings or trust; everything that is open is brought up to date."""
        if configuration == self.configuration:
            return
        before, self.configuration = self.configuration, configuration
        if before.display != configuration.display:
            self._listener.redraw()
        for document in list(self.documents.values()):
            self._analyses.begin(document)

    def set_device(self, uri: str | None, device: str | None) -> None:
        """Show `uri` (None: every open file) for another device; the facts are kept."""
        for document in list(self.documents.values()):
            if uri is None or document.uri == uri:
                document.device = device
                self._analyses.begin(document)

    def set_call(self, uri: str, kernel: str, call: str | None) -> None:
        """Analyse `kernel` with the call expression `call`; None goes back to discovery."""
        document = self.documents.get(uri)
        if document is None:
            return
        if call is None:
            document.calls.pop(kernel, None)
        else:
            document.calls[kernel] = call
        self._analyses.begin(document)

    def cancel(self, uri: str) -> None:
        """End the running analysis of `uri`; what was shown before stays."""
        document = self.documents.get(uri)
        if document is not None:
            self._analyses.give_up(document)
            document.cancelled = True
            self._listener.status(Status(uri, "idle", "cancelled"))
            self._listener.analysed(document, hints=False, lenses=True)

    def reanalyze(self, uri: str) -> None:
        """Analyse the text as it is now, whatever is known of it."""
        document = self.documents.get(uri)
        if document is not None:
            document.saved_text = document.text
            self._analyses.forget()
            self._analyses.give_up(document)
            self._analyses.begin(document)

    async def shut_down(self) -> None:
        """End the workers; returns when none is left."""
        self._readings.close()
        await self._analyses.close()
