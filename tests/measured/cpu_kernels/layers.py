"""Layers of networks: small products, norms, pools, convolutions, conversions, attention.

No rule or constant of the model was looked at with these workloads before their first score.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm.script import tirx as T

from .operators import scheduled
from .sweeps import lanes

Kernel = tuple[str, str, Any]


def small_products(b: int, n: int, order: str, parallel: bool = False) -> Any:
    """`b` products of matrices of `n` rows and columns."""
    each = T.parallel if parallel else T.serial

    @T.prim_func
    def small_products(
        A: T.Buffer((b, n, n), "float32"),
        B: T.Buffer((b, n, n), "float32"),
        C: T.Buffer((b, n, n), "float32"),
    ):
        for z in each(b):
            for i, j in T.grid(n, n):
                C[z, i, j] = T.float32(0)
            for p, q, r in T.grid(n, n, n):
                i = p
                j = q if order == "ijk" else r
                k = r if order == "ijk" else q
                C[z, i, j] = C[z, i, j] + A[z, i, k] * B[z, k, j]

    return small_products


def online_softmax(rows: int, n: int, way: str) -> Any:
    """Greatest, sum and quotient in three passes, or the first two in one."""
    each = T.parallel if way == "three parallel" else T.serial

    @T.prim_func
    def online_softmax(X: T.Buffer((rows, n), "float32"), Y: T.Buffer((rows, n), "float32")):
        for i in each(rows):
            most = T.alloc_buffer((1,), "float32")
            total = T.alloc_buffer((1,), "float32")
            most[0] = T.float32(-1e30)
            total[0] = T.float32(0)
            if way == "online":
                for j in range(n):
                    last: T.float32 = most[0]
                    most[0] = T.max(most[0], X[i, j])
                    total[0] = total[0] * T.exp(last - most[0]) + T.exp(X[i, j] - most[0])
                for j in range(n):
                    Y[i, j] = T.exp(X[i, j] - most[0]) / total[0]
            else:
                for j in range(n):
                    most[0] = T.max(most[0], X[i, j])
                for j in range(n):
                    Y[i, j] = T.exp(X[i, j] - most[0])
                    total[0] = total[0] + Y[i, j]
                for j in range(n):
                    Y[i, j] = Y[i, j] / total[0]

    return online_softmax


def group_norm(groups: int, n: int, way: str) -> Any:
    """Mean and variance of each group in two passes, or in one."""
    each = T.parallel if way == "one parallel" else T.serial

    @T.prim_func
    def group_norm(X: T.Buffer((groups, n), "float32"), Y: T.Buffer((groups, n), "float32")):
        for g in each(groups):
            S = T.alloc_buffer((2,), "float32")
            S[0] = T.float32(0)
            S[1] = T.float32(0)
            if way == "two":
                for j in range(n):
                    S[0] = S[0] + X[g, j] / T.float32(n)
                for j in range(n):
                    S[1] = S[1] + (X[g, j] - S[0]) * (X[g, j] - S[0])
            else:
                for j in range(n):
                    S[0] = S[0] + X[g, j]
                    S[1] = S[1] + X[g, j] * X[g, j]
            for j in range(n):
                Y[g, j] = (X[g, j] - S[0]) * T.rsqrt(S[1] + T.float32(1e-5))

    return group_norm


def causal(c: int, n: int, taps: int, way: str) -> Any:
    """A causal convolution of each channel, channels last."""
    each = T.parallel if way == "taps inside parallel" else T.serial

    @T.prim_func
    def causal(
        X: T.Buffer((n + taps - 1, c), "float32"),
        W: T.Buffer((taps, c), "float32"),
        Y: T.Buffer((n, c), "float32"),
    ):
        for t in each(n):
            for f in range(c):
                Y[t, f] = T.float32(0)
            if way == "taps outside":
                for s, f in T.grid(taps, c):
                    Y[t, f] = Y[t, f] + X[t + s, f] * W[s, f]
            else:
                for f, s in T.grid(c, taps):
                    Y[t, f] = Y[t, f] + X[t + s, f] * W[s, f]

    return causal


def bias_gelu(m: int, n: int) -> Any:
    @T.prim_func(s_tir=True)
    def bias_gelu(
        A: T.Buffer((m * n,), "float32"),
        b: T.Buffer((n,), "float32"),
        C: T.Buffer((m * n,), "float32"),
    ) -> None:
        for i in range(m * n):
            with T.sblock("B"):
                vi = T.axis.remap("S", [i])
                C[vi] = (A[vi] + b[vi % n]) / (
                    T.float32(1) + T.exp(T.float32(-1.702) * (A[vi] + b[vi % n]))
                )

    return bias_gelu


def int8_product(m: int, n: int, k: int, way: str) -> Any:
    """An int8 product with sums of int32; the second matrix is transposed."""
    each = T.parallel if way == "dots parallel" else T.serial

    @T.prim_func
    def int8_product(
        A: T.Buffer((m, k), "int8"), B: T.Buffer((n, k), "int8"), C: T.Buffer((m, n), "int32")
    ):
        for i in each(m):
            if way == "sums outside":
                for j in range(n):
                    C[i, j] = 0
                for q, j in T.grid(k, n):
                    C[i, j] = C[i, j] + T.cast(A[i, q], "int32") * T.cast(B[j, q], "int32")
            else:
                for j in range(n):
                    C[i, j] = 0
                    for q in range(k):
                        C[i, j] = C[i, j] + T.cast(A[i, q], "int32") * T.cast(B[j, q], "int32")

    return int8_product


def convert(n: int, source: str, target: str) -> Any:
    @T.prim_func(s_tir=True)
    def convert(A: T.Buffer((n,), source), C: T.Buffer((n,), target)) -> None:
        for i in range(n):
            with T.sblock("B"):
                vi = T.axis.remap("S", [i])
                C[vi] = T.cast(A[vi], target)

    return convert


def resize(c: int, h: int, way: str) -> Any:
    """Twice as high and wide by linear interpolation, at once or along one axis after the other."""
    each = T.parallel if way == "at once parallel" else T.serial

    @T.prim_func
    def resize(X: T.Buffer((c, h + 1, h + 1), "float32"), Y: T.Buffer((c, h, 2, h, 2), "float32")):
        for f in each(c):
            if way == "axis by axis":
                R = T.alloc_buffer((h + 1, h, 2), "float32")
                for y, x in T.grid(h + 1, h):
                    R[y, x, 0] = X[f, y, x]
                    R[y, x, 1] = T.float32(0.5) * (X[f, y, x] + X[f, y, x + 1])
                for y, x, u in T.grid(h, h, 2):
                    Y[f, y, 0, x, u] = R[y, x, u]
                    Y[f, y, 1, x, u] = T.float32(0.5) * (R[y, x, u] + R[y + 1, x, u])
            else:
                for y, x in T.grid(h, h):
                    Y[f, y, 0, x, 0] = X[f, y, x]
                    Y[f, y, 0, x, 1] = T.float32(0.5) * (X[f, y, x] + X[f, y, x + 1])
                    Y[f, y, 1, x, 0] = T.float32(0.5) * (X[f, y, x] + X[f, y + 1, x])
                    Y[f, y, 1, x, 1] = T.float32(0.25) * (
                        X[f, y, x] + X[f, y, x + 1] + X[f, y + 1, x] + X[f, y + 1, x + 1]
                    )

    return resize


def pool(c: int, h: int, way: str) -> Any:
    """The greatest of three by three points, every second one; channels first or by axes."""

    @T.prim_func
    def pool(X: T.Buffer((c, 2 * h + 1, 2 * h + 1), "float32"), Y: T.Buffer((c, h, h), "float32")):
        for f in range(c):
            if way == "axis by axis":
                R = T.alloc_buffer((2 * h + 1, h), "float32")
                for y, x in T.grid(2 * h + 1, h):
                    R[y, x] = T.max(T.max(X[f, y, 2 * x], X[f, y, 2 * x + 1]), X[f, y, 2 * x + 2])
                for y, x in T.grid(h, h):
                    Y[f, y, x] = T.max(T.max(R[2 * y, x], R[2 * y + 1, x]), R[2 * y + 2, x])
            elif way == "window outside":
                for y, x in T.grid(h, h):
                    Y[f, y, x] = T.float32(-1e30)
                for u, v, y, x in T.grid(3, 3, h, h):
                    Y[f, y, x] = T.max(Y[f, y, x], X[f, 2 * y + u, 2 * x + v])
            else:
                for y, x in T.grid(h, h):
                    Y[f, y, x] = T.float32(-1e30)
                    for u, v in T.grid(3, 3):
                        Y[f, y, x] = T.max(Y[f, y, x], X[f, 2 * y + u, 2 * x + v])

    return pool


def plane_means(c: int, n: int, way: str) -> Any:
    """The mean of each plane, in order or in sixteen sums."""

    @T.prim_func
    def plane_means(X: T.Buffer((c, n // 16, 16), "float32"), Y: T.Buffer((c,), "float32")):
        for f in range(c):
            Y[f] = T.float32(0)
            if way == "in order":
                for i, j in T.grid(n // 16, 16):
                    Y[f] = Y[f] + X[f, i, j]
            else:
                S = T.alloc_buffer((16,), "float32")
                for j in T.vectorized(16):
                    S[j] = T.float32(0)
                for i in range(n // 16):
                    for j in T.vectorized(16):
                        S[j] = S[j] + X[f, i, j]
                for j in range(16):
                    Y[f] = Y[f] + S[j]
            Y[f] = Y[f] / T.float32(n)

    return plane_means


def heads(n: int, d: int, way: str) -> Any:
    """One head of attention: all scores of a query first, or blocks of keys by running sums."""
    each = T.parallel if way == "rows parallel" else T.serial
    block = 32

    @T.prim_func
    def heads(
        Q: T.Buffer((n, d), "float32"),
        K: T.Buffer((d, n), "float32"),
        V: T.Buffer((n, d), "float32"),
        Y: T.Buffer((n, d), "float32"),
    ):
        for i in each(n):
            if way == "blocks of keys":
                S = T.alloc_buffer((block,), "float32")
                M = T.alloc_buffer((3,), "float32")
                M[0] = T.float32(-1e30)
                M[1] = T.float32(0)
                for e in range(d):
                    Y[i, e] = T.float32(0)
                for b in range(n // block):
                    for j in range(block):
                        S[j] = T.float32(0)
                    for e, j in T.grid(d, block):
                        S[j] = S[j] + Q[i, e] * K[e, b * block + j]
                    M[2] = M[0]
                    for j in range(block):
                        M[0] = T.max(M[0], S[j])
                    M[2] = T.exp(M[2] - M[0])
                    M[1] = M[1] * M[2]
                    for j in range(block):
                        S[j] = T.exp(S[j] - M[0])
                        M[1] = M[1] + S[j]
                    for e in range(d):
                        Y[i, e] = Y[i, e] * M[2]
                    for j, e in T.grid(block, d):
                        Y[i, e] = Y[i, e] + S[j] * V[b * block + j, e]
                for e in range(d):
                    Y[i, e] = Y[i, e] / M[1]
            else:
                P = T.alloc_buffer((n,), "float32")
                N = T.alloc_buffer((2,), "float32")
                N[0] = T.float32(-1e30)
                N[1] = T.float32(0)
                for j in range(n):
                    P[j] = T.float32(0)
                for e, j in T.grid(d, n):
                    P[j] = P[j] + Q[i, e] * K[e, j]
                for j in range(n):
                    N[0] = T.max(N[0], P[j])
                for j in range(n):
                    P[j] = T.exp(P[j] - N[0])
                    N[1] = N[1] + P[j]
                for e in range(d):
                    Y[i, e] = T.float32(0)
                for j, e in T.grid(n, d):
                    Y[i, e] = Y[i, e] + P[j] * V[j, e]
                for e in range(d):
                    Y[i, e] = Y[i, e] / N[1]

    return heads


def winograd_output(c: int, tiles: int, way: str) -> Any:
    """Four by four points of products to two by two of the result, as written or tile by tile."""

    @T.prim_func
    def winograd_output(
        M: T.Buffer((4, 4, c, tiles), "float32"), Y: T.Buffer((2, 2, c, tiles), "float32")
    ):
        if way == "rows first":
            R = T.alloc_buffer((2, 4, c, tiles), "float32")
            for v, f, t in T.grid(4, c, tiles):
                R[0, v, f, t] = M[0, v, f, t] + M[1, v, f, t] + M[2, v, f, t]
                R[1, v, f, t] = M[1, v, f, t] - M[2, v, f, t] - M[3, v, f, t]
            for u, f, t in T.grid(2, c, tiles):
                Y[u, 0, f, t] = R[u, 0, f, t] + R[u, 1, f, t] + R[u, 2, f, t]
                Y[u, 1, f, t] = R[u, 1, f, t] - R[u, 2, f, t] - R[u, 3, f, t]
        elif way == "in a tile":
            for f, t in T.grid(c, tiles):
                S = T.alloc_buffer((2, 4), "float32")
                for v in range(4):
                    S[0, v] = M[0, v, f, t] + M[1, v, f, t] + M[2, v, f, t]
                    S[1, v] = M[1, v, f, t] - M[2, v, f, t] - M[3, v, f, t]
                for u in range(2):
                    Y[u, 0, f, t] = S[u, 0] + S[u, 1] + S[u, 2]
                    Y[u, 1, f, t] = S[u, 1] - S[u, 2] - S[u, 3]
        else:
            for f in range(c):
                L = T.alloc_buffer((2, 4, tiles), "float32")
                for v, t in T.grid(4, tiles):
                    L[0, v, t] = M[0, v, f, t] + M[1, v, f, t] + M[2, v, f, t]
                    L[1, v, t] = M[1, v, f, t] - M[2, v, f, t] - M[3, v, f, t]
                for u, t in T.grid(2, tiles):
                    Y[u, 0, f, t] = L[u, 0, t] + L[u, 1, t] + L[u, 2, t]
                    Y[u, 1, f, t] = L[u, 1, t] - L[u, 2, t] - L[u, 3, t]

    return winograd_output


def kernels() -> Iterator[Kernel]:
    for b, n in ((500, 6), (60, 20)):
        yield f"small products {b} {n}", "dots", small_products(b, n, "ijk")
        yield f"small products {b} {n}", "rows", small_products(b, n, "ikj")
        yield f"small products {b} {n}", "rows parallel", small_products(b, n, "ikj", True)
    for way in ("online", "three", "three parallel"):
        yield "online softmax 120 400", way, online_softmax(120, 400, way)
    for way in ("two", "one", "one parallel"):
        yield "group norm 64 1600", way, group_norm(64, 1600, way)
    for c in (24, 512):
        for way in ("taps outside", "taps inside", "taps inside parallel"):
            yield f"causal {c} 600 4", way, causal(c, 600, 4, way)
    name, base = "bias gelu 90 250", bias_gelu(90, 250)
    yield name, "plain", base
    yield name, "vectors of 10", scheduled(base, lanes(10, 0))
    yield name, "6 parts", scheduled(base, lanes(0, 6))
    for way in ("dots", "sums outside", "dots parallel"):
        yield "int8 product 100 90 192", way, int8_product(100, 90, 192, way)
    for source, target in (("float16", "float32"), ("float32", "float16"), ("int8", "float32")):
        name, base = f"convert {source} {target} 60000", convert(60000, source, target)
        yield name, "plain", base
        yield name, "vectors of 16", scheduled(base, lanes(16, 0))
        yield name, "vectors of 8, 4 parts", scheduled(base, lanes(8, 4))
    for way in ("at once", "at once parallel", "axis by axis"):
        yield "resize 12 50", way, resize(12, 50, way)
    for way in ("plain", "axis by axis", "window outside"):
        yield "pool 20 40", way, pool(20, 40, way)
    yield "plane means 80 3136", "in order", plane_means(80, 3136, "in order")
    yield "plane means 80 3136", "sixteen sums", plane_means(80, 3136, "sixteen")
    for way in ("rows", "rows parallel", "blocks of keys"):
        yield "heads 256 48", way, heads(256, 48, way)
    for way in ("rows first", "in a tile", "channel by channel"):
        yield "winograd output 32 196", way, winograd_output(32, 196, way)
