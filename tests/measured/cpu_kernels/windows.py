"""Convolutions and pools of other kinds: one-dimensional, channels last, transposed, with strides.

No rule or constant of the model was looked at with these workloads before their first score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tvm.script import tirx as T

from .operators import scheduled

Kernel = tuple[str, str, Any]


def conv1d(ci: int, co: int, length: int, taps: int) -> Any:
    @T.prim_func(s_tir=True)
    def conv1d(
        X: T.Buffer((ci, length + taps - 1), "float32"),
        W: T.Buffer((co, ci, taps), "float32"),
        Y: T.Buffer((co, length), "float32"),
    ) -> None:
        for f, x, c, t in T.grid(co, length, ci, taps):
            with T.sblock("Y"):
                vf, vx, vc, vt = T.axis.remap("SSRR", [f, x, c, t])
                with T.init():
                    Y[vf, vx] = T.float32(0)
                Y[vf, vx] = Y[vf, vx] + X[vc, vx + vt] * W[vf, vc, vt]

    return conv1d


def conv1d_rows(sch: Any) -> None:
    block = sch.get_sblock("Y")
    f, x, c, t = sch.get_loops(block)
    sch.reorder(f, c, t, x)
    sch.decompose_reduction(block, c)


def conv1d_tile(filters: int, columns: int, parallel: bool) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        block = sch.get_sblock("Y")
        local = sch.cache_write(block, 0, "local")
        f, x, c, t = sch.get_loops(block)
        fo, fi = sch.split(f, [None, filters])
        xo, xi = sch.split(x, [None, columns])
        sch.reorder(fo, xo, c, t, fi, xi)
        sch.reverse_compute_at(local, xo)
        sch.vectorize(xi)
        sch.unroll(fi)
        sch.unroll(t)
        if parallel:
            sch.parallel(fo)
        sch.decompose_reduction(block, c)

    return change


def depthwise_last(c: int, h: int) -> Any:
    """A 3 x 3 window of each channel, channels last."""

    @T.prim_func(s_tir=True)
    def depthwise_last(
        X: T.Buffer((h + 2, h + 2, c), "float32"),
        W: T.Buffer((3, 3, c), "float32"),
        Y: T.Buffer((h, h, c), "float32"),
    ) -> None:
        for y, x, f, p, q in T.grid(h, h, c, 3, 3):
            with T.sblock("Y"):
                vy, vx, vf, vp, vq = T.axis.remap("SSSRR", [y, x, f, p, q])
                with T.init():
                    Y[vy, vx, vf] = T.float32(0)
                Y[vy, vx, vf] = Y[vy, vx, vf] + X[vy + vp, vx + vq, vf] * W[vp, vq, vf]

    return depthwise_last


def depthwise_channels(lanes: int, parallel: bool) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        block = sch.get_sblock("Y")
        y, x, f, p, q = sch.get_loops(block)
        if lanes:
            fo, fi = sch.split(f, [None, lanes])
            sch.reorder(y, x, fo, p, q, fi)
            sch.unroll(p)
            sch.unroll(q)
            sch.vectorize(fi)
        else:
            sch.reorder(y, x, p, q, f)
        if parallel:
            sch.parallel(y)
        sch.decompose_reduction(block, p)

    return change


def average_pool(c: int, h: int) -> Any:
    """3 x 3 with stride 2."""

    @T.prim_func(s_tir=True)
    def average_pool(
        X: T.Buffer((c, 2 * h + 1, 2 * h + 1), "float32"), Y: T.Buffer((c, h, h), "float32")
    ) -> None:
        S = T.sblock_alloc_buffer((c, h, h), "float32")
        for f, y, x, p, q in T.grid(c, h, h, 3, 3):
            with T.sblock("S"):
                vf, vy, vx, vp, vq = T.axis.remap("SSSRR", [f, y, x, p, q])
                with T.init():
                    S[vf, vy, vx] = T.float32(0)
                S[vf, vy, vx] = S[vf, vy, vx] + X[vf, vy * 2 + vp, vx * 2 + vq]
        for f, y, x in T.grid(c, h, h):
            with T.sblock("Y"):
                vf, vy, vx = T.axis.remap("SSS", [f, y, x])
                Y[vf, vy, vx] = S[vf, vy, vx] * T.float32(1 / 9)

    return average_pool


def pool_fused(sch: Any) -> None:
    block = sch.get_sblock("S")
    f, y, _, p, q = sch.get_loops(block)
    sch.unroll(p)
    sch.unroll(q)
    sch.parallel(f)
    sch.reverse_compute_at(sch.get_sblock("Y"), y)


def transposed_conv(ci: int, co: int, h: int) -> Any:
    """2 x 2 with stride 2: each input pixel gives four output pixels."""

    @T.prim_func(s_tir=True)
    def transposed_conv(
        X: T.Buffer((ci, h, h), "float32"),
        W: T.Buffer((ci, co, 2, 2), "float32"),
        Y: T.Buffer((co, 2 * h, 2 * h), "float32"),
    ) -> None:
        for f, y, x, c in T.grid(co, 2 * h, 2 * h, ci):
            with T.sblock("Y"):
                vf, vy, vx, vc = T.axis.remap("SSSR", [f, y, x, c])
                with T.init():
                    Y[vf, vy, vx] = T.float32(0)
                Y[vf, vy, vx] = Y[vf, vy, vx] + X[vc, vy // 2, vx // 2] * W[vc, vf, vy % 2, vx % 2]

    return transposed_conv


def transposed_scatter(ci: int, co: int, h: int) -> Any:
    """The same, adding each input pixel to its outputs."""

    @T.prim_func(s_tir=True)
    def transposed_scatter(
        X: T.Buffer((ci, h, h), "float32"),
        W: T.Buffer((ci, co, 2, 2), "float32"),
        Y: T.Buffer((co, 2 * h, 2 * h), "float32"),
    ) -> None:
        for f, y, x in T.grid(co, 2 * h, 2 * h):
            Y[f, y, x] = T.float32(0)
        for f, c, y, x, p, q in T.grid(co, ci, h, h, 2, 2):
            Y[f, y * 2 + p, x * 2 + q] = Y[f, y * 2 + p, x * 2 + q] + X[c, y, x] * W[c, f, p, q]

    return transposed_scatter


def transposed_rows(sch: Any) -> None:
    """Pairs of output columns, which share their input."""
    block = sch.get_sblock("Y")
    f, y, x, c = sch.get_loops(block)
    yo, yi = sch.split(y, [None, 2])
    xo, xi = sch.split(x, [None, 2])
    sch.reorder(f, yo, yi, c, xo, xi)
    sch.unroll(xi)
    sch.parallel(f)
    sch.decompose_reduction(block, c)


def columns_of_image(c: int, h: int) -> Any:
    """im2col of a 3 x 3 window."""

    @T.prim_func(s_tir=True)
    def columns_of_image(
        X: T.Buffer((c, h + 2, h + 2), "float32"), Y: T.Buffer((c, 3, 3, h, h), "float32")
    ) -> None:
        for f, p, q, y, x in T.grid(c, 3, 3, h, h):
            with T.sblock("Y"):
                vf, vp, vq, vy, vx = T.axis.remap("SSSSS", [f, p, q, y, x])
                Y[vf, vp, vq, vy, vx] = X[vf, vy + vp, vx + vq]

    return columns_of_image


def image_order(sch: Any) -> None:
    f, p, q, y, x = sch.get_loops(sch.get_sblock("Y"))
    sch.reorder(f, y, x, p, q)


def kernels() -> Iterator[Kernel]:
    name = "conv1d 48 64 512 5"
    base = conv1d(48, 64, 512, 5)
    yield name, "naive", base
    yield name, "rows", scheduled(base, conv1d_rows)
    yield name, "tile 4 32", scheduled(base, conv1d_tile(4, 32, False))
    yield name, "tile 2 64 parallel", scheduled(base, conv1d_tile(2, 64, True))
    name = "depthwise last 64 56"
    base = depthwise_last(64, 56)
    yield name, "naive", base
    yield name, "channels", scheduled(base, depthwise_channels(0, False))
    yield name, "vectors of 16", scheduled(base, depthwise_channels(16, False))
    yield name, "vectors of 32 parallel", scheduled(base, depthwise_channels(32, True))
    name = "average pool 64 28"
    base = average_pool(64, 28)
    yield name, "naive", base
    yield name, "fused parallel", scheduled(base, pool_fused)
    name = "transposed conv 32 16 28"
    yield name, "naive", transposed_conv(32, 16, 28)
    yield name, "pairs parallel", scheduled(transposed_conv(32, 16, 28), transposed_rows)
    yield name, "scattered", transposed_scatter(32, 16, 28)
    name = "image columns 16 60"
    base = columns_of_image(16, 60)
    yield name, "planes", base
    yield name, "pixels", scheduled(base, image_order)
