"""Matrix products: ``C = A B`` by loop order, tiles, vectors, threads, packing and unrolling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tvm
from tvm.script import tirx as T

Kernel = tuple[str, str, Any]


def product(m: int, n: int, k: int, dtype: str = "float32") -> Any:
    @T.prim_func(s_tir=True)
    def matmul(
        A: T.Buffer((m, k), dtype), B: T.Buffer((k, n), dtype), C: T.Buffer((m, n), dtype)
    ) -> None:
        for i, j, r in T.grid(m, n, k):
            with T.sblock("C"):
                vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    C[vi, vj] = T.cast(0, dtype)
                C[vi, vj] = C[vi, vj] + A[vi, vr] * B[vr, vj]

    return matmul


def product_transposed(m: int, n: int, k: int) -> Any:
    @T.prim_func(s_tir=True)
    def matmul_nt(
        A: T.Buffer((m, k), "float32"),
        B: T.Buffer((n, k), "float32"),
        C: T.Buffer((m, n), "float32"),
    ) -> None:
        for i, j, r in T.grid(m, n, k):
            with T.sblock("C"):
                vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vr] * B[vj, vr]

    return matmul_nt


def packed(m: int, n: int, k: int, width: int) -> Any:
    """B is copied into panels of `width` columns first, so that the product reads it in order."""

    @T.prim_func(s_tir=True)
    def matmul_packed(
        A: T.Buffer((m, k), "float32"),
        B: T.Buffer((k, n), "float32"),
        C: T.Buffer((m, n), "float32"),
    ) -> None:
        P = T.sblock_alloc_buffer((n // width, k, width), "float32")
        for p, r, v in T.grid(n // width, k, width):
            with T.sblock("P"):
                vp, vr, vv = T.axis.remap("SSS", [p, r, v])
                P[vp, vr, vv] = B[vr, vp * width + vv]
        for i, j, r in T.grid(m, n, k):
            with T.sblock("C"):
                vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vr] * P[vj // width, vr, vj % width]

    return matmul_packed


def scheduled(func: Any, change: Callable[[Any], None]) -> Any:
    schedule = tvm.s_tir.Schedule(func)
    change(schedule)
    return schedule.mod["main"]


def order(*names: str) -> Callable[[Any], None]:
    """The loops ``i j k`` in this order, the initialisation before them."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        loops = dict(zip("ijk", sch.get_loops(block), strict=True))
        sch.reorder(*(loops[name] for name in names))
        sch.decompose_reduction(block, loops[names[0]])

    return change


def row_major(parallel: bool = False, vectors: int = 0) -> Callable[[Any], None]:
    """``i k j`` with each row of C cleared before its product."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        i, j, k = sch.get_loops(block)
        sch.reorder(i, k, j)
        if vectors:
            _, lanes = sch.split(j, [None, vectors])
            sch.vectorize(lanes)
        if parallel:
            sch.parallel(i)
        init = sch.decompose_reduction(block, k)
        if vectors:
            sch.vectorize(sch.get_loops(init)[-1])

    return change


def tiled(
    bi: int, bj: int, bk: int, vectors: bool = False, parallel: bool = False, inner: str = "kij"
) -> Callable[[Any], None]:
    """Blocks of ``bi x bj x bk``; inside, the loops in the order of `inner`."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        i, j, k = sch.get_loops(block)
        io, ii = sch.split(i, [None, bi])
        jo, ji = sch.split(j, [None, bj])
        ko, ki = sch.split(k, [None, bk])
        inside = {"i": ii, "j": ji, "k": ki}
        sch.reorder(io, jo, ko, *(inside[name] for name in inner))
        if vectors:
            sch.vectorize(ji)
        if parallel:
            sch.parallel(io)
        sch.decompose_reduction(block, ko)

    return change


def registers(
    bi: int, bj: int, bk: int, parallel: bool = False, unroll_k: int = 0, name: str = "C"
) -> Callable[[Any], None]:
    """A tile of ``bi x bj`` sums in registers: rows unrolled, columns in vectors."""

    def change(sch: Any) -> None:
        block = sch.get_sblock(name)
        i, j, k = sch.get_loops(block)
        io, ii = sch.split(i, [None, bi])
        jo, ji = sch.split(j, [None, bj])
        if bk:
            ko, ki = sch.split(k, [None, bk])
            sch.reorder(io, jo, ko, ki, ii, ji)
        else:
            ko = ki = k
            sch.reorder(io, jo, k, ii, ji)
        if unroll_k:
            _, ku = sch.split(ki, [None, unroll_k])
            sch.unroll(ku)
        sch.vectorize(ji)
        sch.unroll(ii)
        if parallel:
            sch.parallel(io)
        init = sch.decompose_reduction(block, ko)
        sch.vectorize(sch.get_loops(init)[-1])

    return change


def accumulators(bi: int, bj: int, bk: int, parallel: bool = False) -> Callable[[Any], None]:
    """As `registers`, in a local array that is written to C at the end."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        local = sch.cache_write(block, 0, "local")
        i, j, k = sch.get_loops(block)
        io, ii = sch.split(i, [None, bi])
        jo, ji = sch.split(j, [None, bj])
        ko, ki = sch.split(k, [None, bk])
        sch.reorder(io, jo, ko, ki, ii, ji)
        sch.reverse_compute_at(local, jo)
        sch.vectorize(ji)
        sch.unroll(ii)
        if parallel:
            sch.parallel(io)
        init = sch.decompose_reduction(block, ko)
        sch.vectorize(sch.get_loops(init)[-1])
        sch.vectorize(sch.get_loops(local)[-1])

    return change


def gemv(m: int, k: int) -> Any:
    @T.prim_func(s_tir=True)
    def matvec(
        A: T.Buffer((m, k), "float32"), X: T.Buffer((k,), "float32"), Y: T.Buffer((m,), "float32")
    ) -> None:
        for i, r in T.grid(m, k):
            with T.sblock("Y"):
                vi, vr = T.axis.remap("SR", [i, r])
                with T.init():
                    Y[vi] = T.float32(0)
                Y[vi] = Y[vi] + A[vi, vr] * X[vr]

    return matvec


def gemv_rfactor(sch: Any) -> None:
    """Sixteen partial sums a row, in one vector."""
    block = sch.get_sblock("Y")
    _, k = sch.get_loops(block)
    _, lanes = sch.split(k, [None, 16])
    partial = sch.rfactor(lanes, 1)
    i, ko, v = sch.get_loops(partial)
    sch.reorder(i, ko, v)
    sch.vectorize(v)
    sch.decompose_reduction(partial, ko)
    sch.reverse_compute_at(block, i)


def gemv_rows(rows: int, parallel: bool = False) -> Callable[[Any], None]:
    """Several rows at a time, one sum each."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("Y")
        i, k = sch.get_loops(block)
        io, ii = sch.split(i, [None, rows])
        sch.reorder(io, k, ii)
        sch.unroll(ii)
        if parallel:
            sch.parallel(io)
        sch.decompose_reduction(block, k)

    return change


def gemv_columns(sch: Any) -> None:
    block = sch.get_sblock("Y")
    i, k = sch.get_loops(block)
    sch.reorder(k, i)
    sch.decompose_reduction(block, k)


def batched(b: int, m: int, n: int, k: int) -> Any:
    @T.prim_func(s_tir=True)
    def batch_matmul(
        A: T.Buffer((b, m, k), "float32"),
        B: T.Buffer((b, k, n), "float32"),
        C: T.Buffer((b, m, n), "float32"),
    ) -> None:
        for z, i, j, r in T.grid(b, m, n, k):
            with T.sblock("C"):
                vz, vi, vj, vr = T.axis.remap("SSSR", [z, i, j, r])
                with T.init():
                    C[vz, vi, vj] = T.float32(0)
                C[vz, vi, vj] = C[vz, vi, vj] + A[vz, vi, vr] * B[vz, vr, vj]

    return batch_matmul


def batched_rows(parallel: bool, tile: int = 0) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        z, i, j, k = sch.get_loops(block)
        if tile:
            jo, ji = sch.split(j, [None, tile])
            sch.reorder(z, i, jo, k, ji)
            sch.vectorize(ji)
        else:
            sch.reorder(z, i, k, j)
        if parallel:
            sch.parallel(z)
        sch.decompose_reduction(block, k)

    return change


def kernels() -> Iterator[Kernel]:
    for size in (64, 256, 500):
        name = f"matmul {size}"
        base = product(size, size, size)
        yield name, "naive", base
        for loops in ("ijk", "ikj", "jki", "kij"):
            yield name, f"order {loops}", scheduled(base, order(*loops))
    for size in (256, 512, 768):
        name = f"matmul {size}" if size == 256 else f"matmul tiles {size}"
        base = product(size, size, size)
        if size != 256:
            yield name, "order ikj", scheduled(base, order("i", "k", "j"))
        yield name, "rows in vectors of 16", scheduled(base, row_major(vectors=16))
        yield name, "rows parallel", scheduled(base, row_major(parallel=True))
        yield name, "tile 32 32 32 kij", scheduled(base, tiled(32, 32, 32))
        yield name, "tile 32 32 32 ikj", scheduled(base, tiled(32, 32, 32, inner="ikj"))
        yield name, "tile 32 32 32 ijk", scheduled(base, tiled(32, 32, 32, inner="ijk"))
        yield (
            name,
            "tile 16 64 16 ikj vector",
            scheduled(base, tiled(16, 64, 16, True, inner="ikj")),
        )
        yield name, "registers 4x16", scheduled(base, registers(4, 16, 0))
        yield name, "registers 4x32 k 64", scheduled(base, registers(4, 32, 64))
        yield name, "registers 8x32 k 64 parallel", scheduled(base, registers(8, 32, 64, True))
        yield name, "registers 1x16", scheduled(base, registers(1, 16, 0))
        yield name, "registers 16x64", scheduled(base, registers(16, 64, 64))
        yield name, "accumulators 4x32 k 4", scheduled(base, accumulators(4, 32, 4))
        yield name, "accumulators 8x16 k 4 parallel", scheduled(base, accumulators(8, 16, 4, True))
        yield (
            name,
            "packed registers 4x32",
            scheduled(packed(size, size, size, 32), registers(4, 32, 0)),
        )
    name = "matmul transposed 384"
    base = product_transposed(384, 384, 384)
    yield name, "naive", base
    yield name, "order ijk", scheduled(base, order("i", "j", "k"))
    yield name, "order ikj", scheduled(base, order("i", "k", "j"))
    yield name, "tile 32 32 64 ijk", scheduled(base, tiled(32, 32, 64, inner="ijk"))
    yield name, "tile 4 4 384 kij", scheduled(base, tiled(4, 4, 384, inner="kij"))
    yield (
        name,
        "tile 4 4 384 kij parallel",
        scheduled(base, tiled(4, 4, 384, inner="kij", parallel=True)),
    )
    name = "matmul float64 240"
    base = product(240, 240, 240, "float64")
    yield name, "naive", base
    yield name, "order ikj", scheduled(base, order("i", "k", "j"))
    yield name, "registers 4x16", scheduled(base, registers(4, 16, 0))
    yield name, "tile 24 24 24 kij", scheduled(base, tiled(24, 24, 24))
    for m, k in ((256, 512), (4096, 4096)):
        name = f"gemv {m} {k}"
        base = gemv(m, k)
        yield name, "naive", base
        yield name, "partial sums", scheduled(base, gemv_rfactor)
        yield name, "rows 8", scheduled(base, gemv_rows(8))
        yield name, "rows 4 parallel", scheduled(base, gemv_rows(4, True))
        yield name, "columns", scheduled(base, gemv_columns)
    name = "batched matmul 16 96"
    base = batched(16, 96, 96, 96)
    yield name, "naive", base
    yield name, "rows", scheduled(base, batched_rows(False))
    yield name, "rows parallel", scheduled(base, batched_rows(True))
    yield name, "columns 32", scheduled(base, batched_rows(False, 32))
    yield name, "columns 32 parallel", scheduled(base, batched_rows(True, 32))
