"""Requirement 16: the rest of the bad-file zoo; one problem each, at the right line, in time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.robust import is_in_time
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[..., Result]

LIMIT_S = 3.0
IMPORTS = "import os, sys\nfrom tvm.script import tirx as T\n"
KERNEL = """
@T.prim_func
def double(A: T.Buffer((1024,), "float32")):
    for i in T.serial(1024):
        A[i] = A[i] * T.float32(2)
"""

IGNORE_SIGNALS = """\
import signal
for s in range(1, 32):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
"""


def _line(text: str, word: str) -> int:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return next(n for n, line in enumerate(lines, 1) if word in line)


def _well(run: Run) -> bool:
    """Whether the next file is analysed as if nothing had been."""
    after = run(IMPORTS + KERNEL)
    return [facts.name for facts in after.kernels] == ["double"] and after.problems == ()


@pytest.mark.parametrize(
    ("statement", "kind", "words"),
    [
        ("x = input()  # here", "trace", "EOF"),
        ("def f(n): return f(n + 1)\nx = f(0)", "trace", "recursion"),
        ("raise KeyboardInterrupt  # here", "trace", "KeyboardInterrupt"),
        ("raise SystemExit(3)  # here", "trace", "exit"),
        ("x = exit()  # here", "trace", "exit"),
    ],
)
def test_16_a_statement_that_fails_is_told_at_its_line(
    run_tvm: Run, statement: str, kind: str, words: str
) -> None:
    text = IMPORTS + statement + "\n" + KERNEL
    result = run_tvm(text)
    (problem,) = result.problems
    assert problem.kind == kind
    assert words in problem.message
    assert problem.span is not None
    assert problem.span.line == _line(text, "return f(" if "def f" in statement else "# here")
    assert [facts.name for facts in result.kernels] == ["double"], "the kernel needs none of it"


@pytest.mark.parametrize("value", ["1 / 0", "'\\ud800'.encode()", "undefined_name"])
def test_16_a_failure_that_a_kernel_needs_is_told_at_its_line(run_tvm: Run, value: str) -> None:
    text = IMPORTS + f"N = {value}  # here\n" + KERNEL.replace("1024", "N")
    result = run_tvm(text)
    (problem,) = result.problems
    assert problem.kind == "trace"
    assert problem.span is not None
    assert problem.span.line == _line(text, "# here")


@pytest.mark.parametrize(
    "statement",
    [
        "while True: x = print('y' * 1000)  # here",
        IGNORE_SIGNALS + "while True: x = 1  # here",
        "import signal\nx = signal.pause()  # here",
        "import threading\nx = threading.Event().wait()  # here",
        "import subprocess\nx = subprocess.run(['sleep', '60'])  # here",
        "import socket\nx = p = socket.socketpair()\nx = p[0].recv(1)  # here",
    ],
    ids=["print", "signals", "pause", "thread", "subprocess", "socket"],
)
def test_16_what_never_ends_is_ended_at_its_line(run_tvm: Run, statement: str) -> None:
    text = IMPORTS + statement + "\n" + KERNEL
    began = time.monotonic()
    result = run_tvm(text, limit_s=LIMIT_S)
    assert is_in_time(began, LIMIT_S + 1.0)
    (problem,) = result.problems
    assert (problem.kind, problem.kernel) == ("timeout", None)
    assert problem.span is not None
    assert problem.span.line == _line(text, "# here")
    assert len(result.output) < 100_000
    assert _well(run_tvm)


def test_16_an_endless_loop_while_a_kernel_is_traced(run_tvm: Run) -> None:
    text = (
        IMPORTS
        + KERNEL
        + """
def make(n=64):
    while True: n += 1  # here
    @T.prim_func
    def main(A: T.Buffer((n,), "float32")):
        A[0] = T.float32(0)
    return main
"""
        + KERNEL.replace("double", "double_after")
    )
    began = time.monotonic()
    result = run_tvm(text, limit_s=LIMIT_S)
    (problem,) = result.problems
    assert (problem.kind, problem.kernel) == ("timeout", "make")
    assert problem.span is not None
    assert problem.span.line == _line(text, "# here")
    assert [facts.name for facts in result.kernels] == ["double", "double_after"]
    assert is_in_time(began, LIMIT_S + 1.0)


HARMLESS = {
    "thread": "import threading as t, time\nt = t.Thread(target=time.sleep, args=(99,)).start()\n",
    "busy thread": "import threading\ndef spin():\n    while True: pass\n"
    "t = threading.Thread(target=spin).start()\n",
    "modules": "m = sys.modules.clear()\n",
    "some modules": "del sys.modules['tvm'], sys.modules['json']\n",
    "no streams": "sys.stdout = sys.stderr = sys.stdin = None\n",
    "closed stream": "s = sys.stdout.close()\n",
    "closed descriptors": "for d in range(3):\n    os.close(d)\n",
    "low descriptors": "for d in range(3, 99):\n    try: os.close(d)\n    except OSError: pass\n",
    "range of descriptors": "n = os.closerange(3, 256)\n",
    "folder": "x = os.chdir('/')\n",
    "exit handler": "import atexit\nn = atexit.register(lambda: 1 / 0)\n",
    "signals": IGNORE_SIGNALS,
    "program": "import subprocess\nn = subprocess.Popen(['sleep', '60'], start_new_session=True)\n",
    "fork": "f = os.fork()\n",
    "endless fork": "if os.fork() == 0:\n    while True: pass\n",
    "surroundings": "import gc\ng = gc.disable()\nc = os.environ.clear()\np = sys.path.clear()\n",
    "descriptor limit": "import resource\nr = resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\n",
    "exceptions": "sys.excepthook = None\n",
}


@pytest.mark.parametrize("statements", HARMLESS.values(), ids=HARMLESS)
def test_16_what_a_kernel_does_not_need_does_it_no_harm(run_tvm: Run, statements: str) -> None:
    result = run_tvm(IMPORTS + statements + KERNEL)
    assert result.problems == ()
    assert [facts.name for facts in result.kernels] == ["double"]
    assert _well(run_tvm)


@pytest.mark.parametrize(
    ("statements", "kind", "words"),
    [
        ("import builtins\nbuiltins.open = builtins.len = None  # here", "crash", "status 70"),
        ("x = os.closerange(3, 1 << 16)  # here", "crash", "closed the files"),
        ("r = sys.settrace(lambda *a: 1 / 0)  # here", "crash", "status 70"),
        ("x = os.kill(os.getpid(), 9)  # here", "crash", "SIGKILL"),
        ("x = os.killpg(0, 9)  # here", "crash", "SIGKILL"),
        ("x = os.kill(os.getpid(), 19)  # here", "timeout", "still being imported"),
        ("x = os.execv('/bin/true', ['true'])  # here", "crash", "status 0"),
        ("x = os.execv('/bin/sleep', ['sleep', '60'])  # here", "crash", "closed the files"),
        ("import threading, time\ndef end(): os._exit(4)\n"  # noqa: ISC004
         "x = threading.Thread(target=end).start() or time.sleep(9)  # here", "crash", "status 4"),
        ("import ctypes\nz = ctypes.memset(1, 0, 10)  # here", "crash", "SIGSEGV"),
    ],
)  # fmt: skip
def test_16_what_does_harm_to_its_own_process_is_told_once_at_its_line(
    run_either: Run, statements: str, kind: str, words: str
) -> None:
    text = IMPORTS + statements + "\n" + KERNEL
    began = time.monotonic()
    limit_s = LIMIT_S if kind == "timeout" else 20.0
    result = run_either(text, limit_s=limit_s)
    assert is_in_time(began, limit_s + 1.0)
    (problem,) = result.problems
    assert (problem.kind, problem.kernel) == (kind, None)
    assert words in problem.message
    assert problem.span is not None
    assert problem.span.line == _line(text, "# here")
    assert _well(run_either)


def test_16_a_lowered_recursion_limit_is_told_once_where_it_hurts(run_tvm: Run) -> None:
    text = IMPORTS + "r = sys.setrecursionlimit(50)\n" + KERNEL
    (problem,) = run_tvm(text).problems
    assert (problem.kernel, problem.kind) == ("double", "trace")
    assert "recursion" in problem.message


@pytest.mark.parametrize("number", [9, 19])
def test_16_a_file_cannot_end_or_stop_the_worker(run_either: Run, number: int) -> None:
    result = run_either(IMPORTS + f"x = os.kill(os.getppid(), {number})\n" + KERNEL)
    assert (len(result.kernels), result.problems) == (1, ())
    assert _well(run_either)


def test_16_a_module_that_writes_a_file(run_tvm: Run, tmp_path: Path) -> None:
    """It is not prevented: the worker is no sandbox, and the documentation says so."""
    path = tmp_path / "written"
    result = run_tvm(IMPORTS + f"n = open({str(path)!r}, 'w').write('x')\n" + KERNEL)
    assert (len(result.kernels), result.problems) == (1, ())
    assert path.read_text() == "x"
    assert _well(run_tvm)


@pytest.mark.parametrize(
    "before",
    [
        "x = '\u2028\x85 \x1c'\n\f\n",
        "\ufeff",
        "# -*- coding: latin-1 -*-\nx = 'é漢😋'\n",
        "x = 1\r\ny = 2\r\n",
        "x = 1\ry = 2\r",
        "\f\n\x0c# form feeds\n",
        'x = """\n\u2029\n"""\n',
    ],
    ids=["separators", "bom", "cookie", "CRLF", "CR", "form-feed", "paragraph"],
)
def test_16_lines_are_right_in_any_encoding_and_line_ending(run_tvm: Run, before: str) -> None:
    text = before + IMPORTS + "import no_such_module\n" + KERNEL
    if "\r" in before:
        ending = "\r\n" if "\r\n" in before else "\r"
        text = before + (IMPORTS + "import no_such_module\n" + KERNEL).replace("\n", ending)
    result = run_tvm(text, limit_s=10.0)
    (problem,) = result.problems
    assert problem.kind == "import"
    assert problem.span is not None
    assert problem.span.line == _line(text, "no_such_module")
    (facts,) = result.kernels
    assert facts.span.line in (_line(text, "def double"), _line(text, "@T.prim_func"))
    sites = [site.line for node in facts.body for site in node.sites]
    assert sites[:1] == [_line(text, "for i in")]


def test_16_null_characters_and_lone_surrogates_are_syntax_errors(run_tvm: Run) -> None:
    for odd in ("\0", "x = '\ud800'\n"):
        result = run_tvm(IMPORTS + odd + KERNEL)
        assert all(problem.kind in ("syntax", "trace") for problem in result.problems)
    assert run_tvm(IMPORTS + "\0" + KERNEL).problems
    assert _well(run_tvm)


def test_16_a_file_of_two_megabytes(run_tvm: Run) -> None:
    filler = "".join(f"x_{n} = {n}  # {'y' * 80}\n" for n in range(21_000))
    assert len(filler) > 2_000_000
    text = IMPORTS + filler + KERNEL
    result = run_tvm(text, limit_s=60.0)
    assert (len(result.kernels), result.problems) == (1, ())


def test_16_five_hundred_kernels_in_a_file(run_tvm: Run) -> None:
    text = IMPORTS + "".join(KERNEL.replace("double", f"double_{n}") for n in range(500))
    result = run_tvm(text, limit_s=60.0)
    assert result.problems == ()
    assert [facts.name for facts in result.kernels] == [f"double_{n}" for n in range(500)]
