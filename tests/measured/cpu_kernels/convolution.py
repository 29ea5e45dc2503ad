"""Convolutions: direct in NCHW and NHWC, depthwise, by loop order, vectors, registers, threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tvm
from tvm.script import tirx as T

Kernel = tuple[str, str, Any]


def nchw(c: int, o: int, h: int, k: int) -> Any:
    @T.prim_func(s_tir=True)
    def conv2d_nchw(
        X: T.Buffer((1, c, h + k - 1, h + k - 1), "float32"),
        W: T.Buffer((o, c, k, k), "float32"),
        Y: T.Buffer((1, o, h, h), "float32"),
    ) -> None:
        for n, f, y, x, r, ky, kx in T.grid(1, o, h, h, c, k, k):
            with T.sblock("Y"):
                vn, vf, vy, vx, vr, vky, vkx = T.axis.remap("SSSSRRR", [n, f, y, x, r, ky, kx])
                with T.init():
                    Y[vn, vf, vy, vx] = T.float32(0)
                Y[vn, vf, vy, vx] = (
                    Y[vn, vf, vy, vx] + X[vn, vr, vy + vky, vx + vkx] * W[vf, vr, vky, vkx]
                )

    return conv2d_nchw


def nhwc(c: int, o: int, h: int, k: int) -> Any:
    @T.prim_func(s_tir=True)
    def conv2d_nhwc(
        X: T.Buffer((1, h + k - 1, h + k - 1, c), "float32"),
        W: T.Buffer((k, k, c, o), "float32"),
        Y: T.Buffer((1, h, h, o), "float32"),
    ) -> None:
        for n, y, x, f, ky, kx, r in T.grid(1, h, h, o, k, k, c):
            with T.sblock("Y"):
                vn, vy, vx, vf, vky, vkx, vr = T.axis.remap("SSSSRRR", [n, y, x, f, ky, kx, r])
                with T.init():
                    Y[vn, vy, vx, vf] = T.float32(0)
                Y[vn, vy, vx, vf] = (
                    Y[vn, vy, vx, vf] + X[vn, vy + vky, vx + vkx, vr] * W[vky, vkx, vr, vf]
                )

    return conv2d_nhwc


def depthwise(c: int, h: int, k: int) -> Any:
    @T.prim_func(s_tir=True)
    def depthwise(
        X: T.Buffer((c, h + k - 1, h + k - 1), "float32"),
        W: T.Buffer((c, k, k), "float32"),
        Y: T.Buffer((c, h, h), "float32"),
    ) -> None:
        for f, y, x, ky, kx in T.grid(c, h, h, k, k):
            with T.sblock("Y"):
                vf, vy, vx, vky, vkx = T.axis.remap("SSSRR", [f, y, x, ky, kx])
                with T.init():
                    Y[vf, vy, vx] = T.float32(0)
                Y[vf, vy, vx] = Y[vf, vy, vx] + X[vf, vy + vky, vx + vkx] * W[vf, vky, vkx]

    return depthwise


def nchw_schedule(kind: str) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        block = sch.get_sblock("Y")
        n, f, y, x, r, ky, kx = sch.get_loops(block)
        if kind == "rows":
            sch.reorder(n, f, y, r, ky, kx, x)
            sch.decompose_reduction(block, r)
        elif kind == "rows parallel":
            sch.reorder(n, f, y, r, ky, kx, x)
            sch.parallel(f)
            sch.decompose_reduction(block, r)
        elif kind == "planes":
            sch.reorder(n, f, r, ky, kx, y, x)
            sch.decompose_reduction(block, r)
        elif kind == "registers":
            fo, fi = sch.split(f, [None, 4])
            xo, xi = sch.split(x, [None, 16])
            sch.reorder(n, fo, y, xo, r, ky, kx, fi, xi)
            sch.vectorize(xi)
            sch.unroll(fi)
            init = sch.decompose_reduction(block, r)
            sch.vectorize(sch.get_loops(init)[-1])
        elif kind == "unrolled window":
            sch.reorder(n, f, y, x, r, ky, kx)
            sch.unroll(ky)
            sch.unroll(kx)
            sch.decompose_reduction(block, r)

    return change


def nhwc_schedule(kind: str) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        block = sch.get_sblock("Y")
        n, y, x, f, ky, kx, r = sch.get_loops(block)
        if kind == "pixels":
            sch.reorder(n, y, x, ky, kx, r, f)
            sch.decompose_reduction(block, ky)
        elif kind == "registers":
            xo, xi = sch.split(x, [None, 4])
            fo, fi = sch.split(f, [None, 16])
            sch.reorder(n, y, xo, fo, ky, kx, r, xi, fi)
            sch.vectorize(fi)
            sch.unroll(xi)
            init = sch.decompose_reduction(block, ky)
            sch.vectorize(sch.get_loops(init)[-1])
        elif kind == "registers parallel":
            xo, xi = sch.split(x, [None, 4])
            fo, fi = sch.split(f, [None, 32])
            sch.reorder(n, y, xo, fo, ky, kx, r, xi, fi)
            sch.vectorize(fi)
            sch.unroll(xi)
            sch.parallel(y)
            init = sch.decompose_reduction(block, ky)
            sch.vectorize(sch.get_loops(init)[-1])

    return change


def depthwise_schedule(kind: str) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        block = sch.get_sblock("Y")
        f, y, x, ky, kx = sch.get_loops(block)
        if kind == "rows":
            sch.reorder(f, y, ky, kx, x)
            sch.decompose_reduction(block, ky)
        elif kind == "rows parallel":
            sch.reorder(f, y, ky, kx, x)
            sch.parallel(f)
            sch.decompose_reduction(block, ky)
        elif kind == "vectors, window unrolled":
            xo, xi = sch.split(x, [None, 16])
            sch.reorder(f, y, xo, ky, kx, xi)
            sch.vectorize(xi)
            sch.unroll(ky)
            sch.unroll(kx)
            init = sch.decompose_reduction(block, ky)
            sch.vectorize(sch.get_loops(init)[-1])

    return change


def scheduled(func: Any, change: Callable[[Any], None]) -> Any:
    schedule = tvm.s_tir.Schedule(func)
    change(schedule)
    return schedule.mod["main"]


def kernels() -> Iterator[Kernel]:
    for c, o, h, k in ((16, 32, 32, 3), (32, 64, 48, 3), (64, 64, 32, 1)):
        name = f"conv nchw {c} {o} {h} {k}"
        base = nchw(c, o, h, k)
        yield name, "naive", base
        for kind in ("rows", "rows parallel", "planes", "registers", "unrolled window"):
            yield name, kind, scheduled(base, nchw_schedule(kind))
    for c, o, h, k in ((16, 32, 32, 3), (64, 64, 24, 3)):
        name = f"conv nhwc {c} {o} {h} {k}"
        base = nhwc(c, o, h, k)
        yield name, "naive", base
        for kind in ("pixels", "registers", "registers parallel"):
            yield name, kind, scheduled(base, nhwc_schedule(kind))
    for c, h, k in ((32, 64, 3), (16, 128, 5)):
        name = f"depthwise {c} {h} {k}"
        base = depthwise(c, h, k)
        yield name, "naive", base
        for kind in ("rows", "rows parallel", "vectors, window unrolled"):
            yield name, kind, scheduled(base, depthwise_schedule(kind))
