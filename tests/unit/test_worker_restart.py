"""A worker that ends is replaced once for each request.  No process is started."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tirlens.worker_client import Interpreter, WorkerClient, analysis_client
from tirlens_worker import codec
from tirlens_worker.protocol import PROTOCOL_VERSION, Analyze, Hello, Progress, Result

PYTHON = Interpreter(Path(sys.executable), "a test")
REQUEST = Analyze(7, "/a.py", "x = 1\n", ())
HELLO = codec.dumps(Hello(PROTOCOL_VERSION, "3.12.0", "python", 0, ()))


class FakeMark:
    """Shared memory of which nothing is known."""

    def clear(self) -> None:
        """Forget nothing."""

    def span_in(self, text: str) -> None:
        """No line."""


class FakeProcess:
    """A worker that answers requests, or ends: at once, at a request, or after a progress."""

    def __init__(self, end: str) -> None:
        self.mark = FakeMark()
        self.log = ""
        self.pid = 0
        self.requests: list[int] = []
        self._end = end
        self._answers = [HELLO, codec.dumps(Progress(0, "ready"))]

    @property
    def has_ended(self) -> bool:
        """Whether it has ended by itself and the system has told so."""
        return self._end == "idle" and not self._answers

    async def send(self, payload: bytes) -> None:
        """Take a request."""
        if self._end == "idle":
            raise BrokenPipeError
        self.requests.append(json.loads(payload)["id"])
        if self._end != "request":
            self._answers.append(codec.dumps(Progress(self.requests[-1], "running", 0, 1)))
        if self._end == "never":
            self._answers += [
                codec.dumps(Result(REQUEST.id, output="of another analysis")),
                codec.dumps(Result(self.requests[-1], output="good")),
            ]

    async def receive(self, most_bytes: int = 0) -> bytes:
        """The next answer."""
        if not self._answers:
            raise EOFError
        return self._answers.pop(0)

    async def kill(self) -> None:
        """It has ended."""

    async def wait(self) -> int:
        """The status of SIGKILL."""
        return -9


def analyze(
    monkeypatch: pytest.MonkeyPatch, ends: Sequence[str], repeats: int = 1
) -> tuple[list[Result], list[FakeProcess]]:
    """The results of a warm client whose workers end in these ways, one after the other."""
    processes = [FakeProcess(end) for end in ends]
    waiting = list(processes)

    async def start(*_: Any) -> FakeProcess:
        return waiting.pop(0)

    monkeypatch.setattr(analysis_client.Process, "start", start)

    async def scenario() -> list[Result]:
        client = WorkerClient(PYTHON)
        await client.start()
        return [await client.analyze(REQUEST) for _ in range(repeats)]

    return asyncio.run(scenario()), processes[: len(processes) - len(waiting)]


@pytest.mark.parametrize("end", ["idle", "request", "progress"])
def test_a_worker_that_ends_costs_no_result(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    (result,), started = analyze(monkeypatch, [end, "never"])
    assert (result.id, result.output, result.problems) == (REQUEST.id, "good", ())
    assert len(started) == 2


@pytest.mark.parametrize("end", ["request", "progress"])
def test_a_file_that_ends_two_workers_has_a_problem(
    monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    (result,), started = analyze(monkeypatch, [end, end, "never"])
    (problem,) = result.problems
    assert (result.id, problem.kind) == (REQUEST.id, "crash")
    assert "signal 9" in problem.message
    assert len(started) == 2


def test_the_next_request_has_a_new_worker_and_a_replacement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results, _ = analyze(monkeypatch, ["request", "request", "progress", "never"], 2)
    assert [len(result.problems) for result in results] == [1, 0]


def test_the_ids_of_requests_cannot_be_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else code of one analysis could write the result of another."""
    results, (process,) = analyze(monkeypatch, ["never"], 20)
    assert all(result.output == "good" for result in results)
    assert len({identity >> 24 for identity in process.requests}) == 20
