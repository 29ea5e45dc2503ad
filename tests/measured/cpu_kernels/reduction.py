"""Sums, softmax, layer norm and scans over rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tvm
from tvm.script import tirx as T

Kernel = tuple[str, str, Any]


def row_sum(m: int, n: int, dtype: str = "float32") -> Any:
    @T.prim_func(s_tir=True)
    def row_sum(A: T.Buffer((m, n), dtype), S: T.Buffer((m,), dtype)) -> None:
        for i, j in T.grid(m, n):
            with T.sblock("S"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    S[vi] = T.cast(0, dtype)
                S[vi] = S[vi] + A[vi, vj]

    return row_sum


def column_sum(m: int, n: int) -> Any:
    @T.prim_func(s_tir=True)
    def column_sum(A: T.Buffer((m, n), "float32"), S: T.Buffer((n,), "float32")) -> None:
        for j, i in T.grid(n, m):
            with T.sblock("S"):
                vj, vi = T.axis.remap("SR", [j, i])
                with T.init():
                    S[vj] = T.float32(0)
                S[vj] = S[vj] + A[vi, vj]

    return column_sum


def row_max(m: int, n: int) -> Any:
    @T.prim_func(s_tir=True)
    def row_max(A: T.Buffer((m, n), "float32"), S: T.Buffer((m,), "float32")) -> None:
        for i, j in T.grid(m, n):
            with T.sblock("S"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    S[vi] = T.float32(-3.4e38)
                S[vi] = T.max(S[vi], A[vi, vj])

    return row_max


def softmax(m: int, n: int, parallel: bool) -> Any:
    @T.prim_func(s_tir=True)
    def softmax_serial(A: T.Buffer((m, n), "float32"), B: T.Buffer((m, n), "float32")) -> None:
        for i in range(m):
            most = T.alloc_buffer((1,), "float32", scope="local")
            total = T.alloc_buffer((1,), "float32", scope="local")
            most[0] = T.float32(-3.4e38)
            total[0] = T.float32(0)
            for j in range(n):
                most[0] = T.max(most[0], A[i, j])
            for j in range(n):
                B[i, j] = T.exp(A[i, j] - most[0])
                total[0] = total[0] + B[i, j]
            for j in range(n):
                B[i, j] = B[i, j] / total[0]

    @T.prim_func(s_tir=True)
    def softmax_parallel(A: T.Buffer((m, n), "float32"), B: T.Buffer((m, n), "float32")) -> None:
        for i in T.parallel(m):
            most = T.alloc_buffer((1,), "float32", scope="local")
            total = T.alloc_buffer((1,), "float32", scope="local")
            most[0] = T.float32(-3.4e38)
            total[0] = T.float32(0)
            for j in range(n):
                most[0] = T.max(most[0], A[i, j])
            for j in range(n):
                B[i, j] = T.exp(A[i, j] - most[0])
                total[0] = total[0] + B[i, j]
            for j in range(n):
                B[i, j] = B[i, j] / total[0]

    return softmax_parallel if parallel else softmax_serial


def layer_norm(m: int, n: int) -> Any:
    @T.prim_func(s_tir=True)
    def layer_norm(
        X: T.Buffer((m, n), "float32"),
        G: T.Buffer((n,), "float32"),
        Y: T.Buffer((m, n), "float32"),
    ) -> None:
        for i in range(m):
            s = T.alloc_buffer((1,), "float32", scope="local")
            q = T.alloc_buffer((1,), "float32", scope="local")
            s[0] = T.float32(0)
            q[0] = T.float32(0)
            for j in range(n):
                s[0] = s[0] + X[i, j]
                q[0] = q[0] + X[i, j] * X[i, j]
            for j in range(n):
                Y[i, j] = (
                    (X[i, j] - s[0] / T.float32(n))
                    * T.rsqrt(
                        q[0] / T.float32(n) - s[0] * s[0] / T.float32(n * n) + T.float32(1e-5)
                    )
                    * G[j]
                )

    return layer_norm


def layer_norm_vectors(m: int, n: int, lanes: int) -> Any:
    """As `layer_norm`, with `lanes` partial sums in a vector."""

    @T.prim_func(s_tir=True)
    def layer_norm_vectors(
        X: T.Buffer((m, n), "float32"),
        G: T.Buffer((n,), "float32"),
        Y: T.Buffer((m, n), "float32"),
    ) -> None:
        for i in range(m):
            sv = T.alloc_buffer((lanes,), "float32", scope="local")
            qv = T.alloc_buffer((lanes,), "float32", scope="local")
            s = T.alloc_buffer((1,), "float32", scope="local")
            q = T.alloc_buffer((1,), "float32", scope="local")
            s[0] = T.float32(0)
            q[0] = T.float32(0)
            for v in T.vectorized(lanes):
                sv[v] = T.float32(0)
                qv[v] = T.float32(0)
            for j in range(n // lanes):
                for v in T.vectorized(lanes):
                    sv[v] = sv[v] + X[i, j * lanes + v]
                    qv[v] = qv[v] + X[i, j * lanes + v] * X[i, j * lanes + v]
            for v in range(lanes):
                s[0] = s[0] + sv[v]
                q[0] = q[0] + qv[v]
            for j in range(n):
                Y[i, j] = (
                    (X[i, j] - s[0] / T.float32(n))
                    * T.rsqrt(
                        q[0] / T.float32(n) - s[0] * s[0] / T.float32(n * n) + T.float32(1e-5)
                    )
                    * G[j]
                )

    return layer_norm_vectors


def scan(m: int, n: int, columns: bool) -> Any:
    """Running sums along the rows, row by row or all rows together."""

    @T.prim_func(s_tir=True)
    def scan_rows(A: T.Buffer((m, n), "float32"), B: T.Buffer((m, n), "float32")) -> None:
        for i in range(m):
            B[i, 0] = A[i, 0]
            for j in range(n - 1):
                B[i, j + 1] = B[i, j] + A[i, j + 1]

    @T.prim_func(s_tir=True)
    def scan_columns(A: T.Buffer((m, n), "float32"), B: T.Buffer((m, n), "float32")) -> None:
        for i in range(n):
            B[0, i] = A[0, i]
        for j in range(m - 1):
            for i in range(n):
                B[j + 1, i] = B[j, i] + A[j + 1, i]

    return scan_columns if columns else scan_rows


def partial_sums(lanes: int, parallel: bool = False) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        block = sch.get_sblock("S")
        _, j = sch.get_loops(block)
        _, v = sch.split(j, [None, lanes])
        partial = sch.rfactor(v, 1)
        i, jo, v = sch.get_loops(partial)
        sch.reorder(i, jo, v)
        sch.vectorize(v)
        sch.reverse_compute_at(block, i)
        if parallel:
            sch.parallel(i)
        sch.decompose_reduction(partial, jo)

    return change


def swapped(sch: Any) -> None:
    block = sch.get_sblock("S")
    a, b = sch.get_loops(block)
    sch.reorder(b, a)
    sch.decompose_reduction(block, b)


def grouped(group: int, parallel: bool = False) -> Callable[[Any], None]:
    """`group` neighbouring sums together in a vector, the reduction around it."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("S")
        a, b = sch.get_loops(block)
        ao, ai = sch.split(a, [None, group])
        sch.reorder(ao, b, ai)
        sch.vectorize(ai)
        if parallel:
            sch.parallel(ao)
        init = sch.decompose_reduction(block, b)
        sch.vectorize(sch.get_loops(init)[-1])

    return change


def rows_parallel(sch: Any) -> None:
    block = sch.get_sblock("S")
    i, j = sch.get_loops(block)
    sch.parallel(i)
    sch.decompose_reduction(block, j)


def scheduled(func: Any, change: Callable[[Any], None]) -> Any:
    schedule = tvm.s_tir.Schedule(func)
    change(schedule)
    return schedule.mod["main"]


def kernels() -> Iterator[Kernel]:
    for m, n in ((64, 256), (1024, 1024), (2048, 8192)):
        name = f"row sum {m} {n}"
        base = row_sum(m, n)
        yield name, "naive", base
        yield name, "partial sums 16", scheduled(base, partial_sums(16))
        yield name, "partial sums 64", scheduled(base, partial_sums(64))
        yield name, "parallel", scheduled(base, rows_parallel)
        if m < 2000:
            yield name, "columns first", scheduled(base, swapped)
    yield "row sum int32 1024 1024", "naive", row_sum(1024, 1024, "int32")
    for m, n in ((256, 256), (1000, 1000), (4096, 2048)):
        name = f"column sum {m} {n}"
        base = column_sum(m, n)
        if m < 4000:
            yield name, "naive", base
        yield name, "rows first", scheduled(base, swapped)
        if n % 64 == 0:
            yield name, "groups of 64", scheduled(base, grouped(64))
            yield name, "groups of 64 parallel", scheduled(base, grouped(64, True))
    yield "row max 1024 1024", "naive", row_max(1024, 1024)
    yield "row max 1024 1024", "parallel", scheduled(row_max(1024, 1024), rows_parallel)
    for m, n in ((128, 512), (512, 2048)):
        yield f"softmax {m} {n}", "serial", softmax(m, n, False)
        yield f"softmax {m} {n}", "parallel", softmax(m, n, True)
        yield f"layer norm {m} {n}", "serial", layer_norm(m, n)
        yield f"layer norm {m} {n}", "partial sums 16", layer_norm_vectors(m, n, 16)
    for m, n in ((256, 256), (1024, 1024)):
        yield f"scan {m} {n}", "rows", scan(m, n, False)
        yield f"scan {m} {n}", "columns", scan(m, n, True)
