"""The order of requests to the workers, and which interrupts which.  No process is started."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tirlens.session.worker_queues import WorkerQueues
from tirlens.worker_client import Interpreter, WorkerClient
from tirlens_worker.protocol import Analyze, Problem, Result

PYTHON = Interpreter(Path(sys.executable), "a test")
OTHER = Interpreter(Path(sys.executable).with_name("another"), "a test")
CANCELLED = Problem("cancelled", "cancelled")
Steps = Callable[[WorkerQueues, list[str]], Awaitable[None]]
Play = Callable[[Steps], list[str]]


def request(name: str) -> Analyze:
    """A request that is called by its path; one that begins with "long" ends by a cancel only."""
    return Analyze(id=0, path=name, text="", kernels=())


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    """Performs steps; the paths of the requests in the order in which they ran."""

    def run(steps: Steps) -> list[str]:
        runs: list[str] = []
        cancels: dict[WorkerClient, asyncio.Event] = {}

        async def analyze(client: WorkerClient, asked: Analyze, *_: Any) -> Result:
            runs.append(asked.path)
            if asked.path.startswith("long") and runs.count(asked.path) == 1:
                await cancels.setdefault(client, asyncio.Event()).wait()
                return Result(0, problems=(CANCELLED,))
            return Result(0)

        def cancel(client: WorkerClient) -> None:
            cancels.setdefault(client, asyncio.Event()).set()

        async def main() -> None:
            queues = WorkerQueues(lambda event: None)
            await steps(queues, runs)
            for _ in range(20):
                await asyncio.sleep(0)
            await queues.close()

        monkeypatch.setattr(WorkerClient, "analyze", analyze)
        monkeypatch.setattr(WorkerClient, "cancel", cancel)
        asyncio.run(main())
        return runs

    return run


def test_deferred_requests_come_last(play: Play) -> None:
    async def steps(queues: WorkerQueues, _: list[str]) -> None:
        queues.defer(PYTHON, "a", request("lower a"))
        queues.submit(PYTHON, "b", request("b"))
        queues.submit(PYTHON, "c", request("c"))

    assert play(steps) == ["c", "b", "lower a"]


def test_a_submitted_request_replaces_the_deferred_one_of_its_file(play: Play) -> None:
    async def steps(queues: WorkerQueues, _: list[str]) -> None:
        deferred = queues.defer(PYTHON, "a", request("lower a"))
        queues.submit(PYTHON, "a", request("a"))
        assert deferred.cancelled()

    assert play(steps) == ["a"]


def test_a_running_deferred_request_is_interrupted_and_runs_again(play: Play) -> None:
    async def steps(queues: WorkerQueues, runs: list[str]) -> None:
        deferred = queues.defer(PYTHON, "a", request("long a"))
        await asyncio.sleep(0)
        assert runs == ["long a"]
        queues.submit(PYTHON, "b", request("b"))
        assert await deferred == Result(0), "the answer is that of the second run"

    assert play(steps) == ["long a", "b", "long a"]


def test_a_running_deferred_request_of_the_same_file_does_not_run_again(play: Play) -> None:
    async def steps(queues: WorkerQueues, _: list[str]) -> None:
        deferred = queues.defer(PYTHON, "a", request("long a"))
        await asyncio.sleep(0)
        queues.submit(PYTHON, "a", request("a"))
        assert (await deferred).problems == (CANCELLED,)

    assert play(steps) == ["long a", "a"]


def test_a_closed_file_has_no_deferred_request(play: Play) -> None:
    async def steps(queues: WorkerQueues, _: list[str]) -> None:
        queues.defer(PYTHON, "a", request("lower a"))
        queues.defer(PYTHON, "b", request("lower b"))
        queues.cancel("a")

    assert play(steps) == ["lower b"]


def test_a_waiting_request_is_dropped(play: Play) -> None:
    async def steps(queues: WorkerQueues, _: list[str]) -> None:
        waiting = queues.submit(PYTHON, "a", request("a"))
        assert queues.drop_waiting("a")
        assert waiting.cancelled()
        assert not queues.drop_waiting("a")

    assert play(steps) == []


def test_a_file_has_requests_under_one_interpreter_only(play: Play) -> None:
    async def steps(queues: WorkerQueues, _: list[str]) -> None:
        queues.defer(PYTHON, "a", request("lower a"))
        queues.submit(OTHER, "a", request("a under another"))

    assert play(steps) == ["a under another"]


def test_steps_run_one_after_the_other_and_each_is_reported_at_once(play: Play) -> None:
    async def steps(queues: WorkerQueues, runs: list[str]) -> None:
        reported: list[tuple[Result, int]] = []
        whole = queues.submit(
            PYTHON,
            "a",
            request("whole"),
            [request("1"), request("2"), request("3")],
            lambda result: reported.append((result, len(runs))),
        )
        assert await whole == Result(0)
        assert reported == [(Result(0), 1), (Result(0), 2)]

    assert play(steps) == ["1", "2", "3"]


def test_no_step_follows_a_cancel(play: Play) -> None:
    async def steps(queues: WorkerQueues, _: list[str]) -> None:
        parts = [request("1"), request("long 2"), request("3")]
        whole = queues.submit(PYTHON, "a", request("whole"), parts)
        await asyncio.sleep(0)
        queues.cancel("a")
        assert CANCELLED in (await whole).problems

    assert play(steps) == ["1", "long 2"]


def test_a_cancel_after_the_answer_to_a_step_is_not_lost(play: Play) -> None:
    async def steps(queues: WorkerQueues, _: list[str]) -> None:
        whole = queues.submit(
            PYTHON,
            "a",
            request("whole"),
            [request("1"), request("2")],
            lambda _: queues.cancel("a"),
        )
        assert [problem.kind for problem in (await whole).problems] == ["cancelled"]

    assert play(steps) == ["1"]
