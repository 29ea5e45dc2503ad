"""Products of odd shapes, convolutions of several layouts and what attention multiplies.

No rule or constant of the model was looked at with these workloads before their first score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tvm.script import tirx as T

from .operators import scheduled

Kernel = tuple[str, str, Any]
Change = Callable[[Any], None]


def product(m: int, n: int, k: int, dtype: str = "float32", total: str = "float32") -> Any:
    @T.prim_func(s_tir=True)
    def product(
        A: T.Buffer((m, k), dtype), B: T.Buffer((k, n), dtype), C: T.Buffer((m, n), total)
    ) -> None:
        for i, j, r in T.grid(m, n, k):
            with T.sblock("C"):
                vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    C[vi, vj] = T.cast(0, total)
                C[vi, vj] = C[vi, vj] + T.cast(A[vi, vr], total) * T.cast(B[vr, vj], total)

    return product


def ordered(order: str, parallel: bool = False, vector: int = 0, unroll: int = 0) -> Change:
    """The loops by the letters of `order`; the innermost in vectors or unrolled."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        named = dict(zip("ijk", sch.get_loops(block), strict=True))
        sch.reorder(*(named[letter] for letter in order))
        last = named[order[-1]]
        if vector or unroll:
            named[order[-1]], inner = sch.split(last, [None, vector or unroll])
            (sch.vectorize if vector else sch.unroll)(inner)
        if parallel:
            sch.parallel(named[order[0]])
        sch.decompose_reduction(block, named["k"])

    return change


def written_back(bi: int, bj: int, uk: int, parallel: bool, scope: str = "global") -> Change:
    """A block of sums in an array of its own, written back at the end (``cache_write``)."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        local = sch.cache_write(block, 0, scope)
        i, j, k = sch.get_loops(block)
        io, ii = sch.split(i, [None, bi])
        jo, ji = sch.split(j, [None, bj])
        ko, ki = sch.split(k, [None, uk])
        sch.reorder(io, jo, ko, ki, ii, ji)
        sch.reverse_compute_at(local, jo)
        sch.vectorize(ji)
        sch.unroll(ii)
        if parallel:
            sch.parallel(io)
        sch.vectorize(sch.get_loops(local)[-1])
        sch.decompose_reduction(block, ko)

    return change


def factored(lanes: int, parallel: bool) -> Change:
    """Partial sums over the depth (``rfactor``), in vectors."""

    def change(sch: Any) -> None:
        k = sch.get_loops(sch.get_sblock("C"))[2]
        _, ki = sch.split(k, [None, lanes])
        partial = sch.rfactor(ki, 2)
        loops = sch.get_loops(partial)
        if parallel:
            sch.parallel(loops[0])
        sch.reorder(loops[0], loops[1], loops[2], loops[3])
        sch.vectorize(loops[3])
        sch.decompose_reduction(partial, loops[2])
        sch.reverse_compute_at(sch.get_sblock("C"), loops[1])

    return change


def packed(bj: int, bi: int, parallel: bool) -> Change:
    """B packed into panels first, as a second array."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        panel = sch.cache_read(block, 1, "global")
        sch.transform_layout(block, ("read", 1), lambda k, j: (j // bj, k, j % bj))
        sch.vectorize(sch.split(sch.get_loops(panel)[1], [None, bj])[1])
        i, j, k = sch.get_loops(block)
        io, ii = sch.split(i, [None, bi])
        jo, ji = sch.split(j, [None, bj])
        sch.reorder(jo, io, k, ii, ji)
        sch.vectorize(ji)
        sch.unroll(ii)
        if parallel:
            sch.parallel(jo)
        sch.decompose_reduction(block, k)

    return change


def batch(b: int, m: int, n: int, k: int) -> Any:
    @T.prim_func
    def batch(
        A: T.Buffer((b, m, k), "float32"),
        B: T.Buffer((b, n, k), "float32"),
        C: T.Buffer((b, m, n), "float32"),
    ):
        for z in T.parallel(b):
            for i, j in T.grid(m, n):
                C[z, i, j] = T.float32(0)
                for r in range(k):
                    C[z, i, j] = C[z, i, j] + A[z, i, r] * B[z, j, r]

    return batch


def batch_updates(b: int, m: int, n: int, k: int) -> Any:
    """The same with B turned in place: outer products on rows of C."""

    @T.prim_func
    def batch_updates(
        A: T.Buffer((b, m, k), "float32"),
        B: T.Buffer((b, k, n), "float32"),
        C: T.Buffer((b, m, n), "float32"),
    ):
        for z in T.parallel(b):
            for i in range(m):
                for j in T.vectorized(n):
                    C[z, i, j] = T.float32(0)
                for r in range(k):
                    for j in T.vectorized(n):
                        C[z, i, j] = C[z, i, j] + A[z, i, r] * B[z, r, j]

    return batch_updates


def blocked_conv(ci: int, co: int, h: int, lanes: int) -> Any:
    """3 x 3 on ``NCHW16c``: channels in blocks, the last axis of all arrays."""

    @T.prim_func(s_tir=True)
    def blocked_conv(
        X: T.Buffer((ci // lanes, h + 2, h + 2, lanes), "float32"),
        W: T.Buffer((co // lanes, ci // lanes, 3, 3, lanes, lanes), "float32"),
        Y: T.Buffer((co // lanes, h, h, lanes), "float32"),
    ) -> None:
        for fo, y, x, fi, co_, p, q, ci_ in T.grid(
            co // lanes, h, h, lanes, ci // lanes, 3, 3, lanes
        ):
            with T.sblock("Y"):
                vfo, vy, vx, vfi, vco, vp, vq, vci = T.axis.remap(
                    "SSSSRRRR", [fo, y, x, fi, co_, p, q, ci_]
                )
                with T.init():
                    Y[vfo, vy, vx, vfi] = T.float32(0)
                Y[vfo, vy, vx, vfi] = (
                    Y[vfo, vy, vx, vfi]
                    + X[vco, vy + vp, vx + vq, vci] * W[vfo, vco, vp, vq, vci, vfi]
                )

    return blocked_conv


def blocked_loops(columns: int, parallel: bool, local: bool) -> Change:
    def change(sch: Any) -> None:
        block = sch.get_sblock("Y")
        back = sch.cache_write(block, 0, "global") if local else None
        fo, y, x, fi, co, p, q, ci = sch.get_loops(block)
        xo, xi = sch.split(x, [None, columns])
        sch.reorder(fo, y, xo, co, p, q, ci, xi, fi)
        sch.vectorize(fi)
        sch.unroll(xi)
        if back is not None:
            sch.reverse_compute_at(back, xo)
        if parallel:
            sch.parallel(sch.fuse(fo, y))
        sch.decompose_reduction(block, co)

    return change


def pixels(ci: int, co: int, h: int, dtype: str) -> Any:
    """3 x 3 channels last, ``HWIO`` weights, as a loop nest by hand."""

    @T.prim_func
    def pixels(
        X: T.Buffer((h + 2, h + 2, ci), dtype),
        W: T.Buffer((3, 3, ci, co), dtype),
        Y: T.Buffer((h, h, co), dtype),
    ):
        for y, x in T.grid(h, h):
            for f in range(co):
                Y[y, x, f] = T.cast(0, dtype)
            for p, q, c in T.grid(3, 3, ci):
                for f in range(co):
                    Y[y, x, f] = Y[y, x, f] + X[y + p, x + q, c] * W[p, q, c, f]

    return pixels


def pixels_parallel(ci: int, co: int, h: int) -> Any:
    @T.prim_func
    def pixels_parallel(
        X: T.Buffer((h + 2, h + 2, ci), "float32"),
        W: T.Buffer((3, 3, ci, co), "float32"),
        Y: T.Buffer((h, h, co), "float32"),
    ):
        for y in T.parallel(h):
            for x in range(h):
                for f in T.vectorized(co):
                    Y[y, x, f] = T.float32(0)
                for p, q, c in T.grid(3, 3, ci):
                    for f in T.vectorized(co):
                        Y[y, x, f] = Y[y, x, f] + X[y + p, x + q, c] * W[p, q, c, f]

    return pixels_parallel


def depthwise(c: int, h: int, stride: int) -> Any:
    @T.prim_func(s_tir=True)
    def depthwise(
        X: T.Buffer((c, stride * h + 2, stride * h + 2), "float32"),
        W: T.Buffer((c, 3, 3), "float32"),
        Y: T.Buffer((c, h, h), "float32"),
    ) -> None:
        for f, y, x, p, q in T.grid(c, h, h, 3, 3):
            with T.sblock("Y"):
                vf, vy, vx, vp, vq = T.axis.remap("SSSRR", [f, y, x, p, q])
                with T.init():
                    Y[vf, vy, vx] = T.float32(0)
                Y[vf, vy, vx] = (
                    Y[vf, vy, vx] + X[vf, vy * stride + vp, vx * stride + vq] * W[vf, vp, vq]
                )

    return depthwise


def depthwise_loops(unroll: bool, parallel: bool) -> Change:
    def change(sch: Any) -> None:
        block = sch.get_sblock("Y")
        f, _, x, p, q = sch.get_loops(block)
        sch.reorder(p, q, x)
        if unroll:
            sch.unroll(p)
            sch.unroll(q)
        if parallel:
            sch.parallel(f)
        sch.decompose_reduction(block, p)

    return change


def winograd_input(c: int, tiles: int) -> Any:
    """``B^T d B`` of F(2 x 2, 3 x 3) on tiles of 4 x 4 that overlap by two."""

    @T.prim_func
    def winograd_input(
        X: T.Buffer((c, 2 * tiles + 2, 2 * tiles + 2), "float32"),
        V: T.Buffer((4, 4, c, tiles, tiles), "float32"),
    ):
        for f, y, x in T.grid(c, tiles, tiles):
            R = T.alloc_buffer((4, 4), "float32")
            for q in T.unroll(4):
                R[0, q] = X[f, 2 * y, 2 * x + q] - X[f, 2 * y + 2, 2 * x + q]
                R[1, q] = X[f, 2 * y + 1, 2 * x + q] + X[f, 2 * y + 2, 2 * x + q]
                R[2, q] = X[f, 2 * y + 2, 2 * x + q] - X[f, 2 * y + 1, 2 * x + q]
                R[3, q] = X[f, 2 * y + 1, 2 * x + q] - X[f, 2 * y + 3, 2 * x + q]
            for p in T.unroll(4):
                V[p, 0, f, y, x] = R[p, 0] - R[p, 2]
                V[p, 1, f, y, x] = R[p, 1] + R[p, 2]
                V[p, 2, f, y, x] = R[p, 2] - R[p, 1]
                V[p, 3, f, y, x] = R[p, 1] - R[p, 3]

    return winograd_input


def winograd_products(co: int, ci: int, tiles: int, parallel: bool) -> Any:
    """The sixteen products in the transformed space."""
    each = T.parallel if parallel else T.serial

    @T.prim_func
    def winograd_products(
        U: T.Buffer((16, co, ci), "float32"),
        V: T.Buffer((16, ci, tiles), "float32"),
        M: T.Buffer((16, co, tiles), "float32"),
    ):
        for e in each(16):
            for f in range(co):
                for t in range(tiles):
                    M[e, f, t] = T.float32(0)
                for c, t in T.grid(ci, tiles):
                    M[e, f, t] = M[e, f, t] + U[e, f, c] * V[e, c, t]

    return winograd_products


def attention(heads: int, n: int, d: int, kind: str) -> Any:
    """Scores, softmax and values of each query row in turn."""
    each = T.parallel if kind == "parallel" else T.serial

    @T.prim_func
    def attention(
        Q: T.Buffer((heads, n, d), "float32"),
        K: T.Buffer((heads, n, d), "float32"),
        V: T.Buffer((heads, n, d), "float32"),
        Y: T.Buffer((heads, n, d), "float32"),
    ):
        for h in each(heads):
            for i in range(n):
                S = T.alloc_buffer((n,), "float32")
                M = T.alloc_buffer((2,), "float32")
                M[0] = T.float32(-1e30)
                M[1] = T.float32(0)
                for j in range(n):
                    S[j] = T.float32(0)
                    for c in range(d):
                        S[j] = S[j] + Q[h, i, c] * K[h, j, c]
                    M[0] = T.max(M[0], S[j])
                for j in range(n):
                    S[j] = T.exp(S[j] - M[0])
                    M[1] = M[1] + S[j]
                for c in range(d):
                    Y[h, i, c] = T.float32(0)
                for j in range(n):
                    for c in range(d):
                        Y[h, i, c] = Y[h, i, c] + S[j] / M[1] * V[h, j, c]

    return attention


def bilinear(b: int, n: int, k: int, last: str) -> Any:
    """``bik,kl,bjl->bij`` in two steps, the second over rows (`last`: ``dots`` or ``rows``)."""

    @T.prim_func
    def bilinear(
        A: T.Buffer((b, n, k), "float32"),
        W: T.Buffer((k, k), "float32"),
        B: T.Buffer((b, k, n), "float32"),
        C: T.Buffer((b, n, n), "float32"),
    ):
        for z, i in T.grid(b, n):
            R = T.alloc_buffer((k,), "float32")
            for c in range(k):
                R[c] = T.float32(0)
            for r, c in T.grid(k, k):
                R[c] = R[c] + A[z, i, r] * W[r, c]
            for j in range(n):
                C[z, i, j] = T.float32(0)
            if last == "rows":
                for c, j in T.grid(k, n):
                    C[z, i, j] = C[z, i, j] + R[c] * B[z, c, j]
            else:
                for j, c in T.grid(n, k):
                    C[z, i, j] = C[z, i, j] + R[c] * B[z, c, j]

    return bilinear


def kernels() -> Iterator[Kernel]:
    name, base = "product 1200 40 96", product(1200, 40, 96)
    yield name, "naive", base
    yield name, "ikj", scheduled(base, ordered("ikj"))
    yield name, "jki parallel", scheduled(base, ordered("jki", parallel=True))
    yield name, "sums 6x40", scheduled(base, written_back(6, 40, 4, False))
    yield name, "sums 4x8 parallel", scheduled(base, written_back(4, 8, 1, True))
    name, base = "product 24 2000 200", product(24, 2000, 200)
    yield name, "ikj vectors of 16", scheduled(base, ordered("ikj", vector=16))
    yield name, "kij", scheduled(base, ordered("kij"))
    yield name, "sums 8x16", scheduled(base, written_back(8, 16, 2, False))
    yield name, "panels of 80, 4 rows", scheduled(base, packed(80, 4, False))
    name, base = "product 450 450 450", product(450, 450, 450)
    yield name, "naive unrolled 10", scheduled(base, ordered("ijk", unroll=10))
    yield name, "ikj parallel", scheduled(base, ordered("ikj", parallel=True))
    yield name, "partial sums 18 parallel", scheduled(base, factored(18, True))
    yield name, "panels of 30, 5 rows", scheduled(base, packed(30, 5, True))
    yield name, "sums 9x50 local", scheduled(base, written_back(9, 50, 1, False, "local"))
    name, base = "product int8 128 256 384", product(128, 256, 384, "int8", "int32")
    yield name, "naive", base
    yield name, "ikj", scheduled(base, ordered("ikj"))
    yield name, "sums 4x32", scheduled(base, written_back(4, 32, 4, False))
    name, base = "product float64 90 70 800", product(90, 70, 800, "float64", "float64")
    yield name, "naive", base
    yield name, "partial sums 8", scheduled(base, factored(8, False))
    yield name, "ikj", scheduled(base, ordered("ikj"))
    name, base = "product float16 96 128 160", product(96, 128, 160, "float16", "float32")
    yield name, "ikj", scheduled(base, ordered("ikj"))
    yield name, "sums 4x16", scheduled(base, written_back(4, 16, 1, False))
    yield "batch 24 40 48 56", "dots", batch(24, 40, 48, 56)
    yield "batch 24 40 48 56", "updates", batch_updates(24, 40, 48, 56)
    yield "batch 96 8 16 32", "dots", batch(96, 8, 16, 32)
    yield "batch 96 8 16 32", "updates", batch_updates(96, 8, 16, 32)
    name, base = "blocked conv 32 48 28", blocked_conv(32, 48, 28, 16)
    yield name, "naive", base
    yield name, "columns 7", scheduled(base, blocked_loops(7, False, False))
    yield name, "columns 14 summed apart", scheduled(base, blocked_loops(14, False, True))
    yield name, "columns 4 summed apart, parallel", scheduled(base, blocked_loops(4, True, True))
    yield "pixels 24 40 30", "plain", pixels(24, 40, 30, "float32")
    yield "pixels 24 40 30", "vectors parallel", pixels_parallel(24, 40, 30)
    yield "pixels int32 16 64 20", "plain", pixels(16, 64, 20, "int32")
    for c, h, stride in ((40, 30, 2), (20, 90, 1)):
        name, base = f"depthwise {c} {h} stride {stride}", depthwise(c, h, stride)
        yield name, "naive", base
        yield name, "window outside", scheduled(base, depthwise_loops(False, False))
        yield name, "window unrolled parallel", scheduled(base, depthwise_loops(True, True))
    yield "winograd input 32 24", "plain", winograd_input(32, 24)
    yield "winograd products 32 24 100", "plain", winograd_products(32, 24, 100, False)
    yield "winograd products 32 24 100", "parallel", winograd_products(32, 24, 100, True)
    yield "attention 6 100 40", "plain", attention(6, 100, 40, "plain")
    yield "attention 6 100 40", "parallel", attention(6, 100, 40, "parallel")
    yield "bilinear 6 70 50", "rows", bilinear(6, 70, 50, "rows")
    yield "bilinear 6 70 50", "dots", bilinear(6, 70, 50, "dots")
