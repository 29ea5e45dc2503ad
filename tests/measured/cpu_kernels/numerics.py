"""Tables, filters, transforms, distances and factors: loops of numerical programs.

No rule or constant of the model was looked at with these workloads before their first score.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm.script import tirx as T

Kernel = tuple[str, str, Any]


def sparse_rows(rows: int, columns: int, entries: int, way: str) -> Any:
    """A sparse matrix of `entries` in each row (ELLPACK) by a vector."""
    each = T.parallel if way == "rows parallel" else T.serial

    @T.prim_func
    def sparse_rows(
        J: T.Buffer((rows, entries), "int32"),
        A: T.Buffer((rows, entries), "float32"),
        x: T.Buffer((columns,), "float32"),
        y: T.Buffer((rows,), "float32"),
    ):
        T.func_attr({"indices_below": columns})
        for i in each(rows):
            y[i] = T.float32(0)
            if way != "entries outside":
                for e in range(entries):
                    y[i] = y[i] + A[i, e] * x[J[i, e]]
        if way == "entries outside":
            for e, i in T.grid(entries, rows):
                y[i] = y[i] + A[i, e] * x[J[i, e]]

    return sparse_rows


def add_rows(n: int, rows: int, width: int, way: str) -> Any:
    """Rows added to those of a table that data choose."""

    @T.prim_func
    def add_rows(
        J: T.Buffer((n,), "int32"),
        X: T.Buffer((n, width), "float32"),
        Y: T.Buffer((rows, width), "float32"),
    ):
        T.func_attr({"indices_below": rows})
        if way == "columns outside":
            for j, i in T.grid(width, n):
                Y[J[i], j] = Y[J[i], j] + X[i, j]
        elif way == "vectors":
            for i in range(n):
                for j in T.vectorized(width):
                    Y[J[i], j] = Y[J[i], j] + X[i, j]
        else:
            for i, j in T.grid(n, width):
                Y[J[i], j] = Y[J[i], j] + X[i, j]

    return add_rows


def bags(n: int, rows: int, width: int, each: int, way: str) -> Any:
    """Weighted sums of rows of a table, `each` for one item."""

    @T.prim_func
    def bags(
        J: T.Buffer((n, each), "int32"),
        w: T.Buffer((n, each), "float32"),
        W: T.Buffer((rows, width), "float32"),
        Y: T.Buffer((n, width), "float32"),
    ):
        T.func_attr({"indices_below": rows})
        for i in T.parallel(n) if way == "rows parallel" else T.serial(n):
            for j in range(width):
                Y[i, j] = T.float32(0)
            if way == "columns":
                for j, e in T.grid(width, each):
                    Y[i, j] = Y[i, j] + w[i, e] * W[J[i, e], j]
            else:
                for e, j in T.grid(each, width):
                    Y[i, j] = Y[i, j] + w[i, e] * W[J[i, e], j]

    return bags


def filtered(channels: int, n: int, way: str) -> Any:
    """A recursive filter of two steps in each channel; time lies in rows."""

    @T.prim_func
    def filtered(X: T.Buffer((n, channels), "float32"), Y: T.Buffer((n + 2, channels), "float32")):
        if way == "time outside":
            for t, c in T.grid(n, channels):
                Y[t + 2, c] = X[t, c] + T.float32(0.5) * Y[t + 1, c] - T.float32(0.1) * Y[t, c]
        elif way == "channels outside":
            for c, t in T.grid(channels, n):
                Y[t + 2, c] = X[t, c] + T.float32(0.5) * Y[t + 1, c] - T.float32(0.1) * Y[t, c]
        else:
            for b, t, c in T.grid(channels // 16, n, 16):
                Y[t + 2, b * 16 + c] = (
                    X[t, b * 16 + c]
                    + T.float32(0.5) * Y[t + 1, b * 16 + c]
                    - T.float32(0.1) * Y[t, b * 16 + c]
                )

    return filtered


def recursion(rows: int, n: int, way: str) -> Any:
    """A recursive filter of one step along each row; one row or four at a time."""

    @T.prim_func
    def recursion(X: T.Buffer((rows, n), "float32"), Y: T.Buffer((rows, n + 1), "float32")):
        if way == "row by row":
            for i, t in T.grid(rows, n):
                Y[i, t + 1] = X[i, t] + T.float32(0.9) * Y[i, t]
        elif way == "four rows":
            for b, t in T.grid(rows // 4, n):
                for r in T.unroll(4):
                    Y[b * 4 + r, t + 1] = X[b * 4 + r, t] + T.float32(0.9) * Y[b * 4 + r, t]
        else:
            for t, i in T.grid(n, rows):
                Y[i, t + 1] = X[i, t] + T.float32(0.9) * Y[i, t]

    return recursion


def butterflies(n: int, half: int, way: str) -> Any:
    """One stage of a Fourier transform; pairs `half` apart, parts together or in two arrays."""

    @T.prim_func
    def butterflies(
        R: T.Buffer((n // half // 2, 2, half), "float32"),
        Q: T.Buffer((n // half // 2, 2, half), "float32"),
        wr: T.Buffer((half,), "float32"),
        wi: T.Buffer((half,), "float32"),
        S: T.Buffer((n // half // 2, 2, half), "float32"),
        J: T.Buffer((n // half // 2, 2, half), "float32"),
    ):
        for p, q in (
            T.grid(n // half // 2, half) if way == "pairs inside" else T.grid(half, n // half // 2)
        ):
            b = p if way == "pairs inside" else q
            k = q if way == "pairs inside" else p
            tr: T.float32 = R[b, 1, k] * wr[k] - Q[b, 1, k] * wi[k]
            ti: T.float32 = R[b, 1, k] * wi[k] + Q[b, 1, k] * wr[k]
            S[b, 0, k] = R[b, 0, k] + tr
            J[b, 0, k] = Q[b, 0, k] + ti
            S[b, 1, k] = R[b, 0, k] - tr
            J[b, 1, k] = Q[b, 0, k] - ti

    return butterflies


def distances(m: int, n: int, d: int, way: str) -> Any:
    """Sums of absolute differences between rows of two matrices."""

    @T.prim_func
    def distances(
        A: T.Buffer((m, d), "float32"),
        B: T.Buffer((d, n), "float32"),
        C: T.Buffer((m, n), "float32"),
    ):
        for i in T.parallel(m) if way == "rows parallel" else T.serial(m):
            for j in range(n):
                C[i, j] = T.float32(0)
            if way == "dots":
                for j, k in T.grid(n, d):
                    C[i, j] = C[i, j] + T.abs(A[i, k] - B[k, j])
            else:
                for k, j in T.grid(d, n):
                    C[i, j] = C[i, j] + T.abs(A[i, k] - B[k, j])

    return distances


def grey(n: int, way: str) -> Any:
    """Three colours of a point together to one value."""

    @T.prim_func
    def grey(X: T.Buffer((n, 3), "float32"), Y: T.Buffer((n,), "float32")):
        if way == "vectors of 8":
            for b in range(n // 8):
                for i in T.vectorized(8):
                    Y[b * 8 + i] = (
                        T.float32(0.3) * X[b * 8 + i, 0]
                        + T.float32(0.6) * X[b * 8 + i, 1]
                        + T.float32(0.1) * X[b * 8 + i, 2]
                    )
        elif way == "colours outside":
            for i in range(n):
                Y[i] = T.float32(0)
            for c, i in T.grid(3, n):
                Y[i] = Y[i] + X[i, c] * T.float32(0.3333)
        else:
            for i in range(n):
                Y[i] = (
                    T.float32(0.3) * X[i, 0] + T.float32(0.6) * X[i, 1] + T.float32(0.1) * X[i, 2]
                )

    return grey


def factored(n: int, way: str) -> Any:
    """The last half of a Gaussian elimination's steps without pivots, on the trailing square."""

    @T.prim_func
    def factored(
        A: T.Buffer((n, n), "float64"),
        L: T.Buffer((n, n), "float64"),
        U: T.Buffer((n, n), "float64"),
    ):
        if way == "rows":
            for k, i, j in T.grid(n, n, n):
                A[i, j] = A[i, j] - L[i, k] * U[k, j]
        elif way == "columns":
            for k, j, i in T.grid(n, n, n):
                A[i, j] = A[i, j] - L[i, k] * U[k, j]
        else:
            for i, k, j in T.grid(n, n, n):
                A[i, j] = A[i, j] - L[i, k] * U[k, j]

    return factored


def triangle(n: int, way: str) -> Any:
    """A triangular matrix by a vector, by rows or by columns."""

    @T.prim_func
    def triangle(
        A: T.Buffer((n, n), "float32"), x: T.Buffer((n,), "float32"), y: T.Buffer((n,), "float32")
    ):
        for i in range(n):
            y[i] = T.float32(0)
        if way == "rows":
            for i in range(n):
                for j in range(i + 1):
                    y[i] = y[i] + A[i, j] * x[j]
        else:
            for j in range(n):
                for i in range(n - j):
                    y[i + j] = y[i + j] + A[i + j, j] * x[j]

    return triangle


def vector_matrix(m: int, n: int, way: str) -> Any:
    """A vector by a matrix: its rows scaled and added, column by column, or in strips."""

    @T.prim_func
    def vector_matrix(
        x: T.Buffer((m,), "float64"), A: T.Buffer((m, n), "float64"), y: T.Buffer((n,), "float64")
    ):
        for j in range(n):
            y[j] = T.float64(0)
        if way == "rows":
            for i, j in T.grid(m, n):
                y[j] = y[j] + x[i] * A[i, j]
        elif way == "columns":
            for j, i in T.grid(n, m):
                y[j] = y[j] + x[i] * A[i, j]
        else:
            for b, i, j in T.grid(n // 64, m, 64):
                y[b * 64 + j] = y[b * 64 + j] + x[i] * A[i, b * 64 + j]

    return vector_matrix


def waves(n: int, way: str) -> Any:
    """A wave equation's step in fp64: nine points of one array, and the last two steps."""

    @T.prim_func
    def waves(
        A: T.Buffer((n + 4, n + 4), "float64"),
        B: T.Buffer((n, n), "float64"),
        C: T.Buffer((n, n), "float64"),
    ):
        for i in T.parallel(n) if way == "rows parallel" else T.serial(n):
            for j in range(n):
                C[i, j] = T.float64(2) * A[i + 2, j + 2] - B[i, j]
            if way == "apart":
                for j in range(n):
                    C[i, j] = C[i, j] + T.float64(0.1) * (
                        A[i, j + 2] + A[i + 1, j + 2] + A[i + 3, j + 2] + A[i + 4, j + 2]
                    )
                for j in range(n):
                    C[i, j] = C[i, j] + T.float64(0.1) * (
                        A[i + 2, j] + A[i + 2, j + 1] + A[i + 2, j + 3] + A[i + 2, j + 4]
                    )
            else:
                for j in range(n):
                    C[i, j] = C[i, j] + T.float64(0.1) * (
                        A[i, j + 2]
                        + A[i + 1, j + 2]
                        + A[i + 3, j + 2]
                        + A[i + 4, j + 2]
                        + A[i + 2, j]
                        + A[i + 2, j + 1]
                        + A[i + 2, j + 3]
                        + A[i + 2, j + 4]
                    )

    return waves


def nearest(c: int, n: int, way: str) -> Any:
    """The greatest of each column and where it is, column by column or all along."""

    @T.prim_func
    def nearest(
        X: T.Buffer((n, c), "float32"), M: T.Buffer((c,), "float32"), W: T.Buffer((c,), "int32")
    ):
        for j in range(c):
            M[j] = T.float32(-1e30)
            W[j] = 0
        for p, q in T.grid(n, c) if way == "rows" else T.grid(c, n):
            i = p if way == "rows" else q
            j = q if way == "rows" else p
            W[j] = T.Select(X[i, j] > M[j], i, W[j])
            M[j] = T.max(M[j], X[i, j])

    return nearest


def sort_network(n: int, parallel: bool) -> Any:
    """A step of a network that sorts four values which lie together."""
    each = T.parallel if parallel else T.serial

    @T.prim_func
    def sort_network(A: T.Buffer((n, 4), "float32"), B: T.Buffer((n, 4), "float32")):
        for i in each(n):
            for j in range(2):
                B[i, 2 * j] = T.min(A[i, 2 * j], A[i, 2 * j + 1])
                B[i, 2 * j + 1] = T.max(A[i, 2 * j], A[i, 2 * j + 1])

    return sort_network


def kernels() -> Iterator[Kernel]:
    for way in ("rows", "rows parallel", "entries outside"):
        yield "sparse rows 4000 3000 12", way, sparse_rows(4000, 3000, 12, way)
    for way in ("plain", "vectors", "columns outside"):
        yield "add rows 2000 300 64", way, add_rows(2000, 300, 64, way)
    for way in ("rows", "columns", "rows parallel"):
        yield "bags 500 8000 40 6", way, bags(500, 8000, 40, 6, way)
    for way in ("time outside", "channels outside", "sixteen channels"):
        yield "filtered 96 700", way, filtered(96, 700, way)
    for way in ("row by row", "four rows", "time outside"):
        yield "recursion 60 1000", way, recursion(60, 1000, way)
    for half in (4, 256):
        for way in ("pairs inside", "pairs outside"):
            yield f"butterflies 16384 {half}", way, butterflies(16384, half, way)
    for way in ("rows", "dots", "rows parallel"):
        yield "distances 100 120 70", way, distances(100, 120, 70, way)
    for way in ("plain", "vectors of 8", "colours outside"):
        yield "grey 50000", way, grey(50000, way)
    for way in ("rows", "columns", "row by row"):
        yield "factored 110", way, factored(110, way)
    for way in ("rows", "columns"):
        yield "triangle 700", way, triangle(700, way)
    for way in ("rows", "columns", "strips of 64"):
        yield "vector matrix 900 640", way, vector_matrix(900, 640, way)
    for way in ("together", "rows parallel", "apart"):
        yield "waves 400", way, waves(400, way)
    for way in ("rows", "columns"):
        yield "nearest 200 300", way, nearest(200, 300, way)
    yield "sort network 20000", "plain", sort_network(20000, False)
    yield "sort network 20000", "parallel", sort_network(20000, True)
