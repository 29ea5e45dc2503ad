"""Which job of the workers' queue is next, and who makes way for whom.  No process is started."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from tirlens.session.workers import Job, Workers
from tirlens.worker_client import Interpreter, WorkerClient

PYTHON = Interpreter(Path(sys.executable), "a test")
OTHER = Interpreter(Path(sys.executable).with_name("another"), "a test")


class Log:
    """Jobs that note when they run; with a gate they last until it is opened."""

    def __init__(self) -> None:
        self.runs: list[str] = []

    def job(self, name: str, gate: asyncio.Event | None = None) -> Job:
        async def run(client: WorkerClient) -> None:
            self.runs.append(name)
            if gate is not None:
                await gate.wait()

        return run


def played(steps: Callable[[Workers, Log], Awaitable[None]]) -> list[str]:
    """The names of the jobs in the order in which they ran."""

    async def play() -> list[str]:
        workers, log = Workers(), Log()
        await steps(workers, log)
        for _ in range(20):
            await asyncio.sleep(0)
        await workers.close()
        return log.runs

    return asyncio.run(play())


def test_deferred_jobs_come_last() -> None:
    async def steps(workers: Workers, log: Log) -> None:
        workers.defer(PYTHON, "a", log.job("lower a"))
        workers.submit(PYTHON, "b", log.job("b"))
        workers.submit(PYTHON, "c", log.job("c"))

    assert played(steps) == ["c", "b", "lower a"]


def test_a_newer_analysis_of_the_file_replaces_its_deferred_job() -> None:
    async def steps(workers: Workers, log: Log) -> None:
        workers.defer(PYTHON, "a", log.job("lower a"))
        workers.submit(PYTHON, "a", log.job("a"))

    assert played(steps) == ["a"]


def test_a_running_deferred_job_makes_way_and_is_begun_again() -> None:
    async def steps(workers: Workers, log: Log) -> None:
        gate = asyncio.Event()
        workers.defer(PYTHON, "a", log.job("lower a", gate))
        await asyncio.sleep(0)
        assert log.runs == ["lower a"]
        workers.submit(PYTHON, "b", log.job("b"))
        gate.set()

    assert played(steps) == ["lower a", "b", "lower a"]


def test_a_running_deferred_job_of_the_same_file_is_not_begun_again() -> None:
    async def steps(workers: Workers, log: Log) -> None:
        gate = asyncio.Event()
        workers.defer(PYTHON, "a", log.job("lower a", gate))
        await asyncio.sleep(0)
        workers.submit(PYTHON, "a", log.job("a"))
        gate.set()

    assert played(steps) == ["lower a", "a"]


def test_a_closed_file_has_no_deferred_job() -> None:
    async def steps(workers: Workers, log: Log) -> None:
        workers.defer(PYTHON, "a", log.job("lower a"))
        workers.defer(PYTHON, "b", log.job("lower b"))
        workers.cancel("a")

    assert played(steps) == ["lower b"]


def test_a_file_has_jobs_under_one_interpreter_only() -> None:
    async def steps(workers: Workers, log: Log) -> None:
        workers.defer(PYTHON, "a", log.job("lower a"))
        workers.submit(OTHER, "a", log.job("a under another"))

    assert played(steps) == ["a under another"]
