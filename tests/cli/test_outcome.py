"""The exit status: 1 where a kernel has no figures, 0 where only a notice was given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from support.kernels import gemm
from tirlens.cli.outcome import status
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.pipeline import FileReport
from tirlens_worker.facts import Span
from tirlens_worker.protocol import NeedsArguments, Problem

KERNEL = analyze(gemm(), load("h100-sxm"))
IMPORT = Problem("import", "No module named 'flash_attn'", Span(3, 0, 3, 5))


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (FileReport((KERNEL,)), 0),
        (FileReport((KERNEL,), (IMPORT,)), 0),
        (FileReport((), (IMPORT,)), 1),
        (FileReport((KERNEL,), (Problem("trace", "of another kernel", kernel="other"),)), 1),
        (FileReport((KERNEL,), (Problem("directive", "no such device"),)), 1),
        (FileReport((KERNEL,), (Problem("timeout", "stopped after 20 s"),)), 1),
        (FileReport((KERNEL,), (), (NeedsArguments("other", ("N",), Span(1, 0, 1, 0)),)), 1),
        (FileReport((replace(KERNEL, flop=None, status="needs-bindings"),)), 1),
        (FileReport((replace(KERNEL, lowering_error="no such layout"),)), 1),
    ],
)
def test_the_status_of_one_file(report: FileReport, expected: int) -> None:
    assert status([report]) == expected
    assert status([FileReport((KERNEL,)), report]) == expected


GEMM = """
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[2])
def gemm(M, N, K, BM, BN, BK, threads=128):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=threads) as (bx, by):
            As = T.alloc_shared((BM, BK), "float16")
            Bs = T.alloc_shared((BK, BN), "float16")
            Cl = T.alloc_fragment((BM, BN), "float32")
            T.clear(Cl)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
                T.copy(A[by * BM, k * BK], As)
                T.copy(B[k * BK, bx * BN], Bs)
                T.gemm(As, Bs, Cl)
            T.copy(Cl, C[by * BM, bx * BN])

    return main


gemm(1024, 1024, 1024, ARGUMENTS)
"""
REFUSED = {
    "tiles of 100": "100, 100, 33",
    "a tile of 8 rows": "8, 64, 32",
    "100 rows": "100, 64, 32",
}


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [*REFUSED.values(), "64, 64, 32"], ids=[*REFUSED, "good"])
def test_a_kernel_that_its_framework_refuses_has_no_time(
    arguments: str, tmp_path: Path, tilelang_python: Path
) -> None:
    (tmp_path / "k.py").write_text(GEMM.replace("ARGUMENTS", arguments))
    command = ["analyze", "k.py", "--fresh", "--format", "json", "--python", str(tilelang_python)]
    done = subprocess.run(
        [sys.executable, "-m", "tirlens", *command],
        cwd=tmp_path,
        env={**os.environ, "TIRLENS_DAEMON": "0"},
        capture_output=True,
        text=True,
    )
    (kernel,) = json.loads(done.stdout)["kernels"]
    is_refused = arguments in REFUSED.values()
    assert done.returncode == int(is_refused)
    assert (kernel["time_s"] is None) is is_refused
    assert kernel["flop"]
    assert not is_refused or "tilelang does not compile this" in kernel["message"]
