"""Requirements 3, 16 and 17: the worker is the first process of a namespace of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tirlens_worker
from support.robust import marked, new_mark, until
from tirlens_worker.protocol import Result

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="namespaces of Linux"),
]
Run = Callable[..., Result]

# Says who is who, then does what it is told to.
SCRIPT = """
import os, signal, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from tirlens_worker.isolation import namespace
guard = os.getpid()
if not namespace.enter(os.getppid(), as_user=sys.argv[2] == "as user"):
    print("impossible", flush=True)
    sys.exit()
daemon = subprocess.Popen(["sleep", "77"], start_new_session=True)
print(guard, namespace.pid_outside(), os.getpid(), os.getuid(), flush=True)
print(*(name for name in os.listdir("/proc") if name.isdigit()), flush=True)
exec(sys.stdin.readline())
"""
IMPORTS = "import os\nfrom tvm.script import tirx as T\n"
KERNEL = """
@T.prim_func
def double(A: T.Buffer((1024,), "float32")):
    for i in T.serial(1024):
        A[i] = A[i] * T.float32(2)
"""


class Entered:
    """A process that has entered a namespace, and its guard."""

    def __init__(self, way: str) -> None:
        self.mark = new_mark()
        folder = str(Path(tirlens_worker.__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, folder, way],
            env={**os.environ, **self.mark},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        words = self._words()
        if words == ["impossible"]:
            self.process.wait()
            pytest.skip("this system lets nobody make a namespace of processes")
        self.guard, self.outside, self.inside, self.user = map(int, words)
        self.visible = set(map(int, self._words()))

    def _words(self) -> list[str]:
        assert self.process.stdout is not None
        return self.process.stdout.readline().split()

    def do(self, statement: str) -> int:
        """The exit status after `statement`, negative for a signal."""
        assert self.process.stdin is not None
        self.process.stdin.write(statement + "\n")
        self.process.stdin.flush()
        return self.process.wait(20)


@pytest.fixture(params=["as user", "as root"])
def entered(request: pytest.FixtureRequest) -> Iterator[Entered]:
    if request.param == "as root" and os.getuid() != 0:
        pytest.skip("only root needs no user namespace")
    found = Entered(request.param)
    yield found
    found.process.kill()
    found.process.wait()


def test_03_nothing_outlives_the_guard_or_the_first_process(entered: Entered) -> None:
    assert entered.guard == entered.process.pid
    assert {entered.guard, entered.outside} < marked(entered.mark).keys()
    os.kill(entered.outside, signal.SIGKILL)
    assert entered.process.wait(20) == -signal.SIGKILL
    until(lambda: not marked(entered.mark), 10, "the end of all")


def test_03_nothing_outlives_a_guard_that_is_killed(entered: Entered) -> None:
    os.kill(entered.guard, signal.SIGKILL)
    until(lambda: not marked(entered.mark), 10, "the end of all")


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("", 0),
        ("sys.exit(7)", 7),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV),
        ("raise KeyError", 1),
    ],
)
def test_03_the_guard_ends_as_the_first_process_does(
    entered: Entered, statement: str, status: int
) -> None:
    assert entered.do(statement) == status
    until(lambda: not marked(entered.mark), 10, "the end of all")


def test_17_no_process_outside_is_seen(entered: Entered) -> None:
    assert entered.inside == 1
    assert entered.user == os.getuid()
    assert entered.visible <= {1, 2, 3}


@pytest.mark.parametrize(
    "statement",
    [
        "x = os.kill(os.getppid(), 9)",
        "x = os.kill(1, 9)",
        "x = os.kill(-1, 9)",
        "x = os.kill(-1, 15)",
    ],
)
def test_16_a_file_cannot_kill_the_worker_or_anything_outside(
    entered: Entered, run_tvm: Run, statement: str
) -> None:
    """Run only where there are namespaces: elsewhere it would end all that the user runs."""
    for _ in range(2):
        result = run_tvm(IMPORTS + statement + "\n" + KERNEL)
        assert [facts.name for facts in result.kernels] == ["double"]
        assert result.problems == ()
        assert entered.process.poll() is None
