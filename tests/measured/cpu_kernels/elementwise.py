"""Element by element: streams from L1 to DRAM, library functions, types, broadcasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tvm
from tvm.script import tirx as T

Kernel = tuple[str, str, Any]


def unary(n: int, value: Callable[[Any], Any], source: str, result: str) -> Any:
    @T.prim_func(s_tir=True)
    def elementwise(A: T.Buffer((n,), source), B: T.Buffer((n,), result)) -> None:
        for i in range(n):
            with T.sblock("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = value(A[vi])

    return elementwise


def add(n: int, dtype: str = "float32") -> Any:
    @T.prim_func(s_tir=True)
    def vector_add(
        A: T.Buffer((n,), dtype), B: T.Buffer((n,), dtype), C: T.Buffer((n,), dtype)
    ) -> None:
        for i in range(n):
            with T.sblock("B"):
                vi = T.axis.spatial(n, i)
                C[vi] = A[vi] + B[vi]

    return vector_add


def triad_strided(n: int, stride: int) -> Any:
    @T.prim_func(s_tir=True)
    def strided(A: T.Buffer((n * stride,), "float32"), B: T.Buffer((n,), "float32")) -> None:
        for i in range(n):
            B[i] = A[i * stride] * T.float32(2)

    return strided


def bias_relu(m: int, n: int, column: bool) -> Any:
    @T.prim_func(s_tir=True)
    def bias_relu(
        A: T.Buffer((m, n), "float32"),
        bias: T.Buffer((m if column else n,), "float32"),
        C: T.Buffer((m, n), "float32"),
    ) -> None:
        for i, j in T.grid(m, n):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(A[vi, vj] + (bias[vi] if column else bias[vj]), T.float32(0))

    return bias_relu


def polynomial(n: int, degree: int) -> Any:
    """Arithmetic enough to hide the memory: Horner's rule."""

    def value(x: Any) -> Any:
        out = T.float32(0.5)
        for power in range(degree):
            out = out * x + T.float32(1.0 / (power + 2))
        return out

    return unary(n, value, "float32", "float32")


def vectors(width: int, parallel: bool = False) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        _, lanes = sch.split(sch.get_loops(sch.get_sblock("B"))[-1], [None, width])
        sch.vectorize(lanes)
        if parallel:
            sch.parallel(sch.get_loops(sch.get_sblock("B"))[0])

    return change


def threads(parts: int) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        outer, _ = sch.split(sch.get_loops(sch.get_sblock("B"))[0], [parts, None])
        sch.parallel(outer)

    return change


def columns_first(sch: Any) -> None:
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.reorder(j, i)


def scheduled(func: Any, change: Callable[[Any], None]) -> Any:
    schedule = tvm.s_tir.Schedule(func)
    change(schedule)
    return schedule.mod["main"]


def kernels() -> Iterator[Kernel]:
    for size in (2048, 65536, 1 << 20, 1 << 24):
        name = f"add {size}"
        yield name, "plain", add(size)
        yield name, "vectors of 16", scheduled(add(size), vectors(16))
        if size >= 65536:
            yield name, "parallel", scheduled(add(size), threads(8))
    yield "add float64 262144", "plain", add(1 << 18, "float64")
    yield "add int32 262144", "plain", add(1 << 18, "int32")
    for label, value in (
        ("exp", lambda x: T.exp(x)),
        ("tanh", lambda x: T.tanh(x)),
        ("sqrt", lambda x: T.sqrt(x)),
        ("sigmoid", lambda x: T.sigmoid(x)),
        ("reciprocal", lambda x: T.float32(1) / x),
        ("relu", lambda x: T.max(x, T.float32(0))),
    ):
        base = unary(1 << 16, value, "float32", "float32")
        yield f"{label} 65536", "plain", base
        yield f"{label} 65536", "vectors of 8", scheduled(base, vectors(8))
        yield f"{label} 65536", "parallel", scheduled(base, threads(2))
    base = unary(1 << 18, lambda x: T.cast(x, "float32"), "int8", "float32")
    yield "cast int8 262144", "plain", base
    yield "cast int8 262144", "vectors of 16", scheduled(base, vectors(16))
    base = unary(1 << 18, lambda x: T.cast(x, "int32"), "float32", "int32")
    yield "cast to int32 262144", "plain", base
    for degree in (4, 32):
        base = polynomial(1 << 16, degree)
        yield f"polynomial {degree}", "plain", base
        yield f"polynomial {degree}", "vectors of 16", scheduled(base, vectors(16))
        yield f"polynomial {degree}", "parallel", scheduled(base, threads(2))
    for stride in (2, 8, 16, 64):
        yield f"strided {stride}", "plain", triad_strided(1 << 18, stride)
    for column in (False, True):
        base = bias_relu(1024, 1024, column)
        name = f"bias relu {'column' if column else 'row'} 1024"
        yield name, "plain", base
        yield name, "columns first", scheduled(base, columns_first)
        yield name, "vectors of 16", scheduled(base, vectors(16))
        yield name, "vectors of 16 parallel", scheduled(base, vectors(16, True))
