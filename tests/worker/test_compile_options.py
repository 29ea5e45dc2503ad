"""Whether a kernel is compiled with fast math, as each framework and the kernel have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.workers import TILELANG, TVM, analyzed
from tirlens import pipeline, source, worker_client
from tirlens_worker.frameworks.compile_options import COMPILE_FLAGS, PASS_CONFIGS, fast_math
from tirlens_worker.protocol import Analyze, Result

pytestmark = pytest.mark.slow

TILELANG_TEXT = """
import tilelang
import tilelang.language as T

@tilelang.jit{options}
def soften(N=4096):
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N // 128, threads=128) as bx:
            for i in T.Parallel(128):
                A[bx * 128 + i] = T.exp(A[bx * 128 + i])
    return main
"""
TVM_TEXT = """
from tvm.script import tirx as T

@T.prim_func
def soften(A: T.Buffer((4096,), "float32")):
    for bx in T.thread_binding(32, thread="blockIdx.x"):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            A[bx * 128 + tx] = T.exp(A[bx * 128 + tx])
"""
OPTION = "tilelang.PassConfigKey.TL_ENABLE_FAST_MATH"


def asked(text: str, folder: Path) -> Analyze:
    options = pipeline.Options(device="h100-sxm", time_limit_s=120.0)
    return pipeline.analysis_request(
        1, str(folder / "kernels.py"), text, source.read(text), options
    )


def told(result: Result) -> list[bool]:
    return [facts.fast_math for facts in result.kernels]


@pytest.mark.parametrize(
    ("options", "fast"),
    [
        ("", False),
        (f"(pass_configs={{{OPTION}: True}})", True),
        (f"(pass_configs={{{OPTION}: False}})", False),
        ('(compile_flags=["-O3", "--use_fast_math"])', True),
        ('(compile_flags="-O3 -use_fast_math")', True),
        ('(compile_flags=["-lineinfo"])', False),
    ],
)
def test_tilelang_where_it_is_asked_for(options: str, fast: bool, tmp_path: Path) -> None:
    request = asked(TILELANG_TEXT.format(options=options), tmp_path)
    assert told(analyzed(TILELANG, request)) == [fast]


def test_tvm_unless_it_is_forbidden(
    tvm_python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = asked(TVM_TEXT, tmp_path)
    assert told(analyzed(TVM, request)) == [True]
    monkeypatch.setenv("TVM_CUDA_NVCC_NO_FAST_MATH", "1")
    interpreter = worker_client.find_interpreter(tmp_path, setting=tvm_python)
    assert told(worker_client.analyze_blocking(interpreter, request)) == [False]


def test_flags_of_a_function_and_of_a_pass() -> None:
    assert fast_math("tilelang", {COMPILE_FLAGS: ["-O3", "--use_fast_math"]})
    assert fast_math("tilelang", {PASS_CONFIGS: {"tl.device_compile_flags": "--use_fast_math -O3"}})
    assert not fast_math("tilelang", {PASS_CONFIGS: {"tl.device_compile_flags": ["-lineinfo"]}})


def test_an_option_that_this_version_does_not_know_is_left_out_and_told(tmp_path: Path) -> None:
    options = "OPTIONS = {tilelang.PassConfigKey.TL_LONG_FORGOTTEN: True, " + OPTION + ": True}\n"
    text = TILELANG_TEXT.format(options="(pass_configs=OPTIONS)").replace(
        "@tilelang", options + "@tilelang"
    )
    result = analyzed(TILELANG, asked(text, tmp_path))
    assert told(result) == [True]
    (problem,) = result.problems
    assert "TL_LONG_FORGOTTEN" in problem.message
    assert problem.span is not None and problem.span.line == 5
