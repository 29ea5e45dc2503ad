"""The session: the open documents of one editor, and what its user has chosen for them.

All methods run on the event loop and return at once. Long work runs in a worker process or in a
thread. An analysis is of the text of the last open or save.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tirlens.captured.names import is_capture
from tirlens.measured.matching.stored_names import is_stored
from tirlens.session.analyses import Analyses
from tirlens.session.baselines import Pins
from tirlens.session.document import Document
from tirlens.session.events import DisplayChanged, EventSink, FileClosed, Status, ViewChanged
from tirlens.session.readings import Readings
from tirlens.session.reloads import Reloads
from tirlens.settings import DETAILS, Settings

if TYPE_CHECKING:
    from pathlib import Path

    from tirlens.ide.notebook_file import CellPlaces
    from tirlens.session.configuration import Configuration
    from tirlens.session.display import Display, Room

_ANALYSIS_LIMIT_S, _ANALYSIS_STEP_S = 60.0, 0.05


class Session:
    """The open documents of one editor.

    Parameters
    ----------
    configuration
        Trust and settings at the start.
    emit
        Receives each event at once, on the event loop.
    pins
        The versions that are compared with, those of the user by default.

    Attributes
    ----------
    documents
        By URI.
    configuration
        Trust and settings as of now.
    analyses
        The analyses under way and their workers.
    """

    def __init__(
        self, configuration: Configuration, emit: EventSink, pins: Pins | None = None
    ) -> None:
        self.documents: dict[str, Document] = {}
        self.configuration = configuration
        self._emit = emit
        self._readings = Readings(emit)
        self._reloads = Reloads(lambda document: self.save(document.uri))
        self._pins = pins or Pins()
        self.analyses = Analyses(emit, self._readings, self._pins)

    # Documents

    def open(self, uri: str, path: Path, version: int, text: str) -> None:
        """Open a document, possibly again: read and analyse it."""
        self._forget(uri)
        document = self.documents[uri] = Document(uri, path, version, text, text)
        document.mark_saved()
        document.awaits_save = self.configuration.settings.analyze_on_open is False
        self._readings.start(document)
        self._analyze(document)

    def change(self, uri: str, version: int, text: str) -> None:
        """Change the text of a document: read it soon. It is analysed once it is on disk."""
        document = self.documents.get(uri)
        if document is None:
            return
        document.version = version
        if text != document.text:
            document.text = text
            self._readings.start_soon(document)
            self._reloads.check_soon(document)

    def place_cells(self, uri: str, cells: CellPlaces) -> None:
        """Name the lines of a document by the cells of the notebook whose text it is."""
        document = self.documents.get(uri)
        if document is not None:
            document.cells = cells

    def save(self, uri: str, text: str | None = None) -> None:
        """Save a document: analyse its text."""
        document = self.documents.get(uri)
        if document is None:
            return
        if text is not None and text != document.text:
            document.text = text
            self._readings.start(document)
        document.mark_saved()
        self._analyze(document)
        self.files_changed([document.path], document)

    def files_changed(self, paths: Sequence[Path], saved: Document | None = None) -> None:
        """Analyse the documents that depend on files that changed on disk, other than `saved`."""
        files = {os.path.realpath(path) for path in paths}
        tables = [path.parent for path in paths if is_capture(path) or is_stored(path)]
        for document in list(self.documents.values()):
            if document is not saved and os.path.realpath(document.path) in files:
                # The editor may have loaded its text before it reports that the file changed.
                self._reloads.check_soon(document)
            if document is not saved and document.analysis is not None:
                changed = document.analysis.files & files
                if changed:
                    self.analyses.requests.distrust_files(document, changed)
                if changed or any(folder in document.path.parents for folder in tables):
                    self._analyze(document)

    def close(self, uri: str) -> None:
        """Close a document: nothing of it is kept or published any more."""
        self._forget(uri)
        self._emit(FileClosed(uri))

    async def first_reading(self, uri: str) -> None:
        """Wait until the text of `uri` has been read once: milliseconds after it was opened."""
        document = self.documents.get(uri)
        if document is not None:
            await self._readings.first(document)

    async def analysed_text(self, uri: str) -> None:
        """Wait until the saved text of `uri` has been analysed, or no analysis is under way."""
        document = self.documents.get(uri)
        deadline_s = time.monotonic() + _ANALYSIS_LIMIT_S
        while (
            document is not None
            and self.configuration.trusted
            and not document.is_cancelled
            and (not document.analysis or document.analysis.text != document.saved_text)
            and self.documents.get(uri) is document
            and time.monotonic() < deadline_s
        ):
            await asyncio.sleep(_ANALYSIS_STEP_S)

    # Choices of the user

    def display_of(self, document: Document) -> Display:
        """What is displayed of a document."""
        return self.configuration.at(document.path).display(document.project, document.room)

    def set_room(self, uri: str, room: Room | None) -> None:
        """Fit what is displayed of `uri` into the room that it has as of now."""
        document = self.documents.get(uri)
        if document is None or document.room == room:
            return
        before = self._hints_and_lenses(document)
        document.room = room
        if self._hints_and_lenses(document) != before:
            self._emit(DisplayChanged())

    def _hints_and_lenses(self, document: Document) -> object:
        """The hints and lenses of a document."""
        display = self.display_of(document)
        analysis = document.analysis
        return analysis and (document.hints(display), analysis.lenses(display))

    def configure(self, configuration: Configuration) -> None:
        """Apply new settings or trust to all open documents."""
        if configuration == self.configuration:
            return
        before, self.configuration = self.configuration, configuration
        self._emit_display_change(before)
        for document in list(self.documents.values()):
            self._analyze(document)

    def show(self, detail: str | None) -> str:
        """Display `detail`, one of `DETAILS`; None for the following one. The detail as of now."""
        before = self.configuration
        present = before.display(Settings()).detail
        following = DETAILS[(DETAILS.index(present) + 1) % len(DETAILS)]
        self.configuration = replace(before, detail=detail or following)
        self._emit_display_change(before)
        return detail or following

    def _emit_display_change(self, before: Configuration) -> None:
        """Say that hints and lenses are others than with the configuration `before`."""
        now = self.configuration
        if (before.trusted, before.displays()) != (now.trusted, now.displays()):
            self._emit(DisplayChanged())

    def set_device(self, uri: str | None, device: str | None) -> None:
        """Evaluate `uri` (None: every open document) for another device. The facts are reused."""
        for document in list(self.documents.values()):
            if uri is None or document.uri == uri:
                document.device = device
                self._analyze(document)

    def set_call(self, uri: str, kernel: str, call: str | None) -> None:
        """Analyse `kernel` with the call expression `call`; None returns to discovery."""
        document = self.documents.get(uri)
        if document is None:
            return
        if call is None:
            document.calls.pop(kernel, None)
        else:
            document.calls[kernel] = call
        self._analyze(document)

    async def pin(self, uri: str | None, revision: str | None = None) -> str | None:
        """Pin the saved text of `uri` (None: of every open document), or a git revision.

        Returns
        -------
        The name of the baseline; None if no such document is open.

        Raises
        ------
        GitError
            There is no git, no repository or no such revision.
        OSError
            The baseline cannot be stored.
        """
        name: str | None = None
        for document in self._documents_of(uri):
            if revision is None:
                pin, version = self._pins.pin_text, document.saved_text
            else:
                pin, version = self._pins.pin_commit, revision
            name = await asyncio.to_thread(pin, document.path, version)
            self._analyze(document)
        return name

    async def clear_baseline(self, uri: str | None) -> None:
        """Compare `uri` (None: every open document) with no pinned version any more."""
        documents = self._documents_of(uri)
        for document in documents:
            await asyncio.to_thread(self._pins.clear, document.path)
        # A repository's revision was that of other files, too.
        for document in list(self.documents.values()):
            self._analyze(document)

    def _documents_of(self, uri: str | None) -> list[Document]:
        return [item for item in self.documents.values() if uri in (None, item.uri)]

    def cancel(self, uri: str) -> None:
        """End the running analysis of `uri`. What is shown stays."""
        document = self.documents.get(uri)
        if document is not None:
            self.analyses.stop(document)
            document.is_cancelled = True
            self._emit(Status(uri, "idle", "cancelled"))
            self._emit(ViewChanged(document, hints=False, lenses=True))

    def reanalyze(self, uri: str) -> None:
        """Analyse the current text, without the parts that are cached."""
        document = self.documents.get(uri)
        if document is not None:
            document.mark_saved()
            self.analyses.clear_cache()
            self.analyses.stop(document)
            self._analyze(document)

    async def shut_down(self) -> None:
        """End the workers; returns when none is left."""
        self._readings.close()
        self._reloads.close()
        await self.analyses.close()

    def _analyze(self, document: Document) -> None:
        if document.awaits_save and self.configuration.trusted:
            self._emit(Status(document.uri, "idle", "not analysed yet: save the file"))
            return
        self.analyses.start(document, self.configuration.at(document.path))

    def _forget(self, uri: str) -> None:
        document = self.documents.pop(uri, None)
        if document is not None:
            self.analyses.stop(document)
            self._readings.stop(document)
            self._reloads.forget(document)
