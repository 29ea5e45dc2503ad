"""Small programs of other kinds: scans, histograms, casts, steps in time, functions of elements.

No rule or constant of the model was looked at with these workloads before their first score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tvm.script import tirx as T

from .operators import scheduled

Kernel = tuple[str, str, Any]


def running_sum(n: int, dtype: str) -> Any:
    @T.prim_func(s_tir=True)
    def running_sum(A: T.Buffer((n,), dtype), B: T.Buffer((n,), dtype)) -> None:
        B[0] = A[0]
        for i in range(n - 1):
            B[i + 1] = B[i] + A[i + 1]

    return running_sum


def running_blocks(blocks: int, each: int) -> Any:
    """The same in blocks: their sums, the sums before them, and each block from there."""

    @T.prim_func(s_tir=True)
    def running_blocks(
        A: T.Buffer((blocks, each), "float32"), B: T.Buffer((blocks, each), "float32")
    ) -> None:
        S = T.sblock_alloc_buffer((blocks + 1,), "float32")
        for b in T.parallel(blocks):
            S[b + 1] = T.float32(0)
            for i in range(each):
                S[b + 1] = S[b + 1] + A[b, i]
        S[0] = T.float32(0)
        for b in range(blocks):
            S[b + 1] = S[b + 1] + S[b]
        for b in T.parallel(blocks):
            for i in range(each):
                S[b] = S[b] + A[b, i]
                B[b, i] = S[b]

    return running_blocks


def histogram(n: int, bins: int) -> Any:
    @T.prim_func(s_tir=True)
    def histogram(A: T.Buffer((n,), "int32"), H: T.Buffer((bins,), "int32")) -> None:
        for b in range(bins):
            H[b] = 0
        for i in range(n):
            H[A[i]] = H[A[i]] + 1

    return histogram


def scatter_rows(n: int, rows: int, d: int) -> Any:
    @T.prim_func(s_tir=True)
    def scatter_rows(
        X: T.Buffer((n, d), "float32"),
        R: T.Buffer((n,), "int32"),
        Y: T.Buffer((rows, d), "float32"),
    ) -> None:
        for i, j in T.grid(n, d):
            Y[R[i], j] = Y[R[i], j] + X[i, j]

    return scatter_rows


def lookup(n: int, table: int) -> Any:
    @T.prim_func(s_tir=True)
    def lookup(
        R: T.Buffer((n,), "int32"), W: T.Buffer((table,), "float32"), Y: T.Buffer((n,), "float32")
    ) -> None:
        for i in range(n):
            Y[i] = W[R[i]]

    return lookup


def cast(n: int, source: str, target: str) -> Any:
    @T.prim_func(s_tir=True)
    def cast(A: T.Buffer((n,), source), B: T.Buffer((n,), target)) -> None:
        for i in range(n):
            with T.sblock("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = T.cast(A[vi], target)

    return cast


def vectors(lanes: int) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        _, inner = sch.split(sch.get_loops(sch.get_sblock("B"))[-1], [None, lanes])
        sch.vectorize(inner)

    return change


def elementwise(n: int, compute: Callable[[Any, Any], Any], dtype: str = "float32") -> Any:
    @T.prim_func(s_tir=True)
    def elementwise(
        A: T.Buffer((n,), dtype), B: T.Buffer((n,), dtype), C: T.Buffer((n,), dtype)
    ) -> None:
        for i in range(n):
            C[i] = compute(A[i], B[i])

    return elementwise


def heat(n: int, steps: int) -> Any:
    """Steps in time between two arrays."""

    @T.prim_func(s_tir=True)
    def heat(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")) -> None:
        for _ in range(steps):
            for i in range(n - 2):
                B[i + 1] = A[i + 1] + T.float32(0.1) * (A[i] - T.float32(2) * A[i + 1] + A[i + 2])
            for i in range(n - 2):
                A[i + 1] = B[i + 1] + T.float32(0.1) * (B[i] - T.float32(2) * B[i + 1] + B[i + 2])

    return heat


def relaxation(n: int) -> Any:
    """A Gauss-Seidel sweep: each point reads its new neighbours."""

    @T.prim_func(s_tir=True)
    def relaxation(A: T.Buffer((n, n), "float32")) -> None:
        for i, j in T.grid(n - 2, n - 2):
            A[i + 1, j + 1] = T.float32(0.25) * (
                A[i, j + 1] + A[i + 2, j + 1] + A[i + 1, j] + A[i + 1, j + 2]
            )

    return relaxation


def wide_star(n: int) -> Any:
    """Second derivatives of fourth order along both axes."""

    @T.prim_func(s_tir=True)
    def wide_star(A: T.Buffer((n + 4, n + 4), "float64"), B: T.Buffer((n, n), "float64")) -> None:
        for i, j in T.grid(n, n):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = (
                    T.float64(16)
                    * (
                        A[vi + 1, vj + 2]
                        + A[vi + 3, vj + 2]
                        + A[vi + 2, vj + 1]
                        + A[vi + 2, vj + 3]
                    )
                    - (A[vi, vj + 2] + A[vi + 4, vj + 2] + A[vi + 2, vj] + A[vi + 2, vj + 4])
                    - T.float64(60) * A[vi + 2, vj + 2]
                )

    return wide_star


def star_tiles(rows: int, columns: int, parallel: bool) -> Callable[[Any], None]:
    def change(sch: Any) -> None:
        i, j = sch.get_loops(sch.get_sblock("B"))
        io, ii = sch.split(i, [None, rows])
        jo, ji = sch.split(j, [None, columns])
        sch.reorder(io, jo, ii, ji)
        if parallel:
            sch.parallel(io)

    return change


def permuted(a: int, b: int, c: int, inside: bool) -> Any:
    """The axes ``a b c`` as ``b a c``, or as ``c a b``."""

    @T.prim_func(s_tir=True)
    def rows(A: T.Buffer((a, b, c), "float32"), B: T.Buffer((b, a, c), "float32")) -> None:
        for j, i, k in T.grid(b, a, c):
            B[j, i, k] = A[i, j, k]

    @T.prim_func(s_tir=True)
    def turned(A: T.Buffer((a, b, c), "float32"), B: T.Buffer((c, a, b), "float32")) -> None:
        for k, i, j in T.grid(c, a, b):
            B[k, i, j] = A[i, j, k]

    return turned if inside else rows


def reverse(n: int) -> Any:
    @T.prim_func(s_tir=True)
    def reverse(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")) -> None:
        for i in range(n):
            B[i] = A[n - 1 - i]

    return reverse


def complex_product(n: int) -> Any:
    """Real and imaginary parts beside each other."""

    @T.prim_func(s_tir=True)
    def complex_product(
        A: T.Buffer((n, 2), "float32"),
        B: T.Buffer((n, 2), "float32"),
        C: T.Buffer((n, 2), "float32"),
    ) -> None:
        for i in range(n):
            C[i, 0] = A[i, 0] * B[i, 0] - A[i, 1] * B[i, 1]
            C[i, 1] = A[i, 0] * B[i, 1] + A[i, 1] * B[i, 0]

    return complex_product


def kernels() -> Iterator[Kernel]:
    yield "running sum 100000", "plain", running_sum(100000, "float32")
    yield "running sum 100000", "blocks", running_blocks(100, 1000)
    yield "running sum int32 50000", "plain", running_sum(50000, "int32")
    yield "histogram 60000 100", "plain", histogram(60000, 100)
    yield "scatter rows 500 100 64", "plain", scatter_rows(500, 100, 64)
    yield "lookup 40000 100", "plain", lookup(40000, 100)
    for source, target in (("float16", "float32"), ("float32", "float16"), ("uint8", "float32")):
        name = f"cast {source} {target} 120000"
        base = cast(120000, source, target)
        yield name, "plain", base
        yield name, "vectors of 16", scheduled(base, vectors(16))
    yield (
        "hard swish 80000",
        "plain",
        elementwise(
            80000,
            lambda a, b: a * T.min(T.max(a + T.float32(3), T.float32(0)), T.float32(6)) * b,
        ),
    )
    yield "gate 50000", "plain", elementwise(50000, lambda a, b: a / (T.float32(1) + T.exp(-a)) * b)
    yield (
        "select 90000",
        "plain",
        elementwise(90000, lambda a, b: T.Select(a > b, a * T.float32(2), b - a)),
    )
    yield (
        "bits int32 90000",
        "plain",
        elementwise(90000, lambda a, b: T.bitwise_xor(a, T.shift_right(b, 3)) * 5, "int32"),
    )
    yield (
        "quotient float64 30000",
        "plain",
        elementwise(30000, lambda a, b: a / (b + 1.0), "float64"),
    )
    yield "sine 20000", "plain", elementwise(20000, lambda a, b: T.sin(a) * T.cos(b))
    yield "power 20000", "plain", elementwise(20000, lambda a, b: T.pow(a + T.float32(0.5), b))
    yield "heat 8000 20", "plain", heat(8000, 20)
    yield "relaxation 400", "plain", relaxation(400)
    for n in (180, 1300):
        name = f"wide star float64 {n}"
        base = wide_star(n)
        yield name, "rows", base
        yield name, "tiles 20 60", scheduled(base, star_tiles(20, 60, False))
        yield name, "tiles 10 130 parallel", scheduled(base, star_tiles(10, 130, True))
    yield "permuted 60 80 96", "rows", permuted(60, 80, 96, False)
    yield "permuted 60 80 90", "turned", permuted(60, 80, 90, True)
    yield "reverse 200000", "plain", reverse(200000)
    yield "complex product 60000", "plain", complex_product(60000)
