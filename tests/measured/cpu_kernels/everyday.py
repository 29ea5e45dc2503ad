"""Everyday kernels in a handful of schedules each, written after the last change to the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tvm.script import tirx as T

from .operators import scheduled

Kernel = tuple[str, str, Any]


def gemm(m: int, n: int, k: int) -> Any:
    @T.prim_func(s_tir=True)
    def gemm(
        A: T.Buffer((m, k), "float32"),
        B: T.Buffer((k, n), "float32"),
        C: T.Buffer((m, n), "float32"),
    ) -> None:
        for i, j, r in T.grid(m, n, k):
            with T.sblock("C"):
                vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vr] * B[vr, vj]

    return gemm


def gemm_blocks(bi: int, bj: int, bk: int, parallel: bool) -> Callable[[Any], None]:
    """Blocks as in TVM's tutorial: rows and columns outside, vectors of columns innermost."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        i, j, k = sch.get_loops(block)
        io, ii = sch.split(i, [None, bi])
        jo, ji = sch.split(j, [None, bj])
        ko, ki = sch.split(k, [None, bk])
        sch.reorder(io, jo, ko, ki, ii, ji)
        sch.vectorize(ji)
        if parallel:
            sch.parallel(sch.fuse(io, jo))
        sch.decompose_reduction(block, ko)

    return change


def gemm_rows(sch: Any) -> None:
    block = sch.get_sblock("C")
    i, j, k = sch.get_loops(block)
    sch.reorder(i, k, j)
    sch.parallel(i)


def gemm_dots(sch: Any) -> None:
    """Eight partial sums for each element, over rows of B's transpose read in place."""
    block = sch.get_sblock("C")
    k = sch.get_loops(block)[2]
    _, inner = sch.split(k, [None, 8])
    sch.unroll(inner)
    sch.decompose_reduction(block, sch.get_loops(block)[2])


def strided_conv(ci: int, co: int, h: int) -> Any:
    """3 x 3 with stride 2, on an image padded before."""

    @T.prim_func(s_tir=True)
    def strided_conv(
        X: T.Buffer((ci, 2 * h, 2 * h), "float32"),
        W: T.Buffer((co, ci, 3, 3), "float32"),
        Y: T.Buffer((co, h, h), "float32"),
    ) -> None:
        P = T.sblock_alloc_buffer((ci, 2 * h + 1, 2 * h + 1), "float32")
        for c, y, x in T.grid(ci, 2 * h + 1, 2 * h + 1):
            with T.sblock("P"):
                vc, vy, vx = T.axis.remap("SSS", [c, y, x])
                P[vc, vy, vx] = T.if_then_else(
                    vy > 0 and vx > 0, X[vc, vy - 1, vx - 1], T.float32(0)
                )
        for f, y, x, c, p, q in T.grid(co, h, h, ci, 3, 3):
            with T.sblock("Y"):
                vf, vy, vx, vc, vp, vq = T.axis.remap("SSSRRR", [f, y, x, c, p, q])
                with T.init():
                    Y[vf, vy, vx] = T.float32(0)
                Y[vf, vy, vx] = Y[vf, vy, vx] + P[vc, vy * 2 + vp, vx * 2 + vq] * W[vf, vc, vp, vq]

    return strided_conv


def strided_rows(sch: Any) -> None:
    block = sch.get_sblock("Y")
    f, y, x, c, p, q = sch.get_loops(block)
    sch.reorder(f, y, c, p, q, x)
    sch.parallel(f)
    sch.decompose_reduction(block, c)


def layer_norm(rows: int, n: int) -> Any:
    """In three passes: mean, variance, result."""

    @T.prim_func(s_tir=True)
    def layer_norm(
        X: T.Buffer((rows, n), "float32"),
        G: T.Buffer((n,), "float32"),
        B: T.Buffer((n,), "float32"),
        Y: T.Buffer((rows, n), "float32"),
    ) -> None:
        M = T.sblock_alloc_buffer((rows,), "float32")
        S = T.sblock_alloc_buffer((rows,), "float32")
        for i, j in T.grid(rows, n):
            with T.sblock("M"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    M[vi] = T.float32(0)
                M[vi] = M[vi] + X[vi, vj] / T.float32(n)
        for i, j in T.grid(rows, n):
            with T.sblock("S"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + (X[vi, vj] - M[vi]) * (X[vi, vj] - M[vi]) / T.float32(n)
        for i, j in T.grid(rows, n):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = (X[vi, vj] - M[vi]) / T.sqrt(S[vi] + T.float32(1e-5)) * G[vj] + B[vj]

    return layer_norm


def fused_rows(sch: Any) -> None:
    i = sch.get_loops(sch.get_sblock("M"))[0]
    sch.reverse_compute_at(sch.get_sblock("S"), i)
    sch.reverse_compute_at(sch.get_sblock("Y"), i)
    sch.parallel(i)


def chain(n: int) -> Any:
    """Three statements over arrays, with what they leave between them."""

    @T.prim_func(s_tir=True)
    def chain(
        A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), C: T.Buffer((n,), "float32")
    ) -> None:
        U = T.sblock_alloc_buffer((n,), "float32")
        V = T.sblock_alloc_buffer((n,), "float32")
        for i in range(n):
            with T.sblock("U"):
                vi = T.axis.spatial(n, i)
                U[vi] = A[vi] * T.float32(2) + B[vi]
        for i in range(n):
            with T.sblock("V"):
                vi = T.axis.spatial(n, i)
                V[vi] = T.max(U[vi], T.float32(0)) * U[vi]
        for i in range(n):
            with T.sblock("B"):
                vi = T.axis.spatial(n, i)
                C[vi] = V[vi] - A[vi]

    return chain


def inlined(lanes: int, parallel: bool) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        sch.compute_inline(sch.get_sblock("U"))
        sch.compute_inline(sch.get_sblock("V"))
        block = sch.get_sblock("B")
        if lanes:
            _, inner = sch.split(sch.get_loops(block)[0], [None, lanes])
            sch.vectorize(inner)
        if parallel:
            outer, _ = sch.split(sch.get_loops(block)[0], [8, None])
            sch.parallel(outer)

    return change


def turned(m: int, n: int) -> Any:
    @T.prim_func(s_tir=True)
    def turned(A: T.Buffer((m, n), "float32"), B: T.Buffer((n, m), "float32")) -> None:
        for i, j in T.grid(n, m):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    return turned


def tiles(rows: int, columns: int, unroll: bool) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        i, j = sch.get_loops(sch.get_sblock("B"))
        io, ii = sch.split(i, [None, rows])
        jo, ji = sch.split(j, [None, columns])
        sch.reorder(io, jo, ii, ji)
        if unroll:
            sch.unroll(ii)

    return change


def cube(n: int) -> Any:
    """Each point and its six neighbours, weighted."""

    @T.prim_func(s_tir=True)
    def cube(
        A: T.Buffer((n + 2, n + 2, n + 2), "float32"), B: T.Buffer((n, n, n), "float32")
    ) -> None:
        for i, j, k in T.grid(n, n, n):
            with T.sblock("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[vi + 1, vj + 1, vk + 1] * T.float32(0.4) + T.float32(0.1) * (
                    A[vi, vj + 1, vk + 1]
                    + A[vi + 2, vj + 1, vk + 1]
                    + A[vi + 1, vj, vk + 1]
                    + A[vi + 1, vj + 2, vk + 1]
                    + A[vi + 1, vj + 1, vk]
                    + A[vi + 1, vj + 1, vk + 2]
                )

    return cube


def cube_loops(kind: str) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        i, j, k = sch.get_loops(sch.get_sblock("B"))
        if kind == "parallel":
            sch.parallel(i)
        elif kind == "k outside":
            sch.reorder(k, i, j)
        else:
            _, inner = sch.split(k, [None, 16])
            sch.vectorize(inner)
            sch.parallel(sch.fuse(i, j))

    return change


def means(a: int, b: int, c: int) -> Any:
    """The mean over the middle axis."""

    @T.prim_func(s_tir=True)
    def means(A: T.Buffer((a, b, c), "float32"), S: T.Buffer((a, c), "float32")) -> None:
        for i, k, j in T.grid(a, c, b):
            with T.sblock("S"):
                vi, vk, vj = T.axis.remap("SSR", [i, k, j])
                with T.init():
                    S[vi, vk] = T.float32(0)
                S[vi, vk] = S[vi, vk] + A[vi, vj, vk] * T.float32(1 / b)

    return means


def means_rows(parallel: bool) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        block = sch.get_sblock("S")
        i, k, j = sch.get_loops(block)
        sch.reorder(i, j, k)
        if parallel:
            sch.parallel(i)
        sch.decompose_reduction(block, j)

    return change


def kernels() -> Iterator[Kernel]:
    name = "gemm 288 352 320"
    base = gemm(288, 352, 320)
    yield name, "naive", base
    yield name, "rows parallel", scheduled(base, gemm_rows)
    yield name, "unrolled by 8", scheduled(base, gemm_dots)
    yield name, "blocks 32 32 4", scheduled(base, gemm_blocks(32, 32, 4, False))
    yield name, "blocks 8 16 64", scheduled(base, gemm_blocks(8, 16, 64, False))
    yield name, "blocks 48 16 16 parallel", scheduled(base, gemm_blocks(48, 16, 16, True))
    name = "strided conv 16 32 28"
    base = strided_conv(16, 32, 28)
    yield name, "naive", base
    yield name, "rows parallel", scheduled(base, strided_rows)
    name = "layer norm three passes 256 1024"
    base = layer_norm(256, 1024)
    yield name, "plain", base
    yield name, "fused rows parallel", scheduled(base, fused_rows)
    for n in (20000, 2000000):
        name = f"chain {n}"
        base = chain(n)
        yield name, "plain", base
        yield name, "inlined", scheduled(base, inlined(0, False))
        yield name, "inlined, vectors of 16", scheduled(base, inlined(16, False))
        yield name, "inlined, vectors of 8 parallel", scheduled(base, inlined(8, True))
    name = "turned 720 400"
    base = turned(720, 400)
    yield name, "plain", base
    yield name, "tiles 8 8", scheduled(base, tiles(8, 8, False))
    yield name, "tiles 16 48", scheduled(base, tiles(16, 48, False))
    yield name, "tiles 4 16 unrolled", scheduled(base, tiles(4, 16, True))
    for n in (48, 160):
        name = f"cube {n}"
        base = cube(n)
        yield name, "plain", base
        for kind in ("parallel", "k outside", "vectors parallel"):
            yield name, kind, scheduled(base, cube_loops(kind))
    name = "means 24 128 200"
    base = means(24, 128, 200)
    yield name, "plain", base
    yield name, "rows", scheduled(base, means_rows(False))
    yield name, "rows parallel", scheduled(base, means_rows(True))
