"""From a wanted analysis to a shown one: what is known of it, what a worker is asked, the answer.

Each want has a number, `Document.wanted`; what comes of an older one is kept and not shown.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from tirlens.session.ahead import import_pipeline
from tirlens.session.listener import Listener, Status
from tirlens.session.lowering import Lowerings
from tirlens.session.publishing import Answer, Publisher, Question
from tirlens.session.workers import Workers
from tirlens.worker_client import Interpreter, WorkerClient, find_interpreter
from tirlens_worker.protocol import Result

if TYPE_CHECKING:
    from pathlib import Path

    from tirlens import pipeline
    from tirlens.session.analysis import Reading
    from tirlens.session.configuration import Configuration
    from tirlens.session.document import Document
    from tirlens.session.readings import Readings
    from tirlens_worker.protocol import Analyze, Progress

logger = logging.getLogger(__name__)


class Analyses:
    """The analyses of all open documents."""

    def __init__(
        self, listener: Listener, readings: Readings, configuration: Callable[[], Configuration]
    ) -> None:
        self.workers = Workers()
        self.durations_s: deque[float] = deque(maxlen=50)
        self._listener = listener
        self._readings = readings
        self._configuration = configuration
        self._publisher = Publisher(listener, configuration)
        self._lowerings = Lowerings(self.workers, lambda: self._kept, self._publisher)
        self._asked: dict[Document, tuple[Question, Analyze]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._wrong_settings: dict[Path, tuple[str, ...]] = {}
        self._next_id = 0

    @cached_property
    def _kept(self) -> pipeline.KeptParts:
        """Made late, as all that needs the pipeline: its import takes longer than an answer may."""
        from tirlens import pipeline

        return pipeline.KeptParts()

    def begin(self, document: Document) -> None:
        """Bring the analysis of `document` up to date with its saved text and the settings."""
        document.wanted += 1
        document.cancelled = False
        wanted = document.wanted
        work = partial(self._analyze, document, wanted)
        task = asyncio.ensure_future(
            self._guarded(document, lambda: document.wanted == wanted, work)
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def follow(self, document: Document, files: Iterable[str]) -> None:
        """Bring the analysis of `document` up to date with `files`, on which it depends."""
        asked = self._asked.get(document)
        if asked is not None and not all(map(asked[0].plan.is_older, files)):
            # What is under way may have read them before.
            del self._asked[document]
        self.begin(document)

    def give_up(self, document: Document) -> None:
        """Let no worker go on with `document`, and show nothing of what was wanted before."""
        document.wanted += 1
        self._stop(document)

    def forget(self) -> None:
        """Have everything asked anew."""
        self._kept.forget()

    async def close(self) -> None:
        """Give up all analyses and end the workers."""
        for task in self._tasks:
            task.cancel()
        await self.workers.close()

    async def _analyze(self, document: Document, wanted: int) -> None:
        if not self._configuration().trusted:
            self._stop(document)
            self._listener.status(Status(document.uri, "untrusted"))
        reading = await self._readings.of_saved_text(document)
        if not self._configuration().trusted:
            if document.wanted == wanted:
                self._listener.read(document)
            return
        question = await self._question(document, wanted, reading)
        if not question.is_current:
            return
        request, problem = question.plan.request, question.interpreter.problem
        if request is None or problem is not None:
            self._withdraw(document)
            # No worker is asked in vain: it may be at work for a file that it does suit.
            told = Result(request.id, problems=(problem,)) if request and problem else None
            known = await asyncio.to_thread(question.plan.result, told)
            self._kept.keep(question.plan.whole.path, {}, question.plan.used)
            await self._answer(Answer(question, known))
            return
        document.running = True
        self._listener.status(_status(question, "analyzing"))
        if self._is_asked(question, request):
            return
        self._asked[document] = question, request
        self._lowerings.stop(document)

        async def job(client: WorkerClient) -> None:
            work = partial(self._run, client, question, request)
            await self._guarded(document, lambda: question.is_current, work)

        self.workers.submit(question.interpreter, document.uri, job)

    async def _question(self, document: Document, wanted: int, reading: Reading) -> Question:
        """Who is to analyse `reading`, and what of it is not known yet."""
        configuration = self._configuration()
        environment = partial(_environment, configuration, document, reading)
        interpreter, wrong = await asyncio.to_thread(environment)
        self._tell_once(document.path.parent, wrong)
        # Its start takes longer than all that is done here meanwhile.
        self.workers.warm(interpreter)
        await import_pipeline()
        self._next_id += 1
        runs_under = f"{interpreter.path}\0{interpreter.frameworks}"
        path = str(document.path)
        plan = partial(configuration.plan, self._next_id, document, reading, runs_under)
        while True:
            version = self._kept.version(path)
            found = await asyncio.to_thread(plan, self._kept.of(path))
            # What was told meanwhile is not asked again.
            if found.request is None or self._kept.version(path) == version:
                return Question(document, wanted, reading, interpreter, found)

    def _tell_once(self, folder: Path, wrong: tuple[str, ...]) -> None:
        """Tell what is wrong with the settings of the project around `folder`, unless it is told.

        What has been mended is told again when it comes back.
        """
        told = {problem for problems in self._wrong_settings.values() for problem in problems}
        self._wrong_settings[folder] = wrong
        new = [problem for problem in wrong if problem not in told]
        if new:
            self._listener.report_settings(new)

    def _is_asked(self, question: Question, request: Analyze) -> bool:
        """Whether it is under way: settings may change that a worker does not hear of."""
        asked, its_request = self._asked.get(question.document, (None, request))
        if asked is None or asked.interpreter != question.interpreter:
            return False
        if replace(its_request, id=request.id) != request:
            return False
        asked.wanted, asked.reading = question.wanted, question.reading
        asked.plan = question.plan.since(asked.plan)
        return True

    async def _run(self, client: WorkerClient, question: Question, request: Analyze) -> None:
        """Have the worker do what is asked, and publish it if that is still wanted."""
        began = time.perf_counter()
        try:
            if not question.is_current:
                return
            fresh = await client.analyze(request, partial(self._progress, question))
            duration_s = time.perf_counter() - began
            plan = question.plan
            result, parts = await asyncio.to_thread(_completed, plan, fresh)
            # Also what is not wanted any more: much of what is asked next is in it.
            self._kept.keep(plan.whole.path, parts, plan.used)
        finally:
            # From now on the same is asked anew, and not before it is kept: it would run twice.
            if self._asked.get(question.document, (None,))[0] is question:
                del self._asked[question.document]
        if question.is_current:
            self.durations_s.append(duration_s)
            await self._answer(Answer(question, result, duration_s))

    async def _answer(self, answer: Answer) -> None:
        question = answer.question
        lowering = await self._publisher.publish(answer)
        if question.is_current:
            self._ended(question.document)
            self._lowerings.follow(answer, lowering)
            # Last: who is told that a file is ready has been told what there is to see in it.
            self._listener.status(_status(question, "ready"))

    def _stop(self, document: Document) -> None:
        """Let no worker go on with `document`."""
        self._asked.pop(document, None)
        self._lowerings.stop(document)
        self.workers.cancel(document.uri)
        self._ended(document)

    def _withdraw(self, document: Document) -> None:
        """Let no worker go on with an analysis of `document`; one that lowers it may."""
        self._asked.pop(document, None)
        self.workers.withdraw(document.uri)

    def _ended(self, document: Document) -> None:
        if document.running:
            document.running = False
            self._listener.progress(document.uri, None, 0, 0)

    def _progress(self, question: Question, note: Progress) -> None:
        if question.is_current:
            self._listener.progress(question.document.uri, note.message, note.done, note.total)

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
                self._listener.status(Status(document.uri, "error", message))


def _environment(
    configuration: Configuration, document: Document, reading: Reading
) -> tuple[Interpreter, tuple[str, ...]]:
    """The interpreter for a reading, and what is wrong with its project's settings."""
    setting, wrong = configuration.interpreter_setting(document.path)
    interpreter = find_interpreter(
        document.path,
        setting=setting,
        editor=configuration.editor_interpreter,
        framework_hint=reading.source.framework_hint,
    )
    return interpreter, wrong


def _completed(plan: pipeline.Plan, fresh: Result) -> tuple[Result, Mapping[bytes, pipeline.Part]]:
    """What is known with `fresh`, the answer to `plan`, and its parts that are worth keeping."""
    result = plan.result(fresh)
    return result, plan.kept(result)


def _status(question: Question, state: str) -> Status:
    interpreter, analysis = question.interpreter, question.document.analysis
    message = ""
    if interpreter.problem is not None:
        state, message = "no-framework", interpreter.problem.message
    devices = analysis.report.devices if analysis is not None else ()
    return Status(
        question.document.uri,
        state,
        message,
        str(interpreter.path),
        interpreter.why,
        dict(interpreter.frameworks),
        devices[0].id if devices else None,
    )
