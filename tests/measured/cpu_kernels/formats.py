"""Formats and images: sparse and packed ones, bits, counts, bytes, sizes of pictures.

No rule or constant of the model was looked at with these workloads before their first score.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm.script import tirx as T

Kernel = tuple[str, str, Any]


def coordinates(entries: int, n: int, way: str) -> Any:
    """A sparse matrix by a vector, its entries in any order; one sum or one for each half."""

    @T.prim_func
    def coordinates(
        R: T.Buffer((2, entries // 2), "int32"),
        C: T.Buffer((2, entries // 2), "int32"),
        V: T.Buffer((2, entries // 2), "float32"),
        x: T.Buffer((n,), "float32"),
        y: T.Buffer((2, n), "float32"),
    ):
        T.func_attr({"indices_below": n})
        if way == "halves parallel":
            for h in T.parallel(2):
                for i in range(n):
                    y[h, i] = T.float32(0)
                for e in range(entries // 2):
                    y[h, R[h, e]] = y[h, R[h, e]] + V[h, e] * x[C[h, e]]
        elif way == "halves in turn":
            for h, i in T.grid(2, n):
                y[h, i] = T.float32(0)
            for e in range(entries // 2):
                for h in T.unroll(2):
                    y[h, R[h, e]] = y[h, R[h, e]] + V[h, e] * x[C[h, e]]
        else:
            for i in range(n):
                y[0, i] = T.float32(0)
            for h, e in T.grid(2, entries // 2):
                y[0, R[h, e]] = y[0, R[h, e]] + V[h, e] * x[C[h, e]]

    return coordinates


def diagonals(n: int, count: int, apart: int, way: str) -> Any:
    """A matrix of some diagonals by a vector."""

    @T.prim_func
    def diagonals(
        D: T.Buffer((count, n), "float32"),
        x: T.Buffer((n + count * apart,), "float32"),
        y: T.Buffer((n,), "float32"),
    ):
        for i in range(n):
            y[i] = T.float32(0)
        if way == "diagonals outside":
            for d, i in T.grid(count, n):
                y[i] = y[i] + D[d, i] * x[i + d * apart]
        elif way == "parts of 1000":
            for b in T.parallel(n // 1000):
                for d, i in T.grid(count, 1000):
                    y[b * 1000 + i] = (
                        y[b * 1000 + i] + D[d, b * 1000 + i] * x[b * 1000 + i + d * apart]
                    )
        else:
            for i, d in T.grid(n, count):
                y[i] = y[i] + D[d, i] * x[i + d * apart]

    return diagonals


def joint_counts(n: int, bins: int, way: str) -> Any:
    """How often each pair of two values occurs."""

    @T.prim_func
    def joint_counts(
        A: T.Buffer((n,), "uint8"),
        B: T.Buffer((n,), "uint8"),
        H: T.Buffer((2, bins, bins), "int32"),
    ):
        T.func_attr({"indices_below": bins})
        for c, i, j in T.grid(2, bins, bins):
            H[c, i, j] = 0
        if way == "two tables":
            for k in range(n // 2):
                for c in T.unroll(2):
                    H[c, A[2 * k + c], B[2 * k + c]] = H[c, A[2 * k + c], B[2 * k + c]] + 1
            for i, j in T.grid(bins, bins):
                H[0, i, j] = H[0, i, j] + H[1, i, j]
        elif way == "named":
            for k in range(n):
                a: T.int32 = T.cast(A[k], "int32")
                b: T.int32 = T.cast(B[k], "int32")
                H[0, a, b] = H[0, a, b] + 1
        else:
            for k in range(n):
                H[0, A[k], B[k]] = H[0, A[k], B[k]] + 1

    return joint_counts


def pack_channels(c: int, points: int, lanes: int, way: str) -> Any:
    """Channels first to blocks of channels last."""

    @T.prim_func
    def pack_channels(
        X: T.Buffer((c, points), "float32"), Y: T.Buffer((c // lanes, points, lanes), "float32")
    ):
        if way == "as read":
            for b, u, p in T.grid(c // lanes, lanes, points):
                Y[b, p, u] = X[b * lanes + u, p]
        elif way == "sixteen points":
            for b in T.parallel(c // lanes):
                for p, u, q in T.grid(points // 16, lanes, 16):
                    Y[b, p * 16 + q, u] = X[b * lanes + u, p * 16 + q]
        else:
            for b, p, u in T.grid(c // lanes, points, lanes):
                Y[b, p, u] = X[b * lanes + u, p]

    return pack_channels


def interleaved(n: int, way: str) -> Any:
    """Complex numbers multiplied that lie in pairs or in two arrays."""

    @T.prim_func
    def interleaved(
        A: T.Buffer((n * 2,), "float32"),
        B: T.Buffer((n * 2,), "float32"),
        C: T.Buffer((n * 2,), "float32"),
    ):
        if way == "two arrays":
            for i in range(n):
                C[i] = A[i] * B[i] - A[n + i] * B[n + i]
                C[n + i] = A[i] * B[n + i] + A[n + i] * B[i]
        elif way == "pairs parallel":
            for p in T.parallel(4):
                for i in range(n // 4):
                    k: T.int32 = (p * (n // 4) + i) * 2
                    C[k] = A[k] * B[k] - A[k + 1] * B[k + 1]
                    C[k + 1] = A[k] * B[k + 1] + A[k + 1] * B[k]
        else:
            for i in range(n):
                C[2 * i] = A[2 * i] * B[2 * i] - A[2 * i + 1] * B[2 * i + 1]
                C[2 * i + 1] = A[2 * i] * B[2 * i + 1] + A[2 * i + 1] * B[2 * i]

    return interleaved


def bits_set(n: int, way: str) -> Any:
    """How many bits are set in each word, by shifts and masks."""

    def step(v: Any, by: int, mask: int) -> Any:
        return (v & T.uint32(mask)) + ((v >> T.uint32(by)) & T.uint32(mask))

    def bits(v: Any) -> Any:
        for by, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F)):
            v = step(v, by, mask)
        return (v * T.uint32(0x01010101)) >> T.uint32(24)

    @T.prim_func
    def bits_set(A: T.Buffer((n,), "uint32"), B: T.Buffer((n,), "uint32")):
        if way == "plain":
            for i in range(n):
                B[i] = bits(A[i])
        elif way == "vectors of 16":
            for o in range(n // 16):
                for i in T.vectorized(16):
                    B[o * 16 + i] = bits(A[o * 16 + i])
        else:
            for o in T.parallel(n // 1000):
                for i in range(1000):
                    B[o * 1000 + i] = bits(A[o * 1000 + i])

    return bits_set


def nibbles(m: int, k: int, way: str) -> Any:
    """Four-bit weights, two in a byte, by a vector of floats."""

    @T.prim_func
    def nibbles(
        W: T.Buffer((m, k // 2), "uint8"),
        x: T.Buffer((k,), "float32"),
        y: T.Buffer((m,), "float32"),
    ):
        for i in T.parallel(m) if way == "lanes parallel" else T.serial(m):
            y[i] = T.float32(0)
            if way == "plain":
                for j in range(k // 2):
                    y[i] = y[i] + T.cast(W[i, j] & T.uint8(15), "float32") * x[j]
                    y[i] = y[i] + T.cast(W[i, j] >> T.uint8(4), "float32") * x[j + k // 2]
            else:
                S = T.alloc_buffer((16,), "float32")
                for u in T.vectorized(16):
                    S[u] = T.float32(0)
                for j in range(k // 32):
                    for u in T.vectorized(16):
                        S[u] = (
                            S[u]
                            + T.cast(W[i, j * 16 + u] & T.uint8(15), "float32") * x[j * 16 + u]
                            + T.cast(W[i, j * 16 + u] >> T.uint8(4), "float32")
                            * x[j * 16 + u + k // 2]
                        )
                for u in range(16):
                    y[i] = y[i] + S[u]

    return nibbles


def byte_dots(m: int, n: int, k: int, way: str) -> Any:
    """Bytes by signed bytes in groups of four, the second matrix packed for that."""

    @T.prim_func
    def byte_dots(
        A: T.Buffer((m, k), "uint8"),
        B: T.Buffer((k // 4, n, 4), "int8"),
        C: T.Buffer((m, n), "int32"),
    ):
        for i in T.parallel(m) if way == "columns parallel" else T.serial(m):
            for j in range(n):
                C[i, j] = 0
            if way == "fours":
                for q, j, r in T.grid(k // 4, n, 4):
                    C[i, j] = C[i, j] + T.cast(A[i, q * 4 + r], "int32") * T.cast(
                        B[q, j, r], "int32"
                    )
            elif way == "one by one":
                for j, q, r in T.grid(n, k // 4, 4):
                    C[i, j] = C[i, j] + T.cast(A[i, q * 4 + r], "int32") * T.cast(
                        B[q, j, r], "int32"
                    )
            else:
                for q, r, j in T.grid(k // 4, 4, n):
                    C[i, j] = C[i, j] + T.cast(A[i, q * 4 + r], "int32") * T.cast(
                        B[q, j, r], "int32"
                    )

    return byte_dots


def dilated(h: int, w: int, way: str) -> Any:
    """The greatest byte of three by three."""

    @T.prim_func
    def dilated(X: T.Buffer((h + 2, w + 2), "uint8"), Y: T.Buffer((h, w), "uint8")):
        if way == "axis by axis":
            R = T.alloc_buffer((h + 2, w), "uint8")
            for y, x in T.grid(h + 2, w):
                R[y, x] = T.max(T.max(X[y, x], X[y, x + 1]), X[y, x + 2])
            for y, x in T.grid(h, w):
                Y[y, x] = T.max(T.max(R[y, x], R[y + 1, x]), R[y + 2, x])
        else:
            for y in T.parallel(h) if way == "rows parallel" else T.serial(h):
                for x in range(w):
                    Y[y, x] = X[y, x]
                for u, v, x in T.grid(3, 3, w):
                    Y[y, x] = T.max(Y[y, x], X[y + u, x + v])

    return dilated


def sampled(c: int, h: int, w: int, way: str) -> Any:
    """An image read at places that tables give, between four points; channels last."""

    @T.prim_func
    def sampled(
        X: T.Buffer((h + 1, w + 1, c), "float32"),
        P: T.Buffer((h,), "int32"),
        Q: T.Buffer((w,), "int32"),
        f: T.Buffer((h,), "float32"),
        g: T.Buffer((w,), "float32"),
        Y: T.Buffer((h, w, c), "float32"),
    ):
        T.func_attr({"indices_below": min(h, w)})
        for y in T.parallel(h) if way == "rows parallel" else T.serial(h):
            for x in range(w):
                if way == "named":
                    p: T.int32 = P[y]
                    q: T.int32 = Q[x]
                    for z in range(c):
                        a: T.float32 = X[p, q, z] + g[x] * (X[p, q + 1, z] - X[p, q, z])
                        b: T.float32 = X[p + 1, q, z] + g[x] * (X[p + 1, q + 1, z] - X[p + 1, q, z])
                        Y[y, x, z] = a + f[y] * (b - a)
                else:
                    for z in range(c):
                        Y[y, x, z] = (T.float32(1) - f[y]) * (
                            (T.float32(1) - g[x]) * X[P[y], Q[x], z] + g[x] * X[P[y], Q[x] + 1, z]
                        ) + f[y] * (
                            (T.float32(1) - g[x]) * X[P[y] + 1, Q[x], z]
                            + g[x] * X[P[y] + 1, Q[x] + 1, z]
                        )

    return sampled


def reduced(c: int, h: int, way: str) -> Any:
    """Three rows and columns to two, the places by quotients."""

    @T.prim_func
    def reduced(
        X: T.Buffer((c, 3 * h, 3 * h), "float32"), Y: T.Buffer((c, 2 * h, 2 * h), "float32")
    ):
        for f in T.parallel(c) if way == "quotients parallel" else T.serial(c):
            if way == "thirds":
                for y, u, x, v in T.grid(h, 2, h, 2):
                    Y[f, y * 2 + u, x * 2 + v] = (
                        X[f, y * 3 + u, x * 3 + v] + X[f, y * 3 + u + 1, x * 3 + v + 1]
                    ) * T.float32(0.5)
            else:
                for y, x in T.grid(2 * h, 2 * h):
                    Y[f, y, x] = (
                        X[f, y * 3 // 2, x * 3 // 2] + X[f, y * 3 // 2 + 1, x * 3 // 2 + 1]
                    ) * T.float32(0.5)

    return reduced


def colours(n: int, name: str) -> Any:
    """Three bytes of a point to brightness and two differences, by integers."""

    @T.prim_func
    def colours(X: T.Buffer((n, 3), "uint8"), Y: T.Buffer((3, n), "uint8")):
        for i in T.serial(n):
            r: T.int32 = T.cast(X[i, 0], "int32")
            g: T.int32 = T.cast(X[i, 1], "int32")
            b: T.int32 = T.cast(X[i, 2], "int32")
            if name == "colours":
                Y[0, i] = T.cast((77 * r + 150 * g + 29 * b) >> 8, "uint8")
                Y[1, i] = T.cast(((128 * b - 43 * r - 85 * g) >> 8) + 128, "uint8")
                Y[2, i] = T.cast(((128 * r - 107 * g - 21 * b) >> 8) + 128, "uint8")
            else:
                Y[0, i] = T.cast((77 * r + 150 * g + 29 * b) >> 8, "uint8")

    return colours


def kernels() -> Iterator[Kernel]:
    for way in ("plain", "halves in turn", "halves parallel"):
        yield "coordinates 60000 3000", way, coordinates(60000, 3000, way)
    for n, count, apart in ((20000, 5, 3), (200000, 12, 40)):
        for way in ("rows", "diagonals outside", "parts of 1000"):
            yield f"diagonals {n} {count} {apart}", way, diagonals(n, count, apart, way)
    for way in ("plain", "named", "two tables"):
        yield "joint counts 60000 60", way, joint_counts(60000, 60, way)
    for way in ("as written", "as read", "sixteen points"):
        yield "pack channels 48 3136 16", way, pack_channels(48, 3136, 16, way)
    for way in ("pairs", "two arrays", "pairs parallel"):
        yield "interleaved 24000", way, interleaved(24000, way)
    for way in ("plain", "vectors of 16", "parts"):
        yield "bits set 80000", way, bits_set(80000, way)
    for way in ("plain", "lanes", "lanes parallel"):
        yield "nibbles 300 1024", way, nibbles(300, 1024, way)
    for way in ("fours", "columns", "one by one", "columns parallel"):
        yield "byte dots 96 80 128", way, byte_dots(96, 80, 128, way)
    for way in ("window outside", "axis by axis", "rows parallel"):
        yield "dilated 400 500", way, dilated(400, 500, way)
    for c in (4, 40):
        for way in ("plain", "named", "rows parallel"):
            yield f"sampled {c} 90 110", way, sampled(c, 90, 110, way)
    for way in ("thirds", "quotients", "quotients parallel"):
        yield "reduced 12 60", way, reduced(12, 60, way)
    for name in ("colours", "brightness"):
        yield f"{name} 40000", "plain", colours(40000, name)
