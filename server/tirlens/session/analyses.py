"""The analyses of open documents: planned, requested from a worker, evaluated and shown.

Each start has a generation number. The answer to a request of an earlier generation is cached, but
not shown.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tirlens.session.baseline_analysis import BaselineAnalyses
from tirlens.session.evaluation import Evaluation, evaluate
from tirlens.session.events import (
    EventSink,
    ProgressEnded,
    SettingsProblems,
    Status,
    TextRead,
    ViewChanged,
)
from tirlens.session.idle_lowering import IdleLowering
from tirlens.session.idle_trials import IdleTrials
from tirlens.session.job import Job, complete, find_environment, plan_job
from tirlens.session.late_imports import import_pipeline
from tirlens.session.repositories import Repositories
from tirlens.session.worker_queues import WorkerQueues
from tirlens_worker.protocol import Result

if TYPE_CHECKING:
    from pathlib import Path

    from tirlens import pipeline
    from tirlens.session.analysis import Analysis, Reading
    from tirlens.session.baselines import Pins
    from tirlens.session.configuration import Configuration
    from tirlens.session.document import Document
    from tirlens.session.readings import Readings
    from tirlens_worker.protocol import Analyze

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class _Pending:
    """A request that a worker has not answered, and the last job that waits for the answer."""

    job: Job
    request: Analyze
    answer: asyncio.Future[Result]
    began_s: float
    ahead: asyncio.Task[None] | None = None

    def is_same(self, job: Job, request: Analyze) -> bool:
        """Whether `request` is the pending one: a worker does not depend on all settings."""
        same_interpreter = self.job.interpreter == job.interpreter
        return same_interpreter and replace(self.request, id=request.id) == request


class Analyses:
    """The analyses of all open documents.

    Parameters
    ----------
    emit
        Receives what becomes of the analyses.
    readings
        Reads the texts of the documents.
    pins
        The versions that documents are compared with.

    Attributes
    ----------
    queues
        The requests to the workers.
    durations_s
        How long the workers took for the last requests, in seconds.
    """

    def __init__(self, emit: EventSink, readings: Readings, pins: Pins) -> None:
        self.queues = WorkerQueues(emit)
        self.durations_s: deque[float] = deque(maxlen=50)
        self._emit = emit
        self._readings = readings
        self._lowering = IdleLowering(self.queues)
        self._trials = IdleTrials(self.queues)
        self._repositories = Repositories()
        self._baselines = BaselineAnalyses(self.queues, self._lowering, self._repositories, pins)
        self._pending: dict[Document, _Pending] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._settings_problems: dict[Path, tuple[str, ...]] = {}
        self._last_id = 0

    @cached_property
    def _parts(self) -> pipeline.PartCache:
        # Made late, because importing the pipeline takes longer than an answer may.
        from tirlens import pipeline

        return pipeline.PartCache()

    @cached_property
    def _reports(self) -> pipeline.ReportCache:
        from tirlens import pipeline

        return pipeline.ReportCache()

    @cached_property
    def _measured(self) -> pipeline.MeasuredFiles:
        from tirlens import pipeline

        return pipeline.MeasuredFiles()

    def start(self, document: Document, configuration: Configuration) -> None:
        """Analyse the saved text of `document` with the present settings."""
        document.generation += 1
        document.is_cancelled = False
        if self.queues.drop_waiting(document.uri):
            self._pending.pop(document, None)
        self._run_task(self._analyze_safely(document, document.generation, configuration))

    def _run_task(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Start `work`, which `close` cancels."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def distrust_files(self, document: Document, files: Iterable[str]) -> None:
        """Do not reuse a pending request that may have read `files` before they changed."""
        pending = self._pending.get(document)
        if pending is not None and not all(map(pending.job.plan.is_older, files)):
            del self._pending[document]

    def stop(self, document: Document) -> None:
        """End the analysis of `document`, and show nothing of it."""
        document.generation += 1
        self._stop_worker(document)

    def clear_cache(self) -> None:
        """Forget all parts of earlier answers."""
        self._parts.clear()

    async def close(self) -> None:
        """End all analyses and the workers."""
        for task in self._tasks:
            task.cancel()
        self._repositories.close()
        await self.queues.close()

    async def _analyze_safely(
        self, document: Document, generation: int, configuration: Configuration
    ) -> None:
        """Analyse; a defect of the server is reported, and leaves no document in progress."""
        try:
            await self._analyze(document, generation, configuration)
        except Exception as error:
            logger.exception("An analysis failed")
            if document.generation == generation:
                self._end_progress(document)
                message = f"internal error: {type(error).__name__}: {error}"
                document.is_cancelled = True
                self._emit(Status(document.uri, "error", message))
                self._emit(ViewChanged(document, hints=False, lenses=True))

    async def _analyze(
        self, document: Document, generation: int, configuration: Configuration
    ) -> None:
        if not configuration.trusted:
            self._stop_worker(document)
            self._emit(Status(document.uri, "untrusted"))
        reading = await self._readings.of_saved_text(document)
        if not configuration.trusted:
            if document.generation == generation:
                self._emit(TextRead(document))
            return
        job = await self._plan(document, generation, configuration, reading)
        if not job.is_current:
            return
        request, problem = job.plan.request, job.interpreter.problem
        if problem is not None:
            problem = replace(problem, span=reading.source.framework_import)
        if request is None or problem is not None:
            self._pending.pop(document, None)
            self.queues.cancel_submitted(document.uri)
            answer = Result(request.id, problems=(problem,)) if request and problem else None
            result = await asyncio.to_thread(job.plan.result, answer)
            self._parts.add(job.path, {}, job.plan.used_keys)
        else:
            document.is_running = True
            self._emit(_status(job, "analyzing"))
            pending = self._submit(job, request)
            job = pending.job
            answered = await self._answer(pending, job)
            if answered is None:
                return
            result = answered
        await self._show(job, result)
        await self._search_calls(job)
        if job.is_current:
            await self._compare(job)
        if job.is_current:
            await self._try_edits(job, result)

    async def _search_calls(self, job: Job) -> None:
        """Search the calls of the kernels in other files; analyse again where there are others."""
        document = job.document
        source = job.reading.source
        has_others = await self._repositories.search(document.path, source)
        if not job.is_current:
            return
        if has_others:
            self.start(document, job.configuration)
        elif document.analysis is not None and document.analysis.awaited_calls:
            await self._show_again(job, replace(document.analysis, awaited_calls=frozenset()))

    async def _compare(self, job: Job) -> None:
        """Show how the kernels differ from those of the pinned version."""
        document = job.document
        version = await self._baselines.version(job, self._parts, self._reports)
        if not job.is_current or document.analysis is None or version is document.baseline:
            return
        is_same = await asyncio.to_thread(lambda: version == document.baseline)
        if not is_same and job.is_current:
            document.baseline = version
            await self._show_again(job, replace(document.analysis, baseline=version))

    async def _try_edits(self, job: Job, result: Result) -> None:
        """Try the edits of the advice, and offer those that save time."""
        analysis = job.document.analysis
        if analysis is not None and await self._trials.run(job, analysis.report):
            await self._evaluate(job, result)

    async def _show_again(self, job: Job, analysis: Analysis) -> None:
        """Show the analysis of `job` with other lenses."""
        # Computed in a thread, and not when the client asks for them.
        display = job.display
        await asyncio.to_thread(lambda: analysis.lenses(display))
        if job.is_current:
            job.document.show(analysis, display, job.document.hints(display))
            self._emit(ViewChanged(job.document, hints=False, lenses=True))

    async def _plan(
        self,
        document: Document,
        generation: int,
        configuration: Configuration,
        reading: Reading,
    ) -> Job:
        """The interpreter for `reading`, and the request for what is not in the cache."""
        environment = await asyncio.to_thread(find_environment, configuration, document, reading)
        problems = (*environment.problems, *self._repositories.problems)
        self._report_settings(document.path.parent, problems)
        document.project = environment.project
        # Started first: this takes longer than all that follows.
        self.queues.warm(environment.interpreter)
        await import_pipeline()
        source = await asyncio.to_thread(
            self._repositories.with_captured_calls, document.path, reading.source
        )
        source = self._repositories.with_known_calls(document.path, source)
        await asyncio.to_thread(self._measured.times_of, document.path)
        if self._measured.problems:
            stored = (text for texts in self._measured.problems.values() for text in texts)
            self._report_settings(document.path.parent, (*problems, *stored))
        reading = replace(reading, source=source)
        self._last_id += 1
        identity = self._last_id
        while True:
            parts = self._parts.parts(str(document.path))
            job = await asyncio.to_thread(
                plan_job, identity, document, generation, configuration, reading, environment, parts
            )
            # A part that was cached in the meantime need not be requested.
            if job.plan.request is None or self._parts.parts(job.path) is parts:
                return job

    def _submit(self, job: Job, request: Analyze) -> _Pending:
        """The pending request for `job`: `request`, or the one that a worker has already."""
        document = job.document
        pending = self._pending.get(document)
        if pending is not None and pending.is_same(job, request):
            pending.job = job.with_start_of(pending.job.plan)
            return pending
        self._lowering.stop(document)

        def on_step(result: Result) -> None:
            started.ahead = self._run_task(self._evaluate_ahead(started, started.ahead, result))

        steps = job.plan.steps
        answer = self.queues.submit(job.interpreter, document.uri, request, steps, on_step)
        started = self._pending[document] = _Pending(job, request, answer, time.perf_counter())
        return started

    async def _evaluate_ahead(
        self, pending: _Pending, before: asyncio.Task[None] | None, result: Result
    ) -> None:
        """Evaluate a part of the answer while the worker continues, after the part `before`."""
        from tirlens import pipeline

        if before is not None:
            await asyncio.wait([before])
        job = pending.job
        if job.is_current:
            await asyncio.to_thread(
                pipeline.file_report, job.plan.source, result, job.options, job.path, self._reports
            )

    async def _answer(self, pending: _Pending, job: Job) -> Result | None:
        """The result of `job`; None if it is not current or a later job waits for the answer."""
        document = job.document
        try:
            answer = await asyncio.shield(pending.answer)
            if pending.job is not job:
                return None
            if pending.ahead is not None:
                await asyncio.wait([pending.ahead])
            duration_s = time.perf_counter() - pending.began_s
            plan = job.plan
            result, parts = await asyncio.to_thread(complete, plan, answer)
            # The parts of an obsolete answer too: most of them hold for the next text.
            self._parts.add(job.path, parts, plan.used_keys)
        finally:
            # Not before the parts are cached: an equal request would be sent again.
            if pending.job is job and self._pending.get(document) is pending:
                del self._pending[document]
        if pending.job is not job or not job.is_current:
            return None
        self.durations_s.append(duration_s)
        return result

    async def _show(self, job: Job, result: Result) -> None:
        """Evaluate `result` and show it; then lower its kernels and show it again."""
        evaluation = await self._evaluate(job, result)
        if evaluation is None:
            return
        document, lowering = job.document, evaluation.lowering
        self._end_progress(document)
        # Last: a client that receives "ready" has all events that belong to it.
        self._emit(_status(job, "ready"))
        if lowering is None or lowering.request is None:
            self._lowering.stop(document)
        elif await self._lowering.run(job, lowering, self._parts):
            await self._evaluate(job, result)

    async def _evaluate(self, job: Job, result: Result) -> Evaluation | None:
        """Evaluate `result` and let the document show it; None if the job is not current."""
        evaluation = await asyncio.to_thread(
            evaluate,
            job,
            result,
            self._parts.parts(job.path),
            self._reports,
            self._repositories.awaited_kernels,
            self._trials.known,
            self._measured,
        )
        if not job.is_current:
            return None
        document, before = job.document, job.document.analysis
        analysis, hints, display = evaluation.analysis, evaluation.hints, evaluation.display
        hints_before = document.hints(display)
        document.show(analysis, display, hints)
        if document.reading is None or document.reading.text == job.reading.text:
            document.reading = job.reading
        if before is None or before.text != analysis.text:
            # Equal hints are at other lines, or were not shown on lines that were edited.
            changed = bool(hints or hints_before)
            self._emit(ViewChanged(document, hints=changed, lenses=True))
        elif (before.report, before.lens_parts) != (analysis.report, analysis.lens_parts):
            self._emit(
                ViewChanged(
                    document,
                    hints=hints != hints_before,
                    lenses=before.lenses(display) != analysis.lenses(display),
                )
            )
        return evaluation

    def _report_settings(self, folder: Path, problems: tuple[str, ...]) -> None:
        """Report the problems of the settings of the project of `folder`, each once.

        A problem that was corrected is reported again when it returns.
        """
        reported = {problem for known in self._settings_problems.values() for problem in known}
        self._settings_problems[folder] = problems
        new = [problem for problem in problems if problem not in reported]
        if new:
            self._emit(SettingsProblems(new))

    def _stop_worker(self, document: Document) -> None:
        """Let no worker continue with `document`."""
        self._pending.pop(document, None)
        self._lowering.stop(document)
        self._baselines.stop(document)
        self.queues.cancel(document.uri)
        self._end_progress(document)

    def _end_progress(self, document: Document) -> None:
        if document.is_running:
            document.is_running = False
            self._emit(ProgressEnded(document.uri))


def _status(job: Job, state: str) -> Status:
    interpreter, analysis = job.interpreter, job.document.analysis
    message = ""
    if interpreter.problem is not None:
        state, message = "no-framework", interpreter.problem.message
    device = analysis.report.devices[0].id if analysis is not None else job.named_device
    return Status(
        job.document.uri,
        state,
        message,
        str(interpreter.path),
        interpreter.why,
        dict(interpreter.frameworks),
        device,
    )
