"""Requirement 14: only what an edit may have changed is analysed again, and nothing is missed."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.robust import amount
from tirlens import pipeline, source
from tirlens.worker_client import BlockingClient, find_interpreter
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow

TVM = '''\
"""Kernels that share some things and not others."""
from tvm.script import tirx as T
from tvm.script import ir as I
import no_such_module

N = 256
M = N * 2


def blocks(size):
    return size // 128


@T.inline
def twice(A, i):
    A[i] = A[i] * T.float32(2)


@T.prim_func
def plain(A: T.Buffer((1024,), "float32")):
    for i in T.serial(1024):
        A[i] = A[i] + T.float32(3)


@T.prim_func
def sized(A: T.Buffer((M,), "float32")):
    for b in T.thread_binding(blocks(M), thread="blockIdx.x"):
        for t in T.thread_binding(128, thread="threadIdx.x"):
            twice(A, b * 128 + t)


@I.ir_module
class Module:
    @T.prim_func
    def first(A: T.Buffer((64,), "float32")):
        for i in T.serial(64):
            A[i] = T.float32(1)

    @T.prim_func
    def second(A: T.Buffer((N,), "float32")):
        for i in T.serial(N):
            A[i] = T.float32(1)


def make(size, dtype="float32"):
    @T.prim_func
    def made(A: T.Buffer((size,), dtype)):
        for i in T.serial(size):
            A[i] = A[i] + T.float32(1)

    return made


def assumed(block_M):
    @T.prim_func
    def inner(A: T.Buffer((block_M,), "float32")):
        for i in T.serial(block_M):
            A[i] = T.float32(0)

    return inner


def test_local():
    size = 32

    @T.prim_func
    def local(A: T.Buffer((size,), "float32")):
        for i in T.serial(32):
            A[i] = T.float32(1)


@T.prim_func
def wrong(A: T.Buffer((UNKNOWN,), "float32")):
    A[0] = T.float32(1)


def main():
    make(M)
    assert blocks(512) == 4


if __name__ == "__main__":
    main()
'''
TILELANG = """\
import tilelang
import tilelang.language as T

SIZE = 1024
THREADS = 128


@T.macro
def fill_one(A, i):
    A[i] = T.float32(1)


@tilelang.jit(out_idx=[-1])
def fill(N, dtype="float32"):
    @T.prim_func
    def main(A: T.Tensor((N,), dtype)):
        with T.Kernel(T.ceildiv(N, THREADS), threads=THREADS) as bx:
            for i in T.Parallel(THREADS):
                fill_one(A, bx * THREADS + i)

    return main


@T.prim_func
def copy(A: T.Tensor((SIZE, 64), "float16"), B: T.Tensor((SIZE, 64), "float16")):
    with T.Kernel(SIZE // 64, threads=128) as bx:
        tile = T.alloc_shared((64, 64), "float16")
        T.copy(A[bx * 64, 0], tile)
        T.copy(tile, B[bx * 64, 0])


@tilelang.jit
def product(M, N, K, block_M=64):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(N // 64, M // block_M, threads=128) as (bx, by):
            a = T.alloc_shared((block_M, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((block_M, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(K // 32, num_stages=2):
                T.copy(A[by * block_M, k * 32], a)
                T.copy(B[k * 32, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * block_M, bx * 64])

    return main


def run():
    fill(SIZE * 4)


if __name__ == "__main__":
    run()
"""


SEED = 14


class Editor:
    """Analyses one text after the other in parts, as the session does."""

    def __init__(self, client: BlockingClient, path: Path) -> None:
        self._client = client
        self._path = str(path)
        self.folder = path.parent
        self._parts: dict[bytes, pipeline.Part] = {}

    def whole(self, text: str) -> Result:
        request = self._request(text)
        # Without a kernel there is nothing to ask a worker, as in the session.
        return self._client.analyze(request) if request.kernels else Result(1)

    def save(self, text: str) -> tuple[Result, list[str] | None]:
        """The result for `text`, and the kernels analysed for it; None if no worker was asked."""
        Path(self._path).write_text(text)
        plan = pipeline.plan_analysis(self._request(text), source.read(text), "test", self._parts)
        if plan.request is None:
            return plan.result(), None
        result = plan.result(self._client.analyze(plan.request))
        self._parts.update(plan.cacheable_parts(result))
        return result, [kernel.name for kernel in plan.request.kernels]

    def _request(self, text: str) -> Any:
        return pipeline.analysis_request(1, self._path, text, source.read(text), pipeline.Options())


@pytest.fixture(scope="module")
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    python = request.getfixturevalue(f"{request.param}_python")
    folder = tmp_path_factory.mktemp(request.param)
    with BlockingClient(find_interpreter(folder, setting=python)) as running:
        yield lambda: Editor(running, folder / "document.py")


Edit = Callable[[str], str]
ALL = ["plain", "sized", "Module", "Module", "make", "assumed", "test_local.local",
       "wrong"]  # fmt: skip


def _change(old: str, new: str) -> Edit:
    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return edit


@pytest.mark.parametrize("client", ["tvm"], indirect=True)
def test_14_what_an_edit_does_not_reach_is_not_analysed_again(client: Any) -> None:
    editor = client()
    _, first = editor.save(TVM)
    assert first == ALL
    text = TVM
    for edit, expected in [
        (_change("T.float32(3)", "T.float32(4)"), ["plain"]),
        (_change("def plain", "# a comment\n\n\ndef plain"), ["plain"]),
        (_change('"""Kernels', '"""Some kernels'), None),
        (_change("\n\ndef main", "\n\n# between\n\ndef main"), None),
        (_change("size // 128", "(size + 127) // 128"), ["sized"]),
        (_change("T.float32(2)", "T.float32(5)"), ["sized"]),
        (_change("N = 256", "N = 512"), ALL[1:5]),
        (_change("make(M)", "make(M * 2)"), ["make"]),
        # What is assumed for an argument is looked for in the whole text.
        (_change("\n\ndef main", '\n\nTABLE = {"block_M": 96}\n\n\ndef main'), ["assumed"]),
        (_change("UNKNOWN", "128"), ["wrong"]),
        (_change("import no_such_module", "import another_module"), ALL),
    ]:
        text = edit(text)
        result, analysed = editor.save(text)
        assert analysed == expected, edit(text)
        assert _plain(result) == _plain(editor.whole(text))
        assert editor.save(text)[1] is None, "a save without a change costs nothing"
    for _ in range(3):
        assert editor.save(TVM)[1] is None, "neither does going back"


@pytest.mark.parametrize("client", ["tvm"], indirect=True)
def test_14_a_changed_module_of_the_users_own_is_a_changed_context(client: Any) -> None:
    editor = client()
    inner, helper = editor.folder / "inner.py", editor.folder / "helper.py"
    _write_earlier(inner, "SIZE = 64\n")
    _write_earlier(helper, "from inner import SIZE\n")
    text = TVM.replace("N = 256", "from helper import SIZE as N")
    editor.save(text)
    assert editor.save(text)[1] is None
    _write_earlier(inner, "SIZE = 3200\n")
    result, analysed = editor.save(text)
    assert analysed == ALL
    sizes = {facts.name: facts.buffers[0].shape for facts in result.kernels}
    assert sizes["sized"] == (6400,)
    assert editor.save(text)[1] is None


def _write_earlier(path: Path, text: str) -> None:
    """Write a file as if that were a second ago: one of this moment is read again to be sure."""
    path.write_text(text)
    then = time.time_ns() - 1_000_000_000
    os.utime(path, ns=(then, then))


def _plain(result: Result) -> Any:
    """What there is to compare of a result: all but the log of errors and the time taken."""
    problems = [replace(item, detail="") for item in result.problems]
    return tuple(
        sorted(map(repr, items)) for items in (result.kernels, result.needs, set(problems))
    )


def _random_edit(text: str, chance: random.Random) -> str:
    """A small change somewhere: of a number, of a name, of a line, of the order of things."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    kind = chance.choice(["number", "number", "number", "insert", "delete", "twice", "move"])
    if kind == "number":
        found = [n for n, line in enumerate(lines) if any(w.isdigit() for w in line)]
        at = chance.choice(found)
        old = chance.choice([c for c in lines[at] if c.isdigit()])
        lines[at] = lines[at].replace(old, chance.choice("123468"), 1)
    elif kind == "insert":
        lines.insert(at, chance.choice(["", "# a comment", "EXTRA = 7", "import math"]))
    elif kind == "delete":
        del lines[at]
    elif kind == "twice":
        lines.insert(at, lines[at])
    else:
        blocks = text.split("\n\n\n")
        one, other = chance.sample(range(1, len(blocks) - 1), 2)
        blocks[one], blocks[other] = blocks[other], blocks[one]
        return "\n\n\n".join(blocks)
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("client", "start", "rounds"),
    [("tvm", TVM, amount(40, 1000)), ("tilelang", TILELANG, amount(20, 500))],
    indirect=["client"],
)
def test_14_parts_are_what_a_whole_analysis_gives_over_random_edits(
    client: Any, start: str, rounds: int
) -> None:
    editor = client()
    chance = random.Random(SEED)
    text, asked, all_ = start, 0, 0
    editor.save(text)
    for number in range(rounds):
        if number % 6 == 0:
            text = start
        text = _random_edit(text, chance)
        result, analysed = editor.save(text)
        assert _plain(result) == _plain(editor.whole(text)), text
        asked += len(analysed or ())
        all_ += len(source.read(text).kernels)
    assert asked < all_ * 0.7
