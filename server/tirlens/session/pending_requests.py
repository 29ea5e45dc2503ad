"""The requests of analyses that no worker has answered, at most one for each document.

A later analysis of the same text waits for the answer to the request of an earlier one. While a
worker continues, the parts that it has answered are evaluated ahead.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from tirlens.session.job import Job, complete
from tirlens_worker.protocol import Result

if TYPE_CHECKING:
    from tirlens.session.caches import Caches
    from tirlens.session.document import Document
    from tirlens.session.idle_tiers import IdleTiers
    from tirlens.session.worker_queues import WorkerQueues
    from tirlens_worker.protocol import Analyze

RunTask: TypeAlias = Callable[[Coroutine[None, None, None]], asyncio.Task[None]]


@dataclass(eq=False)
class Pending:
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


class PendingRequests:
    """The pending requests of all open documents.

    Parameters
    ----------
    queues
        The queues of the workers.
    tiers
        Is stopped for a document about which a request is sent.
    caches
        Receive the parts of the answers, and the reports that are evaluated ahead.
    run_task
        Starts a task that ends with the session.

    Attributes
    ----------
    durations_s
        How long the workers took for the last requests, in seconds.
    """

    def __init__(
        self, queues: WorkerQueues, tiers: IdleTiers, caches: Caches, run_task: RunTask
    ) -> None:
        self.durations_s: deque[float] = deque(maxlen=50)
        self._queues = queues
        self._tiers = tiers
        self._caches = caches
        self._run_task = run_task
        self._pending: dict[Document, Pending] = {}

    def forget(self, document: Document) -> None:
        """Let no later job wait for the pending request about `document`."""
        self._pending.pop(document, None)

    def distrust_files(self, document: Document, files: Iterable[str]) -> None:
        """Forget a request that may have read `files` before they changed."""
        pending = self._pending.get(document)
        if pending is not None and not all(map(pending.job.plan.is_older, files)):
            self.forget(document)

    def submit(self, job: Job, request: Analyze) -> Pending:
        """The pending request for `job`: `request`, or the one that a worker has already."""
        document = job.document
        pending = self._pending.get(document)
        if pending is not None and pending.is_same(job, request):
            pending.job = job.with_start_of(pending.job.plan)
            return pending
        self._tiers.stop(document)

        def on_step(result: Result) -> None:
            started.ahead = self._run_task(self._evaluate_ahead(started, started.ahead, result))

        steps = job.plan.steps
        answer = self._queues.submit(job.interpreter, document.uri, request, steps, on_step)
        started = self._pending[document] = Pending(job, request, answer, time.perf_counter())
        return started

    async def answer(self, pending: Pending, job: Job) -> Result | None:
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
            self._caches.parts.add(job.path, parts, plan.used_keys)
        finally:
            # Not before the parts are cached: an equal request would be sent again.
            if pending.job is job and self._pending.get(document) is pending:
                self.forget(document)
        if pending.job is not job or not job.is_current:
            return None
        self.durations_s.append(duration_s)
        return result

    async def _evaluate_ahead(
        self, pending: Pending, before: asyncio.Task[None] | None, result: Result
    ) -> None:
        """Evaluate a part of the answer while the worker continues, after the part `before`."""
        from tirlens import pipeline

        if before is not None:
            await asyncio.wait([before])
        job, reports = pending.job, self._caches.reports
        if job.is_current:
            await asyncio.to_thread(
                pipeline.file_report, job.plan.source, result, job.options, job.path, reports
            )
