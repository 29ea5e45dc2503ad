"""A tile that is written as large as its array has the size that TVM gives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.requests import request_of
from support.workers import analyzed
from tirlens import model
from tirlens.hardware import load

pytestmark = pytest.mark.slow

TEXT = """
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def copy(a: T.handle, B: T.Buffer((1024, 1024), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (1024, 1024), "float32")
    A_shared = T.sblock_alloc_buffer((1024, 1024), "float32", scope="shared")
    A_local = T.sblock_alloc_buffer((1024, 1024), "float32", scope="local")
    whole = T.sblock_alloc_buffer((1024, 1024), "float32")
    for bx in T.thread_binding(32, thread="blockIdx.x"):
        for tx in T.thread_binding(256, thread="threadIdx.x"):
            for i, k in T.grid(32, 4):
                with T.sblock("load"):
                    vi = T.axis.spatial(1024, bx * 32 + i)
                    vj = T.axis.spatial(1024, k * 256 + tx)
                    T.sblock_attr({"buffer_dim_align": [[0, 0, 32, 8]]})
                    A_shared[vi, vj] = A[vi, vj]
            for i, k in T.grid(32, 4):
                with T.sblock("keep"):
                    vi = T.axis.spatial(1024, bx * 32 + i)
                    vj = T.axis.spatial(1024, tx * 4 + k)
                    A_local[vi, vj] = A_shared[vi, vj]
                with T.sblock("store"):
                    vi = T.axis.spatial(1024, bx * 32 + i)
                    vj = T.axis.spatial(1024, tx * 4 + k)
                    whole[vi, vj] = A_local[vi, vj]
    for bx in T.thread_binding(1024, thread="blockIdx.x"):
        for tx in T.thread_binding(1024, thread="threadIdx.x"):
            with T.sblock("last"):
                vi, vj = T.axis.remap("SS", [bx, tx])
                B[vi, vj] = whole[vi, vj]
"""


@pytest.mark.parametrize("environment_name", ["tvm-0.26.0", "tvm-0.27.0.post1"])
def test_what_a_schedule_keeps_of_an_array(environment_name: str, tmp_path: Path) -> None:
    result = analyzed(environment_name, request_of(tmp_path / "copy.py", TEXT, limit_s=60.0))
    (facts,) = result.kernels
    kept = {one.id: (one.shape, one.strides) for one in facts.buffers}
    # 32 rows of a block, each 8 elements longer than a multiple of 32: no two in the same bank.
    assert kept["A_shared"] == ((32, 1024), (1032, 1))
    # What a thread loads it stores in the same turn of the loops.
    assert kept["A_local"] == ((1, 1), ())
    # Global memory is as large as it was written, and so are parameters.
    assert kept["whole"] == kept["B"] == ((1024, 1024), ())
    report = model.analyze(facts, load("h100-sxm"), {})
    assert report.shared_bytes_per_block == 32 * 1032 * 4
    assert report.time_s is not None
