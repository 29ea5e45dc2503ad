"""The kernels of the calibration, in TVMScript; each comes with its number of steps."""

# A type checker cannot analyse TVMScript.
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

# Elements of an array that fits in L1, no power of two, and passes of a kernel over it.
L1_ELEMENTS = 1008
PASSES = 4
# Elements that fit in L1 at a stride, and the stride in elements.
STRIDED_ELEMENTS = 240
GATHER_STRIDE = 17
# Elements of each of several arrays that fit in L1 together; loads for each store in `sums`, and
# stores for each load in `copies`.
MULTI_ARRAY_ELEMENTS = 496
SUM_LOADS = 7
COPY_STORES = 4
# Integer operations of one element.
INTEGER_OPERATIONS = 16
# Vectors of sums, which fit in the registers of every CPU.
SUM_VECTORS = 8
# Dependent multiply-adds of one element, more than a scheduler holds.
CHAIN_MULTIPLY_ADDS = 32
# Floats of a page, and of a row, consecutive ones of which use different sets of a cache.
PAGE_FLOATS = 1024
ROW_FLOATS = 1088
# Floats from one line to the next line in the next page, which is in another cache set.
NEXT_PAGE_FLOATS = 1024 + 16

KernelAndSteps = Tuple[Any, float]


def call() -> KernelAndSteps:
    """One store, which measures the call of a kernel."""

    @T.prim_func
    def call(A: T.Buffer((1,), "float32")):
        A[0] = T.float32(1)

    return call, 1.0


def integer_chain() -> KernelAndSteps:
    """A step is a dependent multiplication and addition of integers."""

    @T.prim_func
    def integer_chain(A: T.Buffer((L1_ELEMENTS,), "int32"), S: T.Buffer((1,), "int32")):
        for _, i in T.grid(PASSES, L1_ELEMENTS):
            S[0] = S[0] * 1664525 + A[i]

    return integer_chain, float(L1_ELEMENTS * PASSES)


def float_chain(kind: str) -> KernelAndSteps:
    """A step is an addition, a multiply-add or a maximum that depends on the previous one."""

    def combine(total: Any, a: Any) -> Any:
        if kind == "max":
            return T.max(total, a)
        return total + (a * a if kind == "multiply-add" else a)

    @T.prim_func
    def float_chain(A: T.Buffer((L1_ELEMENTS,), "float32"), S: T.Buffer((1,), "float32")):
        for _, i in T.grid(PASSES, L1_ELEMENTS):
            S[0] = combine(S[0], A[i])

    return float_chain, float(L1_ELEMENTS * PASSES)


def two_sums(lanes: int, dtype: str) -> KernelAndSteps:
    """A step is an addition to each of two sums in memory, which may alias for the compiler."""

    @T.prim_func
    def two_sums(
        A: T.Buffer((MULTI_ARRAY_ELEMENTS // lanes, lanes), dtype),
        S: T.Buffer((lanes,), dtype),
        Q: T.Buffer((lanes,), dtype),
    ):
        for _, i in T.grid(PASSES, MULTI_ARRAY_ELEMENTS // lanes):
            for v in T.vectorized(lanes):
                S[v] = S[v] + A[i, v]
            for v in T.vectorized(lanes):
                Q[v] = Q[v] + A[i, v]

    return two_sums, float(MULTI_ARRAY_ELEMENTS // lanes * PASSES)


def integers() -> KernelAndSteps:
    """A step is an element with `INTEGER_OPERATIONS` operations, in a vectorized loop."""

    def mix(a: Any, b: Any) -> Any:
        out = a
        for _ in range(INTEGER_OPERATIONS // 2):
            out = (out + b) ^ a
        return out

    @T.prim_func
    def integers(
        A: T.Buffer((L1_ELEMENTS,), "int32"),
        B: T.Buffer((L1_ELEMENTS,), "int32"),
        C: T.Buffer((PASSES, L1_ELEMENTS), "int32"),
    ):
        for r, i in T.grid(PASSES, L1_ELEMENTS):
            C[r, i] = mix(A[i], B[i])

    return integers, float(L1_ELEMENTS * PASSES)


def element_value(kind: str, a: Any, b: Any) -> Any:
    """The result of a `kind` of kernel for the elements `a` and `b`."""
    if kind == "divide":
        return a / b
    if kind == "exp":
        return T.exp(a)
    if kind == "chain":
        out = T.float32(0.5)
        for _ in range(CHAIN_MULTIPLY_ADDS):
            out = out * a + T.float32(0.25)
        return out
    # Two chains of four multiply-adds, and one multiply-add of their results.
    one = two = T.float32(0.5)
    for _ in range(4):
        one, two = one * a + T.float32(0.25), two * a + T.float32(0.75)
    return one * a + two


def elementwise(kind: str) -> KernelAndSteps:
    """A step is an element, in a vectorized loop."""

    @T.prim_func
    def elementwise(
        A: T.Buffer((L1_ELEMENTS,), "float32"),
        B: T.Buffer((L1_ELEMENTS,), "float32"),
        C: T.Buffer((PASSES, L1_ELEMENTS), "float32"),
    ):
        for r, i in T.grid(PASSES, L1_ELEMENTS):
            C[r, i] = element_value(kind, A[i], B[i])

    return elementwise, float(L1_ELEMENTS * PASSES)


def strided_copy(read_stride: int, write_stride: int) -> KernelAndSteps:
    """A step is an element, read or written at a stride that needs gathers or scatters."""

    @T.prim_func
    def strided_copy(
        A: T.Buffer((STRIDED_ELEMENTS * read_stride,), "float32"),
        B: T.Buffer((STRIDED_ELEMENTS * write_stride,), "float32"),
    ):
        for _, i in T.grid(PASSES, STRIDED_ELEMENTS):
            B[i * write_stride] = A[i * read_stride] * T.float32(2)

    return strided_copy, float(STRIDED_ELEMENTS * PASSES)


def explicit_polynomial(lanes: int) -> KernelAndSteps:
    """As the polynomial of `elementwise`, in explicit vectors of `lanes`."""

    @T.prim_func
    def explicit_polynomial(
        A: T.Buffer((L1_ELEMENTS,), "float32"), C: T.Buffer((PASSES, L1_ELEMENTS), "float32")
    ):
        for r, i in T.grid(PASSES, L1_ELEMENTS // lanes):
            for v in T.vectorized(lanes):
                C[r, i * lanes + v] = element_value("polynomial", A[i * lanes + v], T.float32(0))

    return explicit_polynomial, float(L1_ELEMENTS * PASSES)


def sum_of_arrays(arrays: Any, *indices: Any) -> Any:
    """The sum of an element of each array."""
    out = arrays[(0, *indices)]
    for number in range(1, SUM_LOADS):
        out = out + arrays[(number, *indices)]
    return out


def sums(lanes: int) -> KernelAndSteps:
    """A step is an element of a sum of `SUM_LOADS` arrays, in explicit vectors of `lanes`."""

    @T.prim_func
    def sums(
        A: T.Buffer((SUM_LOADS, MULTI_ARRAY_ELEMENTS // lanes, lanes), "float32"),
        C: T.Buffer((PASSES, MULTI_ARRAY_ELEMENTS // lanes, lanes), "float32"),
    ):
        for r, i in T.grid(PASSES, MULTI_ARRAY_ELEMENTS // lanes):
            for v in T.vectorized(lanes):
                C[r, i, v] = sum_of_arrays(A, i, v)

    return sums, float(MULTI_ARRAY_ELEMENTS * PASSES)


def copies(lanes: int) -> KernelAndSteps:
    """A step is an element that is written to `COPY_STORES` arrays, in explicit vectors."""

    @T.prim_func
    def copies(
        A: T.Buffer((PASSES, MULTI_ARRAY_ELEMENTS // lanes, lanes), "float32"),
        C: T.Buffer((COPY_STORES, MULTI_ARRAY_ELEMENTS // lanes, lanes), "float32"),
    ):
        for r, i in T.grid(PASSES, MULTI_ARRAY_ELEMENTS // lanes):
            for v in T.vectorized(lanes):
                C[0, i, v] = A[r, i, v]
                C[1, i, v] = A[r, i, v]
                C[2, i, v] = A[r, i, v]
                C[3, i, v] = A[r, i, v]

    return copies, float(MULTI_ARRAY_ELEMENTS * PASSES)


def updates() -> KernelAndSteps:
    """A step is an element of an array to which an element of another one is added."""

    @T.prim_func
    def updates(
        A: T.Buffer((MULTI_ARRAY_ELEMENTS,), "float32"),
        C: T.Buffer((MULTI_ARRAY_ELEMENTS,), "float32"),
    ):
        for _, i in T.grid(PASSES, MULTI_ARRAY_ELEMENTS):
            C[i] = C[i] + A[i]

    return updates, float(MULTI_ARRAY_ELEMENTS * PASSES)


def touch(pages: int, lanes: int) -> KernelAndSteps:
    """A step is a line in the next page."""

    @T.prim_func
    def touch(
        A: T.Buffer((pages // 4, 4, NEXT_PAGE_FLOATS), "float32"),
        S: T.Buffer((4, lanes), "float32"),
    ):
        for _, r in T.grid(PASSES, pages // 4):
            for u in T.unroll(4):
                for v in T.vectorized(lanes):
                    S[u, v] = S[u, v] + A[r, u, v]

    return touch, float(pages * PASSES)


def stream(size: int, lanes: int) -> KernelAndSteps:
    """A step is a line of 64 bytes, sequential, in sums that fit in the registers.

    The sums are on the stack, so that the compiler promotes them to registers.
    """
    width = min(64, SUM_VECTORS * lanes)
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


def copy(size: int, lanes: int) -> KernelAndSteps:
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


def walk(size: int, row: int, lanes: int) -> KernelAndSteps:
    """A step is a line of 64 bytes in the next row of `row` floats, column by column.

    `lanes` floats of each line are read.
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


def fill(size: int, lanes: int) -> KernelAndSteps:
    """A step is a line of 64 bytes in the next row, of which `lanes` floats are stored."""
    rows = size // (ROW_FLOATS * 4)
    columns = ROW_FLOATS // 16

    @T.prim_func
    def fill(A: T.Buffer((rows, ROW_FLOATS), "float32"), S: T.Buffer((lanes,), "float32")):
        for c, r in T.grid(columns, rows):
            for v in T.vectorized(lanes):
                A[r, c * 16 + v] = S[v]

    return fill, float(rows * columns)


def stream_all(size: int, cores: int, lanes: int) -> KernelAndSteps:
    """As `stream`, on all cores at the same time; a step is a line."""
    width = min(64, SUM_VECTORS * lanes)
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


def parallel(cores: int) -> KernelAndSteps:
    """A parallel loop of one store for each core, which measures its start."""

    @T.prim_func
    def parallel(S: T.Buffer((cores, 16), "float32")):
        for p in T.parallel(cores):
            S[p, 0] = T.float32(1)

    return parallel, 1.0
