"""The ways of systems that are not Linux, taken here by the worker's options."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tirlens_worker
from support.requests import request_of
from support.robust import is_alive, is_in_time, until
from tirlens.worker_client import BlockingClient, find_interpreter
from tirlens.worker_client.process import descendants, worker_environment
from tirlens_worker import codec
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[..., Result]
SCRIPT = Path(tirlens_worker.__file__).with_name("__main__.py")
IMPORTS = "import os, sys, time\nfrom tvm.script import tirx as T\n"
KERNEL = """
@T.prim_func
def double(A: T.Buffer((1024,), "float32")):
    for i in T.serial(1024):
        A[i] = A[i] * T.float32(2)
"""
HANGING_FACTORY = """
def make(n=64):
    while True: n += 1  # here
    @T.prim_func
    def main(A: T.Buffer((n,), "float32")):
        A[0] = T.float32(0)
    return main
"""


@pytest.fixture(scope="module")
def run(tvm_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Analyse in a worker that does not fork."""
    folder = tmp_path_factory.mktemp("plain")
    interpreter = find_interpreter(folder, setting=tvm_python)
    with BlockingClient(interpreter, ("--no-fork",)) as client:

        def analyze(text: str, **options: Any) -> Result:
            return client.analyze(request_of(folder / "document.py", text, **options))

        analyze.folder = folder  # type: ignore[attr-defined]
        yield analyze


def _line(text: str, word: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if word in line)


def _well(run: Run) -> bool:
    after = run(IMPORTS + KERNEL)
    return [facts.name for facts in after.kernels] == ["double"] and after.problems == ()


def test_without_fork_kernels_are_analysed_one_text_after_the_other(run: Run) -> None:
    for size in (128, 256, 128):
        (facts,) = run(IMPORTS + KERNEL.replace("1024", str(size))).kernels
        assert facts.buffers[0].shape == (size,)


@pytest.mark.parametrize(
    ("statement", "kind", "words"),
    [
        ("import no_such_module  # here", "import", "no_such_module"),
        ("x = sys.exit(1)  # here", "trace", "sys.exit"),
        ("x = input()  # here", "trace", "EOF"),
        ("x = __import__('socket').socket()  # here", "trace", "no network"),
        ("while True: x = 1  # here", "timeout", "still being imported"),
        ("x = time.sleep(60)  # here", "timeout", "still being imported"),
        ("def f(:  # here", "syntax", "invalid syntax"),
    ],
)
def test_without_fork_a_bad_statement_is_told_once_at_its_line(
    run: Run, statement: str, kind: str, words: str
) -> None:
    text = IMPORTS + statement + "\n" + KERNEL
    limit_s = 1.5 if kind == "timeout" else 20.0
    began = time.monotonic()
    (problem,) = run(text, limit_s=limit_s).problems
    assert is_in_time(began, limit_s + 1.0)
    assert (problem.kind, problem.kernel) == (kind, None)
    assert words in problem.message
    assert problem.span is not None
    assert problem.span.line == _line(text, "# here")
    assert _well(run)


def test_without_fork_a_kernel_that_hangs_keeps_what_came_before(run: Run) -> None:
    text = IMPORTS + KERNEL + HANGING_FACTORY + KERNEL.replace("double", "after")
    result = run(text, limit_s=1.5)
    assert [facts.name for facts in result.kernels] == ["double"]
    hung, not_reached = result.problems
    assert (hung.kind, hung.kernel, not_reached.kernel) == ("timeout", "make", "after")
    assert hung.span is not None
    assert hung.span.line == _line(text, "# here")
    assert _well(run)


@pytest.mark.parametrize("end", ["os._exit(3)", "os.abort()", "__import__('ctypes').string_at(0)"])
def test_without_fork_a_crash_costs_a_worker_and_no_other_file(run: Run, end: str) -> None:
    text = IMPORTS + f"x = {end}  # here\n" + KERNEL
    (problem,) = run(text).problems
    assert problem.kind == "crash"
    assert problem.span is not None
    assert problem.span.line == _line(text, "# here")
    assert _well(run)


def test_without_fork_the_users_own_modules_are_read_anew(run: Run) -> None:
    helper = run.folder / "helper.py"  # type: ignore[attr-defined]
    for size in (32, 64):
        helper.write_text(f"SIZE = {size}\n")
        text = IMPORTS + "from helper import SIZE\n" + KERNEL.replace("1024", "SIZE")
        (facts,) = run(text).kernels
        assert facts.buffers[0].shape == (size,)


def test_without_fork_output_and_streams_do_not_reach_the_protocol(run: Run) -> None:
    for statement in (
        "x = print('y' * 10_000_000)\n",
        "x = os.write(1, b'Content-Length: 3\\r\\n\\r\\n{}x')\n",
        "sys.stdout = sys.stderr = None\n",
        "m = sys.modules.clear()\n",
    ):
        result = run(IMPORTS + statement + KERNEL)
        assert (len(result.kernels), result.problems) == (1, ()), statement
    assert _well(run)


SERVER = """
import os, subprocess, sys
worker = subprocess.Popen(
    [sys.argv[1], sys.argv[2], str(os.getpid()), *sys.argv[3:]],
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
)
print(worker.pid, flush=True)
worker.wait()
"""
HANG = "import subprocess\np = subprocess.Popen(['sleep', '61'])\nwhile True: x = 1\n"


@pytest.mark.parametrize(
    ("who", "options"),
    [
        ("server", ["--poll-parent"]),
        ("server", ["--poll-parent", "--no-fork"]),
        ("worker", ["--poll-parent"]),
    ],
)
def test_where_the_system_does_not_tell_of_a_parents_end_it_is_looked_for(
    tvm_python: Path, tmp_path: Path, who: str, options: list[str]
) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tvm_python), str(SCRIPT), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=worker_environment(os.environ),
    )
    assert server.stdin is not None
    assert server.stdout is not None
    worker = int(server.stdout.readline())
    # The pipe stays open in this process, so that its end is not what ends the worker.
    payload = codec.dumps(request_of(tmp_path / "a.py", HANG + IMPORTS + KERNEL))
    server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(payload) + payload)
    server.stdin.flush()
    until(lambda: any("sleep" in _command(pid) for pid in descendants(worker)), 30, "the child")
    pids = [worker, *descendants(worker)]
    os.kill(server.pid if who == "server" else worker, signal.SIGKILL)
    try:
        until(lambda: not any(is_alive(pid) for pid in pids), 2.0, "the end of all")
    finally:
        server.kill()
        server.wait()


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
