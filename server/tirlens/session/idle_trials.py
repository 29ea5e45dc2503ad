"""The edits of advice in the editor: tried when no worker is needed for anything else.

Until then advice has no edit to offer. Trials are few (`pipeline.trials`), each is a request of its
own that an analysis interrupts, and an outcome is kept while the kernel is the same.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirlens import pipeline
    from tirlens.session.job import Job
    from tirlens.session.worker_queues import WorkerQueues
    from tirlens_worker.protocol import Analyze, Result

_MAX_OUTCOMES = 1000


class IdleTrials:
    """Tries the edits of open documents.

    Parameters
    ----------
    queues
        The queues of the workers.
    """

    def __init__(self, queues: WorkerQueues) -> None:
        self._queues = queues
        self._known: OrderedDict[pipeline.TrialKey, pipeline.Outcome] = OrderedDict()

    @property
    def known(self) -> Mapping[pipeline.TrialKey, pipeline.Outcome]:
        """The outcomes of the trials so far."""
        return dict(self._known)

    async def run(self, job: Job, report: pipeline.FileReport) -> bool:
        """Try the edits of `report`, the report of `job`; whether there are new outcomes."""
        from tirlens import pipeline

        if job.interpreter.problem is not None:
            return False
        has_new = False
        for trial in await asyncio.to_thread(pipeline.trials, report, self.known):
            outcome = await self._outcome(job, trial)
            if outcome is None or not job.is_current:
                return has_new and job.is_current
            self._known[trial.key] = outcome
            has_new = True
            while len(self._known) > _MAX_OUTCOMES:
                self._known.popitem(last=False)
        return has_new

    async def _outcome(self, job: Job, trial: pipeline.Trial) -> pipeline.Outcome | None:
        """The outcome of a trial; None if another request has interrupted it."""
        from tirlens import pipeline

        request = await asyncio.to_thread(trial.request, job.path, job.options)
        result = await self._answer(job, request)
        if result is None:
            return None
        lowering = await asyncio.to_thread(trial.lowering, request, result, job.options)
        if lowering is not None:
            lowered = await self._answer(job, lowering)
            if lowered is None:
                return None
            lowered = pipeline.complete_lowering(lowering, lowered)
            result = pipeline.merge_lowerings(result, lowered)
        return await asyncio.to_thread(trial.outcome, result, job.options, job.path)

    async def _answer(self, job: Job, request: Analyze) -> Result | None:
        if not job.is_current:
            return None
        answer = await self._queues.defer(job.interpreter, job.document.uri, request)
        cancelled = any(problem.kind == "cancelled" for problem in answer.problems)
        return answer if job.is_current and not cancelled else None
