"""What an analysis starts ends with it, in a namespace and without one, and with its server."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tirlens_worker
from support.requests import request_of
from support.robust import is_in_time, marked, named, new_mark, until
from tirlens.worker_client.process import worker_environment
from tirlens_worker import codec
from tirlens_worker.protocol import Result

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="descendants are found on Linux"),
]
Run = Callable[..., Result]
SCRIPT = Path(tirlens_worker.__file__).with_name("__main__.py")
KERNEL = """
from tvm.script import tirx as T
@T.prim_func
def double(A: T.Buffer((1024,), "float32")):
    for i in T.serial(1024):
        A[i] = A[i] * T.float32(2)
"""
# By its name each process of a bomb is found, and all end by themselves after a while.
START = """
import ctypes, os, signal, time
END = time.monotonic() + 30
n = ctypes.CDLL(None).prctl(15, {name!r}.encode(), 0, 0, 0)
for s in (1, 2, 3, 15): h = signal.signal(s, signal.SIG_IGN)
"""
BOMBS = {
    "sessions": """
for _ in range(8):
    if os.fork() == 0: n = os.setsid()
n = time.sleep(30)
""",
    # Each process starts the next, in a session of its own, and ends.
    "chains": """
for _ in range(4):
    n = os.fork()
def run():
    while time.monotonic() < END:
        if os.fork(): os._exit(0)
        os.setsid()
if os.fork() == 0: run()
n = time.sleep(30)
""",
    "threads": """
import threading
def run():
    while time.monotonic() < END:
        if os.fork() == 0:
            os.setsid()
            time.sleep(30)
        time.sleep(0.1)
for _ in range(4):
    n = threading.Thread(target=run).start()
n = time.sleep(30)
""",
}


def _processes(name: str) -> list[int]:
    """The living processes with this name."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == name:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                found += [int(entry.name)] * (state not in "ZX")
    return found


@pytest.fixture
def name() -> Iterator[str]:
    """A name for processes, of which none is left after the test."""
    name = f"bomb-{uuid.uuid4().hex[:8]}"
    yield name
    for pid in _processes(name):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("bomb", BOMBS)
def test_09_processes_in_sessions_of_their_own_end_with_the_analysis(
    run_either: Run, name: str, bomb: str
) -> None:
    began = time.monotonic()
    result = run_either(START.format(name=name) + BOMBS[bomb] + KERNEL, limit_s=2.0)
    assert is_in_time(began, 3.0)
    (problem,) = result.problems
    assert problem.kind in ("timeout", "crash")
    until(lambda: not _processes(name), 2.0, "the end of all")
    after = run_either(KERNEL)
    assert (len(after.kernels), after.problems) == (1, ())


SERVER = """
import os, subprocess, sys
worker = subprocess.Popen(
    [sys.argv[1], sys.argv[2], str(os.getpid()), "--no-namespace"],
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
)
worker.wait()
"""


@pytest.mark.parametrize("who", ["server", "guard", "worker"])
def test_09_processes_in_sessions_of_their_own_end_with_each_of_those_above_them(
    tvm_python: Path, tmp_path: Path, name: str, who: str
) -> None:
    mark = new_mark()
    environment = {**worker_environment(os.environ), **mark}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tvm_python), str(SCRIPT)],
        stdin=subprocess.PIPE,
        env=environment,
    )
    assert server.stdin is not None
    text = START.format(name=name) + BOMBS["chains"] + KERNEL
    payload = codec.dumps(request_of(tmp_path / "a.py", text))
    server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(payload) + payload)
    server.stdin.flush()
    until(lambda: _processes(name), 30, "the bomb")
    (victim,) = [server.pid] if who == "server" else named(mark, f"tirlens-{who}")
    os.kill(victim, signal.SIGKILL)
    try:
        until(lambda: not _processes(name), 2.0, "the end of all")
        until(lambda: not named(mark, "tirlens-worker", "tirlens-guard"), 2.0, "their end")
        if who != "server":
            assert server.wait(5) == 0
        assert not marked(mark)
    finally:
        server.kill()
        server.wait()
