"""Named pipes and devices in the place of each file that is read: figures come, in all folders."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.robust import until
from support.rpc import Client

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="named pipes"),
]
KERNEL = """
from tvm.script import tirx as T


def scale(rows):
    @T.prim_func
    def main(A: T.Buffer((rows * 128,), "float32")):
        for i in T.thread_binding(rows, thread="blockIdx.x"):
            for j in T.thread_binding(128, thread="threadIdx.x"):
                A[i * 128 + j] = A[i * 128 + j] * T.float32(2)
    return main
"""
CALLERS = """
import json
from kernel import scale

scale(json.load(open("sizes.json"))["rows"])
"""
NAMES = ["sizes.json", "tirlens-captured.json", "tirlens-captured-2.json", "caller_2.py", "x.py"]
MAKE: dict[str, Callable[[Path], object]] = {
    "pipes": os.mkfifo,
    "devices": lambda path: path.symlink_to("/dev/zero"),
    "folders": lambda path: path.mkdir(),
}


def _folder(path: Path, make: Callable[[Path], object]) -> Path:
    path.mkdir()
    (path / ".git").mkdir()
    (path / "kernel.py").write_text(KERNEL)
    (path / "caller.py").write_text(CALLERS)
    (path / "good.py").write_text("from kernel import scale\nscale(1000)\n")
    for name in NAMES:
        make(path / name)
    return path


@pytest.mark.parametrize("kind", MAKE)
def test_in_the_editor(kind: str, tmp_path: Path, tvm_python: Path) -> None:
    odd = _folder(tmp_path / "odd", MAKE[kind])
    other = tmp_path / "other"
    other.mkdir()
    (other / "k.py").write_text(KERNEL + "\n# tirlens: scale(64)\n")
    with Client() as client:
        client.initialize(trusted=True, interpreter=str(tvm_python))
        uris = [client.open(path) for path in (odd / "kernel.py", other / "k.py")]

        def rows() -> list[object]:
            reports = [client.command("tirlens.report", uri) for uri in uris]
            return [
                kernel["flop"]
                for report in reports
                if report
                for kernel in report["json"]["kernels"]
            ]

        until(lambda: rows() == [1000 * 128, 64 * 128], 60, "the figures of both folders")


@pytest.mark.parametrize("kind", MAKE)
def test_on_the_command_line(kind: str, tmp_path: Path, tvm_python: Path) -> None:
    odd = _folder(tmp_path / "odd", MAKE[kind])
    done = subprocess.run(
        [sys.executable, "-m", "tirlens", "analyze", "kernel.py", "--python", str(tvm_python)],
        cwd=odd,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "TIRLENS_DAEMON": "0"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    assert "call: scale(rows=1000)" in done.stdout
    if kind != "folders":
        assert "tirlens-captured.json: is no regular file" in done.stderr


@pytest.mark.parametrize("kind", MAKE)
def test_a_file_that_is_named(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    MAKE[kind](path)
    done = subprocess.run(
        [sys.executable, "-m", "tirlens", "analyze", str(path)],
        env={**os.environ, "TIRLENS_DAEMON": "0"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode in (1, 2)
    assert "is no regular file" in done.stderr or "no Python files in this folder" in done.stderr
