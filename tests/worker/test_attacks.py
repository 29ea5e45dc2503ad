"""What code writes into the descriptors of its process costs its own analysis only."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.requests import request_of
from support.robust import resident_mb
from tirlens.worker_client import BlockingClient, find_interpreter
from tirlens_worker.protocol import Result

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="uses POSIX calls")]
Run = Callable[..., Result]
LIMIT_S = 2.0
IMPORTS = "import os, stat, sys, time\nfrom tvm.script import tirx as T\n"
KERNEL = """
@T.prim_func
def double(A: T.Buffer((1024,), "float32")):
    for i in T.serial(1024):
        A[i] = A[i] * T.float32(2)
"""
# A function that writes to all descriptors but those of output, until each accepts no more.
WRITE = """
def write(data, times=1):
    for d in range(3, 4096):
        try:
            for _ in range(times):
                os.write(d, data)
        except OSError:
            pass

def frame(text):
    return b"Content-Length: %d\\r\\n\\r\\n" % len(text) + text
def piece(tag, text):
    return tag + len(text).to_bytes(4, "little") + text
"""
FORGED = '{"$":"Result","id":%d,"problems":[{"$":"Problem","kind":"trace","message":"forged"}]}'


@pytest.fixture(
    scope="module",
    params=[(), ("--no-namespace",), ("--no-fork",)],
    ids=["alone", "shared", "in-process"],
)
def run(
    request: pytest.FixtureRequest, tvm_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Run]:
    """Analyse in each kind of worker."""
    folder = tmp_path_factory.mktemp("attacks")
    interpreter = find_interpreter(folder, setting=tvm_python)
    with BlockingClient(interpreter, request.param) as client:

        def analyze(text: str, name: str = "a.py", **options: Any) -> Result:
            return client.analyze(request_of(folder / name, text, **options))

        analyze.folder = folder  # type: ignore[attr-defined]
        analyze.forks = "--no-fork" not in request.param  # type: ignore[attr-defined]
        analyze.pid = lambda: client._client.pid  # type: ignore[attr-defined]
        analyze("")
        yield analyze


def _text(statements: str) -> str:
    return IMPORTS + WRITE + f"FORGED = {FORGED.encode()!r}\n" + statements + KERNEL


def _well(run: Run) -> bool:
    """Whether another file has its own result, and no other."""
    for size in (64, 128):
        after = run(IMPORTS + KERNEL.replace("1024", str(size)), "b.py")
        shapes = [facts.buffers[0].shape for facts in after.kernels]
        if (shapes, after.problems) != ([(size,)], ()):
            return False
    return True


SPOILT = {
    "flood": "write(b'y' * (1 << 20), 1500)",
    "forged results": "[write(frame(FORGED % i)) for i in range(2000)] and None",
    "forged progress": "write(piece(b'G', FORGED % 1))",
    "forged order": "write(piece(b'E', b'0'))",
    "forged kernels": "write(piece(b'K', FORGED % 1))",
    "long pieces": "write(piece(b'F', b'y' * (9 << 20)))",
    "many pieces": "write(piece(b'F', b'\"' + b'y' * (1 << 20) + b'\"'), 1500)",
    "huge header": "write(b'Content-Length: 1500000000\\r\\n\\r\\n' + b'y' * 9999)",
    "no header": "write(b'y' * (1 << 17))",
    "deep": "write(piece(b'P', b'[' * (1 << 20)))",
}


@pytest.mark.parametrize("statement", SPOILT.values(), ids=SPOILT)
def test_04_what_is_written_to_all_descriptors_spoils_one_analysis(
    run: Run, statement: str
) -> None:
    assert _well(run)
    before, pid = resident_mb(os.getpid()), run.pid()  # type: ignore[attr-defined]
    text = _text(f"n = {statement} or time.sleep(0.5)  # here\n")
    result = run(text, limit_s=LIMIT_S)
    assert resident_mb(os.getpid()) - before < 100
    assert [problem.message for problem in result.problems if "forged" in problem.message] == []
    if run.forks:  # type: ignore[attr-defined]
        (problem,) = result.problems
        assert problem.kind == "crash"
        assert problem.message.startswith("something else than its results was written")
        assert problem.span is not None
        assert "# here" in text.splitlines()[problem.span.line - 1]
        assert run.pid() == pid, "the worker stays"  # type: ignore[attr-defined]
    elif "Content-Length" not in statement and "frame" not in statement:
        (problem,) = result.problems
        assert problem.kind == "crash"
        assert problem.message.startswith("something else than results was written")
    assert _well(run)


def test_04_half_a_piece_is_not_waited_for_longer_than_an_analysis(run: Run) -> None:
    result = run(_text("n = write(b'K' + b'\\0\\1\\0\\0' + b'{') or time.sleep(60)\n"), limit_s=1.0)
    (problem,) = result.problems
    assert problem.kind in ("timeout", "crash")
    assert _well(run)


OPENED = """
files = []
def replace_files(end, times):
    os.closerange(3, end)
    try:
        for n in range(times):
            files.append(open("users_%d.txt" % n, "wb", 0))
            files[-1].write(b"mine")
    except OSError:
        pass
"""


@pytest.mark.parametrize(
    ("numbers", "rest", "words"),
    [
        ("256, 100", "", None),
        ("256, 100", "while True: x = 1\n", "still being imported"),
        ("1 << 16, 2000", "", "closed the files of its own analysis"),
        ("1 << 16, 2000", "x = time.sleep(60)\n", "closed the files of its own analysis"),
    ],
)
def test_04_no_result_is_written_into_a_file_of_the_user(
    run: Run, numbers: str, rest: str, words: str | None
) -> None:
    text = _text(OPENED + f"n = replace_files({numbers})\n" + rest)
    result = run(text, limit_s=LIMIT_S)
    folder = run.folder  # type: ignore[attr-defined]
    contents = {path: path.read_bytes() for path in folder.glob("users_*.txt")}
    # The process is ended meanwhile, where it is also the worker before it has opened any.
    assert b"mine" in contents.values() or not run.forks  # type: ignore[attr-defined]
    assert set(contents.values()) <= {b"mine", b""}
    if words is None:
        assert ([facts.name for facts in result.kernels], result.problems) == (["double"], ())
    else:
        (problem,) = result.problems
        assert words in problem.message
    for path in contents:
        path.unlink()
    assert _well(run)


def test_04_a_process_that_outlives_its_analysis_reaches_no_other(run: Run) -> None:
    statements = (
        "if os.fork() == 0:\n    os.setsid()\n    while True:\n"
        "        write(frame(FORGED % 1))\n        write(piece(b'K', FORGED % 1))\n"
        "x = time.sleep(0.3)\n"
    )
    run(_text(statements), limit_s=LIMIT_S)
    assert _well(run)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_04_the_pipes_of_the_processes_above_are_not_enough_to_forge(run: Run) -> None:
    statements = """
for pid in os.listdir("/proc"):
    for d in range(1024) if pid.isdigit() else ():
        try:
            path = "/proc/%s/fd/%d" % (pid, d)
            if pid != str(os.getpid()) and stat.S_ISFIFO(os.stat(path).st_mode):
                out = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
                for i in range(2000):
                    w = os.write(out, frame(FORGED % i))
        except OSError:
            pass
"""
    result = run(_text(statements), limit_s=LIMIT_S)
    assert "forged" not in str(result.problems)
    assert _well(run)


def test_04_the_memory_with_the_line_cannot_be_cut_off(run: Run) -> None:
    """An access to it would end the server, which here is this process."""
    statements = (
        "for d in range(3, 4096):\n    try: os.ftruncate(d, 0)\n    except OSError: pass\n"
        "x = os._exit(3)  # here\n"
    )
    text = _text(statements)
    (problem,) = run(text).problems
    assert problem.kind == "crash"
    assert problem.span is not None
    assert "# here" in text.splitlines()[problem.span.line - 1]
    assert _well(run)
