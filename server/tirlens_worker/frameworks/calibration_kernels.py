"""The kernels of the calibration, in TVMScript; each comes with its number of steps."""

# TVMScript is no Python to a type checker.
# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportUntypedFunctionDecorator=false, reportMissingImports=false

from __future__ import annotations

from typing import Any, Tuple

try:
    from tvm.script import tirx as T
except ImportError:
    from tvm.script import tir as T

# Elements of an array that stays in L1, no power of two, and how often a kernel goes over it.
SMALL = 1008
TIMES = 4
# Elements that stay in L1 also where they are so far apart.
FEW = 240
APART = 17
# Elements of which many arrays stay in L1, and how many are read to write one, or written.
SHORT = 496
READ = 7
WRITTEN = 4
# Operations on integers of one element.
INTEGERS = 16
# Vectors that are summed at once, for which there are registers everywhere.
SUMS = 8
# Multiply-adds of one element that wait for each other, more than a scheduler has room for.
CHAINED = 32
# Floats of a page, and of rows whose lines are in different sets of a cache.
PAGE = 1024
SPREAD = 1088
# Floats from one page of 4 KiB to the next line in the next page: neighbours share no cache set.
NEXT_PAGE = 1024 + 16

Made = Tuple[Any, float]


def call() -> Made:
    """One store: what a call of a kernel takes."""

    @T.prim_func
    def call(A: T.Buffer((1,), "float32")):
        A[0] = T.float32(1)

    return call, 1.0


def integer_chain() -> Made:
    """A step is a multiplication and an addition of integers that wait for each other."""

    @T.prim_func
    def integer_chain(A: T.Buffer((SMALL,), "int32"), S: T.Buffer((1,), "int32")):
        for _, i in T.grid(TIMES, SMALL):
            S[0] = S[0] * 1664525 + A[i]

    return integer_chain, float(SMALL * TIMES)


def float_chain(kind: str) -> Made:
    """A step is an addition, a multiply-add or a maximum that waits for the one before."""

    def joined(total: Any, a: Any) -> Any:
        if kind == "max":
            return T.max(total, a)
        return total + (a * a if kind == "multiply-add" else a)

    @T.prim_func
    def float_chain(A: T.Buffer((SMALL,), "float32"), S: T.Buffer((1,), "float32")):
        for _, i in T.grid(TIMES, SMALL):
            S[0] = joined(S[0], A[i])

    return float_chain, float(SMALL * TIMES)


def two_sums(lanes: int, dtype: str) -> Made:
    """A step is an addition to each of two sums in memory, which may be one for the compiler."""

    @T.prim_func
    def two_sums(
        A: T.Buffer((SHORT // lanes, lanes), dtype),
        S: T.Buffer((lanes,), dtype),
        Q: T.Buffer((lanes,), dtype),
    ):
        for _, i in T.grid(TIMES, SHORT // lanes):
            for v in T.vectorized(lanes):
                S[v] = S[v] + A[i, v]
            for v in T.vectorized(lanes):
                Q[v] = Q[v] + A[i, v]

    return two_sums, float(SHORT // lanes * TIMES)


def integers() -> Made:
    """A step is an element of `INTEGERS` simple operations, in a loop that is vectorised."""

    def mixed(a: Any, b: Any) -> Any:
        out = a
        for _ in range(INTEGERS // 2):
            out = (out + b) ^ a
        return out

    @T.prim_func
    def integers(
        A: T.Buffer((SMALL,), "int32"),
        B: T.Buffer((SMALL,), "int32"),
        C: T.Buffer((TIMES, SMALL), "int32"),
    ):
        for r, i in T.grid(TIMES, SMALL):
            C[r, i] = mixed(A[i], B[i])

    return integers, float(SMALL * TIMES)


def value(kind: str, a: Any, b: Any) -> Any:
    """What a `kind` of kernel makes of the elements `a` and `b`."""
    if kind == "divide":
        return a / b
    if kind == "exp":
        return T.exp(a)
    if kind == "chain":
        out = T.float32(0.5)
        for _ in range(CHAINED):
            out = out * a + T.float32(0.25)
        return out
    # Two chains of four multiply-adds and one that joins them.
    one = two = T.float32(0.5)
    for _ in range(4):
        one, two = one * a + T.float32(0.25), two * a + T.float32(0.75)
    return one * a + two


def binary(kind: str) -> Made:
    """A step is an element, in loops that the compiler vectorises."""

    @T.prim_func
    def binary(
        A: T.Buffer((SMALL,), "float32"),
        B: T.Buffer((SMALL,), "float32"),
        C: T.Buffer((TIMES, SMALL), "float32"),
    ):
        for r, i in T.grid(TIMES, SMALL):
            C[r, i] = value(kind, A[i], B[i])

    return binary, float(SMALL * TIMES)


def apart(inwards: int, outwards: int) -> Made:
    """A step is an element, read or written so far apart that vectors gather or scatter them."""

    @T.prim_func
    def apart(A: T.Buffer((FEW * inwards,), "float32"), B: T.Buffer((FEW * outwards,), "float32")):
        for _, i in T.grid(TIMES, FEW):
            B[i * outwards] = A[i * inwards] * T.float32(2)

    return apart, float(FEW * TIMES)


def explicit_polynomial(lanes: int) -> Made:
    """As the polynomial of `binary`, in explicit vectors of so many `lanes`."""

    @T.prim_func
    def explicit_polynomial(
        A: T.Buffer((SMALL,), "float32"), C: T.Buffer((TIMES, SMALL), "float32")
    ):
        for r, i in T.grid(TIMES, SMALL // lanes):
            for v in T.vectorized(lanes):
                C[r, i * lanes + v] = value("polynomial", A[i * lanes + v], T.float32(0))

    return explicit_polynomial, float(SMALL * TIMES)


def total(arrays: Any, *indices: Any) -> Any:
    """The sum of an element of each array."""
    out = arrays[(0, *indices)]
    for number in range(1, READ):
        out = out + arrays[(number, *indices)]
    return out


def sums(lanes: int) -> Made:
    """A step is an element of a sum of `READ` arrays; explicit vectors of `lanes`, 1 for none."""

    @T.prim_func
    def sums(
        A: T.Buffer((READ, SHORT // lanes, lanes), "float32"),
        C: T.Buffer((TIMES, SHORT // lanes, lanes), "float32"),
    ):
        for r, i in T.grid(TIMES, SHORT // lanes):
            for v in T.vectorized(lanes):
                C[r, i, v] = total(A, i, v)

    return sums, float(SHORT * TIMES)


def copies(lanes: int) -> Made:
    """A step is an element that is written to `WRITTEN` arrays, in vectors as those of `sums`."""

    @T.prim_func
    def copies(
        A: T.Buffer((TIMES, SHORT // lanes, lanes), "float32"),
        C: T.Buffer((WRITTEN, SHORT // lanes, lanes), "float32"),
    ):
        for r, i in T.grid(TIMES, SHORT // lanes):
            for v in T.vectorized(lanes):
                C[0, i, v] = A[r, i, v]
                C[1, i, v] = A[r, i, v]
                C[2, i, v] = A[r, i, v]
                C[3, i, v] = A[r, i, v]

    return copies, float(SHORT * TIMES)


def updates() -> Made:
    """A step is an element of an array to which one of another is added."""

    @T.prim_func
    def updates(A: T.Buffer((SHORT,), "float32"), C: T.Buffer((SHORT,), "float32")):
        for _, i in T.grid(TIMES, SHORT):
            C[i] = C[i] + A[i]

    return updates, float(SHORT * TIMES)


def touch(pages: int, lanes: int) -> Made:
    """A step is a line in the next page."""

    @T.prim_func
    def touch(
        A: T.Buffer((pages // 4, 4, NEXT_PAGE), "float32"), S: T.Buffer((4, lanes), "float32")
    ):
        for _, r in T.grid(TIMES, pages // 4):
            for u in T.unroll(4):
                for v in T.vectorized(lanes):
                    S[u, v] = S[u, v] + A[r, u, v]

    return touch, float(pages * TIMES)


def stream(size: int, lanes: int) -> Made:
    """A step is a line of 64 bytes, one after the other, in sums of few registers.

    The compiler knows all that touches an array on the stack, and stores the sums once.
    """
    width = min(64, SUMS * lanes)
    rows = size // (4 * width)

    @T.prim_func
    def stream(A: T.Buffer((rows, width), "float32"), B: T.Buffer((width,), "float32")):
        s = T.alloc_buffer((width,), "float32")
        for v in T.vectorized(width):
            s[v] = T.float32(0)
        for i in range(rows):
            for v in T.vectorized(width):
                s[v] = s[v] + A[i, v]
        for v in T.vectorized(width):
            B[v] = s[v]

    return stream, rows * width / 16


def copy(size: int, lanes: int) -> Made:
    """A step is a line of 64 bytes that is read and one that is written, `size` bytes in all."""
    vectors = size // 8 // lanes

    @T.prim_func
    def copy(
        A: T.Buffer((vectors, lanes), "float32"),
        B: T.Buffer((vectors, lanes), "float32"),
    ):
        for i in range(vectors):
            for v in T.vectorized(lanes):
                B[i, v] = A[i, v] + T.float32(1)

    return copy, vectors * lanes / 16


def walk(size: int, row: int, lanes: int) -> Made:
    """A step is a line of 64 bytes in the next row of so many floats, column by column.

    Of each line `lanes` floats are read.
    """
    rows = size // (row * 4) // 4
    columns = row // 16

    @T.prim_func
    def walk(A: T.Buffer((rows, 4, row), "float32"), B: T.Buffer((4, lanes), "float32")):
        s = T.alloc_buffer((4, lanes), "float32")
        for u in T.unroll(4):
            for v in T.vectorized(lanes):
                s[u, v] = T.float32(0)
        for c, r in T.grid(columns, rows):
            for u in T.unroll(4):
                for v in T.vectorized(lanes):
                    s[u, v] = s[u, v] + A[r, u, c * 16 + v]
        for u in T.unroll(4):
            for v in T.vectorized(lanes):
                B[u, v] = s[u, v]

    return walk, float(rows * 4 * columns)


def fill(size: int, lanes: int) -> Made:
    """A step is a line of 64 bytes in the next row, of which `lanes` floats are stored."""
    rows = size // (SPREAD * 4)
    columns = SPREAD // 16

    @T.prim_func
    def fill(A: T.Buffer((rows, SPREAD), "float32"), S: T.Buffer((lanes,), "float32")):
        for c, r in T.grid(columns, rows):
            for v in T.vectorized(lanes):
                A[r, c * 16 + v] = S[v]

    return fill, float(rows * columns)


def stream_all(size: int, cores: int, lanes: int) -> Made:
    """As `stream` on all cores at once; a step is still a line."""
    width = min(64, SUMS * lanes)
    rows = size // (4 * width) // cores

    @T.prim_func
    def stream_all(
        A: T.Buffer((cores, rows, width), "float32"), B: T.Buffer((cores, width), "float32")
    ):
        for p in T.parallel(cores):
            s = T.alloc_buffer((width,), "float32")
            for v in T.vectorized(width):
                s[v] = T.float32(0)
            for i in range(rows):
                for v in T.vectorized(width):
                    s[v] = s[v] + A[p, i, v]
            for v in T.vectorized(width):
                B[p, v] = s[v]

    return stream_all, cores * rows * width / 16


def parallel(cores: int) -> Made:
    """A parallel loop of one store for each core: what its start takes."""

    @T.prim_func
    def parallel(S: T.Buffer((cores, 16), "float32")):
        for p in T.parallel(cores):
            S[p, 0] = T.float32(1)

    return parallel, 1.0
