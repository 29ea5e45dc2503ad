"""The session: open documents, their analyses, and who is told when one is done.

All methods run on the event loop and return at once; what takes time runs in the worker process
or in a thread.  The text that an analysis is of is the text of the last open or save.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from tirlens.ide.text import split_lines
from tirlens.session.document import Analysis, Document, Reading
from tirlens.session.workers import Workers
from tirlens.worker_client import Interpreter, WorkerClient, find_interpreter
from tirlens_worker import codec
from tirlens_worker.protocol import Analyze, Progress, Result

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tirlens.session.configuration import Configuration

logger = logging.getLogger(__name__)

_DEBOUNCE_S = 0.1
_KEPT_RESULTS = 64
_FIRST_READING_LIMIT_S = 1.0


@dataclass(frozen=True)
class Status:
    """The state of one file for a status item.

    `state`: ``analyzing``, ``ready``, ``untrusted``, ``no-framework``, ``idle``.
    """

    uri: str
    state: str
    message: str = ""
    interpreter: str | None = None
    why: str = ""
    frameworks: Mapping[str, str] | None = None
    device: str | None = None


class Listener(Protocol):
    """Who is told of what happens; every call is made on the event loop."""

    def analysed(self, uri: str) -> None:
        """The analysis of an open file has changed, or its diagnostics have."""

    def read(self, uri: str) -> None:
        """The kernels of an open file are known from its text for the first time."""

    def status(self, status: Status) -> None: ...

    def progress(self, uri: str, message: str | None, done: int, total: int) -> None:
        """An analysis is under way; `message` is None when it ends."""


class Session:
    """The open documents of one editor."""

    def __init__(self, listener: Listener, configuration: Configuration) -> None:
        self.documents: dict[str, Document] = {}
        self.configuration = configuration
        self.durations_s: deque[float] = deque(maxlen=50)
        self.workers = Workers()
        self._listener = listener
        self._results: OrderedDict[bytes, Result] = OrderedDict()
        self._readers: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._next_id = 0

    # Documents

    def open(self, uri: str, path: Path, version: int, text: str) -> None:
        self.documents[uri] = Document(uri, path, version, text, text)
        self._read_soon(uri, 0.0)
        self.analyze(uri)

    def change(self, uri: str, version: int, text: str) -> None:
        document = self.documents.get(uri)
        if document is not None and text != document.text:
            document.version, document.text = version, text
            self._read_soon(uri, _DEBOUNCE_S)
        elif document is not None:
            document.version = version

    def save(self, uri: str, text: str | None = None) -> None:
        document = self.documents.get(uri)
        if document is None:
            return
        if text is not None and text != document.text:
            document.text = text
            self._read_soon(uri, 0.0)
        document.saved_text = document.text
        self.analyze(uri)

    def close(self, uri: str) -> None:
        if self.documents.pop(uri, None) is not None:
            self.workers.cancel(uri)
            reader = self._readers.pop(uri, None)
            if reader is not None:
                reader.cancel()

    # What the user chooses

    def configure(self, configuration: Configuration) -> None:
        """New settings or trust; everything that is open is brought up to date."""
        if configuration == self.configuration:
            return
        self.configuration = configuration
        for uri in list(self.documents):
            self.analyze(uri)

    def set_device(self, uri: str | None, device: str | None) -> None:
        """Show `uri` (None: every open file) for another device; the facts are kept."""
        for document in list(self.documents.values()):
            if uri is None or document.uri == uri:
                document.device = device
                self.analyze(document.uri)

    def set_call(self, uri: str, kernel: str, call: str | None) -> None:
        """Analyse `kernel` with the call expression `call`; None goes back to discovery."""
        document = self.documents.get(uri)
        if document is None:
            return
        if call is None:
            document.calls.pop(kernel, None)
        else:
            document.calls[kernel] = call
        self.analyze(uri)

    def cancel(self, uri: str) -> None:
        """End the running analysis of `uri`; what was shown before stays."""
        document = self.documents.get(uri)
        if document is not None:
            document.wanted += 1
            document.cancelled = True
            self.workers.cancel(uri)
            self._ended(document)
            self._listener.status(Status(uri, "idle", "cancelled"))
            self._listener.analysed(uri)

    def reanalyze(self, uri: str) -> None:
        """Analyse the text as it is now, whatever is known of it."""
        document = self.documents.get(uri)
        if document is not None:
            document.saved_text = document.text
            self._results.clear()
            self.analyze(uri)

    def analyze(self, uri: str) -> None:
        """Bring the analysis of `uri` up to date with its saved text and the settings."""
        document = self.documents[uri]
        document.wanted += 1
        document.cancelled = False
        self._start(self._analyze(document, document.wanted))

    async def shut_down(self) -> None:
        for task in (*self._tasks, *self._readers.values()):
            task.cancel()
        await self.workers.close()

    # Reading the text

    async def first_reading(self, uri: str) -> None:
        """Wait until the text of `uri` has been read once: milliseconds after it was opened."""
        document = self.documents.get(uri)
        reader = self._readers.get(uri)
        if document is not None and document.reading is None and reader is not None:
            await asyncio.wait([reader], timeout=_FIRST_READING_LIMIT_S)

    def _read_soon(self, uri: str, delay_s: float) -> None:
        running = self._readers.get(uri)
        if running is not None and not running.done():
            if delay_s:
                return
            running.cancel()
        self._readers[uri] = asyncio.ensure_future(self._reader(uri, delay_s))

    async def _reader(self, uri: str, delay_s: float) -> None:
        """Read the text until what was read is what is there."""
        while True:
            await asyncio.sleep(delay_s)
            document = self.documents.get(uri)
            if document is None or (document.reading and document.reading.text == document.text):
                return
            first = document.reading is None
            reading = await _read(document.text)
            if self.documents.get(uri) is not document:
                return
            document.reading = reading
            if first:
                self._listener.read(uri)
            if document.text == reading.text:
                return  # At once, for the first lenses wait for the end of this.
            delay_s = _DEBOUNCE_S

    # Analysis

    async def _analyze(self, document: Document, wanted: int) -> None:
        if not self.configuration.trusted:
            self._listener.status(Status(document.uri, "untrusted"))
            self._listener.analysed(document.uri)
            return
        text = document.saved_text
        await self.first_reading(document.uri)
        readings = (document.reading, document.analysis and document.analysis.reading)
        known = next((item for item in readings if item is not None and item.text == text), None)
        reading = known or await _read(text)
        if document.text == text:
            # What was read here need not be read again when the typing pauses.
            document.reading = reading
        interpreter = await asyncio.to_thread(self._interpreter, document.path, reading)
        if not self._current(document, wanted):
            return
        request = self._request(document, reading)
        if not request.kernels:
            await self._publish(document, wanted, reading, Result(0), 0.0, interpreter)
            return
        key = _key(interpreter, request)
        result = self._results.get(key)
        if result is not None:
            self.workers.cancel(document.uri)
            await self._publish(document, wanted, reading, result, 0.0, interpreter)
            return
        document.running = True
        status = self._status(document, "analyzing", interpreter)
        self._listener.status(status)

        async def job(client: WorkerClient) -> None:
            if not self._current(document, wanted):
                return
            began = time.perf_counter()
            result = await client.analyze(request, lambda note: self._progress(document, note))
            duration_s = time.perf_counter() - began
            if not self._current(document, wanted):
                return
            if not any(problem.kind in _PASSING for problem in result.problems):
                self._results[key] = result
                while len(self._results) > _KEPT_RESULTS:
                    self._results.popitem(last=False)
            self.durations_s.append(duration_s)
            await self._publish(document, wanted, reading, result, duration_s, interpreter)

        self.workers.submit(interpreter, document.uri, job)

    async def _publish(
        self,
        document: Document,
        wanted: int,
        reading: Reading,
        result: Result,
        duration_s: float,
        interpreter: Interpreter,
    ) -> None:
        options = self.configuration.options(document)
        report = await asyncio.to_thread(
            self.configuration.report, reading.source, result, options, document.path
        )
        if not self._current(document, wanted):
            return
        analysis = Analysis(reading, result, report, duration_s)
        before = document.analysis
        document.analysis = analysis
        if document.reading is None or document.reading.text == reading.text:
            document.reading = reading
        self._ended(document)
        if before is None or (before.reading.text, before.report) != (reading.text, report):
            self._listener.analysed(document.uri)
        # Last: who is told that a file is ready has been told what there is to see in it.
        self._listener.status(self._status(document, "ready", interpreter))

    def _ended(self, document: Document) -> None:
        if document.running:
            document.running = False
            self._listener.progress(document.uri, None, 0, 0)

    def _current(self, document: Document, wanted: int) -> bool:
        return self.documents.get(document.uri) is document and document.wanted == wanted

    def _progress(self, document: Document, note: Progress) -> None:
        if self.documents.get(document.uri) is document:
            self._listener.progress(document.uri, note.message, note.done, note.total)

    def _interpreter(self, path: Path, reading: Reading) -> Interpreter:
        return find_interpreter(
            path,
            setting=self.configuration.interpreter_setting(path),
            editor=self.configuration.editor_interpreter,
            framework_hint=reading.source.framework_hint,
        )

    def _request(self, document: Document, reading: Reading) -> Analyze:
        self._next_id += 1
        options = self.configuration.options(document)
        return self.configuration.request(self._next_id, document.path, reading, options)

    def _status(self, document: Document, state: str, interpreter: Interpreter) -> Status:
        message = ""
        if interpreter.problem is not None:
            state, message = "no-framework", interpreter.problem.message
        device = None
        if document.analysis and document.analysis.report.devices:
            device = document.analysis.report.devices[0].id
        return Status(
            document.uri,
            state,
            message,
            str(interpreter.path),
            interpreter.why,
            dict(interpreter.frameworks),
            device,
        )

    def _start(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("An analysis failed", exc_info=task.exception())


# A result with one of these says nothing of the text, and is asked for again.
_PASSING = frozenset({"cancelled", "interpreter", "crash", "timeout"})


async def _read(text: str) -> Reading:
    return await asyncio.to_thread(_read_now, text)


def _read_now(text: str) -> Reading:
    from tirlens import source

    return Reading(text, tuple(split_lines(text)), source.read(text))


def _key(interpreter: Interpreter, request: Analyze) -> bytes:
    identity = f"{interpreter.path}\0{interpreter.frameworks}\0".encode()
    return hashlib.sha256(identity + codec.dumps(replace(request, id=0))).digest()
