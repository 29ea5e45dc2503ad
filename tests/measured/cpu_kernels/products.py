"""Products with epilogues, panels, triangles and partial sums.

No rule or constant of the model was looked at with these workloads before their first score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tvm.script import tirx as T

from .operators import scheduled

Kernel = tuple[str, str, Any]


def linear(m: int, n: int, k: int, dtype: str) -> Any:
    """``relu(A B + bias)``."""

    @T.prim_func(s_tir=True)
    def linear(
        A: T.Buffer((m, k), dtype),
        B: T.Buffer((k, n), dtype),
        bias: T.Buffer((n,), dtype),
        Y: T.Buffer((m, n), dtype),
    ) -> None:
        C = T.sblock_alloc_buffer((m, n), dtype)
        for i, j, r in T.grid(m, n, k):
            with T.sblock("C"):
                vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    C[vi, vj] = T.cast(0, dtype)
                C[vi, vj] = C[vi, vj] + A[vi, vr] * B[vr, vj]
        for i, j in T.grid(m, n):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(C[vi, vj] + bias[vj], T.cast(0, dtype))

    return linear


def linear_rows(parallel: bool) -> Callable[[Any], None]:
    """A row of C at a time, and its epilogue after it."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        i, j, k = sch.get_loops(block)
        sch.reorder(i, k, j)
        sch.reverse_compute_at(sch.get_sblock("Y"), i)
        if parallel:
            sch.parallel(i)
        sch.decompose_reduction(block, k)

    return change


def linear_tile(bi: int, bj: int, unroll_k: int, parallel: bool) -> Callable[[Any], None]:
    """Tiles of sums in registers, the epilogue at each tile."""

    def change(sch: Any) -> None:
        block, after = sch.get_sblock("C"), sch.get_sblock("Y")
        i, j, k = sch.get_loops(block)
        io, ii = sch.split(i, [None, bi])
        jo, ji = sch.split(j, [None, bj])
        ko, ki = sch.split(k, [None, unroll_k])
        sch.reorder(io, jo, ko, ki, ii, ji)
        sch.reverse_compute_at(after, jo)
        sch.set_scope(block, 0, "local")
        sch.unroll(ki)
        sch.unroll(ii)
        sch.vectorize(ji)
        sch.vectorize(sch.get_loops(after)[-1])
        if parallel:
            sch.parallel(io)
        init = sch.decompose_reduction(block, ko)
        sch.vectorize(sch.get_loops(init)[-1])

    return change


def linear_panels(bj: int) -> Callable[[Any], None]:
    """Panels of B copied beside the tile that reads them."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        i, j, k = sch.get_loops(block)
        jo, ji = sch.split(j, [None, bj])
        io, ii = sch.split(i, [None, 4])
        sch.reorder(jo, io, k, ii, ji)
        panel = sch.cache_read(block, 1, "global")
        sch.compute_at(panel, jo)
        sch.vectorize(sch.get_loops(panel)[-1])
        sch.unroll(ii)
        sch.vectorize(ji)
        init = sch.decompose_reduction(block, k)
        sch.vectorize(sch.get_loops(init)[-1])

    return change


def split_depth(parts: int) -> Callable[[Any], None]:
    """The depth in `parts`, each with its own product, added afterwards."""

    def change(sch: Any) -> None:
        block = sch.get_sblock("C")
        ko, _ = sch.split(sch.get_loops(block)[2], [parts, None])
        partial = sch.rfactor(ko, 0)
        i, j, o, k = sch.get_loops(partial)
        sch.reorder(o, i, k, j)
        sch.parallel(o)
        sch.decompose_reduction(partial, k)

    return change


def triangular_product(n: int, columns_inside: bool) -> Any:
    """A lower triangle times a matrix."""

    @T.prim_func(s_tir=True)
    def sums(
        L: T.Buffer((n, n), "float32"),
        B: T.Buffer((n, n), "float32"),
        C: T.Buffer((n, n), "float32"),
    ) -> None:
        for i, j in T.grid(n, n):
            C[i, j] = T.float32(0)
            for k in range(i + 1):
                C[i, j] = C[i, j] + L[i, k] * B[k, j]

    @T.prim_func(s_tir=True)
    def updates(
        L: T.Buffer((n, n), "float32"),
        B: T.Buffer((n, n), "float32"),
        C: T.Buffer((n, n), "float32"),
    ) -> None:
        for i in range(n):
            for j in range(n):
                C[i, j] = T.float32(0)
            for k in range(i + 1):
                for j in range(n):
                    C[i, j] = C[i, j] + L[i, k] * B[k, j]

    return updates if columns_inside else sums


def substitution(n: int) -> Any:
    """``x`` of ``L x = b``, divided by the diagonal."""

    @T.prim_func(s_tir=True)
    def substitution(
        L: T.Buffer((n, n), "float64"), b: T.Buffer((n,), "float64"), x: T.Buffer((n,), "float64")
    ) -> None:
        for i in range(n):
            x[i] = b[i]
            for k in range(i):
                x[i] = x[i] - L[i, k] * x[k]
            x[i] = x[i] / L[i, i]

    return substitution


def rank_updates(n: int, k: int, lower: bool) -> Any:
    """``C += A A^T``, of the lower triangle alone or of all."""

    @T.prim_func(s_tir=True)
    def whole(A: T.Buffer((k, n), "float32"), C: T.Buffer((n, n), "float32")) -> None:
        for r, i, j in T.grid(k, n, n):
            C[i, j] = C[i, j] + A[r, i] * A[r, j]

    @T.prim_func(s_tir=True)
    def triangle(A: T.Buffer((k, n), "float32"), C: T.Buffer((n, n), "float32")) -> None:
        for r, i in T.grid(k, n):
            for j in range(i + 1):
                C[i, j] = C[i, j] + A[r, i] * A[r, j]

    return triangle if lower else whole


def inner_product(n: int, dtype: str) -> Any:
    @T.prim_func(s_tir=True)
    def inner_product(
        X: T.Buffer((n,), dtype), Y: T.Buffer((n,), dtype), S: T.Buffer((1,), dtype)
    ) -> None:
        for i in range(n):
            with T.sblock("S"):
                vi = T.axis.reduce(n, i)
                with T.init():
                    S[0] = T.cast(0, dtype)
                S[0] = S[0] + X[vi] * Y[vi]

    return inner_product


def partial_sums(lanes: int) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        _, inner = sch.split(sch.get_loops(sch.get_sblock("S"))[0], [None, lanes])
        partial = sch.rfactor(inner, 0)
        outer, v = sch.get_loops(partial)
        sch.vectorize(v)
        sch.decompose_reduction(partial, outer)

    return change


def kernels() -> Iterator[Kernel]:
    name = "linear 160 384 256"
    base = linear(160, 384, 256, "float32")
    yield name, "naive", base
    yield name, "rows", scheduled(base, linear_rows(False))
    yield name, "rows parallel", scheduled(base, linear_rows(True))
    yield name, "tile 4 32 k 4", scheduled(base, linear_tile(4, 32, 4, False))
    yield name, "tile 8 16 k 8 parallel", scheduled(base, linear_tile(8, 16, 8, True))
    yield name, "tile 2 16 k 1", scheduled(base, linear_tile(2, 16, 1, False))
    yield name, "panels 32", scheduled(base, linear_panels(32))
    yield name, "depth in 4 parallel", scheduled(base, split_depth(4))
    name = "linear float64 120 160 200"
    base = linear(120, 160, 200, "float64")
    yield name, "naive", base
    yield name, "rows", scheduled(base, linear_rows(False))
    yield name, "tile 4 16 k 2", scheduled(base, linear_tile(4, 16, 2, False))
    name = "triangular product 300"
    yield name, "sums", triangular_product(300, False)
    yield name, "updates", triangular_product(300, True)
    yield "substitution 800", "plain", substitution(800)
    yield "rank updates 200 64", "whole", rank_updates(200, 64, False)
    yield "rank updates lower 200 64", "triangle", rank_updates(200, 64, True)
    for n, dtype in ((400000, "float32"), (20000, "float64")):
        name = f"inner product {dtype} {n}"
        base = inner_product(n, dtype)
        yield name, "naive", base
        yield name, "partial sums 8", scheduled(base, partial_sums(8))
        yield name, "partial sums 64", scheduled(base, partial_sums(64))
