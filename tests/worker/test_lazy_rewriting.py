"""Functions of tilelang that are rewritten late, and once, are what tilelang makes of them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.environments import environment
from support.workers import TILELANG

pytestmark = pytest.mark.slow

SERVER = Path(__file__).parents[2] / "server"
KERNELS = '''
import contextlib
import tilelang
import tilelang.language as T


def changed_later(n):
    """tilelang reads `count` where the macro is defined."""
    count = 2

    @T.macro
    def fill(A):
        for i in T.serial(count):
            A[i] = T.float32(count)

    count = n

    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32) as bx:
            fill(A)

    return main


def other_frame(is_kernel):
    """Whether the body is that of a kernel is known by a value."""
    Frame = T.Kernel if is_kernel else (lambda *_, **__: contextlib.nullcontext(0))

    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with Frame(1, threads=32) as bx:
            A[bx] = T.float32(1)

    return main


def with_macros(dtype, op):
    @T.macro
    def once(X, M):
        if op == "max":
            T.reduce_max(X, M, dim=1)
        else:
            T.reduce_sum(X, M, dim=1)

    @T.macro
    def unused(X):
        X[0] = undefined

    @T.prim_func
    def main(A: T.Tensor((64, 64), dtype), B: T.Tensor((64,), dtype)):
        with T.Kernel(1, threads=128) as bx:
            X = T.alloc_fragment((64, 64), dtype)
            M = T.alloc_fragment((64,), dtype)
            T.copy(A, X)
            once(X, M)
            once(X, M)
            T.copy(M, B)

    return main


@tilelang.jit
def eager(A, B, scale=2):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B: T.Tensor((N,), "float32")
    with T.Kernel(T.ceildiv(N, 128), threads=128) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] * scale


@tilelang.jit
def lazy(n, dtype="float32"):
    if n < 0:
        for _ in range(3):
            raise ValueError("negative")

    @T.prim_func
    def main(A: T.Tensor((n,), dtype)):
        with T.Kernel(1, threads=32) as bx:
            A[bx] = 1

    return main


CALLS = [
    lambda: changed_later(5),
    lambda: changed_later(7),
    lambda: other_frame(True),
    lambda: other_frame(False),
    lambda: other_frame(True),
    lambda: with_macros("float32", "max"),
    lambda: with_macros("float16", "sum"),
    lambda: with_macros("float32", "max"),
    lambda: eager.get_tir(N=1024),
    lambda: eager.get_tir(N=2048, scale=3),
    lambda: lazy.get_tir(64),
    lambda: lazy.get_tir(128, dtype="float16"),
    lambda: lazy.get_tir(-1),
]
'''
PROGRAM = """
import json, sys
import tilelang
import tilelang.language.eager.builder as builder
import tilelang.language.eager.ast as syntax
names, rewrite = [], syntax.mutate
def noting(function):
    names.append(function.__qualname__.replace(".<locals>", ""))
    return rewrite(function)
noting.__module__ = rewrite.__module__
builder.mutate = noting
if {patched}:
    sys.path.insert(0, {server!r})
    from tirlens_worker.frameworks import lazy_rewriting
    lazy_rewriting.install(builder)
import kernels
found = []
for call in kernels.CALLS:
    try:
        found.append(str(call()))
    except Exception as error:
        found.append(type(error).__name__ + str(error)[:40])
print(json.dumps([found, names]))
"""


def _run(folder: Path, patched: bool) -> Any:
    (folder / "kernels.py").write_text(KERNELS)
    program = PROGRAM.format(patched=patched, server=str(SERVER))
    python = environment(TILELANG)
    answer = subprocess.run(
        [str(python), "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(answer.stdout.splitlines()[-1])


def test_functions_are_the_same_and_rewritten_less_often(tmp_path: Path) -> None:
    plain, plain_names = _run(tmp_path, False)
    late, late_names = _run(tmp_path, True)
    assert late == plain
    assert [text for text in plain if "Error" in text] == ["ValueErrornegative"]
    # The value at the definition of the macro, whatever the name has later.
    assert "range(2)" in plain[0] and "range(5)" not in plain[0]
    counts = {name: (plain_names.count(name), late_names.count(name)) for name in plain_names}
    assert counts["changed_later.fill"] == (2, 1)
    assert counts["changed_later.main"] == (2, 1)
    assert counts["with_macros.once"] == (3, 1)
    assert counts["with_macros.main"] == (3, 1)
    assert counts["with_macros.unused"] == (3, 0)
    assert counts["lazy"] == (1, 0)
    assert counts["lazy.main"] == (2, 1)
    assert counts["eager"] == (1, 1)
    # A value that was read while it was rewritten is another one each time.
    assert counts["other_frame.main"] == (3, 3)
