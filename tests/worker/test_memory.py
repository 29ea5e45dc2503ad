"""An analysis has a limit of memory, whatever number of processes and files in memory it takes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.requests import request_of
from tirlens import worker_client
from tirlens_worker.protocol import Result

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="memory is summed on Linux"),
]
Run = Callable[..., Result]
LIMIT_BYTES = 1 << 30
IMPORTS = "import mmap, os, time\nfrom tvm.script import tirx as T\n"
KERNEL = """
@T.prim_func
def double(A: T.Buffer((1024,), "float32")):
    for i in T.serial(1024):
        A[i] = A[i] * T.float32(2)
"""
WAIT = "n = time.sleep(60)  # here\n"
PART = "b'x' * (1 << 20)"
# Each of them takes more in all than the limit, and no process or file alone does.
TOO_MUCH = {
    "forks": f"""
for _ in range(4):
    if os.fork() == 0:
        b = [{PART} for _ in range(400)]
        time.sleep(60)
""",
    "forks of their own sessions": f"""
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        b = [{PART} for _ in range(400)]
        time.sleep(60)
""",
    "memfds": f"""
for _ in range(2):
    f = os.memfd_create('m')
    for _ in range(900):
        n = os.write(f, {PART})
""",
    "files of /dev/shm": f"""
for i in range(2):
    f = open(os.path.join(FOLDER, str(i)), 'wb')
    for _ in range(900):
        n = f.write({PART})
    f.close()
""",
    "shared mappings": f"""
m = mmap.mmap(-1, 900 << 20)
for i in range(900):
    n = m.write({PART})
f = os.memfd_create('m')
for _ in range(200):
    n = os.write(f, {PART})
""",
}
# Each of them seems to take more than the limit and does not.
ENOUGH = {
    "forks that share their pages": f"""
b = [{PART} for _ in range(600)]
c = [os.fork() for _ in range(1)]
if c[0] == 0: time.sleep(60)
n = time.sleep(0.5)
""",
    "a shared mapping in two processes": f"""
f = os.memfd_create('m')
for _ in range(600):
    n = os.write(f, {PART})
m = mmap.mmap(f, 600 << 20)
n = sum(m[::4096])
c = [os.fork() for _ in range(1)]
if c[0] == 0:
    n = sum(m[::4096])
    time.sleep(60)
n = time.sleep(0.5)
""",
    "a file of /dev/shm that was there before": """
f = open(os.path.join(FOLDER, 'old'), 'r+b')
m = mmap.mmap(f.fileno(), 0)
n = sum(m[::4096])
c = [os.fork() for _ in range(1)]
if c[0] == 0:
    n = sum(m[::4096])
    time.sleep(60)
n = time.sleep(0.5)
""",
}


@pytest.fixture(scope="module", params=[(), ("--no-namespace",)], ids=["alone", "shared"])
def run(
    request: pytest.FixtureRequest, tvm_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Run]:
    """Analyse in a worker with a limit of 1 GiB."""
    folder = tmp_path_factory.mktemp("memory")
    found = worker_client.find_interpreter(folder, setting=tvm_python)
    options = ("--memory", str(LIMIT_BYTES), *request.param)
    with worker_client.BlockingClient(found, options) as client:

        def analyze(text: str) -> Result:
            return client.analyze(request_of(folder / "a.py", IMPORTS + text, limit_s=20.0))

        assert analyze(KERNEL).problems == ()
        yield analyze


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder in memory, with a file of 600 MB."""
    folder = Path("/dev/shm") / f"tirlens-test-{os.getpid()}"
    folder.mkdir()
    with (folder / "old").open("wb") as file:
        for _ in range(600):
            file.write(b"x" * (1 << 20))
    yield folder
    subprocess.run(["rm", "-r", str(folder)], check=True)


@pytest.mark.parametrize("way", TOO_MUCH)
def test_more_than_the_limit_in_all_is_told(run: Run, shared_folder: Path, way: str) -> None:
    text = f"FOLDER = {str(shared_folder)!r}\n{TOO_MUCH[way]}{WAIT}{KERNEL}"
    began = time.monotonic()
    (problem,) = run(text).problems
    assert time.monotonic() - began < 15
    assert (problem.kind, problem.kernel) == ("memory", None)
    assert "more than 1 GiB of memory was taken while the file was imported" in problem.message
    assert problem.span is not None
    after = run(KERNEL)
    assert (len(after.kernels), after.problems) == (1, ())


@pytest.mark.parametrize("way", ENOUGH)
def test_memory_that_processes_share_counts_once(run: Run, shared_folder: Path, way: str) -> None:
    text = f"FOLDER = {str(shared_folder)!r}\n{ENOUGH[way]}{KERNEL}"
    result = run(text)
    assert (len(result.kernels), result.problems) == (1, ())
