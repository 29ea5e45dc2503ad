"""Kernels that people write first, as plain loops: `cpu_here.py` measures them on any machine."""

# A type checker cannot analyse TVMScript.
# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm.script import tirx as T

Kernel = tuple[str, str, Any]


def product(m: int, n: int, k: int) -> Iterator[tuple[str, Any]]:
    @T.prim_func
    def dots(
        A: T.Buffer((m, k), "float32"), B: T.Buffer((k, n), "float32"), C: T.Buffer((m, n))
    ) -> None:
        for i, j in T.grid(m, n):
            C[i, j] = T.float32(0)
            for r in range(k):
                C[i, j] = C[i, j] + A[i, r] * B[r, j]

    @T.prim_func
    def rows(
        A: T.Buffer((m, k), "float32"), B: T.Buffer((k, n), "float32"), C: T.Buffer((m, n))
    ) -> None:
        for i in T.parallel(m):
            for j in range(n):
                C[i, j] = T.float32(0)
            for r, j in T.grid(k, n):
                C[i, j] = C[i, j] + A[i, r] * B[r, j]

    @T.prim_func
    def blocked(
        A: T.Buffer((m, k), "float32"), B: T.Buffer((k, n), "float32"), C: T.Buffer((m, n))
    ) -> None:
        for io, jo in T.grid(m // 4, n // 32):
            sums = T.alloc_buffer((4, 32), "float32")
            for i in T.unroll(4):
                for j in T.vectorized(32):
                    sums[i, j] = T.float32(0)
            for r in range(k):
                for i in T.unroll(4):
                    for j in T.vectorized(32):
                        sums[i, j] = sums[i, j] + A[io * 4 + i, r] * B[r, jo * 32 + j]
            for i in T.unroll(4):
                for j in T.vectorized(32):
                    C[io * 4 + i, jo * 32 + j] = sums[i, j]

    yield from (("dots", dots), ("rows parallel", rows), ("blocks 4 32", blocked))


def integer_product(m: int, n: int, k: int) -> Iterator[tuple[str, Any]]:
    @T.prim_func
    def transposed(
        A: T.Buffer((m, k), "int8"), B: T.Buffer((n, k), "int8"), C: T.Buffer((m, n), "int32")
    ) -> None:
        for i, j in T.grid(m, n):
            C[i, j] = 0
            for r in range(k):
                C[i, j] = C[i, j] + T.cast(A[i, r], "int32") * T.cast(B[j, r], "int32")

    yield "transposed", transposed


def matrix_vector(m: int, k: int) -> Iterator[tuple[str, Any]]:
    @T.prim_func
    def dots(A: T.Buffer((m, k)), x: T.Buffer((k,)), y: T.Buffer((m,))) -> None:
        for i in T.parallel(m):
            y[i] = T.float32(0)
            for r in range(k):
                y[i] = y[i] + A[i, r] * x[r]

    @T.prim_func
    def partial(A: T.Buffer((m, k)), x: T.Buffer((k,)), y: T.Buffer((m,))) -> None:
        for i in range(m):
            sums = T.alloc_buffer((16,), "float32")
            for v in T.vectorized(16):
                sums[v] = T.float32(0)
            for r in range(k // 16):
                for v in T.vectorized(16):
                    sums[v] = sums[v] + A[i, r * 16 + v] * x[r * 16 + v]
            y[i] = T.float32(0)
            for v in range(16):
                y[i] = y[i] + sums[v]

    yield from (("dots parallel", dots), ("16 partial sums", partial))


def triad(n: int) -> Iterator[tuple[str, Any]]:
    @T.prim_func
    def serial(A: T.Buffer((n,)), B: T.Buffer((n,)), C: T.Buffer((n,))) -> None:
        for i in range(n):
            A[i] = B[i] + T.float32(3) * C[i]

    @T.prim_func
    def parallel(A: T.Buffer((n,)), B: T.Buffer((n,)), C: T.Buffer((n,))) -> None:
        for p in T.parallel(8):
            for i in range(n // 8):
                A[p * (n // 8) + i] = B[p * (n // 8) + i] + T.float32(3) * C[p * (n // 8) + i]

    yield from (("serial", serial), ("parallel", parallel))


def copy(n: int) -> Iterator[tuple[str, Any]]:
    @T.prim_func
    def vectors(A: T.Buffer((n,)), B: T.Buffer((n,))) -> None:
        for i in range(n // 16):
            for v in T.vectorized(16):
                B[i * 16 + v] = A[i * 16 + v]

    yield "vectors of 16", vectors


def transpose(n: int) -> Iterator[tuple[str, Any]]:
    @T.prim_func
    def rows(A: T.Buffer((n, n)), B: T.Buffer((n, n))) -> None:
        for i, j in T.grid(n, n):
            B[i, j] = A[j, i]

    @T.prim_func
    def tiles(A: T.Buffer((n, n)), B: T.Buffer((n, n))) -> None:
        for io in T.parallel(n // 16):
            for jo, i, j in T.grid(n // 16, 16, 16):
                B[io * 16 + i, jo * 16 + j] = A[jo * 16 + j, io * 16 + i]

    yield from (("rows", rows), ("tiles of 16 parallel", tiles))


def softmax(m: int, n: int) -> Iterator[tuple[str, Any]]:
    @T.prim_func
    def rows(A: T.Buffer((m, n)), B: T.Buffer((m, n))) -> None:
        for i in range(m):
            most = T.alloc_buffer((1,), "float32")
            total = T.alloc_buffer((1,), "float32")
            most[0] = T.float32(-3e38)
            for j in range(n):
                most[0] = T.max(most[0], A[i, j])
            total[0] = T.float32(0)
            for j in range(n):
                B[i, j] = T.exp(A[i, j] - most[0])
                total[0] = total[0] + B[i, j]
            for j in range(n):
                B[i, j] = B[i, j] / total[0]

    yield "rows", rows


def layer_norm(m: int, n: int) -> Iterator[tuple[str, Any]]:
    @T.prim_func
    def rows(
        A: T.Buffer((m, n)), gamma: T.Buffer((n,)), beta: T.Buffer((n,)), B: T.Buffer((m, n))
    ) -> None:
        for i in T.parallel(m):
            mean = T.alloc_buffer((1,), "float32")
            square = T.alloc_buffer((1,), "float32")
            mean[0] = T.float32(0)
            square[0] = T.float32(0)
            for j in range(n):
                mean[0] = mean[0] + A[i, j]
                square[0] = square[0] + A[i, j] * A[i, j]
            mean[0] = mean[0] / T.float32(n)
            square[0] = T.rsqrt(square[0] / T.float32(n) - mean[0] * mean[0] + T.float32(1e-5))
            for j in range(n):
                B[i, j] = (A[i, j] - mean[0]) * square[0] * gamma[j] + beta[j]

    yield "rows parallel", rows


def sums(m: int, n: int) -> Iterator[tuple[str, Any]]:
    @T.prim_func
    def of_rows(A: T.Buffer((m, n)), S: T.Buffer((m,))) -> None:
        for i in range(m):
            S[i] = T.float32(0)
            for j in range(n):
                S[i] = S[i] + A[i, j]

    @T.prim_func
    def of_columns(A: T.Buffer((m, n)), S: T.Buffer((n,))) -> None:
        for j in range(n):
            S[j] = T.float32(0)
        for i, j in T.grid(m, n):
            S[j] = S[j] + A[i, j]

    yield from (("of rows", of_rows), ("of columns", of_columns))


def stencil(h: int, w: int) -> Iterator[tuple[str, Any]]:
    @T.prim_func
    def rows(A: T.Buffer((h + 2, w + 2)), B: T.Buffer((h, w))) -> None:
        for i, j in T.grid(h, w):
            B[i, j] = T.float32(0.2) * (
                A[i + 1, j + 1] + A[i, j + 1] + A[i + 2, j + 1] + A[i + 1, j] + A[i + 1, j + 2]
            )

    yield "rows", rows


def convolution(c: int, o: int, h: int, w: int) -> Iterator[tuple[str, Any]]:
    @T.prim_func
    def rows(
        X: T.Buffer((c, h + 2, w + 2)), K: T.Buffer((o, c, 3, 3)), Y: T.Buffer((o, h, w))
    ) -> None:
        for f in T.parallel(o):
            for y, x in T.grid(h, w):
                Y[f, y, x] = T.float32(0)
            for r, p, q, y, x in T.grid(c, 3, 3, h, w):
                Y[f, y, x] = Y[f, y, x] + X[r, y + p, x + q] * K[f, r, p, q]

    yield "rows parallel", rows


def gather(rows: int, table: int, n: int) -> Iterator[tuple[str, Any]]:
    @T.prim_func
    def embedding(
        index: T.Buffer((rows,), "int32"), W: T.Buffer((table, n)), Y: T.Buffer((rows, n))
    ) -> None:
        T.func_attr({"indices_below": table})
        for i, j in T.grid(rows, n):
            Y[i, j] = W[index[i], j]

    @T.prim_func
    def elements(
        index: T.Buffer((rows * n,), "int32"), W: T.Buffer((table,)), Y: T.Buffer((rows * n,))
    ) -> None:
        T.func_attr({"indices_below": table})
        for i in range(rows * n):
            Y[i] = W[index[i]]

    yield from (("rows", embedding), ("elements", elements))


def gelu(n: int) -> Iterator[tuple[str, Any]]:
    @T.prim_func
    def by_tanh(A: T.Buffer((n,)), B: T.Buffer((n,))) -> None:
        for i in range(n):
            B[i] = (
                T.float32(0.5)
                * A[i]
                * (
                    T.float32(1)
                    + T.tanh(
                        T.float32(0.7978845608) * (A[i] + T.float32(0.044715) * A[i] * A[i] * A[i])
                    )
                )
            )

    @T.prim_func
    def by_sigmoid(A: T.Buffer((n,)), B: T.Buffer((n,))) -> None:
        for i in T.parallel(n // 1024):
            for j in range(1024):
                B[i * 1024 + j] = A[i * 1024 + j] * T.sigmoid(A[i * 1024 + j])

    yield from (("tanh", by_tanh), ("sigmoid parallel", by_sigmoid))


def cumulative_sum(m: int, n: int) -> Iterator[tuple[str, Any]]:
    @T.prim_func
    def rows(A: T.Buffer((m, n)), B: T.Buffer((m, n))) -> None:
        for i in range(m):
            B[i, 0] = A[i, 0]
            for j in range(n - 1):
                B[i, j + 1] = B[i, j] + A[i, j + 1]

    yield "rows", rows


def kernels() -> Iterator[Kernel]:
    for workload, schedules in (
        ("product 96 96 96", product(96, 96, 96)),
        ("product 512 512 512", product(512, 512, 512)),
        ("int8 product 128 128 512", integer_product(128, 128, 512)),
        ("matrix-vector 256 1024", matrix_vector(256, 1024)),
        ("matrix-vector 4096 8192", matrix_vector(4096, 8192)),
        ("triad 2048", triad(2048)),
        ("triad 131072", triad(131072)),
        ("triad 33554432", triad(33554432)),
        ("copy 33554432", copy(33554432)),
        ("transpose 208", transpose(208)),
        ("transpose 2000", transpose(2000)),
        ("softmax 256 1000", softmax(256, 1000)),
        ("layer norm 512 768", layer_norm(512, 768)),
        ("sums 300 500", sums(300, 500)),
        ("sums 8192 4096", sums(8192, 4096)),
        ("stencil 60 100", stencil(60, 100)),
        ("stencil 4000 4000", stencil(4000, 4000)),
        ("convolution 32 32 28 28", convolution(32, 32, 28, 28)),
        ("gather 512 10000 256", gather(512, 10000, 256)),
        ("gelu 65536", gelu(65536)),
        ("cumulative sum 128 2048", cumulative_sum(128, 2048)),
    ):
        for schedule, func in schedules:
            yield workload, schedule, func
