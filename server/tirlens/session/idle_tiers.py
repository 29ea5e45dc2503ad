"""The further tiers in the editor: kernels are lowered, and then compiled, when no worker is needed
for anything else.

An analysis that is requested meanwhile interrupts them. Each top-level name is therefore a request
of its own, and what was done before an interruption is kept.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirlens import pipeline
    from tirlens.session.document import Document
    from tirlens.session.job import Job
    from tirlens.session.worker_queues import WorkerQueues
    from tirlens_worker.facts import KernelFacts
    from tirlens_worker.protocol import Analyze, Result

MAX_LOST_WORKERS = 3
"""How often a request is started while its worker is lost each time."""


@dataclass(frozen=True, eq=False)
class _Run:
    """The tiers of one job. Those of the same document share the lock."""

    job: Job
    step: asyncio.Lock = field(default_factory=asyncio.Lock)


class IdleTiers:
    """Lowers and compiles the kernels of open documents.

    Parameters
    ----------
    queues
        The queues of the workers.
    """

    def __init__(self, queues: WorkerQueues) -> None:
        self._queues = queues
        self._runs: dict[Document, _Run] = {}

    async def run(
        self,
        job: Job,
        plan: pipeline.Plan,
        kernels: Sequence[KernelFacts],
        cache: pipeline.PartCache,
    ) -> bool:
        """Lower or compile all kernels of `plan`, and add what is found to `cache`.

        `kernels` are the facts of the tier before. This run takes the place of an earlier one for
        the same document. Of that, the request that is under way is completed: most of it is the
        same.

        Returns
        -------
        bool
            Whether all is in the cache: false if the run was stopped or replaced.
        """
        document = job.document
        before = self._runs.get(document)
        run = self._runs[document] = _Run(job, before.step) if before else _Run(job)
        self._queues.drop_deferred(document.uri)
        lost_workers = 0
        while True:
            async with run.step:
                if self._runs.get(document) is not run:
                    return False
                plan = plan.with_cache(cache.parts(job.path))
                request = plan.next_request
                if request is None:
                    del self._runs[document]
                    return True
                answer = await self._queues.defer(job.interpreter, document.uri, request)
                if _lost_worker(answer) and (lost_workers := lost_workers + 1) < MAX_LOST_WORKERS:
                    continue
                lost_workers = 0
                if not await _add_parts(plan, request, answer, kernels, cache):
                    return False

    def stop(self, document: Document) -> None:
        """Lower and compile nothing of `document` any more."""
        if self._runs.pop(document, None) is not None:
            self._queues.cancel_deferred(document.uri)


def _lost_worker(answer: Result) -> bool:
    """Whether the worker died or could not start."""
    from tirlens import pipeline

    cancelled = any(problem.kind == "cancelled" for problem in answer.problems)
    return pipeline.was_interrupted(answer) and not cancelled


async def _add_parts(
    plan: pipeline.Plan,
    request: Analyze,
    answer: Result,
    kernels: Sequence[KernelFacts],
    cache: pipeline.PartCache,
) -> bool:
    """Add the parts of `answer` to `cache`; false if the answer says nothing about the text."""
    from tirlens import pipeline

    answer = await asyncio.to_thread(pipeline.complete_tier, request, answer, kernels)
    if answer.problems:
        return False
    parts = await asyncio.to_thread(pipeline.completed_parts, plan, request, answer)
    cache.add(plan.whole.path, parts, plan.used_keys)
    return True
