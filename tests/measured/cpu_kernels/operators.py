"""Operators of networks as one writes them: attention, norms, quantised products, gathers.

No rule or constant of the model was looked at with these workloads before their first score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tvm
from tvm.script import tirx as T

Kernel = tuple[str, str, Any]


def scheduled(func: Any, change: Callable[[Any], None]) -> Any:
    schedule = tvm.s_tir.Schedule(func)
    change(schedule)
    return schedule.mod["main"]


def scores(heads: int, n: int, d: int) -> Any:
    """Attention's ``Q K^T`` with its scale, one product for each head."""

    @T.prim_func(s_tir=True)
    def scores(
        Q: T.Buffer((heads, n, d), "float32"),
        K: T.Buffer((heads, n, d), "float32"),
        S: T.Buffer((heads, n, n), "float32"),
    ) -> None:
        P = T.sblock_alloc_buffer((heads, n, n), "float32")
        for h, i, j, r in T.grid(heads, n, n, d):
            with T.sblock("P"):
                vh, vi, vj, vr = T.axis.remap("SSSR", [h, i, j, r])
                with T.init():
                    P[vh, vi, vj] = T.float32(0)
                P[vh, vi, vj] = P[vh, vi, vj] + Q[vh, vi, vr] * K[vh, vj, vr]
        for h, i, j in T.grid(heads, n, n):
            with T.sblock("S"):
                vh, vi, vj = T.axis.remap("SSS", [h, i, j])
                S[vh, vi, vj] = P[vh, vi, vj] * T.float32(0.125)

    return scores


def scores_fused(parallel: bool, lanes: int) -> Callable[[Any], None]:
    """The scale beside the product; `lanes` partial sums over the depth."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("P")
        h, i, _, k = sch.get_loops(block)
        if lanes:
            _, inner = sch.split(k, [None, lanes])
            partial = sch.rfactor(inner, 3)
            sch.vectorize(sch.get_loops(partial)[-1])
            ph, pi, pj, pko, pv = sch.get_loops(partial)
            sch.reorder(ph, pi, pj, pko, pv)
        if parallel:
            sch.parallel(sch.fuse(h, i))

    return change


def scores_packed(sch: Any) -> None:
    """The keys transposed first, so that their columns are vectors."""
    block = sch.get_sblock("P")
    sch.transform_layout(
        sch.cache_read(block, 1, "global"), ("write", 0), lambda h, j, r: (h, r, j)
    )
    h, i, j, k = sch.get_loops(block)
    jo, ji = sch.split(j, [None, 32])
    sch.reorder(h, i, jo, k, ji)
    sch.vectorize(ji)
    sch.parallel(h)
    init = sch.decompose_reduction(block, k)
    sch.vectorize(sch.get_loops(init)[-1])


def rms_norm(rows: int, n: int) -> Any:
    @T.prim_func(s_tir=True)
    def rms_norm(
        X: T.Buffer((rows, n), "float32"),
        G: T.Buffer((n,), "float32"),
        Y: T.Buffer((rows, n), "float32"),
    ) -> None:
        S = T.sblock_alloc_buffer((rows,), "float32")
        for i, j in T.grid(rows, n):
            with T.sblock("S"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + X[vi, vj] * X[vi, vj]
        for i, j in T.grid(rows, n):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * T.rsqrt(S[vi] / T.float32(n) + T.float32(1e-5)) * G[vj]

    return rms_norm


def norm_rows(lanes: int, parallel: bool) -> Callable[[Any], None]:
    """Row after row; the sum in `lanes` partial sums."""

    def change(sch: Any) -> None:
        total = sch.get_sblock("S")
        i, j = sch.get_loops(total)
        partial = None
        if lanes:
            _, inner = sch.split(j, [None, lanes])
            partial = sch.rfactor(inner, 1)
            i, j, v = sch.get_loops(partial)
            sch.reorder(i, j, v)
            sch.vectorize(v)
            sch.reverse_compute_at(total, i)
        sch.reverse_compute_at(sch.get_sblock("Y"), i)
        if parallel:
            sch.parallel(i)
        if partial is not None:
            sch.decompose_reduction(partial, j)

    return change


def batch_statistics(rows: int, n: int) -> Any:
    """Mean and variance of each column in one pass, as batch norm trains with."""

    @T.prim_func(s_tir=True)
    def batch_statistics(
        X: T.Buffer((rows, n), "float32"),
        M: T.Buffer((n,), "float32"),
        V: T.Buffer((n,), "float32"),
    ) -> None:
        for j in range(n):
            M[j] = T.float32(0)
            V[j] = T.float32(0)
        for i, j in T.grid(rows, n):
            M[j] = M[j] + X[i, j]
            V[j] = V[j] + X[i, j] * X[i, j]
        for j in range(n):
            M[j] = M[j] / T.float32(rows)
            V[j] = V[j] / T.float32(rows) - M[j] * M[j]

    return batch_statistics


def softmax_columns(m: int, n: int) -> Any:
    """Softmax over the rows of each column, in four passes."""

    @T.prim_func(s_tir=True)
    def softmax_columns(A: T.Buffer((m, n), "float32"), B: T.Buffer((m, n), "float32")) -> None:
        most = T.sblock_alloc_buffer((n,), "float32")
        total = T.sblock_alloc_buffer((n,), "float32")
        for j in range(n):
            most[j] = T.float32(-3.4e38)
            total[j] = T.float32(0)
        for i, j in T.grid(m, n):
            most[j] = T.max(most[j], A[i, j])
        for i, j in T.grid(m, n):
            B[i, j] = T.exp(A[i, j] - most[j])
        for i, j in T.grid(m, n):
            total[j] = total[j] + B[i, j]
        for i, j in T.grid(m, n):
            B[i, j] = B[i, j] / total[j]

    return softmax_columns


def quantised(m: int, n: int, k: int) -> Any:
    """int8 rows times int8 rows, summed in int32."""

    @T.prim_func(s_tir=True)
    def quantised(
        A: T.Buffer((m, k), "int8"), B: T.Buffer((n, k), "int8"), C: T.Buffer((m, n), "int32")
    ) -> None:
        for i, j, r in T.grid(m, n, k):
            with T.sblock("C"):
                vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] = C[vi, vj] + T.cast(A[vi, vr], "int32") * T.cast(B[vj, vr], "int32")

    return quantised


def quantised_tile(sch: Any) -> None:
    """Four rows of each side share their loads."""
    block = sch.get_sblock("C")
    i, j, k = sch.get_loops(block)
    io, ii = sch.split(i, [None, 4])
    jo, ji = sch.split(j, [None, 4])
    sch.reorder(io, jo, k, ii, ji)
    sch.unroll(ii)
    sch.unroll(ji)
    sch.parallel(io)
    sch.decompose_reduction(block, k)


def requantise(n: int) -> Any:
    @T.prim_func(s_tir=True)
    def requantise(A: T.Buffer((n,), "int32"), B: T.Buffer((n,), "int8")) -> None:
        for i in range(n):
            B[i] = T.cast(
                T.min(
                    T.max(T.cast(A[i], "float32") * T.float32(0.37), T.float32(-127)),
                    T.float32(127),
                ),
                "int8",
            )

    return requantise


def embedding(words: int, n: int, d: int) -> Any:
    @T.prim_func(s_tir=True)
    def embedding(
        W: T.Buffer((words, d), "float32"),
        R: T.Buffer((n,), "int32"),
        Y: T.Buffer((n, d), "float32"),
    ) -> None:
        T.func_attr({"indices_below": words})
        for i, j in T.grid(n, d):
            Y[i, j] = W[R[i], j]

    return embedding


def embedding_bag(words: int, bags: int, each: int, d: int) -> Any:
    @T.prim_func(s_tir=True)
    def embedding_bag(
        W: T.Buffer((words, d), "float32"),
        R: T.Buffer((bags, each), "int32"),
        Y: T.Buffer((bags, d), "float32"),
    ) -> None:
        T.func_attr({"indices_below": words})
        for i in range(bags):
            for j in range(d):
                Y[i, j] = T.float32(0)
            for e, j in T.grid(each, d):
                Y[i, j] = Y[i, j] + W[R[i, e], j]

    return embedding_bag


def rotary(n: int, d: int) -> Any:
    """Pairs of a row turned by an angle from tables."""

    @T.prim_func(s_tir=True)
    def rotary(
        X: T.Buffer((n, 2 * d), "float32"),
        C: T.Buffer((n, d), "float32"),
        S: T.Buffer((n, d), "float32"),
        Y: T.Buffer((n, 2 * d), "float32"),
    ) -> None:
        for i, j in T.grid(n, d):
            Y[i, j] = X[i, j] * C[i, j] - X[i, j + d] * S[i, j]
            Y[i, j + d] = X[i, j + d] * C[i, j] + X[i, j] * S[i, j]

    return rotary


def kernels() -> Iterator[Kernel]:
    name = "scores 12 128 64"
    base = scores(12, 128, 64)
    yield name, "naive", base
    yield name, "parallel", scheduled(base, scores_fused(True, 0))
    yield name, "partial sums 16", scheduled(base, scores_fused(False, 16))
    yield name, "keys transposed parallel", scheduled(base, scores_packed)
    for rows, n in ((200, 768), (1000, 4096)):
        name = f"rms norm {rows} {n}"
        base = rms_norm(rows, n)
        yield name, "naive", base
        yield name, "rows", scheduled(base, norm_rows(0, False))
        yield name, "rows, partial sums 16", scheduled(base, norm_rows(16, False))
        yield name, "rows, partial sums 32 parallel", scheduled(base, norm_rows(32, True))
    yield "batch statistics 800 300", "plain", batch_statistics(800, 300)
    yield "softmax columns 128 700", "plain", softmax_columns(128, 700)
    name = "quantised 96 160 512"
    base = quantised(96, 160, 512)
    yield name, "naive", base
    yield name, "tile 4 4 parallel", scheduled(base, quantised_tile)
    yield "requantise 150000", "plain", requantise(150000)
    yield "embedding 2000 512 256", "plain", embedding(2000, 512, 256)
    yield "embedding bag 2000 64 20 128", "plain", embedding_bag(2000, 64, 20, 128)
    yield "rotary 512 64", "plain", rotary(512, 64)
