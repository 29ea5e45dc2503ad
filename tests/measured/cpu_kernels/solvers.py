"""Sweeps, solvers and networks' layers whose schedules differ in what depends on what.

No rule or constant of the model was looked at with these workloads before their first score.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm.script import tirx as T

Kernel = tuple[str, str, Any]


def prefix(n: int, block: int, way: str) -> Any:
    """Running sums: one after the other, or in blocks whose sums are added afterwards."""

    @T.prim_func
    def prefix(
        X: T.Buffer((n,), "float32"),
        Y: T.Buffer((n,), "float32"),
        S: T.Buffer((n // block,), "float32"),
    ):
        if way == "in order":
            Y[0] = X[0]
            for i in range(n - 1):
                Y[i + 1] = Y[i] + X[i + 1]
        else:
            for b in T.parallel(n // block) if way == "blocks parallel" else T.serial(n // block):
                Y[b * block] = X[b * block]
                for i in range(block - 1):
                    Y[b * block + i + 1] = Y[b * block + i] + X[b * block + i + 1]
            S[0] = T.float32(0)
            for b in range(n // block - 1):
                S[b + 1] = S[b] + Y[b * block + block - 1]
            for b, i in T.grid(n // block, block):
                Y[b * block + i] = Y[b * block + i] + S[b]

    return prefix


def red_black(n: int, way: str) -> Any:
    """A sweep of Gauss and Seidel: in order, or half of the points after the other."""

    @T.prim_func
    def red_black(A: T.Buffer((n + 2, n + 2), "float32")):
        if way == "in order":
            for i, j in T.grid(n, n):
                A[i + 1, j + 1] = T.float32(0.25) * (
                    A[i, j + 1] + A[i + 1, j] + A[i + 1, j + 2] + A[i + 2, j + 1]
                )
        elif way == "columns":
            for j, i in T.grid(n, n):
                A[i + 1, j + 1] = T.float32(0.25) * (
                    A[i, j + 1] + A[i + 1, j] + A[i + 1, j + 2] + A[i + 2, j + 1]
                )
        else:
            for c in range(2):
                for i in T.parallel(n) if way == "colours parallel" else T.serial(n):
                    for j in range(n // 2):
                        A[i + 1, 2 * j + (i + c) % 2 + 1] = T.float32(0.25) * (
                            A[i, 2 * j + (i + c) % 2 + 1]
                            + A[i + 1, 2 * j + (i + c) % 2]
                            + A[i + 1, 2 * j + (i + c) % 2 + 2]
                            + A[i + 2, 2 * j + (i + c) % 2 + 1]
                        )

    return red_black


def tridiagonal(systems: int, n: int, way: str) -> Any:
    """Many tridiagonal systems solved by elimination; systems in rows or in columns."""

    @T.prim_func
    def tridiagonal(
        a: T.Buffer((n, systems), "float32"),
        b: T.Buffer((n, systems), "float32"),
        D: T.Buffer((n + 1, systems), "float32"),
    ):
        if way == "systems inside":
            for i, s in T.grid(n, systems):
                D[i + 1, s] = (D[i + 1, s] - a[i, s] * D[i, s]) / b[i, s]
            for i, s in T.grid(n, systems):
                D[n - 1 - i, s] = D[n - 1 - i, s] - a[n - 1 - i, s] * D[n - i, s]
        elif way == "systems outside":
            for s in range(systems):
                for i in range(n):
                    D[i + 1, s] = (D[i + 1, s] - a[i, s] * D[i, s]) / b[i, s]
                for i in range(n):
                    D[n - 1 - i, s] = D[n - 1 - i, s] - a[n - 1 - i, s] * D[n - i, s]
        else:
            for p in T.parallel(systems // 20):
                for i, s in T.grid(n, 20):
                    D[i + 1, p * 20 + s] = (
                        D[i + 1, p * 20 + s] - a[i, p * 20 + s] * D[i, p * 20 + s]
                    ) / b[i, p * 20 + s]
                for i, s in T.grid(n, 20):
                    D[n - 1 - i, p * 20 + s] = (
                        D[n - 1 - i, p * 20 + s] - a[n - 1 - i, p * 20 + s] * D[n - i, p * 20 + s]
                    )

    return tridiagonal


def alignment(m: int, n: int, way: str) -> Any:
    """The table of the longest common subsequence, by rows, columns or in integers of 16 bits."""
    dtype = "int16" if way == "rows of int16" else "int32"

    @T.prim_func
    def alignment(
        A: T.Buffer((m,), "int32"), B: T.Buffer((n,), "int32"), L: T.Buffer((m + 1, n + 1), dtype)
    ):
        for p, q in T.grid(n, m) if way == "columns" else T.grid(m, n):
            i = q if way == "columns" else p
            j = p if way == "columns" else q
            L[i + 1, j + 1] = T.Select(
                A[i] == B[j],
                L[i, j] + T.cast(1, dtype),
                T.max(L[i, j + 1], L[i + 1, j]),
            )

    return alignment


def shortest(n: int, way: str) -> Any:
    """All shortest ways between points (Floyd and Warshall)."""

    @T.prim_func
    def shortest(D: T.Buffer((n, n), "float32")):
        if way == "rows":
            for k, i, j in T.grid(n, n, n):
                D[i, j] = T.min(D[i, j], D[i, k] + D[k, j])
        elif way == "rows parallel":
            for k in range(n):
                for i in T.parallel(n):
                    for j in range(n):
                        D[i, j] = T.min(D[i, j], D[i, k] + D[k, j])
        else:
            for k, j, i in T.grid(n, n, n):
                D[i, j] = T.min(D[i, j], D[i, k] + D[k, j])

    return shortest


def solved(n: int, m: int, way: str) -> Any:
    """A triangular system with several right sides, by rows or by columns of the matrix."""

    @T.prim_func
    def solved(L: T.Buffer((n, n), "float64"), X: T.Buffer((n, m), "float64")):
        for i in range(n):
            for j in range(m):
                X[i, j] = X[i, j] * L[i, i]
            if way == "right":
                for k, j in T.grid(n - i - 1, m):
                    X[i + 1 + k, j] = X[i + 1 + k, j] - L[i + 1 + k, i] * X[i, j]
            elif way == "right, sides outside":
                for j, k in T.grid(m, n - i - 1):
                    X[i + 1 + k, j] = X[i + 1 + k, j] - L[i + 1 + k, i] * X[i, j]

    return solved


def bodies(n: int, way: str) -> Any:
    """Forces between all pairs of points."""

    @T.prim_func
    def bodies(
        X: T.Buffer((3, n), "float32"), M: T.Buffer((n,), "float32"), F: T.Buffer((3, n), "float32")
    ):
        for c, i in T.grid(3, n):
            F[c, i] = T.float32(0)
        for p in T.parallel(n) if way == "points parallel" else T.serial(n):
            for q in range(n):
                i = q if way == "forces inside" else p
                j = p if way == "forces inside" else q
                r: T.float32 = T.rsqrt(
                    (X[0, i] - X[0, j]) * (X[0, i] - X[0, j])
                    + (X[1, i] - X[1, j]) * (X[1, i] - X[1, j])
                    + (X[2, i] - X[2, j]) * (X[2, i] - X[2, j])
                    + T.float32(0.01)
                )
                F[0, i] = F[0, i] + M[j] * r * (X[0, i] - X[0, j])
                F[1, i] = F[1, i] + M[j] * r * (X[1, i] - X[1, j])
                F[2, i] = F[2, i] + M[j] * r * (X[2, i] - X[2, j])

    return bodies


def grouped(groups: int, each: int, h: int, way: str) -> Any:
    """A grouped convolution of three by three, channels last; filters inside of all or not."""

    @T.prim_func
    def grouped(
        X: T.Buffer((h + 2, h + 2, groups, each), "float32"),
        W: T.Buffer((groups, 3, 3, each, each), "float32"),
        Y: T.Buffer((h, h, groups, each), "float32"),
    ):
        for y in T.parallel(h) if way == "filters parallel" else T.serial(h):
            for x, g in T.grid(h, groups):
                for o in range(each):
                    Y[y, x, g, o] = T.float32(0)
                if way == "channels":
                    for o, u, v, c in T.grid(each, 3, 3, each):
                        Y[y, x, g, o] = Y[y, x, g, o] + X[y + u, x + v, g, c] * W[g, u, v, o, c]
                elif way == "lanes":
                    for u, v, c in T.grid(3, 3, each):
                        for o in T.vectorized(each):
                            Y[y, x, g, o] = Y[y, x, g, o] + X[y + u, x + v, g, c] * W[g, u, v, c, o]
                else:
                    for u, v, c, o in T.grid(3, 3, each, each):
                        Y[y, x, g, o] = Y[y, x, g, o] + X[y + u, x + v, g, c] * W[g, u, v, c, o]

    return grouped


def tall(k: int, m: int, n: int, way: str) -> Any:
    """The transpose of a tall matrix by another one."""

    @T.prim_func
    def tall(
        A: T.Buffer((k, m), "float32"),
        B: T.Buffer((k, n), "float32"),
        C: T.Buffer((m, n), "float32"),
    ):
        for i, j in T.grid(m, n):
            C[i, j] = T.float32(0)
        if way == "updates":
            for q, i, j in T.grid(k, m, n):
                C[i, j] = C[i, j] + A[q, i] * B[q, j]
        elif way == "rows":
            for i, q, j in T.grid(m, k, n):
                C[i, j] = C[i, j] + A[q, i] * B[q, j]
        elif way == "four rows parallel":
            for b in T.parallel(m // 4):
                for q in range(k):
                    for r in T.unroll(4):
                        for j in range(n):
                            C[b * 4 + r, j] = C[b * 4 + r, j] + A[q, b * 4 + r] * B[q, j]
        else:
            for i, j, q in T.grid(m, n, k):
                C[i, j] = C[i, j] + A[q, i] * B[q, j]

    return tall


def fours(b: int, way: str) -> Any:
    """Products of matrices of four by four, each for itself or one element of all together."""
    last = way == "elements together"
    shape = (4, 4, b) if last else (b, 4, 4)

    @T.prim_func
    def fours(
        A: T.Buffer(shape, "float32"), B: T.Buffer(shape, "float32"), C: T.Buffer(shape, "float32")
    ):
        if last:
            for i, j in T.grid(4, 4):
                for z in range(b):
                    C[i, j, z] = (
                        A[i, 0, z] * B[0, j, z]
                        + A[i, 1, z] * B[1, j, z]
                        + A[i, 2, z] * B[2, j, z]
                        + A[i, 3, z] * B[3, j, z]
                    )
        else:
            for z in T.parallel(b) if way == "each parallel" else T.serial(b):
                for i, j in T.grid(4, 4):
                    C[z, i, j] = (
                        A[z, i, 0] * B[z, 0, j]
                        + A[z, i, 1] * B[z, 1, j]
                        + A[z, i, 2] * B[z, 2, j]
                        + A[z, i, 3] * B[z, 3, j]
                    )

    return fours


def heat(n: int, way: str) -> Any:
    """Heat in three dimensions, seven points; planes in order or in tiles of rows and columns."""

    @T.prim_func
    def heat(A: T.Buffer((n + 2, n + 2, n + 2), "float32"), B: T.Buffer((n, n, n), "float32")):
        if way == "tiles 16 32":
            for jo, ko, i, ji, ki in T.grid(n // 16, n // 32, n, 16, 32):
                j: T.int32 = jo * 16 + ji
                k: T.int32 = ko * 32 + ki
                B[i, j, k] = T.float32(0.4) * A[i + 1, j + 1, k + 1] + T.float32(0.1) * (
                    A[i, j + 1, k + 1]
                    + A[i + 2, j + 1, k + 1]
                    + A[i + 1, j, k + 1]
                    + A[i + 1, j + 2, k + 1]
                    + A[i + 1, j + 1, k]
                    + A[i + 1, j + 1, k + 2]
                )
        elif way == "lines along the first":
            for j, k, i in T.grid(n, n, n):
                B[i, j, k] = T.float32(0.4) * A[i + 1, j + 1, k + 1] + T.float32(0.1) * (
                    A[i, j + 1, k + 1]
                    + A[i + 2, j + 1, k + 1]
                    + A[i + 1, j, k + 1]
                    + A[i + 1, j + 2, k + 1]
                    + A[i + 1, j + 1, k]
                    + A[i + 1, j + 1, k + 2]
                )
        else:
            for i in T.parallel(n) if way == "planes parallel" else T.serial(n):
                for j, k in T.grid(n, n):
                    B[i, j, k] = T.float32(0.4) * A[i + 1, j + 1, k + 1] + T.float32(0.1) * (
                        A[i, j + 1, k + 1]
                        + A[i + 2, j + 1, k + 1]
                        + A[i + 1, j, k + 1]
                        + A[i + 1, j + 2, k + 1]
                        + A[i + 1, j + 1, k]
                        + A[i + 1, j + 1, k + 2]
                    )

    return heat


def normed(rows: int, n: int, lanes: int, way: str) -> Any:
    """A layer's norm with scale and shift; sums in order or `lanes` at a time."""

    @T.prim_func
    def normed(
        X: T.Buffer((rows, n), "float32"),
        G: T.Buffer((n,), "float32"),
        H: T.Buffer((n,), "float32"),
        Y: T.Buffer((rows, n), "float32"),
    ):
        for i in T.parallel(rows) if way == "lanes parallel" else T.serial(rows):
            M = T.alloc_buffer((2,), "float32")
            M[0] = T.float32(0)
            M[1] = T.float32(0)
            if way == "in order":
                for j in range(n):
                    M[0] = M[0] + X[i, j]
                for j in range(n):
                    M[1] = M[1] + (X[i, j] - M[0] / T.float32(n)) * (X[i, j] - M[0] / T.float32(n))
            else:
                S = T.alloc_buffer((lanes,), "float32")
                for u in T.vectorized(lanes):
                    S[u] = T.float32(0)
                for j in range(n // lanes):
                    for u in T.vectorized(lanes):
                        S[u] = S[u] + X[i, j * lanes + u]
                for u in range(lanes):
                    M[0] = M[0] + S[u]
                for u in T.vectorized(lanes):
                    S[u] = T.float32(0)
                for j in range(n // lanes):
                    for u in T.vectorized(lanes):
                        S[u] = S[u] + X[i, j * lanes + u] * X[i, j * lanes + u]
                for u in range(lanes):
                    M[1] = M[1] + S[u]
            for j in range(n):
                Y[i, j] = (X[i, j] - M[0] / T.float32(n)) * T.rsqrt(
                    M[1] / T.float32(n) + T.float32(1e-5)
                ) * G[j] + H[j]

    return normed


def log_softmax(n: int, c: int, way: str) -> Any:
    """The logarithm of a softmax over the first axis, row after row or column by column."""

    @T.prim_func
    def log_softmax(
        X: T.Buffer((n, c), "float32"),
        M: T.Buffer((c,), "float32"),
        S: T.Buffer((c,), "float32"),
        Y: T.Buffer((n, c), "float32"),
    ):
        for j in range(c):
            M[j] = T.float32(-1e30)
            S[j] = T.float32(0)
        if way == "columns":
            for j in range(c):
                for i in range(n):
                    M[j] = T.max(M[j], X[i, j])
                for i in range(n):
                    S[j] = S[j] + T.exp(X[i, j] - M[j])
                for i in range(n):
                    Y[i, j] = X[i, j] - M[j] - T.log(S[j])
        else:
            for i, j in T.grid(n, c):
                M[j] = T.max(M[j], X[i, j])
            for i, j in T.grid(n, c):
                S[j] = S[j] + T.exp(X[i, j] - M[j])
            for j in range(c):
                S[j] = T.log(S[j])
            for i in T.parallel(n) if way == "rows parallel" else T.serial(n):
                for j in range(c):
                    Y[i, j] = X[i, j] - M[j] - S[j]

    return log_softmax


def escapes(h: int, w: int, steps: int, way: str) -> Any:
    """Steps of z * z + c at each point of a plane; steps inside or a row at a time."""

    @T.prim_func
    def escapes(
        P: T.Buffer((h, w), "float32"),
        Q: T.Buffer((h, w), "float32"),
        Z: T.Buffer((h, w), "float32"),
        V: T.Buffer((h, w), "float32"),
    ):
        for y in T.parallel(h) if way == "rows parallel" else T.serial(h):
            if way == "points":
                for x, _ in T.grid(w, steps):
                    a: T.float32 = Z[y, x]
                    Z[y, x] = a * a - V[y, x] * V[y, x] + P[y, x]
                    V[y, x] = T.float32(2) * a * V[y, x] + Q[y, x]
            else:
                for _, x in T.grid(steps, w):
                    b: T.float32 = Z[y, x]
                    Z[y, x] = b * b - V[y, x] * V[y, x] + P[y, x]
                    V[y, x] = T.float32(2) * b * V[y, x] + Q[y, x]

    return escapes


def kernels() -> Iterator[Kernel]:
    for n in (30000, 1200000):
        for way in ("in order", "blocks", "blocks parallel"):
            yield f"prefix {n} 1000", way, prefix(n, 1000, way)
    for way in ("in order", "columns", "colours", "colours parallel"):
        yield "red black 240", way, red_black(240, way)
    for way in ("systems inside", "systems outside", "twenty parallel"):
        yield "tridiagonal 400 150", way, tridiagonal(400, 150, way)
    for way in ("rows", "columns", "rows of int16"):
        yield "alignment 300 400", way, alignment(300, 400, way)
    for way in ("rows", "columns", "rows parallel"):
        yield "shortest 100", way, shortest(100, way)
    for way in ("right", "right, sides outside"):
        yield "solved 160 24", way, solved(160, 24, way)
    for way in ("points", "forces inside", "points parallel"):
        yield "bodies 400", way, bodies(400, way)
    for each in (6, 16):
        for way in ("filters", "channels", "lanes", "filters parallel"):
            yield f"grouped 8 {each} 20", way, grouped(8, each, 20, way)
    for way in ("updates", "rows", "dots", "four rows parallel"):
        yield "tall 1500 24 40", way, tall(1500, 24, 40, way)
    for way in ("each", "elements together", "each parallel"):
        yield "fours 3000", way, fours(3000, way)
    for way in ("planes", "planes parallel", "tiles 16 32", "lines along the first"):
        yield "heat 96", way, heat(96, way)
    for lanes in (16, 12):
        for way in ("in order", "lanes", "lanes parallel"):
            yield f"normed 80 768 by {lanes}", way, normed(80, 768, lanes, way)
    for way in ("rows", "columns", "rows parallel"):
        yield "log softmax 300 200", way, log_softmax(300, 200, way)
    for way in ("points", "rows", "rows parallel"):
        yield "escapes 60 128 12", way, escapes(60, 128, 12, way)
