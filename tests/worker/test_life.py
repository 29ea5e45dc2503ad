"""A worker's processes end when they are told to, when they hang, and when their server is gone."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.requests import request_of
from support.robust import is_alive, is_in_time
from tirlens import worker_client
from tirlens.worker_client.process import Process, descendants
from tirlens_worker import codec
from tirlens_worker.protocol import Cancel, Problem, Result

pytestmark = pytest.mark.slow
IMPORTS = "import os, sys, subprocess, time\nfrom tvm.script import tirx as T\n"
# What a text does first, so as to show that it is being run.
STARTED = "started"
HANG = IMPORTS + f"f = open({STARTED!r}, 'w')\nn = time.sleep(60)\n"
DETACHED = (
    IMPORTS
    + "p = subprocess.Popen(['sleep', '61'], start_new_session=True)\n"
    + f"f = open({STARTED!r}, 'w')\nn = time.sleep(60)\n"
)


async def _until(true: Callable[[], object], seconds: float = 5.0) -> None:
    began = time.monotonic()
    while not true():
        assert is_in_time(began, seconds), "waited in vain"
        await asyncio.sleep(0.02)


def _client(python: Path, folder: Path) -> worker_client.WorkerClient:
    return worker_client.WorkerClient(worker_client.find_interpreter(folder, setting=python))


async def _hanging(
    client: worker_client.WorkerClient, folder: Path, text: str
) -> tuple[asyncio.Task[Result], list[int]]:
    """An analysis that hangs, once it does, and its worker's processes, the worker first."""
    assert await client.start() is None
    assert client.pid is not None
    pid = client.pid
    task = asyncio.ensure_future(client.analyze(request_of(folder / "a.py", text)))
    await _until((folder / STARTED).exists)
    return task, [pid, *descendants(pid)]


@pytest.mark.parametrize(("text", "processes"), [(HANG, 2), (DETACHED, 3)])
def test_a_cancelled_analysis_ends_at_once_and_the_worker_stays(
    tvm_python: Path, tmp_path: Path, text: str, processes: int
) -> None:
    async def scenario() -> None:
        client = _client(tvm_python, tmp_path)
        task, pids = await _hanging(client, tmp_path, text)
        assert len(pids) == processes
        began = time.monotonic()
        client.cancel()
        result = await task
        assert is_in_time(began, 1.0)
        assert [problem.kind for problem in result.problems] == ["cancelled"]
        assert not any(is_alive(pid) for pid in pids[1:])
        assert client.pid == pids[0]
        again = await client.analyze(request_of(tmp_path / "a.py", IMPORTS))
        assert again.problems == ()
        await client.close()
        assert not is_alive(pids[0])

    asyncio.run(scenario())


@pytest.mark.parametrize("how", ["close", "task", "kill"])
def test_nothing_survives(tvm_python: Path, tmp_path: Path, how: str) -> None:
    async def scenario() -> None:
        client = _client(tvm_python, tmp_path)
        task, pids = await _hanging(client, tmp_path, DETACHED)
        assert len(pids) >= 3
        if how == "close":
            began = time.monotonic()
            await client.close()
            assert [problem.kind for problem in (await task).problems] == ["cancelled"]
            assert is_in_time(began, 6.0), "no other worker was started"
        elif how == "task":
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            for _ in range(2):
                # The first time another worker is started, silently.
                assert client.pid is not None
                (tmp_path / STARTED).unlink()
                os.kill(client.pid, signal.SIGKILL)
                await _until(lambda: task.done() or (tmp_path / STARTED).exists(), 60.0)
                pids += [] if client.pid is None else [client.pid, *descendants(client.pid)]
            result = await task
            assert [problem.kind for problem in result.problems] == ["crash"]
        await _until(lambda: not any(is_alive(pid) for pid in pids))
        await client.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("when", ["idle", "asked", "known"])
def test_a_worker_that_is_killed_while_idle_costs_no_analysis(
    tvm_python: Path, tmp_path: Path, when: str
) -> None:
    text = IMPORTS + "@T.prim_func\ndef f(A: T.Buffer((8,), 'float32')):\n    A[0] = 1.0\n"

    async def scenario() -> None:
        client = _client(tvm_python, tmp_path)
        assert await client.start() is None
        assert client.pid is not None
        killed = client.pid
        if when == "asked":
            # It takes no request any more, and is killed when it has one.
            os.kill(killed, signal.SIGSTOP)
            task = asyncio.ensure_future(client.analyze(request_of(tmp_path / "a.py", text)))
            await asyncio.sleep(0.2)
            os.kill(killed, signal.SIGKILL)
        else:
            os.kill(killed, signal.SIGKILL)
            if when == "known":
                await asyncio.sleep(0.5)
            task = asyncio.ensure_future(client.analyze(request_of(tmp_path / "a.py", text)))
        result = await task
        assert ([kernel.name for kernel in result.kernels], result.problems) == (["f"], ())
        assert client.pid != killed
        await client.close()

    asyncio.run(scenario())


def test_a_worker_ends_with_its_server(tvm_python: Path, tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        f"""
import asyncio, sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from support.requests import request_of
from support.robust import is_alive, is_in_time
from tirlens import worker_client
async def main():
    found = worker_client.find_interpreter({str(tmp_path)!r}, setting={str(tvm_python)!r})
    client = worker_client.WorkerClient(found)
    await client.start()
    print(client.pid, flush=True)
    await client.analyze(request_of(Path({str(tmp_path / "a.py")!r}), {DETACHED!r}))
asyncio.run(main())
"""
    )
    server = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    assert server.stdout is not None
    pid = int(server.stdout.readline())

    async def scenario() -> None:
        await _until((tmp_path / STARTED).exists)
        pids = [pid, *descendants(pid)]
        assert len(pids) >= 3
        server.kill()
        server.wait()
        await _until(lambda: not any(is_alive(item) for item in pids))

    asyncio.run(scenario())


def test_a_text_that_keeps_crashing_is_left_alone(tvm_python: Path, tmp_path: Path) -> None:
    text = IMPORTS + "x = os._exit(3)\n"

    def problems(client: worker_client.BlockingClient, text: str) -> tuple[Problem, ...]:
        return client.analyze(request_of(tmp_path / "a.py", text)).problems

    found = worker_client.find_interpreter(tmp_path, setting=tvm_python)
    with worker_client.BlockingClient(found) as client:
        for _ in range(3):
            (problem,) = problems(client, text)
            assert problem.kind == "crash"
        before, note = problems(client, text)
        assert before == problem
        assert "crashed 3 times" in note.message
        assert problems(client, text.replace("os._exit(3)", "1")) == ()
        assert problems(client, text) == (problem,)


def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'no good' >&2\nexit 1\n")
    broken.chmod(0o755)
    interpreter = worker_client.Interpreter(path=broken, why="a test")
    result = worker_client.analyze_blocking(interpreter, request_of(tmp_path / "a.py", ""))
    (problem,) = result.problems
    assert problem.kind == "interpreter"
    assert "no good" in problem.message


def test_19_a_worker_that_does_not_start_is_started_again_later_and_later(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    broken = tmp_path / "python"
    broken.write_text(f"#!/bin/sh\necho >> {starts}\nexit 1\n")
    broken.chmod(0o755)
    ended_s = []

    async def scenario() -> None:
        client = worker_client.WorkerClient(worker_client.Interpreter(path=broken, why="a test"))
        began = time.monotonic()
        for _ in range(4):
            problem = await client.start()
            assert problem is not None
            assert problem.kind == "interpreter"
            ended_s.append(time.monotonic() - began)

    asyncio.run(scenario())
    assert len(starts.read_text().splitlines()) == 4
    # From the first start on, which a busy machine cannot bring nearer; nor is there a bound from
    # above.
    least_s = itertools.accumulate((0.0, 0.5, 1.0, 2.0))
    assert all(ended > 0.99 * least for ended, least in zip(ended_s, least_s, strict=True))


def test_a_cancel_that_comes_too_late_leaves_the_next_analysis_alone(
    tvm_python: Path, tmp_path: Path
) -> None:
    text = IMPORTS + "@T.prim_func\ndef f(A: T.Buffer((8,), 'float32')):\n    A[0] = 1.0\n"
    request = request_of(tmp_path / "a.py", text)

    async def scenario() -> None:
        process = await Process.start(tvm_python)
        assert await process.receive() and await process.receive()
        # The worker finds both in its pipe; the cancel is of an analysis that has ended.
        await process.send(codec.dumps(request))
        await process.send(codec.dumps(Cancel(request.id - 1)))
        while '"$":"Result"' not in (answer := (await process.receive()).decode()):
            pass
        result = codec.loads(Result, answer.encode())
        assert [len(result.kernels), result.problems] == [1, ()]
        await process.close()

    asyncio.run(scenario())
