"""The second tier in the editor: kernels are lowered when nothing else is to be done.

An analysis that is asked for while a file is lowered makes it wait.  Each top-level name is
therefore lowered by itself, and what had been lowered by then is kept.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirlens import pipeline
    from tirlens.session.document import Document
    from tirlens.session.publishing import Answer, Publisher
    from tirlens.session.workers import Workers
    from tirlens.worker_client import WorkerClient

ATTEMPTS = 3
"""How often lowering is begun while its worker is lost each time."""


@dataclass(eq=False)
class _Wanted:
    """What is to be lowered for an answer."""

    answer: Answer
    plan: pipeline.Plan
    lost_workers: int = 0

    @property
    def document(self) -> Document:
        return self.answer.question.document


class Lowerings:
    """Has kernels lowered, and publishes their answers with what that tells."""

    def __init__(
        self, workers: Workers, kept: Callable[[], pipeline.KeptParts], publisher: Publisher
    ) -> None:
        self._workers = workers
        self._kept = kept
        self._publisher = publisher
        self._wanted: dict[Document, _Wanted] = {}

    def follow(self, answer: Answer, plan: pipeline.Plan | None) -> None:
        """Have `plan` done for `answer`, in place of what was wanted of its document before.

        What is being lowered for an older answer goes on to its end: most of it is the same.
        """
        if plan is None or plan.request is None:
            self.stop(answer.question.document)
        else:
            wanted = self._wanted[answer.question.document] = _Wanted(answer, plan)
            self._defer(wanted)

    def stop(self, document: Document) -> None:
        """Lower nothing of `document` any more."""
        if self._wanted.pop(document, None) is not None:
            self._workers.cancel_deferred(document.uri)

    def _defer(self, wanted: _Wanted) -> None:
        async def job(client: WorkerClient) -> None:
            if self._is_wanted(wanted):
                await self._lower(client, wanted)

        self._workers.defer(wanted.answer.question.interpreter, wanted.document.uri, job)

    async def _lower(self, client: WorkerClient, wanted: _Wanted) -> None:
        """Have one name lowered of what is not known by now; publish when all is."""
        from tirlens import pipeline

        # Nothing is waited for before the worker is asked: a cancel before that would be lost.
        plan = wanted.plan.again()
        request = plan.next_request()
        if request is None:
            await self._publish(wanted)
            return
        answer = await client.analyze(request)
        if pipeline.was_cut_off(answer):
            if any(problem.kind == "cancelled" for problem in answer.problems):
                return
            wanted.lost_workers += 1
            if wanted.lost_workers < ATTEMPTS:
                self._go_on(wanted)
                return
            wanted.lost_workers = 0
        answer = pipeline.finished(request, answer)
        if answer.problems:
            return
        parts = await asyncio.to_thread(pipeline.lowered_parts, plan, request, answer)
        self._kept().keep(plan.whole.path, parts, plan.used)
        self._go_on(wanted)

    def _go_on(self, wanted: _Wanted) -> None:
        if self._is_wanted(wanted):
            self._defer(wanted)

    async def _publish(self, wanted: _Wanted) -> None:
        if self._is_wanted(wanted):
            del self._wanted[wanted.document]
            await self._publisher.publish(wanted.answer)

    def _is_wanted(self, wanted: _Wanted) -> bool:
        return self._wanted.get(wanted.document) is wanted
