"""Analyses of pinned versions, with the arguments and the device of the present text.

A pinned version is analysed when the workers have nothing else to do. Its kernels that are the
same in the present text are in the cache already.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tirlens.ide.history import Version
from tirlens.session.document import Document
from tirlens.session.evaluation import evaluate
from tirlens.session.job import Job, complete, plan_other_text
from tirlens.session.readings import read_text

if TYPE_CHECKING:
    from tirlens import pipeline
    from tirlens.session.baselines import Baseline, Pins
    from tirlens.session.idle_tiers import IdleTiers
    from tirlens.session.repositories import Repositories
    from tirlens.session.worker_queues import WorkerQueues


@dataclass(frozen=True, eq=False)
class _Twin:
    """The document that holds the pinned version of an open one; its analyses share the lock."""

    document: Document
    step: asyncio.Lock = field(default_factory=asyncio.Lock)


class BaselineAnalyses:
    """Analyses the pinned versions of open documents.

    Parameters
    ----------
    queues
        The queues of the workers.
    tiers
        Lowers and compiles the kernels.
    repositories
        Has the calls of kernels in other files.
    pins
        The pinned versions.
    """

    def __init__(
        self,
        queues: WorkerQueues,
        tiers: IdleTiers,
        repositories: Repositories,
        pins: Pins,
    ) -> None:
        self._queues = queues
        self._tiers = tiers
        self._repositories = repositories
        self._pins = pins
        self._twins: dict[Document, _Twin] = {}

    async def version(
        self, job: Job, parts: pipeline.PartCache, reports: pipeline.ReportCache
    ) -> Version | None:
        """The analysed baseline of the document of `job`; None if none is pinned.

        Where the analysis is interrupted it is the one that the document has.
        """
        document = job.document
        baseline = await asyncio.to_thread(self._pins.find, document.path)
        if baseline is None:
            return None
        twin = self._twins.get(document)
        if twin is None:
            hidden = Document(f"{document.uri}#baseline", document.path, 0, "", "")
            twin = self._twins[document] = _Twin(hidden)
        async with twin.step:
            if not job.is_current:
                return document.baseline
            version = await self._analyze(job, baseline, twin.document, parts, reports)
        return version or document.baseline

    def stop(self, document: Document) -> None:
        """Analyse the baseline of `document` no more."""
        twin = self._twins.pop(document, None)
        if twin is not None:
            self._tiers.stop(twin.document)
            self._queues.cancel(twin.document.uri)

    async def _analyze(
        self,
        job: Job,
        baseline: Baseline,
        document: Document,
        parts: pipeline.PartCache,
        reports: pipeline.ReportCache,
    ) -> Version | None:
        from tirlens import pipeline

        reading = await read_text(baseline.text, document.path)
        source = self._repositories.with_known_calls(document.path, reading.source)
        reading = replace(reading, source=source)
        own = await asyncio.to_thread(
            plan_other_text, job, document, reading, parts.parts(job.path)
        )
        request, plan = own.plan.request, own.plan
        if request is None:
            result = await asyncio.to_thread(plan.result, None)
            parts.add(own.path, {}, plan.used_keys)
        else:
            answer = await self._queues.defer(own.interpreter, document.uri, request)
            if pipeline.was_interrupted(answer):
                return None
            result, found = await asyncio.to_thread(complete, plan, answer)
            parts.add(own.path, found, plan.used_keys)
        evaluation = await asyncio.to_thread(evaluate, own, result, parts.parts(own.path), reports)
        for _ in range(pipeline.FURTHER_TIERS):
            if evaluation.next_tier is None:
                break
            kernels = evaluation.analysis.result.kernels
            await self._tiers.run(own, evaluation.next_tier, kernels, parts)
            evaluation = await asyncio.to_thread(
                evaluate, own, result, parts.parts(own.path), reports
            )
        return evaluation.analysis.as_version(baseline.name)
