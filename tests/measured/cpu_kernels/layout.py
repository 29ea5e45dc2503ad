"""Layout changes: transposes, packing, NCHW to NHWC, gathers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tvm
from tvm.script import tirx as T

Kernel = tuple[str, str, Any]


def transpose(n: int) -> Any:
    @T.prim_func(s_tir=True)
    def transpose(A: T.Buffer((n, n), "float32"), B: T.Buffer((n, n), "float32")) -> None:
        for i, j in T.grid(n, n):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    return transpose


def to_channels_last(c: int, h: int) -> Any:
    @T.prim_func(s_tir=True)
    def to_nhwc(A: T.Buffer((c, h, h), "float32"), B: T.Buffer((h, h, c), "float32")) -> None:
        for y, x, f in T.grid(h, h, c):
            with T.sblock("B"):
                vy, vx, vf = T.axis.remap("SSS", [y, x, f])
                B[vy, vx, vf] = A[vf, vy, vx]

    return to_nhwc


def pack_panels(m: int, n: int, width: int) -> Any:
    @T.prim_func(s_tir=True)
    def pack(
        A: T.Buffer((m, n), "float32"), B: T.Buffer((n // width, m, width), "float32")
    ) -> None:
        for p, i, v in T.grid(n // width, m, width):
            with T.sblock("B"):
                vp, vi, vv = T.axis.remap("SSS", [p, i, v])
                B[vp, vi, vv] = A[vi, vp * width + vv]

    return pack


def gather_rows(rows: int, table: int, n: int) -> Any:
    @T.prim_func(s_tir=True)
    def gather(
        E: T.Buffer((table, n), "float32"),
        R: T.Buffer((rows,), "int32"),
        B: T.Buffer((rows, n), "float32"),
    ) -> None:
        for i, j in T.grid(rows, n):
            B[i, j] = E[R[i], j]

    return gather


def flatten_copy(m: int, n: int) -> Any:
    """A copy with the row and column of each element found by division."""

    @T.prim_func(s_tir=True)
    def flattened(A: T.Buffer((m, n), "float32"), B: T.Buffer((m, n), "float32")) -> None:
        for f in range(m * n):
            B[f // n, f % n] = A[f // n, f % n]

    return flattened


def loops(sch: Any) -> Any:
    return sch.get_loops(sch.get_sblock("B"))


def swapped(sch: Any) -> None:
    sch.reorder(*loops(sch)[::-1])


def parallel(sch: Any) -> None:
    sch.parallel(loops(sch)[0])


def blocked(size: int, threads: bool = False) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        i, j = loops(sch)
        io, ii = sch.split(i, [None, size])
        jo, ji = sch.split(j, [None, size])
        sch.reorder(io, jo, ii, ji)
        if threads:
            sch.parallel(io)

    return change


def scheduled(func: Any, change: Callable[[Any], None]) -> Any:
    schedule = tvm.s_tir.Schedule(func)
    change(schedule)
    return schedule.mod["main"]


def kernels() -> Iterator[Kernel]:
    for n in (128, 1000, 2048):
        name = f"transpose {n}"
        base = transpose(n)
        yield name, "rows", base
        yield name, "columns", scheduled(base, swapped)
        if n != 1000:
            yield name, "blocks 16", scheduled(base, blocked(16))
            yield name, "blocks 32 parallel", scheduled(base, blocked(32, True))
        else:
            yield name, "blocks 40", scheduled(base, blocked(40))
    for c, h in ((64, 56), (32, 112)):
        name = f"to nhwc {c} {h}"
        base = to_channels_last(c, h)
        yield name, "plain", base
        yield name, "channels first", scheduled(base, swapped)
        yield name, "parallel", scheduled(base, parallel)
    yield "pack 1024 1024", "panels of 16", pack_panels(1024, 1024, 16)
    yield "pack 1024 1024", "panels of 64", pack_panels(1024, 1024, 64)
    yield "gather 4096 64", "plain", gather_rows(4096, 20000, 64)
    yield "gather 512 1024", "plain", gather_rows(512, 4096, 1024)
    yield "flattened 512 512", "plain", flatten_copy(512, 512)
    yield "flattened 512 500", "plain", flatten_copy(512, 500)
