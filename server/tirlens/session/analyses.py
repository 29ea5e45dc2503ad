"""The analyses of open documents: planned, requested from a worker, evaluated and shown.

Each start has a generation number. The answer to a request of an earlier generation is cached, but
not shown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING

from tirlens.session.baseline_analysis import BaselineAnalyses
from tirlens.session.caches import Caches
from tirlens.session.evaluation import Evaluation, evaluate
from tirlens.session.events import (
    EventSink,
    HintsChanged,
    ProgressEnded,
    SettingsProblems,
    Status,
    TextRead,
    ViewChanged,
)
from tirlens.session.idle_tiers import IdleTiers
from tirlens.session.idle_trials import IdleTrials
from tirlens.session.job import Job, find_environment, plan_job
from tirlens.session.late_imports import import_pipeline
from tirlens.session.pending_requests import PendingRequests
from tirlens.session.repositories import Repositories
from tirlens.session.worker_queues import WorkerQueues
from tirlens_worker.protocol import Result

if TYPE_CHECKING:
    from pathlib import Path

    from tirlens.session.analysis import Analysis, Reading
    from tirlens.session.baselines import Pins
    from tirlens.session.configuration import Configuration
    from tirlens.session.document import Document
    from tirlens.session.readings import Readings

logger = logging.getLogger(__name__)


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
    caches
        What is known of all documents.
    queues
        The queues of the workers.
    requests
        The requests that no worker has answered.
    """

    def __init__(self, emit: EventSink, readings: Readings, pins: Pins) -> None:
        self.caches = Caches()
        self.queues = WorkerQueues(emit)
        self._emit = emit
        self._readings = readings
        self._tiers = IdleTiers(self.queues)
        self.requests = PendingRequests(self.queues, self._tiers, self.caches, self._run_task)
        self._trials = IdleTrials(self.queues)
        self._repositories = Repositories()
        self._baselines = BaselineAnalyses(self.queues, self._tiers, self._repositories, pins)
        self._tasks: set[asyncio.Task[None]] = set()
        self._settings_problems: dict[Path, tuple[str, ...]] = {}
        self._last_id = 0

    def start(self, document: Document, configuration: Configuration) -> None:
        """Analyse the saved text of `document` with the present settings."""
        document.generation += 1
        document.is_cancelled = False
        if self.queues.drop_waiting(document.uri):
            self.requests.forget(document)
        self._run_task(self._analyze_safely(document, document.generation, configuration))

    def _run_task(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Start `work`, which `close` cancels."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def stop(self, document: Document) -> None:
        """End the analysis of `document`, and show nothing of it."""
        document.generation += 1
        self._stop_worker(document)

    def clear_cache(self) -> None:
        """Forget all parts of earlier answers."""
        self.caches.parts.clear()

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
            self.requests.forget(document)
            self.queues.cancel_submitted(document.uri)
            answer = Result(request.id, problems=(problem,)) if request and problem else None
            result = await asyncio.to_thread(job.plan.result, answer)
            self.caches.parts.add(job.path, {}, job.plan.used_keys)
        else:
            document.is_running = True
            self._emit(_status(job, "analyzing"))
            pending = self.requests.submit(job, request)
            job = pending.job
            answered = await self.requests.answer(pending, job)
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
        version = await self._baselines.version(job, self.caches.parts, self.caches.reports)
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
        await asyncio.to_thread(self.caches.measured.times_of, document.path)
        if self.caches.measured.problems:
            stored = (text for texts in self.caches.measured.problems.values() for text in texts)
            self._report_settings(document.path.parent, (*problems, *stored))
        reading = replace(reading, source=source)
        self._last_id += 1
        identity = self._last_id
        while True:
            parts = self.caches.parts.parts(str(document.path))
            job = await asyncio.to_thread(
                plan_job, identity, document, generation, configuration, reading, environment, parts
            )
            # A part that was cached in the meantime need not be requested.
            if job.plan.request is None or self.caches.parts.parts(job.path) is parts:
                return job

    async def _show(self, job: Job, result: Result) -> None:
        """Evaluate `result` and show it; then lower and compile its kernels, and show it again."""
        from tirlens import pipeline

        evaluation = await self._evaluate(job, result)
        if evaluation is None:
            return
        document = job.document
        self._end_progress(document)
        # Last: a client that receives "ready" has all events that belong to it.
        self._emit(_status(job, "ready"))
        for _ in range(pipeline.FURTHER_TIERS):
            if evaluation is None or evaluation.next_tier is None:
                break
            kernels = evaluation.analysis.result.kernels
            if not await self._tiers.run(job, evaluation.next_tier, kernels, self.caches.parts):
                return
            evaluation = await self._evaluate(job, result)
        if evaluation is not None:
            self._tiers.stop(document)

    async def _evaluate(self, job: Job, result: Result) -> Evaluation | None:
        """Evaluate `result` and let the document show it; None if the job is not current.

        Advice takes many evaluations of the model: the hints of another text, which have none of
        it, come first.
        """
        document, before = job.document, job.document.analysis
        if job.options.advice and (before is None or before.text != job.reading.text):
            without = replace(job, options=replace(job.options, advice=False))
            figures = await self._run_model(without, result)
            if figures is None:
                return None
            if _show_evaluation(document, figures):
                self._emit(HintsChanged(document))
        evaluation = await self._run_model(job, result)
        if evaluation is None:
            return None
        hints = _show_evaluation(document, evaluation)
        if document.reading is None or document.reading.text == job.reading.text:
            document.reading = job.reading
        analysis, display = evaluation.analysis, evaluation.display
        if before is None or before.text != analysis.text:
            self._emit(ViewChanged(document, hints, lenses=True))
        elif (before.report, before.lens_parts) != (analysis.report, analysis.lens_parts):
            lenses = before.lenses(display) != analysis.lenses(display)
            self._emit(ViewChanged(document, hints, lenses))
        return evaluation

    async def _run_model(self, job: Job, result: Result) -> Evaluation | None:
        """The evaluation of `result`; None if the job is not current."""
        evaluation = await asyncio.to_thread(
            evaluate,
            job,
            result,
            self.caches.parts.parts(job.path),
            self.caches.reports,
            self._repositories.awaited_kernels,
            self._trials.known,
            self.caches.measured,
        )
        return evaluation if job.is_current else None

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
        self.requests.forget(document)
        self._tiers.stop(document)
        self._baselines.stop(document)
        self.queues.cancel(document.uri)
        self._end_progress(document)

    def _end_progress(self, document: Document) -> None:
        if document.is_running:
            document.is_running = False
            self._emit(ProgressEnded(document.uri))


def _show_evaluation(document: Document, evaluation: Evaluation) -> bool:
    """Let `document` show an evaluation; whether its hints are others, or at other lines."""
    analysis, hints, display = evaluation.analysis, evaluation.hints, evaluation.display
    before, hints_before = document.analysis, document.hints(display)
    document.show(analysis, display, hints)
    if before is None or before.text != analysis.text:
        # Equal hints are at other lines, or were not shown on lines that were edited.
        return bool(hints or hints_before)
    return hints != hints_before


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
