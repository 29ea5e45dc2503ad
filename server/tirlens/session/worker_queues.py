"""The queues of requests to the workers: one worker for each interpreter.

A queue has at most one waiting request for each file. Deferred requests run when nothing else is
to be done, and are interrupted by any other request.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from tirlens.session.events import EventSink, Progress
from tirlens.worker_client import Interpreter, WorkerClient
from tirlens_worker.protocol import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from tirlens_worker import protocol

logger = logging.getLogger(__name__)

_BROKEN_KINDS = frozenset({"cancelled", "crash", "interpreter", "timeout"})
_CANCELLED = Problem("cancelled", "the analysis was given up")


@dataclass(frozen=True, eq=False)
class _Job:
    """A request about the file `uri` and its answer, which is cancelled if the job is dropped."""

    uri: str
    request: protocol.Analyze
    is_deferred: bool
    answer: asyncio.Future[protocol.Result]
    steps: Sequence[protocol.Analyze] = ()
    on_step: Callable[[protocol.Result], None] | None = None


@dataclass
class _Queue:
    client: WorkerClient
    waiting: dict[str, _Job] = field(default_factory=dict[str, _Job])
    deferred: dict[str, _Job] = field(default_factory=dict[str, _Job])
    running: _Job | None = None
    is_cancelled: bool = False
    task: asyncio.Task[None] | None = None

    def add(self, job: _Job) -> None:
        """Put `job` in front, in place of the file's job of its kind."""
        jobs = self.deferred if job.is_deferred else self.waiting
        _drop(jobs, job.uri)
        jobs[job.uri] = job

    def cancel_running(self) -> None:
        """End the running job."""
        self.is_cancelled = True
        self.client.cancel()

    def is_running(self, uri: str, *, deferred: bool) -> bool:
        """Whether a job of the file `uri` of this kind is running."""
        job = self.running
        return job is not None and job.uri == uri and job.is_deferred == deferred


class WorkerQueues:
    """Sends requests to the workers of their interpreters, that of the last file first.

    Parameters
    ----------
    emit
        Receives the progress of submitted requests.
    """

    def __init__(self, emit: EventSink) -> None:
        self._emit = emit
        self._queues: dict[Path, _Queue] = {}

    def submit(
        self,
        interpreter: Interpreter,
        uri: str,
        request: protocol.Analyze,
        steps: Sequence[protocol.Analyze] = (),
        on_step: Callable[[protocol.Result], None] | None = None,
    ) -> asyncio.Future[protocol.Result]:
        """Queue `request`: it replaces the waiting request of file `uri` and ends the running one.

        Parameters
        ----------
        interpreter
            The Python of the worker.
        uri, request
            A file and the request about it.
        steps
            The requests that `request` consists of, which the worker gets one after the other.
        on_step
            Receives the answer to each step but the last.

        Returns
        -------
        The answer to all steps. It is cancelled if another request takes this one's place before
        it runs. The answer to a request that is ended while it runs has a problem ``cancelled``.
        """
        queue = self._queue_of(interpreter, uri)
        _drop(queue.deferred, uri)
        answer = asyncio.get_running_loop().create_future()
        job = _Job(uri, request, False, answer, steps, on_step)
        queue.add(job)
        running = queue.running
        if running is not None and running.is_deferred and running.uri != uri:
            # It is interrupted, and will run again.
            queue.deferred.setdefault(running.uri, running)
        if running is not None and (running.is_deferred or running.uri == uri):
            queue.cancel_running()
        self._resume(queue)
        return job.answer

    def defer(
        self, interpreter: Interpreter, uri: str, request: protocol.Analyze
    ) -> asyncio.Future[protocol.Result]:
        """Run `request` about file `uri` when nothing else waits, again if it is interrupted."""
        queue = self._queue_of(interpreter, uri)
        job = _new_job(uri, request, is_deferred=True)
        queue.add(job)
        self._resume(queue)
        return job.answer

    def warm(self, interpreter: Interpreter) -> None:
        """Start the worker of `interpreter` before it is needed."""
        if interpreter.problem is None and interpreter.path not in self._queues:
            queue = _Queue(WorkerClient(interpreter))
            self._queues[interpreter.path] = queue
            queue.task = asyncio.ensure_future(self._start(queue))

    def cancel(self, uri: str) -> None:
        """Drop or end all requests about the file."""
        self.cancel_submitted(uri)
        self.cancel_deferred(uri)

    def cancel_submitted(self, uri: str) -> None:
        """Drop or end the file's submitted request. A deferred one stays."""
        for queue in self._queues.values():
            _drop(queue.waiting, uri)
            if queue.is_running(uri, deferred=False):
                queue.cancel_running()

    def cancel_deferred(self, uri: str) -> None:
        """Drop or end the file's deferred request. A submitted one stays."""
        for queue in self._queues.values():
            _drop(queue.deferred, uri)
            if queue.is_running(uri, deferred=True):
                queue.cancel_running()

    def drop_waiting(self, uri: str) -> bool:
        """Drop the file's submitted request if it waits; whether there was one."""
        dropped = [_drop(queue.waiting, uri) for queue in self._queues.values()]
        return any(dropped)

    def drop_deferred(self, uri: str) -> None:
        """Drop the file's deferred request if it waits. A running one goes on."""
        for queue in self._queues.values():
            _drop(queue.deferred, uri)

    async def close(self) -> None:
        """End every worker."""
        queues, self._queues = list(self._queues.values()), {}
        for queue in queues:
            queue.waiting.clear()
            queue.deferred.clear()
            if queue.task is not None:
                queue.task.cancel()
        await asyncio.gather(*(queue.client.close() for queue in queues), return_exceptions=True)

    @property
    def clients(self) -> list[WorkerClient]:
        """A client for each interpreter that was needed."""
        return [queue.client for queue in self._queues.values()]

    def _queue_of(self, interpreter: Interpreter, uri: str) -> _Queue:
        """The queue of `interpreter`, the only one with requests about `uri` from now on."""
        queue = self._queues.get(interpreter.path)
        for other in self._queues.values():
            if other is not queue:
                _drop_all(other, uri)
        if queue is None or _has_changed(queue.client.interpreter, interpreter):
            replaced = queue
            queue = _Queue(WorkerClient(interpreter))
            self._queues[interpreter.path] = queue
            if replaced is not None:
                # The interpreter's packages have changed: its jobs go on with the new ones.
                queue.waiting.update(replaced.waiting)
                queue.deferred.update(replaced.deferred)
                if replaced.running is not None:
                    jobs = queue.deferred if replaced.running.is_deferred else queue.waiting
                    jobs.setdefault(replaced.running.uri, replaced.running)
                self._end(replaced)
        return queue

    def _resume(self, queue: _Queue) -> None:
        if queue.task is None or queue.task.done():
            queue.task = asyncio.ensure_future(self._run(queue))

    async def _start(self, queue: _Queue) -> None:
        await queue.client.start()
        await self._run(queue)

    async def _run(self, queue: _Queue) -> None:
        while queue.waiting or queue.deferred:
            _, job = (queue.waiting or queue.deferred).popitem()
            queue.running, queue.is_cancelled = job, False
            # Nothing is awaited before the worker is asked: a cancel before that would be lost.
            try:
                answer = await self._answer(queue, job)
            except Exception as error:
                # A failure for one file must not leave the others waiting.
                logger.exception("The analysis of %s failed", job.uri)
                if not job.answer.done():
                    job.answer.set_exception(error)
            else:
                is_queued_again = queue.deferred.get(job.uri) is job
                if not is_queued_again and not job.answer.done():
                    job.answer.set_result(answer)
            finally:
                queue.running = None

    async def _answer(self, queue: _Queue, job: _Job) -> protocol.Result:
        """The answer to a job, step by step until one says nothing about the text."""
        on_progress = None if job.is_deferred else partial(self._report, job.uri)
        steps = job.steps or (job.request,)
        answers: list[protocol.Result] = []
        for number, step in enumerate(steps, 1):
            answer = await queue.client.analyze(step, on_progress)
            answers.append(answer)
            if job.on_step is not None and number < len(steps):
                job.on_step(answer)
            if queue.is_cancelled or _is_broken(answer):
                break
        merged = answers[0] if len(answers) == 1 else _merge(answers)
        if queue.is_cancelled and len(answers) < len(steps):
            # It may have been cancelled between two steps.
            return replace(merged, problems=(*merged.problems, _CANCELLED))
        return merged

    def _report(self, uri: str, progress: protocol.Progress) -> None:
        self._emit(Progress(uri, progress.message, progress.done, progress.total))

    def _end(self, queue: _Queue) -> None:
        queue.waiting.clear()
        queue.deferred.clear()
        if queue.task is not None:
            queue.task.cancel()

        async def close() -> None:
            with contextlib.suppress(Exception):
                await queue.client.close()

        queue.task = asyncio.ensure_future(close())


def _new_job(uri: str, request: protocol.Analyze, is_deferred: bool) -> _Job:
    return _Job(uri, request, is_deferred, asyncio.get_running_loop().create_future())


def _is_broken(answer: protocol.Result) -> bool:
    """Whether the steps after `answer` would fare no better."""
    return any(item.kernel is None and item.kind in _BROKEN_KINDS for item in answer.problems)


def _merge(answers: Sequence[protocol.Result]) -> protocol.Result:
    """The answers to the steps of a request as one."""
    return replace(
        answers[0],
        kernels=tuple(item for answer in answers for item in answer.kernels),
        lowered=tuple(item for answer in answers for item in answer.lowered),
        needs=tuple(item for answer in answers for item in answer.needs),
        problems=tuple(dict.fromkeys(item for answer in answers for item in answer.problems)),
        files=tuple(dict.fromkeys(item for answer in answers for item in answer.files)),
        duration_s=sum(answer.duration_s for answer in answers),
        output="".join(dict.fromkeys(answer.output for answer in answers)),
    )


def _has_changed(before: Interpreter, now: Interpreter) -> bool:
    """Whether another Python, other frameworks or variables are at the same path."""
    return replace(before, why=now.why) != now


def _drop(jobs: dict[str, _Job], uri: str) -> bool:
    job = jobs.pop(uri, None)
    if job is not None:
        job.answer.cancel()
    return job is not None


def _drop_all(queue: _Queue, uri: str) -> None:
    _drop(queue.waiting, uri)
    _drop(queue.deferred, uri)
    if queue.running is not None and queue.running.uri == uri:
        queue.cancel_running()
