"""Requirement 17: no network for what an analysis runs."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tirlens_worker.protocol import Result

Run = Callable[..., Result]
KERNEL = """
from tvm.script import tirx as T
@T.prim_func
def double(A: T.Buffer((1024,), "float32")):
    for i in T.serial(1024):
        A[i] = A[i] * T.float32(2)
"""
PROGRAM = "import socket, sys\ntry: socket.socket()\nexcept OSError as e: sys.exit(e.errno)"


@pytest.fixture
def service() -> Iterator[int]:
    """The port of a service on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.05)
        yield listening.getsockname()[1]
        with pytest.raises(TimeoutError):
            listening.accept()


@pytest.mark.slow
@pytest.mark.parametrize(
    "use",
    [
        "s = socket.socket()",
        "s = socket.create_connection(('127.0.0.1', PORT))",
        "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)",
        "s = socket.getaddrinfo('localhost', PORT)",
        "s = urllib.request.urlopen('http://127.0.0.1:%d' % PORT)",
    ],
)
def test_17_what_uses_the_network_is_told_so_at_its_line(
    run_tvm: Run, service: int, use: str
) -> None:
    text = f"import socket, urllib.request\nPORT = {service}\n{use}\n{KERNEL}"
    result = run_tvm(text)
    (problem,) = result.problems
    assert "no network while a file is analysed" in problem.message
    assert problem.span is not None
    assert problem.span.line == 3
    assert [facts.name for facts in result.kernels] == ["double"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "use",
    [
        # Past Python: by the C library, in another program.
        "code = libc.socket(2, 1, 0), ctypes.get_errno()",
        "code = libc.socket(10, 2, 0), ctypes.get_errno()",
        "code = libc.syscall(425, 1, None), ctypes.get_errno()",
        f"code = -1, subprocess.run([sys.executable, '-c', {PROGRAM!r}]).returncode",
    ],
)
def test_17_the_kernel_refuses_what_goes_past_python(
    run_tvm: Run, tmp_path: Path, use: str
) -> None:
    written = tmp_path / "code"
    text = (
        "import ctypes, subprocess, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"{use}\nn = open({str(written)!r}, 'w').write(repr(code))\n{KERNEL}"
    )
    result = run_tvm(text)
    assert result.problems == ()
    assert written.read_text() == repr((-1, errno.EACCES))


@pytest.mark.slow
def test_17_processes_of_an_analysis_can_talk_to_each_other(run_tvm: Run) -> None:
    text = (
        "import multiprocessing, socket\na, b = socket.socketpair()\nn = a.send(b'x')\n"
        "p = multiprocessing.get_context('fork').Pipe()\n"
        "u = socket.socket(socket.AF_UNIX)\nm = u.bind('\\0tirlens-test')\n" + KERNEL
    )
    result = run_tvm(text)
    assert (len(result.kernels), result.problems) == (1, ())
