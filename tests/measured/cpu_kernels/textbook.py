"""Textbook products and convolutions as anybody schedules them: tiles, caches, vectors, threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tvm.script import tirx as T

from .operators import scheduled

Kernel = tuple[str, str, Any]
Change = Callable[[Any], None]


def product(m: int, n: int, k: int, kind: str = "nn", dtype: str = "float32", out: str = "") -> Any:
    """``C = A B`` with either operand transposed in memory, summed in `out`."""
    out = out or dtype
    a, b = (k, m) if kind[0] == "t" else (m, k), (n, k) if kind[1] == "t" else (k, n)

    if kind == "nn":

        @T.prim_func(s_tir=True)
        def mm_nn(A: T.Buffer(a, dtype), B: T.Buffer(b, dtype), C: T.Buffer((m, n), out)) -> None:
            for i, j, r in T.grid(m, n, k):
                with T.sblock("C"):
                    vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                    with T.init():
                        C[vi, vj] = T.cast(0, out)
                    C[vi, vj] = C[vi, vj] + T.cast(A[vi, vr], out) * T.cast(B[vr, vj], out)

        return mm_nn
    if kind == "nt":

        @T.prim_func(s_tir=True)
        def mm_nt(A: T.Buffer(a, dtype), B: T.Buffer(b, dtype), C: T.Buffer((m, n), out)) -> None:
            for i, j, r in T.grid(m, n, k):
                with T.sblock("C"):
                    vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                    with T.init():
                        C[vi, vj] = T.cast(0, out)
                    C[vi, vj] = C[vi, vj] + T.cast(A[vi, vr], out) * T.cast(B[vj, vr], out)

        return mm_nt

    @T.prim_func(s_tir=True)
    def mm_tn(A: T.Buffer(a, dtype), B: T.Buffer(b, dtype), C: T.Buffer((m, n), out)) -> None:
        for i, j, r in T.grid(m, n, k):
            with T.sblock("C"):
                vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    C[vi, vj] = T.cast(0, out)
                C[vi, vj] = C[vi, vj] + T.cast(A[vr, vi], out) * T.cast(B[vr, vj], out)

    return mm_tn


def order(axes: str, parallel: bool = False) -> Change:
    """The loops in the order of `axes`, outermost first."""

    def change(sch: Any) -> None:
        loops = dict(zip("ijk", sch.get_loops(sch.get_sblock("C")), strict=True))
        sch.reorder(*(loops[axis] for axis in axes))
        if parallel:
            sch.parallel(loops[axes[0]])

    return change


def tiled(bi: int, bj: int, bk: int, vector: int = 0, parallel: bool = False) -> Change:
    """Three tiles; within one, rows outside and columns innermost."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        i, j, k = sch.get_loops(block)
        io, ii = sch.split(i, [None, bi])
        jo, ji = sch.split(j, [None, bj])
        ko, ki = sch.split(k, [None, bk])
        sch.reorder(io, jo, ko, ii, ki, ji)
        if vector:
            sch.vectorize(sch.split(ji, [None, vector])[1] if vector < bj else ji)
        if parallel:
            sch.parallel(io)
        sch.decompose_reduction(block, ko)

    return change


def cached(bi: int, bj: int, bk: int, parallel: bool, unroll: bool) -> Change:
    """A tile of sums apart, written back as a whole."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        write = sch.cache_write(block, 0, "local")
        i, j, k = sch.get_loops(block)
        io, ii = sch.split(i, [None, bi])
        jo, ji = sch.split(j, [None, bj])
        ko, ki = sch.split(k, [None, bk])
        sch.reorder(io, jo, ko, ki, ii, ji)
        sch.reverse_compute_at(write, jo)
        sch.vectorize(ji)
        sch.vectorize(sch.get_loops(write)[-1])
        if unroll:
            sch.unroll(ii)
        if parallel:
            sch.parallel(io)
        sch.decompose_reduction(block, ko)

    return change


def nchw(c: int, o: int, h: int, w: int, kernel: int, stride: int) -> Any:
    @T.prim_func(s_tir=True)
    def conv_nchw(
        X: T.Buffer((1, c, (h - 1) * stride + kernel, (w - 1) * stride + kernel), "float32"),
        W: T.Buffer((o, c, kernel, kernel), "float32"),
        Y: T.Buffer((1, o, h, w), "float32"),
    ) -> None:
        for n, f, y, x, rc, ry, rx in T.grid(1, o, h, w, c, kernel, kernel):
            with T.sblock("C"):
                vn, vf, vy, vx, vc, vr, vs = T.axis.remap("SSSSRRR", [n, f, y, x, rc, ry, rx])
                with T.init():
                    Y[vn, vf, vy, vx] = T.float32(0)
                Y[vn, vf, vy, vx] = (
                    Y[vn, vf, vy, vx]
                    + X[vn, vc, vy * stride + vr, vx * stride + vs] * W[vf, vc, vr, vs]
                )

    return conv_nchw


def nchw_rows(parallel: bool, vector: int = 0) -> Change:
    """Each row of the result gathers all channels; its columns are innermost."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        _, f, y, x, rc, ry, rx = sch.get_loops(block)
        sch.reorder(f, y, rc, ry, rx, x)
        if vector:
            sch.vectorize(sch.split(x, [None, vector])[1])
        if parallel:
            sch.parallel(f)
        sch.decompose_reduction(block, rc)

    return change


def nchw_cached(bf: int, bx: int) -> Change:
    """Sums of several channels and columns apart."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        write = sch.cache_write(block, 0, "local")
        _, f, y, x, rc, ry, rx = sch.get_loops(block)
        fo, fi = sch.split(f, [None, bf])
        xo, xi = sch.split(x, [None, bx])
        sch.reorder(fo, y, xo, rc, ry, rx, fi, xi)
        sch.reverse_compute_at(write, xo)
        sch.vectorize(xi)
        sch.unroll(fi)
        sch.parallel(fo)
        sch.decompose_reduction(block, rc)

    return change


def nhwc(c: int, o: int, h: int, w: int, kernel: int) -> Any:
    @T.prim_func(s_tir=True)
    def conv_nhwc(
        X: T.Buffer((h + kernel - 1, w + kernel - 1, c), "float32"),
        W: T.Buffer((kernel, kernel, c, o), "float32"),
        Y: T.Buffer((h, w, o), "float32"),
    ) -> None:
        for y, x, f, ry, rx, rc in T.grid(h, w, o, kernel, kernel, c):
            with T.sblock("C"):
                vy, vx, vf, vr, vs, vc = T.axis.remap("SSSRRR", [y, x, f, ry, rx, rc])
                with T.init():
                    Y[vy, vx, vf] = T.float32(0)
                Y[vy, vx, vf] = Y[vy, vx, vf] + X[vy + vr, vx + vs, vc] * W[vr, vs, vc, vf]

    return conv_nhwc


def nhwc_loops(kind: str) -> Change:
    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        y, x, f, ry, rx, rc = sch.get_loops(block)
        if kind == "four columns":
            xo, xi = sch.split(x, [None, 4])
            sch.reorder(y, xo, ry, rx, rc, xi, f)
            sch.unroll(xi)
        else:
            sch.reorder(y, x, ry, rx, rc, f)
        if "vectors" in kind:
            sch.vectorize(sch.split(f, [None, 16])[1])
        if "parallel" in kind:
            sch.parallel(y)
        sch.decompose_reduction(block, ry)

    return change


def depthwise(c: int, h: int, w: int, dtype: str) -> Any:
    @T.prim_func(s_tir=True)
    def depthwise(
        X: T.Buffer((c, h + 2, w + 2), dtype),
        W: T.Buffer((c, 3, 3), dtype),
        Y: T.Buffer((c, h, w), dtype),
    ) -> None:
        for f, y, x, ry, rx in T.grid(c, h, w, 3, 3):
            with T.sblock("C"):
                vf, vy, vx, vr, vs = T.axis.remap("SSSRR", [f, y, x, ry, rx])
                with T.init():
                    Y[vf, vy, vx] = T.cast(0, dtype)
                Y[vf, vy, vx] = Y[vf, vy, vx] + X[vf, vy + vr, vx + vs] * W[vf, vr, vs]

    return depthwise


def depthwise_loops(kind: str) -> Change:
    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        f, y, x, ry, rx = sch.get_loops(block)
        if kind == "window outside":
            sch.reorder(f, y, ry, rx, x)
        if kind == "window unrolled":
            sch.unroll(ry)
            sch.unroll(rx)
        if kind == "vectors of 8 parallel":
            xo, xi = sch.split(x, [None, 8])
            sch.reorder(f, y, xo, ry, rx, xi)
            sch.vectorize(xi)
            sch.parallel(f)
        if kind == "parallel":
            sch.parallel(f)

    return change


def dense_layer(m: int, n: int, k: int) -> Any:
    """A linear layer in PyTorch's layout with its bias and ReLU after it."""

    @T.prim_func(s_tir=True)
    def dense_layer(
        X: T.Buffer((m, k), "float32"),
        W: T.Buffer((n, k), "float32"),
        b: T.Buffer((n,), "float32"),
        Y: T.Buffer((m, n), "float32"),
    ) -> None:
        P = T.sblock_alloc_buffer((m, n), "float32")
        for i, j, r in T.grid(m, n, k):
            with T.sblock("C"):
                vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    P[vi, vj] = T.float32(0)
                P[vi, vj] = P[vi, vj] + X[vi, vr] * W[vj, vr]
        for i, j in T.grid(m, n):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(P[vi, vj] + b[vj], T.float32(0))

    return dense_layer


def dense_fused(parallel: bool) -> Change:
    """The bias and ReLU of each element right after its sum, in rows."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        i, j, _ = sch.get_loops(block)
        sch.reverse_compute_at(sch.get_sblock("Y"), j)
        if parallel:
            sch.parallel(i)

    return change


def dense_partial(sch: Any) -> None:
    """Sixteen partial sums of each element in vectors, added up afterwards."""
    block = sch.get_sblock("C")
    k = sch.get_loops(block)[2]
    _, ki = sch.split(k, [None, 16])
    partial = sch.rfactor(ki, 0)
    lane, i, j, ko = sch.get_loops(partial)
    sch.reorder(i, j, ko, lane)
    sch.vectorize(lane)
    sch.parallel(i)


def kernels() -> Iterator[Kernel]:
    for m, n, k in ((192, 192, 192), (384, 512, 256), (101, 203, 307)):
        name = f"mm {m} {n} {k}"
        base = product(m, n, k)
        yield name, "naive", base
        yield name, "ikj", scheduled(base, order("ikj"))
        yield name, "ikj parallel", scheduled(base, order("ikj", True))
        if m == 101:
            yield name, "kij", scheduled(base, order("kij"))
            yield name, "tiles 32 32 32 uneven", scheduled(base, tiled(32, 32, 32))
        else:
            yield name, "tiles 32 32 32", scheduled(base, tiled(32, 32, 32))
            yield name, "tiles 16 64 64 vectors 16", scheduled(base, tiled(16, 64, 64, 16))
            yield (
                name,
                "tiles 32 64 16 vectors 8 parallel",
                scheduled(base, tiled(32, 64, 16, 8, True)),
            )
            yield name, "cached 4 32 8 unrolled", scheduled(base, cached(4, 32, 8, False, True))
            yield name, "cached 8 16 64 parallel", scheduled(base, cached(8, 16, 64, True, False))
    name = "mm_nt 256 320 288"
    base = product(256, 320, 288, "nt")
    yield name, "naive", base
    yield name, "naive parallel", scheduled(base, order("ijk", True))
    yield name, "ikj", scheduled(base, order("ikj"))
    yield name, "tiles 32 32 32", scheduled(base, tiled(32, 32, 32))
    yield name, "cached 8 16 32 parallel", scheduled(base, cached(8, 16, 32, True, False))
    name = "mm_tn 320 256 224"
    base = product(320, 256, 224, "tn")
    yield name, "naive", base
    yield name, "kij", scheduled(base, order("kij"))
    yield name, "ikj parallel", scheduled(base, order("ikj", True))
    yield name, "cached 4 32 16 unrolled", scheduled(base, cached(4, 32, 16, False, True))
    name = "mm_f64 160 224 192"
    base = product(160, 224, 192, dtype="float64")
    yield name, "naive", base
    yield name, "ikj", scheduled(base, order("ikj"))
    yield name, "tiles 16 32 32 vectors 8", scheduled(base, tiled(16, 32, 32, 8))
    yield name, "cached 4 16 16 unrolled", scheduled(base, cached(4, 16, 16, False, True))
    name = "mm_i8 128 256 192"
    base = product(128, 256, 192, dtype="int8", out="int32")
    yield name, "naive", base
    yield name, "ikj", scheduled(base, order("ikj"))
    yield name, "tiles 16 64 32 vectors 16 parallel", scheduled(base, tiled(16, 64, 32, 16, True))
    name = "mm_nt_i8 96 160 512"
    base = product(96, 160, 512, "nt", "int8", "int32")
    yield name, "naive", base
    yield name, "jik", scheduled(base, order("jik"))
    yield name, "naive parallel", scheduled(base, order("ijk", True))
    name = "mm_f16 128 192 160"
    base = product(128, 192, 160, dtype="float16", out="float32")
    yield name, "naive", base
    yield name, "ikj", scheduled(base, order("ikj"))
    yield name, "tiles 16 32 32 vectors 16", scheduled(base, tiled(16, 32, 32, 16))
    for sizes in ((32, 48, 28, 28, 3, 1), (3, 32, 56, 56, 5, 2), (64, 96, 20, 20, 1, 1)):
        name = "conv nchw " + " ".join(map(str, sizes))
        base = nchw(*sizes)
        yield name, "naive", base
        yield name, "rows", scheduled(base, nchw_rows(False))
        yield name, "rows vectors of 4 parallel", scheduled(base, nchw_rows(True, 4))
        yield name, "rows parallel", scheduled(base, nchw_rows(True))
        yield (
            name,
            "cached 4 channels parallel",
            scheduled(base, nchw_cached(4, 14 if sizes[2] != 20 else 20)),
        )
    for sizes in ((24, 64, 30, 30, 3), (48, 40, 17, 19, 3)):
        name = "conv nhwc " + " ".join(map(str, sizes))
        base = nhwc(*sizes)
        yield name, "naive", base
        kinds = ["channels last", "channels parallel"]
        if sizes[1] % 16 == 0:
            kinds += ["vectors", "vectors parallel"]
        for kind in kinds + ["four columns"] * (sizes[3] % 4 == 0):
            yield name, kind, scheduled(base, nhwc_loops(kind))
    for dtype, sizes in (("float32", (64, 56, 56)), ("float64", (20, 60, 75))):
        name = f"depthwise {dtype} " + " ".join(map(str, sizes))
        base = depthwise(*sizes, dtype)
        yield name, "naive", base
        kinds = ["parallel", "window outside", "window unrolled"]
        for kind in kinds + ["vectors of 8 parallel"] * (sizes[2] % 8 == 0):
            yield name, kind, scheduled(base, depthwise_loops(kind))
    for sizes in ((64, 512, 256), (1, 1000, 768)):
        name = "dense layer " + " ".join(map(str, sizes))
        base = dense_layer(*sizes)
        yield name, "plain", base
        yield name, "fused", scheduled(base, dense_fused(False))
        if sizes[0] > 1:
            yield name, "fused parallel", scheduled(base, dense_fused(True))
            yield name, "partial sums parallel", scheduled(base, dense_partial)
