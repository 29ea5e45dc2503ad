"""The workers and their queues: one worker for each interpreter, one waiting job for each file."""

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
    running: str | None = None
    job: Job | None = None
    task: asyncio.Task[None] | None = None


class Workers:
    """Runs jobs under their interpreters, the file that was asked for last first."""

    def __init__(self) -> None:
        self._queues: dict[Path, _Queue] = {}

    def submit(self, interpreter: Interpreter, key: str, job: Job) -> None:
        """Queue `job`; it replaces the waiting job of file `key` and ends the running one."""
        queue = self._queues.get(interpreter.path)
        for other in self._queues.values():
            if other is not queue:
                _drop(other, key)
        if queue is None or queue.client.interpreter != interpreter:
            replaced = queue
            queue = _Queue(WorkerClient(interpreter))
            self._queues[interpreter.path] = queue
            if replaced is not None:
                # What its packages have changed under goes on with the new ones.
                queue.waiting.update(replaced.waiting)
                if replaced.running is not None and replaced.job is not None:
                    queue.waiting.setdefault(replaced.running, replaced.job)
                self._end(replaced)
        queue.waiting.pop(key, None)
        queue.waiting[key] = job
        if queue.running == key:
            queue.client.cancel()
        if queue.task is None or queue.task.done():
            queue.task = asyncio.ensure_future(self._run(queue))

    def warm(self, interpreter: Interpreter) -> None:
        """Start the worker of `interpreter` before it is needed."""
        if interpreter.problem is None and interpreter.path not in self._queues:
            queue = _Queue(WorkerClient(interpreter))
            self._queues[interpreter.path] = queue
            queue.task = asyncio.ensure_future(self._warm(queue))

    def cancel(self, key: str) -> None:
        """Drop the file's waiting job and end its running one."""
        for queue in self._queues.values():
            _drop(queue, key)

    async def close(self) -> None:
        """End every worker."""
        queues, self._queues = list(self._queues.values()), {}
        for queue in queues:
            queue.waiting.clear()
            if queue.task is not None:
                queue.task.cancel()
        await asyncio.gather(*(queue.client.close() for queue in queues), return_exceptions=True)

    @property
    def clients(self) -> list[WorkerClient]:
        return [queue.client for queue in self._queues.values()]

    async def _warm(self, queue: _Queue) -> None:
        await queue.client.start()
        await self._run(queue)

    async def _run(self, queue: _Queue) -> None:
        while queue.waiting:
            key, job = queue.waiting.popitem()
            queue.running, queue.job = key, job
            try:
                await job(queue.client)
            except Exception:
                # One file's mishap must not leave the others waiting.
                logger.exception("The analysis of %s failed", key)
            finally:
                queue.running = queue.job = None

    def _end(self, queue: _Queue) -> None:
        queue.waiting.clear()
        if queue.task is not None:
            queue.task.cancel()

        async def close() -> None:
            with contextlib.suppress(Exception):
                await queue.client.close()

        queue.task = asyncio.ensure_future(close())


def _drop(queue: _Queue, key: str) -> None:
    queue.waiting.pop(key, None)
    if queue.running == key:
        queue.client.cancel()
