"""Kernels that a device cannot run: what they need, and a default device that has it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tirlens import pipeline, source
from tirlens.model.report import KernelReport
from tirlens.pipeline.options import Options
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[..., Result]

TIRX = """\
import tvm
from tvm.script import tirx as T


@T.prim_func
def plain(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    T.device_entry()
    bx = T.cta_id([8])
    tx = T.thread_id([128])
    B[bx * 128 + tx] = A[bx * 128 + tx] + T.float32(1)
"""
TENSOR_MEMORY = """

COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"


@T.prim_func
def commit(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    T.device_entry()
    bx = T.cta_id([8])
    tx = T.thread_id([128])
    barrier = T.alloc_shared((1,), "uint64")
    T.ptx[COMMIT](T.address_of(barrier[0]), pred=tx == 0)
    B[bx * 128 + tx] = A[bx * 128 + tx] + T.float32(1)
"""
GEMM = """\
import tilelang.language as T

@T.prim_func
def main(
    A: T.Tensor((1024, 1024), "{dtype}"),
    B: T.Tensor((1024, 1024), "{dtype}"),
    C: T.Tensor((1024, 1024), "float32"),
):
    with T.Kernel(8, 8, threads=128) as (bx, by):
        As = T.alloc_shared((128, 64), "{dtype}")
        Bs = T.alloc_shared((128, 64), "{dtype}")
        Cl = T.alloc_fragment((128, 128), "float32")
        T.clear(Cl)
        for k in T.Pipelined(16, num_stages=2):
            T.{copy}(A[by * 128, k * 64], As)
            T.copy(B[bx * 128, k * 64], Bs)
            T.{gemm}(As, Bs, Cl, transpose_B=True)
        T.copy(Cl, C[by * 128, bx * 128])
"""


def reports(result: Result, text: str, device: str | None = None) -> tuple[KernelReport, ...]:
    options = Options(advice=False, device=device)
    return pipeline.file_report(source.read(text), result, options).kernels


def test_the_default_device_has_the_instructions_of_all_kernels(run_tvm: Run) -> None:
    text = TIRX + TENSOR_MEMORY
    found = reports(run_tvm(text), text)
    assert [(one.device_id, one.device_source) for one in found] == [("b200", "instructions")] * 2
    assert all(one.time_s for one in found)
    (alone,) = reports(run_tvm(TIRX), TIRX)
    assert (alone.device_id, alone.device_source) == ("h100-sxm", "default")


@pytest.mark.parametrize("device", ["h100-sxm", "a100-80-sxm", "rtx-5090"])
def test_a_device_that_is_named_is_kept_and_the_reason_told(run_tvm: Run, device: str) -> None:
    text = TIRX + TENSOR_MEMORY
    plain, commit = reports(run_tvm(text), text, device)
    assert plain.time_s and plain.device_id == device
    assert commit.time_s is None and commit.status == "no-time"
    assert commit.message.startswith(f"it needs tcgen05 (sm_100), which {device} (sm_")
    (line,) = [i for i, one in enumerate(text.splitlines(), 1) if "T.ptx[COMMIT]" in one]
    assert any(note.span and note.span.line == line for note in commit.caveats)


@pytest.mark.parametrize(
    ("dtype", "copy", "gemm", "needs", "has", "lacks"),
    [
        ("float8_e4m3", "copy", "gemm", "mma of fp8 (sm_89)", "rtx-4090 h100-sxm", "a100-80-sxm"),
        ("bfloat16", "copy", "gemm", "mma of bf16 (sm_80)", "a100-80-sxm mi300x", "t4"),
        ("float16", "tma_copy", "gemm", "TMA (sm_90)", "h100-sxm rtx-5090", "a100-80-sxm l40s"),
        ("float16", "async_copy", "gemm", "cp.async (sm_80)", "a100-80-sxm h200", "t4"),
        ("float16", "copy", "wgmma_gemm", "wgmma (sm_90)", "h200", "a100-80-sxm b200 mi300x"),
        ("float16", "copy", "gemm", "", "t4 a100-80-sxm h100-sxm b200 rtx-4090", ""),
    ],
)
def test_what_each_instruction_of_tilelang_needs(
    run_tilelang: Run, dtype: str, copy: str, gemm: str, needs: str, has: str, lacks: str
) -> None:
    text = GEMM.format(dtype=dtype, copy=copy, gemm=gemm)
    result = run_tilelang(text)
    for device in has.split():
        (report,) = reports(result, text, device)
        assert report.time_s, (device, report.message)
    for device in lacks.split():
        (report,) = reports(result, text, device)
        assert report.time_s is None
        assert needs in report.message, (device, report.message)
