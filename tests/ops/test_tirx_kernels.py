"""TIRx of apache-tvm 0.26: elected threads, copies by TMA, tensor memory and pairs of blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.requests import request_of
from support.workers import analyzed
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.report import KernelReport
from tirlens_worker.facts import KernelFacts

HEAD = """
import tvm
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.tile_primitive.tma_utils import SwizzleMode, mma_shared_layout
from tvm.tirx.layout import S, TCol, TileLayout, TLane, tid_in_wg

N = 1024
"""
ELECTED = (
    HEAD
    + """
@T.prim_func
def scale(A: T.Buffer((N,), "float32"), D: T.Buffer((N,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    wg = T.warpgroup_id([1])
    warp = T.warp_id_in_wg([4])
    lane = T.lane_id([32])
    if {condition}:
        for i in T.serial(N):
            D[i] = A[i] * T.float32(2)
"""
)
PRODUCT = (
    HEAD
    + """
def gemm(n):
    dt = tvm.DataType("float16")
    tile = mma_shared_layout(dt, SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))

    @T.prim_func
    def kernel(A: T.Buffer((n, n), dt), B: T.Buffer((n, n), dt), D: T.Buffer((n, n), dt)):
        T.device_entry()
        bx, by = T.cta_id([n // 128, n // 128])
        wg_id = T.warpgroup_id([1])
        warp_id = T.warp_id_in_wg([4])
        lane_id = T.lane_id([32])
        pool = T.SMEMPool()
        addr = pool.alloc((1,), "uint32")
        loaded = pool.alloc((1,), "uint64", align=8)
        done = pool.alloc((1,), "uint64", align=8)
        pool.move_base_to(1024)
        As = pool.alloc((128, 64), dt, layout=tile)
        Bs = pool.alloc((128, 64), dt, layout=tile)
        pool.commit()
        if warp_id == 0:
            T.ptx.tcgen05.alloc(T.address_of(addr), n_cols={columns}, cta_group=1)
        T.cuda.cta_sync()
        tmem = T.decl_buffer(
            (128, {columns}), "float32", scope="tmem", allocated_addr=addr[0],
            layout=TileLayout(S[(128, {columns}) : (1 @ TLane, 1 @ TCol)]))
        phase: T.int32 = 0
        tid = T.meta_var(warp_id * 32 + lane_id)
        for k in range(n // 64):
            if tid == 0:
                Tx.copy_async(As[:, :], A[bx * 128 : bx * 128 + 128, k * 64 : k * 64 + 64],
                              dispatch="tma_auto", cta_group=1, mbar=loaded.ptr_to([0]))
                Tx.copy_async(Bs[:, :], B[by * 128 : by * 128 + 128, k * 64 : k * 64 + 64],
                              dispatch="tma_auto", cta_group=1, mbar=loaded.ptr_to([0]))
                T.ptx.mbarrier.arrive.expect_tx(loaded.ptr_to([0]), 32768)
            T.ptx.mbarrier.try_wait(loaded.ptr_to([0]), phase)
            if tid == 0:
                Tx.gemm_async(tmem[:, :128], As[:, :], Bs[:, :], accum=k != 0,
                              dispatch="tcgen05", cta_group={group})
                T.ptx.tcgen05.commit(done.ptr_to([0]), cta_group={group})
            T.ptx.mbarrier.try_wait(done.ptr_to([0]), phase)
            phase ^= 1
    return kernel

# tirlens: gemm(4096)
"""
)


def facts_of(folder: Path, text: str) -> KernelFacts:
    path = folder / "kernel.py"
    path.write_text(text)
    (kernel,) = analyzed("tvm-0.26.0", request_of(path, text)).kernels
    return kernel


def report_of(folder: Path, text: str) -> KernelReport:
    return analyze(facts_of(folder, text), load("b200"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("condition", "threads"),
    [
        ("warp == 0 and T.filter(lane, T.ptx.elect_sync())", 1),
        ("T.filter(lane, T.ptx.elect_sync())", 4),
        ("warp < 2 and T.filter(lane, lane == 5)", 2),
        ("T.filter(lane, lane < 8)", 32),
    ],
)
def test_a_filter_holds_where_its_condition_does(
    tmp_path: Path, condition: str, threads: int
) -> None:
    report = report_of(tmp_path, ELECTED.format(condition=condition))
    assert report.flop == 1024 * threads
    assert (report.global_bytes.read, report.global_bytes.write) == (4096 * threads,) * 2


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "blocks"), [(512, 1), (256, 2), (128, 4)])
def test_tensor_memory_limits_the_blocks_of_an_sm(
    tmp_path: Path, columns: int, blocks: int
) -> None:
    report = report_of(tmp_path, PRODUCT.format(columns=columns, group=1))
    assert report.occupancy is not None
    assert (report.occupancy.blocks_per_sm, report.occupancy.limiter) == (blocks, "tensor memory")


@pytest.mark.slow
def test_tma_copies_for_the_thread_that_issues_them(tmp_path: Path) -> None:
    report = report_of(tmp_path, PRODUCT.format(columns=512, group=1))
    assert report.flop == 2 * 4096**3
    # A step is a round trip of TMA and a product: 0.6 to 1.2 us. There are 64 in each of 7 waves.
    assert report.time_s is not None and 64 * 7 * 0.6e-6 < report.time_s < 64 * 7 * 1.2e-6
    copies = [entry for _, entry in report.walk() if entry.path == ("TMA",)]
    assert len(copies) == 2


@pytest.mark.slow
def test_two_blocks_multiply_the_rows_of_both(tmp_path: Path) -> None:
    alone, pair = (report_of(tmp_path, PRODUCT.format(columns=512, group=n)) for n in (1, 2))
    assert pair.flop == 2 * (alone.flop or 0)
