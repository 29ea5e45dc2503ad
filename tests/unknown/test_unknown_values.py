"""Indices and guards by calls: bytes and times of whole kernels.

A value that follows from the thread has the bytes and the time of the same expression; an unknown
one moves an element of its own for each thread, with a caveat at its line that has both bounds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.requests import request_of
from support.workers import TILELANG, TVM, analyzed
from tirlens import model
from tirlens.hardware import load
from tirlens.model.report import KernelReport

pytestmark = pytest.mark.slow

N = 1 << 26
ARRAY_BYTES = 4 * N
HEAD = """
import tilelang
import tilelang.language as T

N = 1 << 26


@T.prim_func
def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32"), C: T.Tensor((1,), "int32")):
    with T.Kernel(N // 128, threads=128) as bx:
        t = T.get_thread_binding()
"""
BY_THREAD = "B[bx * 128 + t] = A[bx * 128 + t] * 2.0"


def report_of(
    body: str, folder: Path, head: str = HEAD, environment: str = TILELANG
) -> KernelReport:
    """The report of a kernel with the lines `body`."""
    text = head + "".join(f"        {line}\n" for line in body.splitlines())
    result = analyzed(environment, request_of(folder / "kernel.py", text))
    assert result.kernels, result
    return model.analyze(result.kernels[0], load("h100-sxm"), {})


@pytest.mark.parametrize(
    "index",
    [
        "T.get_warp_idx() * 32 + T.get_lane_idx()",
        "T.get_warp_idx_sync() * 32 + T.get_lane_idx()",
        "T.get_warp_group_idx() * 128 + t % 128",
        "T.shfl_sync(t // 32, 0) * 32 + t % 32",
        "T.clamp(t, 0, 127)",
    ],
)
def test_a_value_of_the_thread_moves_what_the_thread_moves(index: str, tmp_path: Path) -> None:
    mine = report_of(f"B[bx * 128 + {index}] = A[bx * 128 + {index}] * 2.0", tmp_path)
    theirs = report_of(BY_THREAD, tmp_path)
    assert (mine.dram_bytes.read, mine.dram_bytes.write) == (
        theirs.dram_bytes.read,
        theirs.dram_bytes.write,
    )
    assert mine.time_s == pytest.approx(theirs.time_s, rel=0.02)
    assert mine.compulsory_bytes == 2 * ARRAY_BYTES
    assert mine.compulsory_is_exact


@pytest.mark.parametrize(
    ("guard", "share"),
    [
        ("T.get_warp_idx() == 0", 4),
        ("T.get_warp_idx_sync() == 3", 4),
        ("T.shuffle_elect(0)", 128),
        ("T.shuffle_elect(64)", 64),
        ("T.shuffle_elect(32)", 32),
        ("T.get_lane_idx() < 8", 4),
    ],
)
def test_a_guard_of_the_thread_holds_where_it_holds(guard: str, share: int, tmp_path: Path) -> None:
    report = report_of(f"if {guard}:\n    {BY_THREAD}", tmp_path)
    assert report.flop == N // share
    assert report.global_bytes.write == ARRAY_BYTES // share
    assert not any("depends on data" in caveat.message for caveat in report.caveats)


@pytest.mark.parametrize(
    ("body", "line", "array"),
    [
        ('B[bx * 128 + t] = A[T.call_pure_extern("int32", "hash", bx * 128 + t)]', 12, "A"),
        ('p = T.call_extern("int32", "next")\nB[p + 1] = A[bx * 128 + t]', 13, "B"),
        ("p = T.atomic_add(C[0], 1, return_prev=True)\nB[p] = A[bx * 128 + t]", 13, "B"),
        ("B[T.shfl_up(bx * 128 + t, 1)] = A[bx * 128 + t]", 12, "B"),
    ],
)
def test_an_unknown_index_is_bounded_and_marked(
    body: str, line: int, array: str, tmp_path: Path
) -> None:
    report = report_of(body, tmp_path)
    assert report.dram_bytes.read + report.dram_bytes.write >= 2 * ARRAY_BYTES
    assert not report.compulsory_is_exact
    (caveat,) = [one for one in report.caveats if f"an index of {array}" in one.message]
    assert f"4 to {ARRAY_BYTES:,} B" in caveat.message
    assert caveat.span is not None
    assert caveat.span.line == line


def test_an_unknown_guard_is_an_upper_bound_and_marked(tmp_path: Path) -> None:
    report = report_of(f"if T.any_sync(A[bx * 128 + t] > 0.0):\n    {BY_THREAD}", tmp_path)
    assert report.flop == N
    (caveat,) = [one for one in report.caveats if "counted as always holding" in one.message]
    assert f"0 to {N:,} FLOP" in caveat.message


HISTOGRAM = """
import tilelang.language as T

N = 1 << 26


@T.prim_func
def main(X: T.Tensor((N,), "int32"), G: T.Tensor((256,), "int32")):
    with T.Kernel(N // 4096, threads=256) as bx:
"""
HISTOGRAM_BODY = """S = T.alloc_shared((256,), "int32")
t = T.get_thread_binding()
S[t] = 0
T.sync_threads()
for k in T.serial(16):
    T.atomic_add(S[X[bx * 4096 + k * 256 + t]], 1)
T.sync_threads()
T.atomic_add(G[t], S[t])"""


def test_keys_of_a_histogram_are_read(tmp_path: Path) -> None:
    report = report_of(HISTOGRAM_BODY, tmp_path, HISTOGRAM)
    assert report.global_bytes.read == ARRAY_BYTES + 16384 * 1024
    assert report.global_bytes.write == 16384 * 1024
    assert report.compulsory_bytes >= ARRAY_BYTES
    assert report.time_s >= 80e-6


SCATTER = """
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def main(X: T.Buffer((4096,), "int32"), G: T.Buffer((4096,), "float32"),
         A: T.Buffer((4096,), "float32")):
    for b in T.thread_binding(16, thread="blockIdx.x"):
      for t in T.thread_binding(256, thread="threadIdx.x"):
"""
SCATTER_TILES = SCATTER.replace("from tvm.script import tirx", "import tilelang.language").replace(
    "(s_tir=True)", ""
)
POINTER = "p = T.address_of(G[X[b * 256 + t]])\nT.evaluate(T.cuda.atomic_add(p, A[b]))"


@pytest.mark.parametrize(
    ("environment", "head", "body"),
    [
        (TVM, SCATTER, "T.evaluate(T.cuda.atomic_add(T.address_of(G[X[b * 256 + t]]), A[b]))"),
        (TVM, SCATTER, POINTER),
        (TILELANG, SCATTER_TILES, "T.atomic_add(G[X[b * 256 + t]], A[b])"),
    ],
    ids=["address", "pointer", "tilelang"],
)  # fmt: skip
def test_keys_of_a_scatter_are_read(environment: str, head: str, body: str, tmp_path: Path) -> None:
    report = report_of(body, tmp_path, head, environment)
    assert report.global_bytes.read == 3 * 4096 * 4
    assert report.global_bytes.write == 4096 * 4


STAGED = """
import tilelang.language as T

N = 1 << 26


@T.prim_func
def main(A: T.Tensor((N,), "float32"), P: T.Tensor((N,), "int32"), B: T.Tensor((N,), "float32")):
    with T.Kernel(N // 512, threads=128) as bx:
        t = T.get_thread_binding()
"""


@pytest.mark.parametrize(
    "body",
    [
        (
            "s = T.alloc_shared((512,), 'int32')\n"
            "for i in T.serial(4):\n    s[i * 128 + t] = P[bx * 512 + i * 128 + t]\n"
            "T.sync_threads()\n"
            "for i in T.serial(4):\n    B[bx * 512 + i * 128 + t] = A[s[511 - i * 128 - t]]"
        ),
        (
            "s = T.alloc_local((4,), 'int32')\n"
            "for i in T.vectorized(4):\n    s[i] = P[bx * 512 + t * 4 + i]\n"
            "for i in T.serial(4):\n    B[bx * 512 + i * 128 + t] = A[s[i]]"
        ),
        (
            "s = T.alloc_fragment((512,), 'int32')\n"
            "T.copy(P[bx * 512], s)\n"
            "for i in T.Parallel(512):\n    B[bx * 512 + i] = A[s[i]]"
        ),
        (
            "v = T.alloc_var('int32')\n"
            "for i in T.serial(4):\n"
            "    v = P[bx * 512 + i * 128 + t]\n    B[bx * 512 + i * 128 + t] = A[v]"
        ),
        (
            "for i in T.serial(4):\n"
            "    x = T.cast(P[bx * 512 + i * 128 + t], 'float32') * 0.5\n"
            "    B[bx * 512 + i * 128 + t] = A[T.cast(x, 'int32')]"
        ),
    ],
    ids=["shared", "local", "fragment", "variable", "float"],
)
def test_a_gather_by_indices_in_the_block_moves_its_elements(body: str, tmp_path: Path) -> None:
    report = report_of(body, tmp_path, STAGED)
    assert report.dram_bytes.read is not None
    assert report.dram_bytes.read >= 2 * ARRAY_BYTES


QUEUE = """
import tilelang.language as T

N = 1 << 26


@T.prim_func
def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32"), C: T.Tensor((1,), "int32")):
    with T.Kernel(N // 128, threads=128) as bx:
        t = T.get_thread_binding()
"""


@pytest.mark.parametrize(
    ("body", "is_marked"),
    [
        (("p = T.alloc_var('int32')\np = T.atomic_add(C[0], 1, return_prev=True)\n"
         "B[p] = A[bx * 128 + t]"), True),
        (("p = T.alloc_local((1,), 'int32')\np[0] = T.call_extern('int32', 'next')\n"
         "B[p[0] + t] = A[bx * 128 + t]"), True),
        (("s = T.alloc_shared((1,), 'int32')\n"
         "if t == 0:\n    s[0] = T.atomic_add(C[0], 128, return_prev=True)\n"
         "T.sync_threads()\nB[s[0] + t] = A[bx * 128 + t]"), False),
    ],
    ids=["variable", "local", "block"],
)  # fmt: skip
def test_a_place_in_a_queue_is_another_for_each(body: str, is_marked: bool, tmp_path: Path) -> None:
    report = report_of(body, tmp_path, QUEUE)
    assert report.dram_bytes.write is not None
    assert report.dram_bytes.write >= ARRAY_BYTES
    assert is_marked == any("an index of B" in caveat.message for caveat in report.caveats)
