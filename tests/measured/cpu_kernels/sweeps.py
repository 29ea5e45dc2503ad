"""Stencils, reductions, chains of functions, layouts, tables and networks that sort.

No rule or constant of the model was looked at with these workloads before their first score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tvm.script import tirx as T

from .operators import scheduled

Kernel = tuple[str, str, Any]
Change = Callable[[Any], None]


def smooth(n: int, steps: int) -> Any:
    """Three points in a row, `steps` times from one array to the other and back."""

    @T.prim_func
    def smooth(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
        for _ in range(steps):
            for i in range(n - 2):
                B[i + 1] = (A[i] + A[i + 1] + A[i + 2]) * T.float32(0.3333)
            for i in range(n - 2):
                A[i + 1] = (B[i] + B[i + 1] + B[i + 2]) * T.float32(0.3333)

    return smooth


def smooth_blocks(n: int, steps: int, each: int) -> Any:
    """All steps on one block of the row before the next (its edges are left as they are)."""

    @T.prim_func
    def smooth_blocks(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
        for b in range(n // each):
            for _ in range(steps):
                for i in range(each - 2):
                    B[b * each + i + 1] = (
                        A[b * each + i] + A[b * each + i + 1] + A[b * each + i + 2]
                    ) * T.float32(0.3333)
                for i in range(each - 2):
                    A[b * each + i + 1] = (
                        B[b * each + i] + B[b * each + i + 1] + B[b * each + i + 2]
                    ) * T.float32(0.3333)

    return smooth_blocks


def in_place(h: int, w: int, way: str) -> Any:
    """A Gauss-Seidel sweep, along rows or along columns."""

    @T.prim_func
    def in_place(A: T.Buffer((h + 2, w + 2), "float64")):
        for a, b in T.grid(h, w) if way == "rows" else T.grid(w, h):
            i = a if way == "rows" else b
            j = b if way == "rows" else a
            A[i + 1, j + 1] = T.float64(0.25) * (
                A[i, j + 1] + A[i + 2, j + 1] + A[i + 1, j] + A[i + 1, j + 2]
            )

    return in_place


def laplacian(n: int, m: int) -> Any:
    @T.prim_func(s_tir=True)
    def laplacian(A: T.Buffer((n + 2, m + 2), "float64"), B: T.Buffer((n, m), "float64")) -> None:
        for i, j in T.grid(n, m):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = (
                    A[vi, vj]
                    + A[vi, vj + 2]
                    + A[vi + 2, vj]
                    + A[vi + 2, vj + 2]
                    + T.float64(4) * (A[vi, vj + 1] + A[vi + 1, vj] + A[vi + 1, vj + 2])
                    + T.float64(4) * A[vi + 2, vj + 1]
                    - T.float64(20) * A[vi + 1, vj + 1]
                )

    return laplacian


def blocks(rows: int, columns: int, vector: int, parallel: bool) -> Change:
    """Blocks of the block ``B``'s last two axes; the last in vectors, if asked."""

    def change(sch: Any) -> None:
        i, j = sch.get_loops(sch.get_sblock("B"))[-2:]
        io, ii = sch.split(i, [None, rows])
        jo, ji = sch.split(j, [None, columns])
        sch.reorder(io, jo, ii, ji)
        if vector:
            sch.vectorize(sch.split(ji, [None, vector])[1])
        if parallel:
            sch.parallel(io)

    return change


def space(n: int, reach: int) -> Any:
    """A star in three dimensions, `reach` points along each axis, by hand."""

    @T.prim_func
    def space(
        A: T.Buffer((n + 2 * reach, n + 2 * reach, n + 2 * reach), "float32"),
        B: T.Buffer((n, n, n), "float32"),
    ):
        for i in T.parallel(n):
            for j, k in T.grid(n, n):
                B[i, j, k] = star(A, i, j, k, reach)

    return space


def star(A: Any, i: Any, j: Any, k: Any, reach: int) -> Any:
    out = A[i + reach, j + reach, k + reach] * T.float32(0.5)
    for step in range(-reach, reach + 1):
        if step:
            weight = T.float32(0.1 / step)
            out = out + weight * A[i + reach + step, j + reach, k + reach]
            out = out + weight * A[i + reach, j + reach + step, k + reach]
            out = out + weight * A[i + reach, j + reach, k + reach + step]
    return out


def along(a: int, b: int, c: int, axis: int, kind: str) -> Any:
    """The sum or the greatest along one of three axes."""
    kept = [(b, c), (a, c), (a, b)][axis]

    @T.prim_func(s_tir=True)
    def along(A: T.Buffer((a, b, c), "float32"), S: T.Buffer(kept, "float32")) -> None:
        for p, q, r in T.grid(*kept, (a, b, c)[axis]):
            with T.sblock("S"):
                vp, vq, vr = T.axis.remap("SSR", [p, q, r])
                with T.init():
                    S[vp, vq] = T.float32(0)
                S[vp, vq] = joined(kind, S[vp, vq], element(A, vp, vq, vr, axis))

    return along


def element(A: Any, p: Any, q: Any, r: Any, axis: int) -> Any:
    return [A[r, p, q], A[p, r, q], A[p, q, r]][axis]


def joined(kind: str, a: Any, b: Any) -> Any:
    return T.max(a, b) if kind == "greatest" else a + b


def outside(parallel: bool) -> Change:
    """The reduction's loop moved out of the last axis."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("S")
        p, q, r = sch.get_loops(block)
        sch.reorder(p, r, q)
        if parallel:
            sch.parallel(p)
        sch.decompose_reduction(block, r)

    return change


def split_sums(lanes: int, parallel: bool) -> Change:
    def change(sch: Any) -> None:
        r = sch.get_loops(sch.get_sblock("S"))[2]
        partial = sch.rfactor(sch.split(r, [None, lanes])[1], 2)
        loops = sch.get_loops(partial)
        sch.vectorize(loops[-1])
        if parallel:
            sch.parallel(loops[0])
        sch.decompose_reduction(partial, loops[2])
        sch.reverse_compute_at(sch.get_sblock("S"), loops[1])

    return change


def argmax(rows: int, n: int) -> Any:
    @T.prim_func
    def argmax(A: T.Buffer((rows, n), "float32"), P: T.Buffer((rows,), "int32")):
        for i in range(rows):
            M = T.alloc_buffer((1,), "float32")
            M[0] = T.float32(-1e30)
            P[i] = 0
            for j in range(n):
                if A[i, j] > M[0]:
                    M[0] = A[i, j]
                    P[i] = j

    return argmax


def softmax(rows: int, n: int, parallel: bool) -> Any:
    each = T.parallel if parallel else T.serial

    @T.prim_func
    def softmax(A: T.Buffer((rows, n), "float32"), B: T.Buffer((rows, n), "float32")):
        for i in each(rows):
            M = T.alloc_buffer((2,), "float32")
            M[0] = T.float32(-1e30)
            for j in range(n):
                M[0] = T.max(M[0], A[i, j])
            M[1] = T.float32(0)
            for j in range(n):
                B[i, j] = T.exp(A[i, j] - M[0])
                M[1] = M[1] + B[i, j]
            for j in range(n):
                B[i, j] = B[i, j] / M[1]

    return softmax


def norm(rows: int, n: int, way: str) -> Any:
    """Mean and variance in one pass; the rows `way` is ``parallel`` or ``rows``."""
    each = T.parallel if way == "parallel" else T.serial

    @T.prim_func
    def norm(
        X: T.Buffer((rows, n), "float32"),
        G: T.Buffer((n,), "float32"),
        Y: T.Buffer((rows, n), "float32"),
    ):
        for i in each(rows):
            S = T.alloc_buffer((2,), "float32")
            S[0] = T.float32(0)
            S[1] = T.float32(0)
            for j in range(n):
                S[0] = S[0] + X[i, j]
                S[1] = S[1] + X[i, j] * X[i, j]
            for j in range(n):
                Y[i, j] = (
                    (X[i, j] - S[0] / T.float32(n))
                    * T.rsqrt(S[1] / T.float32(n) + T.float32(1e-5))
                    * G[j]
                )

    return norm


def running(h: int, w: int, axis: int) -> Any:
    """A running sum along an axis."""

    @T.prim_func
    def running(A: T.Buffer((h, w), "float32"), B: T.Buffer((h, w), "float32")):
        if axis == 1:
            for i in range(h):
                B[i, 0] = A[i, 0]
                for j in range(w - 1):
                    B[i, j + 1] = B[i, j] + A[i, j + 1]
        else:
            for j in range(w):
                B[0, j] = A[0, j]
            for i, j in T.grid(h - 1, w):
                B[i + 1, j] = B[i, j] + A[i + 1, j]

    return running


def functions(n: int, kind: str) -> Any:
    @T.prim_func(s_tir=True)
    def functions(
        A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), C: T.Buffer((n,), "float32")
    ) -> None:
        for i in range(n):
            with T.sblock("B"):
                vi = T.axis.spatial(n, i)
                C[vi] = function(kind, A[vi], B[vi])

    return functions


def function(kind: str, a: Any, b: Any) -> Any:
    one = T.float32(1)
    if kind == "gelu":
        return T.float32(0.5) * a * (one + T.erf(a * T.float32(0.7071)))
    if kind == "power":
        return T.pow(a + one, b)
    if kind == "softplus":
        return T.log(one + T.exp(a)) * b
    if kind == "mish":
        return a * T.tanh(T.log(one + T.exp(a))) + b
    if kind == "clip":
        return T.max(T.min(a * T.float32(6) + b, T.float32(6)), T.float32(0))
    return a / (one + b * b) - T.sqrt(a + b)


def lanes(count: int, parts: int) -> Change:
    def change(sch: Any) -> None:
        (i,) = sch.get_loops(sch.get_sblock("B"))
        if parts:
            p, i = sch.split(i, [parts, None])
            sch.parallel(p)
        if count:
            sch.vectorize(sch.split(i, [None, count])[1])

    return change


def planes_last(n: int, c: int, h: int, w: int) -> Any:
    """``NCHW`` to ``NHWC``."""

    @T.prim_func(s_tir=True)
    def planes_last(
        A: T.Buffer((n, c, h, w), "float32"), B: T.Buffer((n, h, w, c), "float32")
    ) -> None:
        for z, y, x, f in T.grid(n, h, w, c):
            with T.sblock("B"):
                vz, vy, vx, vf = T.axis.remap("SSSS", [z, y, x, f])
                B[vz, vy, vx, vf] = A[vz, vf, vy, vx]

    return planes_last


def panels(m: int, k: int, each: int, order: str) -> Any:
    """Rows into panels of `each` rows, column by column, as for a product."""

    @T.prim_func
    def panels(A: T.Buffer((m, k), "float32"), P: T.Buffer((m // each, k, each), "float32")):
        if order == "read":
            for p, i, j in T.grid(m // each, each, k):
                P[p, j, i] = A[p * each + i, j]
        else:
            for p, j, i in T.grid(m // each, k, each):
                P[p, j, i] = A[p * each + i, j]

    return panels


def tables(n: int, size: int, width: int, parallel: bool) -> Any:
    """The sum of three rows of a table for each item."""
    each = T.parallel if parallel else T.serial

    @T.prim_func
    def tables(
        R: T.Buffer((n, 3), "int32"),
        W: T.Buffer((size, width), "float32"),
        Y: T.Buffer((n, width), "float32"),
    ):
        T.func_attr({"indices_below": size})
        for i in each(n):
            for j in T.vectorized(width):
                Y[i, j] = W[R[i, 0], j] + W[R[i, 1], j] + W[R[i, 2], j]

    return tables


def counts(n: int, copies: int) -> Any:
    """A histogram of 64 bins, in turn in one of `copies`."""

    @T.prim_func
    def counts(X: T.Buffer((n // copies, copies), "int32"), H: T.Buffer((copies, 64), "int32")):
        T.func_attr({"indices_below": 64})
        for c, b in T.grid(copies, 64):
            H[c, b] = 0
        for i, c in T.grid(n // copies, copies):
            H[c, X[i, c]] = H[c, X[i, c]] + 1

    return counts


def sorting(n: int, apart: int) -> Any:
    """One step of a sorting network: pairs `apart` are put in order."""

    @T.prim_func
    def sorting(A: T.Buffer((n // apart // 2, 2, apart), "float32")):
        for p, i in T.grid(n // apart // 2, apart):
            low: T.float32 = T.min(A[p, 0, i], A[p, 1, i])
            high: T.float32 = T.max(A[p, 0, i], A[p, 1, i])
            A[p, 0, i] = low
            A[p, 1, i] = high

    return sorting


def kernels() -> Iterator[Kernel]:
    for n in (6000, 800000):
        yield f"smooth {n} 6", "whole", smooth(n, 3)
        yield f"smooth {n} 6", "blocks of 2000", smooth_blocks(n, 3, 2000)
        yield f"smooth {n} 6", "blocks of 200", smooth_blocks(n, 3, 200)
    yield "in place 300 500", "rows", in_place(300, 500, "rows")
    yield "in place 300 500", "columns", in_place(300, 500, "columns")
    for n, m in ((150, 200), (900, 1200)):
        name, base = f"laplacian {n} {m}", laplacian(n, m)
        yield name, "plain", base
        yield name, "blocks 30 40 in vectors of 8", scheduled(base, blocks(30, 40, 8, False))
        yield name, "blocks 10 200 parallel", scheduled(base, blocks(10, 200, 0, True))
    yield "space 50 1", "parallel", space(50, 1)
    yield "space 50 3", "parallel", space(50, 3)
    yield "space 150 2", "parallel", space(150, 2)
    for axis in range(3):
        name, base = f"sums 40 120 90 axis {axis}", along(40, 120, 90, axis, "sum")
        yield name, "plain", base
        if axis < 2:
            yield name, "outside", scheduled(base, outside(False))
            yield name, "outside parallel", scheduled(base, outside(True))
        else:
            yield name, "split in 9", scheduled(base, split_sums(9, False))
            yield name, "split in 30 parallel", scheduled(base, split_sums(30, True))
    name, base = "greatest 20 300 400 axis 1", along(20, 300, 400, 1, "greatest")
    yield name, "plain", base
    yield name, "outside", scheduled(base, outside(False))
    yield name, "outside parallel", scheduled(base, outside(True))
    yield "argmax 200 1500", "plain", argmax(200, 1500)
    yield "softmax 400 300", "plain", softmax(400, 300, False)
    yield "softmax 400 300", "parallel", softmax(400, 300, True)
    yield "norm 700 900", "rows", norm(700, 900, "rows")
    yield "norm 700 900", "parallel", norm(700, 900, "parallel")
    yield "running 300 800 axis 0", "plain", running(300, 800, 0)
    yield "running 300 800 axis 1", "plain", running(300, 800, 1)
    for kind in ("gelu", "power", "softplus", "mish", "clip", "ratio"):
        name, base = f"{kind} 40000", functions(40000, kind)
        yield name, "plain", base
        yield name, "vectors of 16", scheduled(base, lanes(16, 0))
        yield name, "8 parts, vectors of 8", scheduled(base, lanes(8, 8))
    name, base = "planes last 2 20 60 50", planes_last(2, 20, 60, 50)
    yield name, "plain", base
    yield name, "blocks 10 20", scheduled(base, blocks(10, 20, 0, False))
    yield name, "blocks 25 4", scheduled(base, blocks(25, 4, 0, False))
    for m, k in ((240, 300), (1600, 1000)):
        yield f"panels {m} {k}", "of 8 as read", panels(m, k, 8, "read")
        yield f"panels {m} {k}", "of 8 as written", panels(m, k, 8, "written")
        yield f"panels {m} {k}", "of 40 as written", panels(m, k, 40, "written")
    yield "tables 3000 20000 48", "plain", tables(3000, 20000, 48, False)
    yield "tables 3000 20000 48", "parallel", tables(3000, 20000, 48, True)
    yield "counts 40000", "one", counts(40000, 1)
    yield "counts 40000", "four", counts(40000, 4)
    for apart in (1, 8, 512):
        yield f"sorting 131072 {apart}", "plain", sorting(131072, apart)
