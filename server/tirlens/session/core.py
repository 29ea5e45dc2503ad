"""The session: open documents, their analyses, and who is told when one is done.

All methods run on the event loop and return at once; what takes time runs in the worker process
or in a thread.  The text that an analysis is of is the text of the last open or save.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from tirlens.ide.text import split_lines
from tirlens.session.document import Analysis, Document, Reading
from tirlens.session.listener import Listener, Status
from tirlens.session.workers import Workers
from tirlens.worker_client import Interpreter, WorkerClient, find_interpreter
from tirlens_worker.protocol import Progress, Result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from tirlens import pipeline
    from tirlens.ide.hints import Hint
    from tirlens.session.configuration import Configuration
    from tirlens_worker.protocol import Analyze

logger = logging.getLogger(__name__)

_DEBOUNCE_S = 0.1
_KEPT_PARTS = 512
_FIRST_READING_LIMIT_S = 1.0


@dataclass(frozen=True)
class _Answer:
    """What is known of one reading of a document, and how."""

    wanted: int
    reading: Reading
    interpreter: Interpreter
    plan: pipeline.Plan
    result: Result
    duration_s: float = 0.0


@dataclass
class _Asked:
    """What a worker has been asked, or will be, and for which analysis its answer is."""

    interpreter: Interpreter
    request: Analyze
    wanted: int
    reading: Reading
    plan: pipeline.Plan

    def is_like(self, interpreter: Interpreter, request: Analyze) -> bool:
        """Whether the answer will be that to `request` too."""
        return (interpreter, request) == (self.interpreter, replace(self.request, id=request.id))


class Session:
    """The open documents of one editor."""

    def __init__(self, listener: Listener, configuration: Configuration) -> None:
        self.documents: dict[str, Document] = {}
        self.configuration = configuration
        self.durations_s: deque[float] = deque(maxlen=50)
        self.workers = Workers()
        self._listener = listener
        self._parts: OrderedDict[bytes, pipeline.Part] = OrderedDict()
        self._asked: dict[str, _Asked] = {}
        self._readers: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._next_id = 0

    @cached_property
    def _modelled(self) -> pipeline.Modelled:
        """What the model has said of each kernel last; made late, as the model is imported late."""
        from tirlens import pipeline

        return pipeline.Modelled()

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
            self._give_up(uri)
            reader = self._readers.pop(uri, None)
            if reader is not None:
                reader.cancel()

    # What the user chooses

    def configure(self, configuration: Configuration) -> None:
        """New settings or trust; everything that is open is brought up to date."""
        if configuration == self.configuration:
            return
        before, self.configuration = self.configuration, configuration
        if before.display != configuration.display:
            self._listener.redraw()
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
            self._give_up(uri)
            self._ended(document)
            self._listener.status(Status(uri, "idle", "cancelled"))
            self._listener.analysed(uri)

    def reanalyze(self, uri: str) -> None:
        """Analyse the text as it is now, whatever is known of it."""
        document = self.documents.get(uri)
        if document is not None:
            document.saved_text = document.text
            self._parts.clear()
            self._give_up(uri)
            self.analyze(uri)

    def analyze(self, uri: str) -> None:
        """Bring the analysis of `uri` up to date with its saved text and the settings."""
        document = self.documents[uri]
        document.wanted += 1
        document.cancelled = False
        is_current = partial(self._current, document, document.wanted)
        work = partial(self._analyze, document, document.wanted)
        self._start(self._guarded(document, is_current, work))

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
            began = time.perf_counter()
            reading = await _read(document.text)
            # A long text is read less often, lest reading be all that is done while one types.
            delay_s = max(_DEBOUNCE_S, 3 * (time.perf_counter() - began))
            if self.documents.get(uri) is not document:
                return
            document.reading = reading
            if first:
                self._listener.read(uri)
            if document.text == reading.text:
                return  # At once, for the first lenses wait for the end of this.

    # Analysis

    async def _guarded(
        self,
        document: Document,
        is_current: Callable[[], bool],
        work: Callable[[], Awaitable[None]],
    ) -> None:
        """Do `work`; a defect of ours in it is said and leaves no file waiting."""
        try:
            await work()
        except Exception as error:
            logger.exception("An analysis failed")
            if is_current():
                self._ended(document)
                message = f"internal error: {type(error).__name__}: {error}"
                self._listener.status(Status(document.uri, "idle", message))

    async def _analyze(self, document: Document, wanted: int) -> None:
        if not self.configuration.trusted:
            self._give_up(document.uri)
            self._ended(document)
            self._listener.status(Status(document.uri, "untrusted"))
        reading = await self._saved_reading(document)
        if not self.configuration.trusted:
            if self._current(document, wanted):
                self._listener.read(document.uri)
            return
        _import_pipeline()
        self._next_id += 1
        interpreter, plan = await asyncio.to_thread(self._plan, self._next_id, document, reading)
        if not self._current(document, wanted):
            return
        request = plan.request
        if request is None:
            self._give_up(document.uri)
            known = await asyncio.to_thread(plan.result)
            await self._answer(document, _Answer(wanted, reading, interpreter, plan, known))
            return
        document.running = True
        self._listener.status(self._status(document, "analyzing", interpreter))
        asked = self._asked.get(document.uri)
        if asked is not None and asked.is_like(interpreter, request):
            # It is under way: settings have changed that the worker does not hear of.
            asked.wanted, asked.reading, asked.plan = wanted, reading, plan
            return
        asked = self._asked[document.uri] = _Asked(interpreter, request, wanted, reading, plan)

        async def job(client: WorkerClient) -> None:
            await self._guarded(
                document,
                lambda: self._current(document, asked.wanted),
                partial(self._run, client, asked, document),
            )

        self.workers.submit(interpreter, document.uri, job)

    async def _run(self, client: WorkerClient, asked: _Asked, document: Document) -> None:
        """Have the worker do what is `asked`, and publish it if that is still wanted."""
        began = time.perf_counter()
        try:
            if not self._current(document, asked.wanted):
                return
            fresh = await client.analyze(asked.request, partial(self._progress, document))
            duration_s = time.perf_counter() - began
            result, kept = await asyncio.to_thread(_completed, asked.plan, fresh)
            # Also what is not wanted any more: much of what is asked next is in it.
            self._keep(kept)
        finally:
            # From now on the same is asked anew, and not before it is kept: it would run twice.
            if self._asked.get(document.uri) is asked:
                del self._asked[document.uri]
        if not self._current(document, asked.wanted):
            return
        self.durations_s.append(duration_s)
        answer = _Answer(
            asked.wanted, asked.reading, asked.interpreter, asked.plan, result, duration_s
        )
        await self._answer(document, answer)

    def _give_up(self, uri: str) -> None:
        """Let no worker go on with `uri`."""
        self._asked.pop(uri, None)
        self.workers.cancel(uri)

    async def _answer(self, document: Document, answer: _Answer) -> None:
        await self._publish(document, answer)
        if self._current(document, answer.wanted):
            # Last: who is told that a file is ready has been told what there is to see in it.
            self._listener.status(self._status(document, "ready", answer.interpreter))

    async def _saved_reading(self, document: Document) -> Reading:
        """What the text of the last open or save says."""
        text = document.saved_text
        await self.first_reading(document.uri)
        readings = (document.reading, document.analysis and document.analysis.reading)
        known = next((item for item in readings if item is not None and item.text == text), None)
        reading = known or await _read(text)
        if document.text == text:
            # What was read here need not be read again when the typing pauses.
            document.reading = reading
        return reading

    async def _publish(self, document: Document, answer: _Answer) -> None:
        reading = answer.reading
        share = self.configuration.smallest_share
        lowering, analysis, hints = await asyncio.to_thread(
            self._evaluate, document, answer, share, self._modelled
        )
        if not self._current(document, answer.wanted):
            return
        report, before = analysis.report, document.analysis
        document.show(analysis, share, hints)
        if document.reading is None or document.reading.text == reading.text:
            document.reading = reading
        self._ended(document)
        if before is None or (before.reading.text, before.report) != (reading.text, report):
            self._listener.analysed(document.uri)
        if lowering is not None and lowering.request is not None:
            self._lower(document, answer, lowering, lowering.request)

    def _evaluate(
        self, document: Document, answer: _Answer, share: float, modelled: pipeline.Modelled
    ) -> tuple[pipeline.Plan | None, Analysis, list[Hint]]:
        """What the model says of an answer, and what takes a while to make of that."""
        lowering, report = self.configuration.report(document, answer.plan, answer.result, modelled)
        analysis = Analysis(answer.reading, answer.result, report, answer.duration_s)
        hints = analysis.hints(share)
        _settle()
        return lowering, analysis, hints

    def _lower(
        self, document: Document, answer: _Answer, plan: pipeline.Plan, request: Analyze
    ) -> None:
        """Have the kernels lowered when nothing else is to be done; publish what that tells."""

        async def job(client: WorkerClient) -> None:
            if not self._current(document, answer.wanted):
                return
            from tirlens import pipeline

            lowered = pipeline.finished(request, await client.analyze(request))
            if lowered.problems:
                return
            _, kept = await asyncio.to_thread(_completed, plan, lowered)
            self._keep(kept)
            await self._publish(document, answer)

        self.workers.defer(answer.interpreter, document.uri, job)

    def _ended(self, document: Document) -> None:
        if document.running:
            document.running = False
            self._listener.progress(document.uri, None, 0, 0)

    def _current(self, document: Document, wanted: int) -> bool:
        return self.documents.get(document.uri) is document and document.wanted == wanted

    def _progress(self, document: Document, note: Progress) -> None:
        if self.documents.get(document.uri) is document:
            self._listener.progress(document.uri, note.message, note.done, note.total)

    def _plan(
        self, identity: int, document: Document, reading: Reading
    ) -> tuple[Interpreter, pipeline.Plan]:
        """Who is to analyse `reading`, and what of it is not known yet."""
        interpreter = find_interpreter(
            document.path,
            setting=self.configuration.interpreter_setting(document.path),
            editor=self.configuration.editor_interpreter,
            framework_hint=reading.source.framework_hint,
        )
        return interpreter, self.configuration.plan(
            identity,
            document,
            reading,
            f"{interpreter.path}\0{interpreter.frameworks}",
            self._parts.get,
        )

    def _keep(self, parts: Mapping[bytes, pipeline.Part]) -> None:
        for key, part in parts.items():
            self._parts[key] = part
            self._parts.move_to_end(key)
        while len(self._parts) > _KEPT_PARTS:
            self._parts.popitem(last=False)

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


def _import_pipeline() -> None:
    """Import what a thread is going to use.

    When two threads import at the same time, each may be handed a module of the other's that is
    not complete; so all importing is the event loop's.
    """
    from tirlens import pipeline

    assert pipeline


def _settle() -> None:
    """Take what there is out of the collector's sight: looking through it holds up requests.

    What an analysis leaves has no cycles and goes when it is no longer referred to.
    """
    gc.collect(1)
    gc.freeze()


def _completed(plan: pipeline.Plan, fresh: Result) -> tuple[Result, Mapping[bytes, pipeline.Part]]:
    """What is known with `fresh`, the answer to `plan`, and its parts that are worth keeping."""
    result = plan.result(fresh)
    return result, plan.kept(result)


async def _read(text: str) -> Reading:
    from tirlens import source

    assert source
    return await asyncio.to_thread(_read_now, text)


def _read_now(text: str) -> Reading:
    from tirlens import source

    return Reading(text, tuple(split_lines(text)), source.read(text))
