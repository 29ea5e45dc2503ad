"""The workers and their queues: one worker for each interpreter, one waiting job for each file.

Deferred jobs are run when nothing else is to be done, and make way for anything that is.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirlens.worker_client import Interpreter, WorkerClient

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)

Job = Callable[[WorkerClient], Awaitable[None]]


@dataclass
class _Queue:
    client: WorkerClient
    waiting: dict[str, Job] = field(default_factory=dict[str, Job])
    deferred: dict[str, Job] = field(default_factory=dict[str, Job])
    is_deferred: bool = False  # the running job
    running: str | None = None
    job: Job | None = None
    task: asyncio.Task[None] | None = None


class Workers:
    """Runs jobs under their interpreters, the file that was asked for last first."""

    def __init__(self) -> None:
        self._queues: dict[Path, _Queue] = {}

    def submit(self, interpreter: Interpreter, key: str, job: Job) -> None:
        """Queue `job`; it replaces the waiting job of file `key` and ends the running one."""
        queue = self._queue(interpreter, key)
        queue.waiting.pop(key, None)
        queue.deferred.pop(key, None)
        queue.waiting[key] = job
        if queue.is_deferred and queue.running != key and queue.running and queue.job:
            queue.deferred.setdefault(queue.running, queue.job)
        if queue.is_deferred or queue.running == key:
            queue.client.cancel()
        self._go_on(queue)

    def defer(self, interpreter: Interpreter, key: str, job: Job) -> None:
        """Run `job` of file `key` when nothing waits; it is interrupted and begun again at need."""
        queue = self._queue(interpreter, key)
        queue.deferred[key] = job
        self._go_on(queue)

    def _queue(self, interpreter: Interpreter, key: str) -> _Queue:
        """The queue of `interpreter`, the only one with jobs of file `key` from now on."""
        queue = self._queues.get(interpreter.path)
        for other in self._queues.values():
            if other is not queue:
                _drop(other, key)
        if queue is None or _has_changed(queue.client.interpreter, interpreter):
            replaced = queue
            queue = _Queue(WorkerClient(interpreter))
            self._queues[interpreter.path] = queue
            if replaced is not None:
                # What its packages have changed under goes on with the new ones.
                queue.waiting.update(replaced.waiting)
                queue.deferred.update(replaced.deferred)
                if replaced.running is not None and replaced.job is not None:
                    kind = queue.deferred if replaced.is_deferred else queue.waiting
                    kind.setdefault(replaced.running, replaced.job)
                self._end(replaced)
        return queue

    def _go_on(self, queue: _Queue) -> None:
        if queue.task is None or queue.task.done():
            queue.task = asyncio.ensure_future(self._run(queue))

    def warm(self, interpreter: Interpreter) -> None:
        """Start the worker of `interpreter` before it is needed."""
        if interpreter.problem is None and interpreter.path not in self._queues:
            queue = _Queue(WorkerClient(interpreter))
            self._queues[interpreter.path] = queue
            queue.task = asyncio.ensure_future(self._warm(queue))

    def cancel(self, key: str) -> None:
        """Drop the file's jobs, and end that which is running."""
        for queue in self._queues.values():
            _drop(queue, key)

    def withdraw(self, key: str) -> None:
        """Drop or end the file's job that was submitted; a deferred one stays."""
        for queue in self._queues.values():
            queue.waiting.pop(key, None)
            if queue.running == key and not queue.is_deferred:
                queue.client.cancel()

    def cancel_deferred(self, key: str) -> None:
        """Drop or end the file's job that was deferred; a submitted one stays."""
        for queue in self._queues.values():
            queue.deferred.pop(key, None)
            if queue.running == key and queue.is_deferred:
                queue.client.cancel()

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

    async def _warm(self, queue: _Queue) -> None:
        await queue.client.start()
        await self._run(queue)

    async def _run(self, queue: _Queue) -> None:
        while queue.waiting or queue.deferred:
            queue.is_deferred = not queue.waiting
            key, job = (queue.waiting or queue.deferred).popitem()
            queue.running, queue.job = key, job
            try:
                await job(queue.client)
            except Exception:
                # One file's mishap must not leave the others waiting.
                logger.exception("The analysis of %s failed", key)
            finally:
                queue.running = queue.job = None
                queue.is_deferred = False

    def _end(self, queue: _Queue) -> None:
        queue.waiting.clear()
        queue.deferred.clear()
        if queue.task is not None:
            queue.task.cancel()

        async def close() -> None:
            with contextlib.suppress(Exception):
                await queue.client.close()

        queue.task = asyncio.ensure_future(close())


def _has_changed(before: Interpreter, now: Interpreter) -> bool:
    """Whether there is something else to be had under the same path; why it was chosen is not."""
    return (before.python, before.frameworks) != (now.python, now.frameworks)


def _drop(queue: _Queue, key: str) -> None:
    queue.waiting.pop(key, None)
    queue.deferred.pop(key, None)
    if queue.running == key:
        queue.client.cancel()
