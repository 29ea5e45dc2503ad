"""Whatever a file does, its analysis ends in time with a clear problem at the right line."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.requests import request_of
from support.robust import is_in_time, stretched
from tirlens import worker_client
from tirlens_worker.process.watch import first_signal
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[..., Result]

KERNEL = """
@T.prim_func(s_tir=True)
def double(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in T.serial(1024):
        with T.sblock("b"):
            v = T.axis.spatial(1024, i)
            B[v] = A[v] * T.float32(2)
"""
IMPORTS = "import os, sys\nfrom tvm.script import tirx as T\n"
BROKEN = """
@T.prim_func(s_tir=True)
def broken(A: T.Buffer((8,), "float32")):
    for i in T.serial(8):
        A[i] = undefined_name
"""


def _line(text: str, word: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if word in line)


@pytest.mark.parametrize(
    ("statement", "kind", "words", "survives"),
    [
        ("while True: x = 1  # here", "timeout", "still being imported", False),
        ("y = os._exit(3)  # here", "crash", "exit status 3", False),
        ("z = __import__('ctypes').string_at(0)  # here", "crash", "SIGSEGV", False),
        ("os.abort() if True else 0; q = os.abort()  # here", "crash", "SIGABRT", False),
        ("w = sys.exit(1)  # here", "trace", "sys.exit", True),
        ("import no_such_module  # here", "import", "no_such_module", True),
        ("from os import path, no_such_name  # here", "import", "no_such_name", True),
        ("big = bytearray(50 << 30)  # here", "memory", "MemoryError", True),
    ],
)
def test_a_bad_statement(
    run_tvm: Run, statement: str, kind: str, words: str, survives: bool
) -> None:
    text = IMPORTS + statement + "\n" + KERNEL
    limit_s = 3.0 if kind == "timeout" else 20.0
    began = time.monotonic()
    result = run_tvm(text, limit_s=limit_s)
    assert is_in_time(began, limit_s + 1.0)
    (problem,) = result.problems
    assert (problem.kind, problem.kernel) == (kind, None)
    assert words in problem.message
    assert problem.span is not None
    assert problem.span.line == _line(text, "# here")
    assert [facts.name for facts in result.kernels] == (["double"] if survives else [])


def test_a_hanging_import_does_not_lose_the_worker(run_tvm: Run) -> None:
    assert run_tvm(IMPORTS + "while True: pass\n" + KERNEL, limit_s=1.0).problems
    after = run_tvm(IMPORTS + KERNEL)
    assert (len(after.kernels), after.problems) == (1, ())


def test_a_syntax_error(run_tvm: Run) -> None:
    text = IMPORTS + KERNEL + "\ndef f(:\n    pass\n"
    (problem,) = run_tvm(text).problems
    assert problem.kind == "syntax"
    assert problem.span is not None
    assert problem.span.line == _line(text, "def f(")


def test_a_kernel_that_fails_leaves_the_others_alone(run_tvm: Run) -> None:
    text = IMPORTS + BROKEN + KERNEL
    result = run_tvm(text)
    (problem,) = result.problems
    assert (problem.kind, problem.kernel) == ("trace", "broken")
    assert "undefined_name" in problem.message
    assert problem.span is not None
    assert problem.span.line == _line(text, "undefined_name")
    assert [facts.definition for facts in result.kernels] == ["double"]


FACTORIES = """
def good(n=64):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((n,), "float32")):
        for i in T.serial(n):
            A[i] = T.float32(0)
    return main

def bad(n=64):
    {}
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((n,), "float32")):
        for i in T.serial(n):
            A[i] = T.float32(0)
    return main

def late(n=32):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((n,), "float32")):
        for i in T.serial(n):
            A[i] = T.float32(1)
    return main
"""


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("os._exit(9)", "crash"),
        ("__import__('ctypes').string_at(0)", "crash"),
        ("sys.exit(2)", "trace"),
        ("raise ValueError('no')", "trace"),
    ],
)
def test_a_factory_that_ends_the_process(run_tvm: Run, statement: str, kind: str) -> None:
    text = IMPORTS + FACTORIES.format(statement)
    result = run_tvm(text)
    assert [facts.definition for facts in result.kernels] == ["good", "late"]
    (problem,) = result.problems
    assert (problem.kind, problem.kernel) == (kind, "bad")


def test_a_factory_that_hangs_leaves_the_others_alone(run_tvm: Run) -> None:
    text = IMPORTS + FACTORIES.format("while True: pass")
    result = run_tvm(text, limit_s=2.0)
    assert [facts.definition for facts in result.kernels] == ["good", "late"]
    (hung,) = result.problems
    assert (hung.kind, hung.kernel) == ("timeout", "bad")
    assert hung.span is not None
    assert hung.span.line == _line(text, "while True")


def test_a_flood_of_prints_is_cut(run_tvm: Run) -> None:
    text = IMPORTS + "x = print('y' * 100_000_000)\nz = os.write(1, b'end\\n')\n" + KERNEL
    result = run_tvm(text)
    assert (len(result.kernels), result.problems) == (1, ())
    assert len(result.output) < 70_000
    assert "bytes left out" in result.output
    assert result.output.endswith("end\n")


def test_standard_input_is_empty(run_tvm: Run) -> None:
    result = run_tvm(IMPORTS + "text = sys.stdin.read()\n" + KERNEL, limit_s=5.0)
    assert (len(result.kernels), result.problems) == (1, ())


def test_of_two_factories_that_hang_the_second_is_told_to_have_had_no_time(run_tvm: Run) -> None:
    bad = FACTORIES.format("while True: pass")
    text = IMPORTS + bad + bad[bad.index("def bad") : bad.index("def late")].replace("bad", "worse")
    began = time.monotonic()
    result = run_tvm(text, limit_s=2.0)
    assert is_in_time(began, 3.0)
    assert [facts.definition for facts in result.kernels] == ["good", "late"]
    assert [(item.kind, item.kernel) for item in result.problems] == [
        ("timeout", "bad"),
        ("timeout", "worse"),
    ]


@pytest.mark.parametrize("place", ["file", "kernel"])
def test_a_fork_bomb_ends(run_either: Run, place: str) -> None:
    # Bounded, so that a failing test does not take the machine with it.
    bomb = "for _ in range(9): os.fork()  # here\n"
    if place == "file":
        text = IMPORTS + bomb + "n = __import__('time').sleep(60)\n" + KERNEL
    else:
        text = IMPORTS + FACTORIES.format(bomb + "    __import__('time').sleep(60)")
    began = time.monotonic()
    result = run_either(text, limit_s=5.0)
    assert is_in_time(began, 6.0)
    problem, *rest = result.problems
    # On a busy machine the time may be over before they are many, the server's patience too.
    assert problem.kind in ("crash", "timeout")
    assert problem.kind == "timeout" or "too many processes" in problem.message
    assert [item.kernel for item in rest] in ([], ["late"]), rest
    if stretched(1.0) < 3.0:
        assert problem.span is not None
        # In a kernel the statement is not known, where nobody could ask for it any more.
        last = "sleep(60)" if place == "file" else "def late"
        assert _line(text, "# here") <= problem.span.line <= _line(text, last)
        assert problem.kernel == (None if place == "file" else "bad")
    assert run_either(IMPORTS + KERNEL).problems == ()


FORKS = {
    "comes to the end of the file": "pid = os.fork()\n",
    "raises": "pid = os.fork()\nif not pid: raise ValueError\n",
    "exits": "pid = os.fork()\nif not pid: sys.exit(3)\n",
    "ends at once": "pid = os.fork()\nif not pid: os._exit(0)\n",
    "has forked itself": "pid = os.fork()\nif not pid: os.waitpid(os.fork() or os.getpid(), 0)\n",
    "has started a thread": "pid = os.fork()\n"
    "if not pid: __import__('threading').Thread(target=print).start()\n",
}


@pytest.mark.parametrize("what", FORKS)
def test_a_forked_process_that_ends_does_not_hold_its_parent(run_either: Run, what: str) -> None:
    """The parent waits for it, and its status is part of the parent's kernel."""
    text = IMPORTS + FORKS[what] + "if pid: os.waitpid(pid, 0)\nn = 1024 * bool(pid)\n"
    result = run_either(text + KERNEL.replace("1024", "n"), limit_s=10.0)
    assert result.problems == ()
    assert [facts.name for facts in result.kernels] == ["double"]


def test_files_beside_the_document_do_not_replace_the_standard_library(
    tvm_python: Path, tmp_path: Path
) -> None:
    for name in ("json.py", "types.py", "selectors.py", "struct.py", "ast.py"):
        (tmp_path / name).write_text("raise RuntimeError('the wrong module')\n")
    (tmp_path / "helper.py").write_text("SIZE = 96\n")
    text = IMPORTS + "import json\nfrom helper import SIZE\n" + KERNEL.replace("1024", "SIZE")
    interpreter = worker_client.find_interpreter(tmp_path / "json.py", setting=tvm_python)
    request = request_of(tmp_path / "json.py", text)
    result = worker_client.analyze_blocking(interpreter, request)
    assert result.problems == ()
    assert result.kernels[0].buffers[0].shape == (96,)


def test_an_option_that_calls_no_kernel_is_told_at_the_function(run_tvm: Run) -> None:
    result = run_tvm(IMPORTS + FACTORIES.format("pass"), calls=("nothing(1)",))
    assert {problem.kind for problem in result.problems} == {"trace"}
    assert all("nothing" in problem.message for problem in result.problems)


def test_a_segmentation_fault_is_told_also_where_its_handler_aborts() -> None:
    segmentation_fault = "Fatal Python error: Segmentation fault\n\nStack (most recent call first):"
    aborted = "Fatal Python error: Aborted\n\nStack (most recent call first):"
    assert first_signal(segmentation_fault + "\n" + aborted, signal.SIGABRT) == signal.SIGSEGV
    assert first_signal(segmentation_fault, signal.SIGSEGV) == signal.SIGSEGV
    assert first_signal(aborted, signal.SIGABRT) == signal.SIGABRT
    assert first_signal("", signal.SIGKILL) == signal.SIGKILL
