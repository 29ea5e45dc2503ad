"""Stencils in two and three dimensions, in rows, columns, blocks and threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tvm
from tvm.script import tirx as T

Kernel = tuple[str, str, Any]


def five_point(n: int, m: int) -> Any:
    @T.prim_func(s_tir=True)
    def jacobi(A: T.Buffer((n, m), "float32"), B: T.Buffer((n, m), "float32")) -> None:
        for i, j in T.grid(n - 2, m - 2):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi + 1, vj + 1] = T.float32(0.2) * (
                    A[vi + 1, vj + 1]
                    + A[vi, vj + 1]
                    + A[vi + 2, vj + 1]
                    + A[vi + 1, vj]
                    + A[vi + 1, vj + 2]
                )

    return jacobi


def seven_point(n: int) -> Any:
    @T.prim_func(s_tir=True)
    def heat(A: T.Buffer((n, n, n), "float32"), B: T.Buffer((n, n, n), "float32")) -> None:
        for i, j, k in T.grid(n - 2, n - 2, n - 2):
            with T.sblock("B"):
                x, y, z = T.axis.remap("SSS", [i, j, k])
                B[x + 1, y + 1, z + 1] = T.float32(0.4) * A[x + 1, y + 1, z + 1] + T.float32(
                    0.1
                ) * (
                    A[x, y + 1, z + 1]
                    + A[x + 2, y + 1, z + 1]
                    + A[x + 1, y, z + 1]
                    + A[x + 1, y + 2, z + 1]
                    + A[x + 1, y + 1, z]
                    + A[x + 1, y + 1, z + 2]
                )

    return heat


def blur(n: int) -> Any:
    """Two passes: rows into a temporary, then columns."""

    @T.prim_func(s_tir=True)
    def blur(A: T.Buffer((n + 2, n + 2), "float32"), B: T.Buffer((n, n), "float32")) -> None:
        H = T.sblock_alloc_buffer((n + 2, n), "float32")
        for i, j in T.grid(n + 2, n):
            with T.sblock("H"):
                vi, vj = T.axis.remap("SS", [i, j])
                H[vi, vj] = (A[vi, vj] + A[vi, vj + 1] + A[vi, vj + 2]) * T.float32(0.333)
        for i, j in T.grid(n, n):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = (H[vi, vj] + H[vi + 1, vj] + H[vi + 2, vj]) * T.float32(0.333)

    return blur


def loops(sch: Any) -> Any:
    return sch.get_loops(sch.get_sblock("B"))


def parallel(sch: Any) -> None:
    sch.parallel(loops(sch)[0])


def columns(sch: Any) -> None:
    names = loops(sch)
    sch.reorder(*names[::-1])


def blocked(*sizes: int) -> Callable[[Any], None]:
    """Blocks of these sizes over the innermost loops, the outer ones last."""

    def change(sch: Any) -> None:
        names = loops(sch)[-len(sizes) :]
        outer, inner = zip(
            *(sch.split(loop, [None, size]) for loop, size in zip(names, sizes, strict=True)),
            strict=True,
        )
        sch.reorder(*outer, *inner)

    return change


def column_strips(width: int) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        *outer, last = loops(sch)
        jo, ji = sch.split(last, [None, width])
        sch.reorder(jo, *outer, ji)

    return change


def fused_rows(rows: int, threads: bool) -> Callable[[Any], None]:
    """The first pass computed for `rows` rows of the second at a time."""

    def change(sch: Any) -> None:
        i, _ = loops(sch)
        io, _ = sch.split(i, [None, rows])
        sch.compute_at(sch.get_sblock("H"), io)
        if threads:
            sch.parallel(io)

    return change


def scheduled(func: Any, change: Callable[[Any], None]) -> Any:
    schedule = tvm.s_tir.Schedule(func)
    change(schedule)
    return schedule.mod["main"]


def kernels() -> Iterator[Kernel]:
    for n, m in ((130, 130), (1026, 1026), (3074, 4098)):
        base = five_point(n, m)
        name = f"five point {n} {m}"
        yield name, "rows", base
        yield name, "rows parallel", scheduled(base, parallel)
        if n < 3000:
            yield name, "columns", scheduled(base, columns)
        yield name, "blocks 32 64", scheduled(base, blocked(32, 64))
        yield (
            name,
            "strips 256" if n > 1000 else "strips 32",
            scheduled(base, column_strips(256 if n > 1000 else 32)),
        )
    for n in (66, 194):
        base = seven_point(n)
        name = f"seven point {n}"
        yield name, "rows", base
        yield name, "rows parallel", scheduled(base, parallel)
        yield name, "columns", scheduled(base, columns)
        yield name, "blocks 16 16", scheduled(base, blocked(16, 16))
    for n in (256, 1024):
        base = blur(n)
        name = f"blur {n}"
        yield name, "two passes", base
        yield name, "fused 16 rows", scheduled(base, fused_rows(16, False))
        yield name, "fused 32 rows parallel", scheduled(base, fused_rows(32, True))
        yield name, "columns", scheduled(base, columns)
