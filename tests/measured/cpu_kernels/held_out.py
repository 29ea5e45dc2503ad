"""Workloads that no rule or constant of the model was looked at with: they only score it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm.script import tirx as T

from . import convolution, elementwise, layout, matmul, reduction, stencil

Kernel = tuple[str, str, Any]


def box_filter(n: int, parallel: bool) -> Any:
    @T.prim_func(s_tir=True)
    def box(A: T.Buffer((n + 2, n + 2), "float32"), B: T.Buffer((n, n), "float32")) -> None:
        for i, j in T.grid(n, n):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = (
                    A[vi, vj]
                    + A[vi, vj + 1]
                    + A[vi, vj + 2]
                    + A[vi + 1, vj]
                    + A[vi + 1, vj + 1]
                    + A[vi + 1, vj + 2]
                    + A[vi + 2, vj]
                    + A[vi + 2, vj + 1]
                    + A[vi + 2, vj + 2]
                ) * T.float32(1 / 9)

    return stencil.scheduled(box, stencil.parallel) if parallel else box


def max_pool(c: int, h: int) -> Any:
    @T.prim_func(s_tir=True)
    def max_pool(
        X: T.Buffer((c, 2 * h, 2 * h), "float32"), Y: T.Buffer((c, h, h), "float32")
    ) -> None:
        for f, y, x in T.grid(c, h, h):
            with T.sblock("B"):
                vf, vy, vx = T.axis.remap("SSS", [f, y, x])
                Y[vf, vy, vx] = T.max(
                    T.max(X[vf, 2 * vy, 2 * vx], X[vf, 2 * vy, 2 * vx + 1]),
                    T.max(X[vf, 2 * vy + 1, 2 * vx], X[vf, 2 * vy + 1, 2 * vx + 1]),
                )

    return max_pool


def upsample(c: int, h: int) -> Any:
    @T.prim_func(s_tir=True)
    def upsample(
        X: T.Buffer((c, h, h), "float32"), Y: T.Buffer((c, 2 * h, 2 * h), "float32")
    ) -> None:
        for f, y, x in T.grid(c, 2 * h, 2 * h):
            with T.sblock("B"):
                vf, vy, vx = T.axis.remap("SSS", [f, y, x])
                Y[vf, vy, vx] = X[vf, vy // 2, vx // 2]

    return upsample


def batch_norm(n: int, c: int) -> Any:
    """Channels last, with one scale and shift each."""

    @T.prim_func(s_tir=True)
    def batch_norm(
        X: T.Buffer((n, c), "float32"),
        S: T.Buffer((c,), "float32"),
        B: T.Buffer((c,), "float32"),
        Y: T.Buffer((n, c), "float32"),
    ) -> None:
        for i, j in T.grid(n, c):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * S[vj] + B[vj]

    return batch_norm


def outer_product(n: int) -> Any:
    @T.prim_func(s_tir=True)
    def outer(
        X: T.Buffer((n,), "float32"), Y: T.Buffer((n,), "float32"), Z: T.Buffer((n, n), "float32")
    ) -> None:
        for i, j in T.grid(n, n):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Z[vi, vj] + X[vi] * Y[vj]

    return outer


def squared_distance(m: int, n: int, d: int) -> Any:
    @T.prim_func(s_tir=True)
    def distance(
        A: T.Buffer((m, d), "float32"),
        B: T.Buffer((n, d), "float32"),
        D: T.Buffer((m, n), "float32"),
    ) -> None:
        for i, j in T.grid(m, n):
            D[i, j] = T.float32(0)
            for k in range(d):
                D[i, j] = D[i, j] + (A[i, k] - B[j, k]) * (A[i, k] - B[j, k])

    return distance


def recurrence(n: int, steps: int) -> Any:
    """Independent recurrences side by side, step after step."""

    @T.prim_func(s_tir=True)
    def recurrence(A: T.Buffer((steps, n), "float32"), H: T.Buffer((n,), "float32")) -> None:
        for t, i in T.grid(steps, n):
            H[i] = H[i] * T.float32(0.9) + A[t, i]

    return recurrence


def kernels() -> Iterator[Kernel]:
    name = "matmul 192 640 320"
    base = matmul.product(192, 640, 320)
    yield name, "naive", base
    yield name, "order ikj", matmul.scheduled(base, matmul.order("i", "k", "j"))
    yield name, "order jik", matmul.scheduled(base, matmul.order("j", "i", "k"))
    yield name, "tile 16 16 32 ikj", matmul.scheduled(base, matmul.tiled(16, 16, 32, inner="ikj"))
    yield name, "tile 8 128 64 ikj", matmul.scheduled(base, matmul.tiled(8, 128, 64, inner="ikj"))
    yield name, "registers 2x32", matmul.scheduled(base, matmul.registers(2, 32, 0))
    yield name, "registers 6x16", matmul.scheduled(base, matmul.registers(6, 16, 32))
    yield name, "accumulators 6x32", matmul.scheduled(base, matmul.accumulators(6, 32, 8))
    yield name, "rows parallel", matmul.scheduled(base, matmul.row_major(parallel=True))
    name = "matmul float64 128"
    base = matmul.product(128, 128, 128, "float64")
    yield name, "naive", base
    yield name, "order kij", matmul.scheduled(base, matmul.order("k", "i", "j"))
    yield name, "rows in vectors of 8", matmul.scheduled(base, matmul.row_major(vectors=8))
    yield name, "registers 4x8 parallel", matmul.scheduled(base, matmul.registers(4, 8, 0, True))
    name = "gemv 1000 3000"
    base = matmul.gemv(1000, 3000)
    yield name, "naive", base
    yield name, "rows 4", matmul.scheduled(base, matmul.gemv_rows(4))
    yield name, "columns", matmul.scheduled(base, matmul.gemv_columns)
    name = "batched matmul 8 64"
    base = matmul.batched(8, 64, 64, 64)
    yield name, "naive", base
    yield name, "columns 16", matmul.scheduled(base, matmul.batched_rows(False, 16))
    yield name, "columns 64 parallel", matmul.scheduled(base, matmul.batched_rows(True, 64))
    name = "conv nchw 24 40 28 5"
    base = convolution.nchw(24, 40, 28, 5)
    yield name, "naive", base
    for kind in ("rows", "rows parallel", "planes"):
        yield name, kind, convolution.scheduled(base, convolution.nchw_schedule(kind))
    name = "conv nhwc 32 96 20 3"
    base = convolution.nhwc(32, 96, 20, 3)
    yield name, "naive", base
    for kind in ("pixels", "registers", "registers parallel"):
        yield name, kind, convolution.scheduled(base, convolution.nhwc_schedule(kind))
    name = "depthwise 24 96 3"
    base = convolution.depthwise(24, 96, 3)
    yield name, "naive", base
    for kind in ("rows", "rows parallel", "vectors, window unrolled"):
        yield name, kind, convolution.scheduled(base, convolution.depthwise_schedule(kind))
    for n in (200, 1500):
        yield f"box {n}", "rows", box_filter(n, False)
        yield f"box {n}", "rows parallel", box_filter(n, True)
        columns = stencil.scheduled(box_filter(n, False), stencil.columns)
        yield f"box {n}", "columns", columns
    name = "seven point 122"
    base = stencil.seven_point(122)
    yield name, "rows", base
    yield name, "rows parallel", stencil.scheduled(base, stencil.parallel)
    yield name, "blocks 30 60", stencil.scheduled(base, stencil.blocked(30, 60))
    for m, n in ((300, 700), (5000, 1200)):
        name = f"row sum {m} {n}"
        base = reduction.row_sum(m, n)
        yield name, "naive", base
        yield name, "parallel", reduction.scheduled(base, reduction.rows_parallel)
        yield name, "columns first", reduction.scheduled(base, reduction.swapped)
    name = "column sum 800 1600"
    base = reduction.column_sum(800, 1600)
    yield name, "naive", base
    yield name, "rows first", reduction.scheduled(base, reduction.swapped)
    yield name, "groups of 32", reduction.scheduled(base, reduction.grouped(32))
    yield "softmax 300 1000", "serial", reduction.softmax(300, 1000, False)
    yield "softmax 300 1000", "parallel", reduction.softmax(300, 1000, True)
    yield "scan 500 600", "rows", reduction.scan(500, 600, False)
    yield "scan 500 600", "columns", reduction.scan(500, 600, True)
    for size in (6000, 300000, 5000000):
        base = elementwise.add(size)
        yield f"add {size}", "plain", base
        yield f"add {size}", "parallel", elementwise.scheduled(base, elementwise.threads(4))
    gelu = elementwise.unary(
        100000,
        lambda x: T.float32(0.5) * x * (T.float32(1) + T.tanh(T.float32(0.8) * x)),
        "float32",
        "float32",
    )
    yield "gelu 100000", "plain", gelu
    yield "gelu 100000", "parallel", elementwise.scheduled(gelu, elementwise.threads(4))
    yield "strided 5", "plain", elementwise.triad_strided(200000, 5)
    yield "strided 40", "plain", elementwise.triad_strided(200000, 40)
    name = "transpose 600"
    base = layout.transpose(600)
    yield name, "rows", base
    yield name, "columns", layout.scheduled(base, layout.swapped)
    yield name, "blocks 24", layout.scheduled(base, layout.blocked(24))
    name = "to nhwc 48 40"
    base = layout.to_channels_last(48, 40)
    yield name, "plain", base
    yield name, "channels first", layout.scheduled(base, layout.swapped)
    yield name, "parallel", layout.scheduled(base, layout.parallel)
    yield "max pool 32 56", "plain", max_pool(32, 56)
    yield "upsample 32 56", "plain", upsample(32, 56)
    yield "batch norm 3136 64", "plain", batch_norm(3136, 64)
    name = "outer product 1200"
    yield name, "rows", outer_product(1200)
    yield name, "columns", elementwise.scheduled(outer_product(1200), elementwise.columns_first)
    yield "distance 200 300 48", "plain", squared_distance(200, 300, 48)
    yield "recurrence 512 1000", "plain", recurrence(512, 1000)
