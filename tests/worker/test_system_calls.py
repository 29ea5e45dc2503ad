"""What the filter of system calls and Landlock keep analysed code from, on any Linux."""

from __future__ import annotations

import errno
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.robust import is_alive
from tirlens_worker.isolation import landlock, seccomp
from tirlens_worker.isolation.seccomp import Protected
from tirlens_worker.protocol import Result

Run = Callable[..., Result]
KERNEL = """
from tvm.script import tirx as T
@T.prim_func
def double(A: T.Buffer((1024,), "float32")):
    for i in T.serial(1024):
        A[i] = A[i] * T.float32(2)
"""
# Signal 0 only asks whether a signal could be sent, so that a failing test ends nothing.
USES = """
import ctypes, os, resource
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    if libc.syscall(*map(ctypes.c_long, arguments)) < 0:
        raise OSError(ctypes.get_errno(), "")
uses = {
    "all": lambda: os.kill(-1, 0),
    "worker": lambda: os.kill(WORKER, 0),
    "thread": lambda: call(TGKILL, WORKER, WORKER, 0),
    "descriptor": lambda: call(434, WORKER, 0),
    "trace": lambda: call(PTRACE, 16, WORKER, 0, 0),
    "limits": lambda: resource.prlimit(WORKER, resource.RLIMIT_CPU),
    "itself": lambda: os.kill(os.getpid(), 0),
    "own group": lambda: os.kill(0, 0),
    "own child": lambda: os.kill(CHILD, 9),
}
said = {}
WORKER = os.getppid()
GROUP = os.getpgid(WORKER)
if GROUP:  # Within a namespace it has none.
    uses["its group"] = lambda: os.killpg(GROUP, 0)
    uses["membership"] = lambda: os.setpgid(0, GROUP)
TGKILL, PTRACE = (234, 101) if os.uname().machine == "x86_64" else (131, 117)
CHILD = os.fork()
if CHILD == 0:
    while True: pass
for name, use in uses.items():
    try: said[name] = use() and 0
    except OSError as error: said[name] = error.errno
"""
FILTERED = pytest.mark.skipif(
    sys.platform != "linux" or seccomp.filter_program(os.uname().machine, Protected()) is None,
    reason="no filter of system calls for this machine",
)


@pytest.mark.slow
@FILTERED
def test_09_the_worker_and_its_ancestors_cannot_be_signalled(
    run_either: Run, tmp_path: Path
) -> None:
    said = tmp_path / "said"
    text = f"{USES}\nn = open({str(said)!r}, 'w').write(repr(said))\n{KERNEL}"
    result = run_either(text)
    assert (len(result.kernels), result.problems) == (1, ())
    answers = eval(said.read_text())
    own = ("itself", "own group", "own child")
    assert [answers.pop(name) for name in own] == [None, None, None]
    assert answers.keys() >= {"all", "worker", "thread", "descriptor", "trace", "limits"}
    assert set(answers.values()) == {errno.EPERM}


@pytest.fixture
def bystander() -> Iterator[int]:
    """A process of the user that has nothing to do with an analysis."""
    process = subprocess.Popen(["sleep", "60"])
    yield process.pid
    process.kill()
    process.wait()


@pytest.mark.slow
@pytest.mark.skipif(not landlock.can_scope_signals(), reason="no Landlock with scopes")
@pytest.mark.parametrize(
    "use",
    [
        "x = os.kill(PID, 9)",
        "x = subprocess.run(['kill', '-9', str(PID)], check=True)",
        "x = open(f'/proc/{PID}/mem', 'r+b')",
    ],
)
def test_09_no_process_of_the_user_can_be_signalled_or_changed(
    run_either: Run, bystander: int, use: str
) -> None:
    text = f"import os, subprocess\nPID = {bystander}\n{use}\n{KERNEL.replace('1024', 'x or 8')}"
    (problem,) = run_either(text).problems
    assert problem.span is not None
    assert problem.span.line == 3
    assert is_alive(bystander)


def test_the_filter_is_known_for_the_usual_machines_only() -> None:
    for machine in ("x86_64", "aarch64", "riscv64"):
        program = seccomp.filter_program(machine, Protected())
        assert program is not None
        assert len(program) % 8 == 0
    assert seccomp.filter_program("vax", Protected()) is None


@pytest.mark.parametrize(
    ("architecture", "number", "first", "refused"),
    [
        (0xC000003E, 41, socket.AF_INET, "EACCES"),
        (0xC000003E, 41, 10, "EACCES"),
        (0xC000003E, 41, 17, "EACCES"),
        (0xC000003E, 41, socket.AF_UNIX, None),
        (0xC000003E, 41, 16, None),
        (0xC000003E, 0, socket.AF_INET, None),
        (0xC000003E, 425, 0, "EACCES"),
        (0xC000003E, 0x40000000 + 41, 1, "EACCES"),
        (0x40000003, 0, 0, "EACCES"),
        # kill
        (0xC000003E, 62, -1, "EPERM"),
        (0xC000003E, 62, 0, None),
        (0xC000003E, 62, 7, "EPERM"),
        (0xC000003E, 62, 8, "EPERM"),
        (0xC000003E, 62, -9, "EPERM"),
        (0xC000003E, 62, 9, None),
        (0xC000003E, 62, -7, None),
        # tgkill, process_vm_writev, pidfd_open, pidfd_send_signal
        (0xC000003E, 234, 8, "EPERM"),
        (0xC000003E, 234, 9, None),
        (0xC000003E, 311, 7, "EPERM"),
        (0xC000003E, 434, 7, "EPERM"),
        (0xC000003E, 434, 6, None),
        (0xC000003E, 424, 3, "ENOSYS"),
    ],
)
def test_the_filter_does_what_it_says(
    architecture: int, number: int, first: int, refused: str | None
) -> None:
    program = seccomp.filter_program("x86_64", Protected((7, 8), (9,)))
    assert program is not None
    data = {0: number, 4: architecture, 16: first & 0xFFFFFFFF, 24: 0}
    assert _run(program, data) == (0x50000 | getattr(errno, refused) if refused else 0x7FFF0000)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "riscv64"])
def test_no_jump_of_the_filter_is_too_far(machine: str) -> None:
    most = tuple(range(100, 124))
    program = seccomp.filter_program(machine, Protected(most, most))
    assert program is not None
    assert len(program) // 8 < 255


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ancestors_are_known_with_their_groups() -> None:
    found = seccomp.ancestors(os.getpid())
    assert found.processes[:2] == (os.getpid(), os.getppid())
    assert os.getpgid(0) in found.groups
    assert 0 not in (*found.processes, *found.groups)


def _run(program: bytes, data: dict[int, int]) -> int:
    """Execute a classic BPF program as the kernel does."""
    steps = list(struct.iter_unpack("<HBBI", program))
    at, word = 0, 0
    while True:
        code, yes, no, value = steps[at]
        at += 1
        if code == 0x06:
            return value
        if code == 0x20:
            word = data[value]
        else:
            holds = word == value if code == 0x15 else word >= value
            at += yes if holds else no
