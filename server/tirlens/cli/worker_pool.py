"""Warm workers for the files of a command, several at a time."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Collection, Coroutine, Generator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tirlens.captured.candidates import CapturedCalls
from tirlens.captured.names import is_capture
from tirlens.cli.cluster import cluster
from tirlens.cli.outcome import print_note
from tirlens.cli.output import ShowProgress, progress
from tirlens.repository import SearchClient, root_of, targets_of, with_calls
from tirlens.source import SourceFile
from tirlens.worker_client import Interpreter, WorkerClient
from tirlens.worker_client.analysis_client import OnProgress
from tirlens.worker_client.in_executor import analyze_in, worker_key
from tirlens_worker.protocol import Analyze, Result

T = TypeVar("T")
# A worker that has imported tilelang and torch, and its child.
_WORKER_BYTES = 3 << 29
_MAX_JOBS = 16


class WorkerPool:
    """At most `jobs` workers, each of which stays warm from file to file.

    Attributes
    ----------
    say : callable
        Shows a line of progress.
    jobs : int
        Number of analyses at a time.
    calls : CallSearch
        The calls of the files' kernels outside of them.
    searcher : SearchClient
        Searches calls in repositories.
    executor : Executor or None
        Executes the analyses and the model in place of processes of this machine.
    """

    def __init__(self, say: ShowProgress, jobs: int, captured: CapturedCalls | None = None) -> None:
        self.say = say
        self.jobs = jobs
        self.executor: Executor | None = None
        self.searcher = SearchClient()
        self.searcher.start()
        self.calls = CallSearch(say, captured or CapturedCalls(), self.searcher)
        self._loop = asyncio.new_event_loop()
        self._slots = asyncio.Semaphore(jobs)
        self._idle: dict[tuple[object, ...], list[WorkerClient]] = {}
        self._clients: list[WorkerClient] = []

    def start_again(
        self, say: ShowProgress, jobs: int, captured: CapturedCalls | None = None
    ) -> None:
        """Use the pool for another command, which may come after changes of any file."""
        self.say = say
        self.jobs = jobs
        self.executor = None
        self.calls = CallSearch(say, captured or CapturedCalls(), self.searcher)
        self._slots = asyncio.Semaphore(jobs)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Execute `work`, which may await `analyze`, to its end."""
        return self._loop.run_until_complete(work)

    async def analyze(
        self, interpreter: Interpreter, request: Analyze, on_progress: OnProgress
    ) -> Result:
        """Analyse `request` in a worker under `interpreter`, as soon as one may run."""
        async with self._slots:
            if self.executor is not None:
                return await analyze_in(self.executor, interpreter, request)
            client = await self._take(interpreter)
            try:
                return await client.analyze(request, on_progress)
            finally:
                self._idle[worker_key(interpreter)].append(client)

    def close(self) -> None:
        """Give up what is running, and end all workers."""
        self.searcher.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        ends = (client.close() for client in self._clients)
        self.run(_gather(*tasks))
        self.run(_gather(*ends))
        self._loop.close()

    async def _take(self, interpreter: Interpreter) -> WorkerClient:
        idle = self._idle.setdefault(worker_key(interpreter), [])
        if idle:
            return idle.pop()
        if len(self._clients) >= self.jobs:
            # All slots have a worker, and one that is idle has another interpreter.
            other = next(clients for clients in self._idle.values() if clients).pop()
            self._clients.remove(other)
            await other.close()
        client = WorkerClient(interpreter)
        self._clients.append(client)
        return client


class CallSearch:
    """Calls of kernels outside of their files: captured ones, else those of their repository.

    Parameters
    ----------
    say
        Shows a line of progress.
    captured
        The captured calls.
    client
        Searches in repositories.
    store
        The file that stores the words of a repository; None for the user's cache folder.
    """

    def __init__(
        self,
        say: ShowProgress,
        captured: CapturedCalls,
        client: SearchClient,
        store: Path | None = None,
    ) -> None:
        self._say = say
        self._store = store
        self._captured = captured
        self._client = client
        self._reported: set[str] = set()
        self._lock = threading.Lock()

    def with_calls(
        self,
        source: SourceFile,
        path: Path,
        only_captured: bool = False,
        root: Path | None = None,
    ) -> SourceFile:
        """`source` with the calls of its kernels in other files, of the repository at `root`."""
        source = self._captured.with_calls(source, path, root)
        if not only_captured:
            source = self._with_repository_calls(source, path, root)
        problems = (*self._captured.problems.values(), *self._client.problems.values())
        with self._lock:
            for message in problems:
                if message not in self._reported:
                    self._reported.add(message)
                    print_note(message)
        return source

    def depends_on(self, source: SourceFile, path: Path, files: Collection[str]) -> bool:
        """Whether the calls of the kernels of `path` may be others if other files of its
        repository are, by their paths in it."""
        others = frozenset(files) - {str(path)}
        if any(is_capture(Path(name)) for name in others):
            return True
        root = root_of(path)
        if root is None:
            return False
        targets = [item for item in targets_of(source, path, root) if item is not None]
        return self._client.depends_on(root, targets, others, self._store)

    def _with_repository_calls(
        self, source: SourceFile, path: Path, root: Path | None
    ) -> SourceFile:
        root = root or root_of(path)
        if root is None or not source.kernels:
            return source
        return with_calls(
            source,
            path,
            root,
            lambda targets: self._client.search(
                root, targets, lambda count: self._say(f"{root}: {count} files read"), self._store
            ),
        )


@dataclass
class _Keeper:
    """The pool that is kept between the commands of a daemon."""

    is_active: bool = False
    pool: WorkerPool | None = None

    def close(self) -> None:
        pool, self.pool = self.pool, None
        if pool is not None:
            pool.close()


_keeper = _Keeper()


@contextmanager
def keep_workers() -> Generator[None, None, None]:
    """Keep the workers of each `worker_pool` for the next one, until the end."""
    _keeper.is_active = True
    try:
        yield
    finally:
        _keeper.is_active = False
        _keeper.close()


@contextmanager
def worker_pool(
    jobs: int | None = None,
    captured: CapturedCalls | None = None,
    scheduler: str | None = None,
) -> Generator[WorkerPool, None, None]:
    """A pool of workers, with progress on a terminal.

    `captured` are the captured calls; those of all capture files that are found, by default. The
    analyses are executed by the cluster of `scheduler`, if there is one.

    Raises:
        UsageError: the cluster cannot be reached.
    """
    with progress() as say, cluster(scheduler) as remote:
        jobs = jobs or (remote.tasks if remote else default_jobs())
        pool, _keeper.pool = _keeper.pool, None
        if pool is None:
            pool = WorkerPool(say, jobs, captured)
        else:
            pool.start_again(say, jobs, captured)
        pool.executor = remote and remote.executor
        is_complete = False
        try:
            yield pool
            is_complete = True
        finally:
            # What was interrupted may have left anything running.
            if is_complete and _keeper.is_active:
                _keeper.pool = pool
            else:
                pool.close()


def default_jobs() -> int:
    """As many workers as there are processors for this process and memory for their imports."""
    affinity = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(processors, _available_bytes() // _WORKER_BYTES, _MAX_JOBS))


def _available_bytes() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _MAX_JOBS * _WORKER_BYTES


async def _gather(*work: Any) -> None:
    await asyncio.gather(*work, return_exceptions=True)
