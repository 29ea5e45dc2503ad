"""Stencils, reductions, norms, elementwise chains and layouts as they are commonly written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tvm.script import tirx as T

from .operators import scheduled

Kernel = tuple[str, str, Any]
Change = Callable[[Any], None]


def heat(h: int, w: int, dtype: str) -> Any:
    """One step of the heat equation with five points."""

    @T.prim_func(s_tir=True)
    def heat(A: T.Buffer((h + 2, w + 2), dtype), B: T.Buffer((h, w), dtype)) -> None:
        for i, j in T.grid(h, w):
            with T.sblock("B"):
                y, x = T.axis.remap("SS", [i, j])
                B[y, x] = A[y + 1, x + 1] + T.cast(0.125, dtype) * (
                    A[y, x + 1]
                    + A[y + 2, x + 1]
                    + A[y + 1, x]
                    + A[y + 1, x + 2]
                    - T.cast(4, dtype) * A[y + 1, x + 1]
                )

    return heat


def blur(h: int, w: int) -> Any:
    """A mean of 3 x 3, first along rows, then along columns."""

    @T.prim_func(s_tir=True)
    def blur(A: T.Buffer((h + 2, w + 2), "float32"), B: T.Buffer((h, w), "float32")) -> None:
        R = T.sblock_alloc_buffer((h + 2, w), "float32")
        for i, j in T.grid(h + 2, w):
            with T.sblock("R"):
                y, x = T.axis.remap("SS", [i, j])
                R[y, x] = (A[y, x] + A[y, x + 1] + A[y, x + 2]) / T.float32(3)
        for i, j in T.grid(h, w):
            with T.sblock("B"):
                y, x = T.axis.remap("SS", [i, j])
                B[y, x] = (R[y, x] + R[y + 1, x] + R[y + 2, x]) / T.float32(3)

    return blur


def blur_rows(vector: int, parallel: bool) -> Change:
    """The rows that eight rows of the result need are made just before them."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("B")
        y, x = sch.get_loops(block)
        yo, _ = sch.split(y, [None, 8])
        sch.compute_at(sch.get_sblock("R"), yo)
        if vector:
            sch.vectorize(sch.split(x, [None, vector])[1])
            sch.vectorize(sch.split(sch.get_loops(sch.get_sblock("R"))[-1], [None, vector])[1])
        if parallel:
            sch.parallel(yo)

    return change


def seven_points(d: int, h: int, w: int) -> Any:
    @T.prim_func(s_tir=True)
    def seven_points(
        A: T.Buffer((d + 2, h + 2, w + 2), "float32"), B: T.Buffer((d, h, w), "float32")
    ) -> None:
        for i, j, k in T.grid(d, h, w):
            with T.sblock("B"):
                z, y, x = T.axis.remap("SSS", [i, j, k])
                B[z, y, x] = T.float32(0.4) * A[z + 1, y + 1, x + 1] + T.float32(0.1) * (
                    A[z, y + 1, x + 1]
                    + A[z + 2, y + 1, x + 1]
                    + A[z + 1, y, x + 1]
                    + A[z + 1, y + 2, x + 1]
                    + A[z + 1, y + 1, x]
                    + A[z + 1, y + 1, x + 2]
                )

    return seven_points


def loops(kind: str, block_name: str = "B") -> Change:
    """Common changes of a nest without sums: the kinds are the schedules' names."""

    def change(sch: Any) -> None:
        block = sch.get_sblock(block_name)
        nest = sch.get_loops(block)
        words = kind.split()
        outer = nest[0]
        if "tiles" in words:
            at = words.index("tiles")
            yo, yi = sch.split(nest[-2], [None, int(words[at + 1])])
            xo, xi = sch.split(nest[-1], [None, int(words[at + 2])])
            sch.reorder(yo, xo, yi, xi)
            outer = yo if len(nest) == 2 else outer
            nest = [*nest[:-2], yo, xo, yi, xi]
        if "swapped" in words:
            sch.reorder(*reversed(nest))
            nest = list(reversed(nest))
            outer = nest[0]
        if "vectors" in words:
            width = int(words[words.index("vectors") + 1])
            sch.vectorize(sch.split(nest[-1], [None, width])[1])
        if "unrolled" in words:
            sch.unroll(sch.split(nest[-1], [None, 4])[1])
        if "fused" in words:
            outer = sch.fuse(*nest[:2])
        if "parallel" in words:
            sch.parallel(outer)

    return change


def row_max(h: int, w: int, dtype: str) -> Any:
    @T.prim_func(s_tir=True)
    def row_max(A: T.Buffer((h, w), dtype), M: T.Buffer((h,), dtype)) -> None:
        for i, j in T.grid(h, w):
            with T.sblock("M"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    M[vi] = T.min_value(dtype)
                M[vi] = T.max(M[vi], A[vi, vj])

    return row_max


def column_sum(h: int, w: int) -> Any:
    @T.prim_func(s_tir=True)
    def column_sum(A: T.Buffer((h, w), "float32"), S: T.Buffer((w,), "float32")) -> None:
        for j, i in T.grid(w, h):
            with T.sblock("M"):
                vj, vi = T.axis.remap("SR", [j, i])
                with T.init():
                    S[vj] = T.float32(0)
                S[vj] = S[vj] + A[vi, vj]

    return column_sum


def sum_loops(kind: str) -> Change:
    """Common changes of a sum over the inner of two loops."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("M")
        i, j = sch.get_loops(block)
        if kind == "swapped":
            sch.reorder(j, i)
        if kind == "parallel":
            sch.parallel(i)
        if kind == "strips of 64":
            io, ii = sch.split(i, [None, 64])
            sch.reorder(io, j, ii)
            sch.parallel(io)
            sch.decompose_reduction(block, j)
        if kind == "partial 16":
            partial = sch.rfactor(sch.split(j, [None, 16])[1], 0)
            lane, row, rest = sch.get_loops(partial)
            sch.reorder(row, rest, lane)
            sch.vectorize(lane)
        if kind == "unrolled by 4":
            sch.unroll(sch.split(j, [None, 4])[1])

    return change


def dot(n: int, dtype: str) -> Any:
    @T.prim_func(s_tir=True)
    def dot(A: T.Buffer((n,), dtype), B: T.Buffer((n,), dtype), S: T.Buffer((1,), dtype)) -> None:
        for o, i in T.grid(1, n):
            with T.sblock("M"):
                vo, vi = T.axis.remap("SR", [o, i])
                with T.init():
                    S[vo] = T.cast(0, dtype)
                S[vo] = S[vo] + A[vi] * B[vi]

    return dot


def softmax(h: int, w: int, parallel: bool) -> Any:
    """Row by row with the largest element and the sum in cells of their own."""
    rows = T.parallel if parallel else T.serial

    @T.prim_func
    def softmax(A: T.Buffer((h, w), "float32"), B: T.Buffer((h, w), "float32")) -> None:
        for i in rows(h):
            m = T.alloc_buffer((1,), "float32", scope="local")
            s = T.alloc_buffer((1,), "float32", scope="local")
            m[0] = T.float32(-3.4e38)
            for j in range(w):
                m[0] = T.max(m[0], A[i, j])
            s[0] = T.float32(0)
            for j in range(w):
                B[i, j] = T.exp(A[i, j] - m[0])
            for j in range(w):
                s[0] = s[0] + B[i, j]
            for j in range(w):
                B[i, j] = B[i, j] / s[0]

    return softmax


def softmax_stages(h: int, w: int) -> Any:
    @T.prim_func(s_tir=True)
    def softmax_stages(A: T.Buffer((h, w), "float32"), B: T.Buffer((h, w), "float32")) -> None:
        M = T.sblock_alloc_buffer((h,), "float32")
        E = T.sblock_alloc_buffer((h, w), "float32")
        S = T.sblock_alloc_buffer((h,), "float32")
        for i, j in T.grid(h, w):
            with T.sblock("M"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    M[vi] = T.min_value("float32")
                M[vi] = T.max(M[vi], A[vi, vj])
        for i, j in T.grid(h, w):
            with T.sblock("E"):
                vi, vj = T.axis.remap("SS", [i, j])
                E[vi, vj] = T.exp(A[vi, vj] - M[vi])
        for i, j in T.grid(h, w):
            with T.sblock("S"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + E[vi, vj]
        for i, j in T.grid(h, w):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = E[vi, vj] / S[vi]

    return softmax_stages


def layer_norm(h: int, w: int, parallel: bool, vector: bool) -> Any:
    """Mean and mean square in one pass, the result in a second, in vectors if asked for."""
    rows = T.parallel if parallel else T.serial
    columns = T.vectorized if vector else T.serial

    @T.prim_func
    def layer_norm(
        X: T.Buffer((h, w), "float32"),
        g: T.Buffer((w,), "float32"),
        b: T.Buffer((w,), "float32"),
        Y: T.Buffer((h, w), "float32"),
    ) -> None:
        for i in rows(h):
            s = T.alloc_buffer((2,), "float32", scope="local")
            s[0] = T.float32(0)
            s[1] = T.float32(0)
            for j in range(w):
                s[0] = s[0] + X[i, j]
                s[1] = s[1] + X[i, j] * X[i, j]
            for jo in range(w // 16):
                for ji in columns(16):
                    Y[i, jo * 16 + ji] = (X[i, jo * 16 + ji] - s[0] / T.float32(w)) * T.rsqrt(
                        s[1] / T.float32(w) - s[0] / T.float32(w) * (s[0] / T.float32(w)) + 1e-5
                    ) * g[jo * 16 + ji] + b[jo * 16 + ji]

    return layer_norm


def silu_chain(n: int) -> Any:
    """``silu(a) * b + c`` over three statements."""

    @T.prim_func(s_tir=True)
    def silu_chain(
        A: T.Buffer((n,), "float32"),
        B: T.Buffer((n,), "float32"),
        C: T.Buffer((n,), "float32"),
        Y: T.Buffer((n,), "float32"),
    ) -> None:
        P = T.sblock_alloc_buffer((n,), "float32")
        Q = T.sblock_alloc_buffer((n,), "float32")
        for i in range(n):
            with T.sblock("P"):
                vi = T.axis.remap("S", [i])
                P[vi] = A[vi] * T.sigmoid(A[vi])
        for i in range(n):
            with T.sblock("Q"):
                vi = T.axis.remap("S", [i])
                Q[vi] = P[vi] * B[vi]
        for i in range(n):
            with T.sblock("B"):
                vi = T.axis.remap("S", [i])
                Y[vi] = Q[vi] + C[vi]

    return silu_chain


def inlined(kind: str) -> Change:
    def change(sch: Any) -> None:
        sch.compute_inline(sch.get_sblock("P"))
        sch.compute_inline(sch.get_sblock("Q"))
        (i,) = sch.get_loops(sch.get_sblock("B"))
        if "vectors" in kind:
            i, lanes = sch.split(i, [None, 8])
            sch.vectorize(lanes)
        if "parallel" in kind:
            if "vectors" not in kind:
                i, _ = sch.split(i, [4, None])
            sch.parallel(i)

    return change


def affine(h: int, w: int, source: str, result: str) -> Any:
    """Scale and shift by channel, clipped, in another type."""

    @T.prim_func(s_tir=True)
    def affine(
        A: T.Buffer((h, w), source),
        s: T.Buffer((w,), "float32"),
        b: T.Buffer((w,), "float32"),
        Y: T.Buffer((h, w), result),
    ) -> None:
        for i, j in T.grid(h, w):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.cast(
                    T.min(
                        T.max(T.cast(A[vi, vj], "float32") * s[vj] + b[vj], T.float32(0)),
                        T.float32(6),
                    ),
                    result,
                )

    return affine


def transpose(h: int, w: int, dtype: str) -> Any:
    @T.prim_func(s_tir=True)
    def transpose(A: T.Buffer((h, w), dtype), B: T.Buffer((w, h), dtype)) -> None:
        for j, i in T.grid(w, h):
            with T.sblock("B"):
                vj, vi = T.axis.remap("SS", [j, i])
                B[vj, vi] = A[vi, vj]

    return transpose


def channels_last(c: int, h: int, w: int) -> Any:
    @T.prim_func(s_tir=True)
    def channels_last(A: T.Buffer((c, h, w), "float32"), B: T.Buffer((h, w, c), "float32")) -> None:
        for y, x, f in T.grid(h, w, c):
            with T.sblock("B"):
                vy, vx, vf = T.axis.remap("SSS", [y, x, f])
                B[vy, vx, vf] = A[vf, vy, vx]

    return channels_last


def blocked_channels(c: int, h: int, w: int, block: int) -> Any:
    """NCHW to NCHWc."""

    @T.prim_func(s_tir=True)
    def blocked_channels(
        A: T.Buffer((c, h, w), "float32"), B: T.Buffer((c // block, h, w, block), "float32")
    ) -> None:
        for o, y, x, f in T.grid(c // block, h, w, block):
            with T.sblock("B"):
                vo, vy, vx, vf = T.axis.remap("SSSS", [o, y, x, f])
                B[vo, vy, vx, vf] = A[vo * block + vf, vy, vx]

    return blocked_channels


def column_panels(k: int, n: int, width: int) -> Any:
    """A matrix packed into panels of so many columns, padded with zeros."""
    panels = (n + width - 1) // width

    @T.prim_func(s_tir=True)
    def column_panels(
        A: T.Buffer((k, n), "float32"), B: T.Buffer((panels, k, width), "float32")
    ) -> None:
        for p, r, v in T.grid(panels, k, width):
            with T.sblock("B"):
                vp, vr, vv = T.axis.remap("SSS", [p, r, v])
                B[vp, vr, vv] = T.if_then_else(
                    vp * width + vv < n, A[vr, vp * width + vv], T.float32(0)
                )

    return column_panels


def max_pool(c: int, h: int, w: int) -> Any:
    @T.prim_func(s_tir=True)
    def max_pool(
        A: T.Buffer((c, 2 * h, 2 * w), "float32"), B: T.Buffer((c, h, w), "float32")
    ) -> None:
        for f, y, x, ry, rx in T.grid(c, h, w, 2, 2):
            with T.sblock("B"):
                vf, vy, vx, vr, vs = T.axis.remap("SSSRR", [f, y, x, ry, rx])
                with T.init():
                    B[vf, vy, vx] = T.min_value("float32")
                B[vf, vy, vx] = T.max(B[vf, vy, vx], A[vf, vy * 2 + vr, vx * 2 + vs])

    return max_pool


def pool_loops(kind: str) -> Change:
    def change(sch: Any) -> None:
        block = sch.get_sblock("B")
        f, y, x, ry, rx = sch.get_loops(block)
        if kind == "window outside":
            sch.reorder(f, y, ry, rx, x)
        if kind == "parallel":
            sch.parallel(f)
        if kind == "unrolled":
            sch.unroll(ry)
            sch.unroll(rx)

    return change


def several(name: str, base: Any, *kinds: str, change: Callable[[str], Change]) -> Iterator[Kernel]:
    """A workload as written and in the schedules of these names."""
    yield name, "plain", base
    for kind in kinds:
        yield name, kind, scheduled(base, change(kind))


def kernels() -> Iterator[Kernel]:
    for h, w, dtype in ((510, 766, "float32"), (1536, 2048, "float32"), (300, 401, "float64")):
        kinds = ("parallel", "tiles 16 64 parallel") if w != 401 else ("parallel", "swapped")
        if w == 2048:
            kinds += ("vectors 16 parallel", "vectors 8")
        yield from several(f"heat {dtype} {h} {w}", heat(h, w, dtype), *kinds, change=loops)
    name, base = "blur 480 640", blur(480, 640)
    yield name, "plain", base
    yield name, "eight rows", scheduled(base, blur_rows(0, False))
    yield name, "eight rows parallel", scheduled(base, blur_rows(0, True))
    yield name, "eight rows vectors of 16 parallel", scheduled(base, blur_rows(16, True))
    for d, h, w in ((48, 60, 72), (128, 128, 160)):
        kinds = ("parallel", "fused parallel", "tiles 8 8 parallel", "vectors 8 parallel")
        yield from several(f"seven points {d} {h} {w}", seven_points(d, h, w), *kinds, change=loops)
    for h, w, dtype in ((512, 1000, "float32"), (2000, 300, "int32")):
        yield from several(
            f"row max {dtype} {h} {w}",
            row_max(h, w, dtype),
            *("parallel", "unrolled by 4", "swapped"),
            change=sum_loops,
        )
    for h, w in ((1000, 512), (3000, 1920)):
        yield from several(
            f"column sum {h} {w}",
            column_sum(h, w),
            *("swapped", "parallel", "strips of 64"),
            change=sum_loops,
        )
    for n, dtype in ((10000, "float32"), (1000000, "float64")):
        yield from several(
            f"dot {dtype} {n}", dot(n, dtype), "partial 16", "unrolled by 4", change=sum_loops
        )
    for h, w in ((256, 384), (1000, 77)):
        name = f"softmax {h} {w}"
        yield name, "rows", softmax(h, w, False)
        yield name, "rows parallel", softmax(h, w, True)
        yield name, "stages", softmax_stages(h, w)
    name = "layer norm one pass 384 768"
    yield name, "plain", layer_norm(384, 768, False, False)
    yield name, "parallel", layer_norm(384, 768, True, False)
    yield name, "vectors parallel", layer_norm(384, 768, True, True)
    for n in (50000, 1500000):
        yield from several(
            f"silu chain {n}",
            silu_chain(n),
            *("inlined", "inlined parallel", "inlined vectors parallel"),
            change=inlined,
        )
    for source, result in (("float32", "float32"), ("int8", "float32"), ("float16", "float16")):
        yield from several(
            f"affine {source} to {result} 400 960",
            affine(400, 960, source, result),
            *("parallel", "vectors 16", "swapped"),
            change=loops,
        )
    for h, w, dtype in ((500, 700, "float32"), (1024, 1024, "float64"), (640, 480, "int8")):
        kinds = ("parallel", "swapped", "tiles 20 10" if h == 500 else "tiles 16 16 parallel")
        yield from several(
            f"transpose {dtype} {h} {w}", transpose(h, w, dtype), *kinds, change=loops
        )
    yield from several(
        "channels last 64 40 50",
        channels_last(64, 40, 50),
        *("parallel", "swapped", "tiles 10 16", "vectors 16"),
        change=loops,
    )
    yield from several(
        "blocked channels 96 40 40 16",
        blocked_channels(96, 40, 40, 16),
        *("parallel", "fused parallel", "vectors 16", "tiles 8 4"),
        change=loops,
    )
    yield from several(
        "column panels 600 1000 24",
        column_panels(600, 1000, 24),
        *("parallel", "fused parallel"),
        change=loops,
    )
    yield from several(
        "max pool 48 60 60",
        max_pool(48, 60, 60),
        *("parallel", "window outside", "unrolled"),
        change=pool_loops,
    )
