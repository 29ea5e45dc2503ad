"""The kernels of a GPU's calibration, in TVMScript.

Their arguments are arrays, of `elements` and `results` where the length is no constant, and whole
numbers.  An array `A` of integers is a cycle of indices; an array `K` receives the clocks of the SM
in the measured loop (`clock64` of CUDA).
"""

# A type checker cannot analyse TVMScript.
# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportUntypedFunctionDecorator=false, reportMissingImports=false

from __future__ import annotations

from functools import partial
from typing import Any

try:
    from tvm.script import tirx as T
except ImportError:
    from tvm.script import tir as T

WARP = 32
# Dependent multiply-adds, loads and shuffles in one iteration of a chain.
CHAIN_STEPS = 256
CHASE_STEPS = 16
# Threads of a block of the streams, vectors of four floats that one thread has in flight.
THREADS = 256
WIDE_THREADS = 1024
VECTORS = 4
LANES = 4
# Independent chains of a thread, and dependent operations of each in one iteration.
CHAINS = 8
CHAIN_OPERATIONS = 16
SHARED_ELEMENTS = 1024
BARRIER_THREADS = 128
BARRIERS = 16


def clock(has_clock: bool) -> Any:
    """The clock of the SM; 0 where the compiler has no such function."""
    return T.call_extern("int64", "clock64") if has_clock else T.int64(0)


def empty() -> Any:
    """One store of one warp."""

    @T.prim_func
    def empty(C: T.Buffer((WARP,), "float32")):
        T.launch_thread("blockIdx.x", 1)
        tx = T.launch_thread("threadIdx.x", WARP)
        C[tx] = T.float32(1)

    return empty


def chain(has_clock: bool) -> Any:
    """`CHAIN_STEPS` dependent multiply-adds in each of `steps` iterations of one warp."""

    @T.prim_func
    def chain(
        A: T.Buffer((2,), "float32"),
        C: T.Buffer((WARP,), "float32"),
        K: T.Buffer((WARP,), "int64"),
        steps: T.int32,
    ):
        T.launch_thread("blockIdx.x", 1)
        tx = T.launch_thread("threadIdx.x", WARP)
        x = T.decl_buffer((1,), "float32", scope="local")
        start = T.decl_buffer((1,), "int64", scope="local")
        x[0] = A[0]
        start[0] = clock(has_clock)
        for _ in range(steps):
            for _u in T.unroll(CHAIN_STEPS):
                x[0] = x[0] * A[0] + A[1]
        C[tx] = x[0]
        K[tx] = clock(has_clock) - start[0]

    return chain


def shuffles(has_clock: bool) -> Any:
    """`CHASE_STEPS` dependent shuffles with an addition in each of `steps` iterations."""

    @T.prim_func
    def shuffles(C: T.Buffer((WARP,), "float32"), K: T.Buffer((WARP,), "int64"), steps: T.int32):
        T.launch_thread("blockIdx.x", 1)
        tx = T.launch_thread("threadIdx.x", WARP)
        x = T.decl_buffer((1,), "float32", scope="local")
        start = T.decl_buffer((1,), "int64", scope="local")
        x[0] = C[tx]
        start[0] = clock(has_clock)
        for _ in range(steps):
            for _u in T.unroll(CHASE_STEPS):
                x[0] = x[0] + T.call_extern(
                    "float32", "__shfl_xor_sync", T.uint32(0xFFFFFFFF), x[0], 1
                )
        C[tx] = x[0]
        K[tx] = clock(has_clock) - start[0]

    return shuffles


def barriers(has_clock: bool) -> Any:
    """`BARRIERS` barriers of a block of four warps in each of `steps` iterations."""

    @T.prim_func
    def barriers(K: T.Buffer((BARRIER_THREADS,), "int64"), steps: T.int32):
        T.launch_thread("blockIdx.x", 1)
        tx = T.launch_thread("threadIdx.x", BARRIER_THREADS)
        start = T.decl_buffer((1,), "int64", scope="local")
        start[0] = clock(has_clock)
        for _ in range(steps):
            for _u in T.unroll(BARRIERS):
                T.evaluate(T.tvm_storage_sync("shared"))
        K[tx] = clock(has_clock) - start[0]

    return barriers


def chase(has_clock: bool) -> Any:
    """`CHASE_STEPS` loads, each of the index of the next, in each of `steps` iterations.

    `R` has the first index and receives the last one: a further launch continues the chase.
    """

    @T.prim_func
    def chase(
        a: T.handle,
        R: T.Buffer((1,), "int32"),
        K: T.Buffer((1,), "int64"),
        steps: T.int32,
    ):
        elements = T.int32()
        A = T.match_buffer(a, (elements,), "int32")
        T.launch_thread("blockIdx.x", 1)
        tx = T.launch_thread("threadIdx.x", 1)
        p = T.decl_buffer((1,), "int32", scope="local")
        start = T.decl_buffer((1,), "int64", scope="local")
        p[0] = R[tx]
        start[0] = clock(has_clock)
        for _ in range(steps):
            for _u in T.unroll(CHASE_STEPS):
                p[0] = A[p[0]]
        R[tx] = p[0]
        K[tx] = clock(has_clock) - start[0]

    return chase


def shared_chase(has_clock: bool) -> Any:
    """As `chase`, in shared memory."""

    @T.prim_func
    def shared_chase(
        A: T.Buffer((SHARED_ELEMENTS,), "int32"),
        R: T.Buffer((WARP,), "int32"),
        K: T.Buffer((WARP,), "int64"),
        steps: T.int32,
    ):
        T.launch_thread("blockIdx.x", 1)
        tx = T.launch_thread("threadIdx.x", WARP)
        S = T.decl_buffer((SHARED_ELEMENTS,), "int32", scope="shared")
        p = T.decl_buffer((1,), "int32", scope="local")
        start = T.decl_buffer((1,), "int64", scope="local")
        for i in range(SHARED_ELEMENTS // WARP):
            S[i * WARP + tx] = A[i * WARP + tx]
        T.evaluate(T.tvm_storage_sync("shared"))
        p[0] = R[tx]
        start[0] = clock(has_clock)
        for _ in range(steps):
            for _u in T.unroll(CHASE_STEPS):
                p[0] = S[p[0]]
        R[tx] = p[0]
        K[tx] = clock(has_clock) - start[0]

    return shared_chase


def operation(kind: str, x: Any, a: Any, b: Any) -> Any:
    """An operation on `x` whose repetition has a finite limit."""
    if kind == "exp2":
        return T.exp2(T.float32(0) - x)
    if kind == "rsqrt":
        return T.rsqrt(x)
    return x * a + b


def throughput(kind: str) -> Any:
    """`CHAINS` independent chains in each thread, of `CHAIN_OPERATIONS` an iteration."""

    @T.prim_func
    def throughput(a: T.handle, c: T.handle, blocks: T.int32, steps: T.int32):
        results = T.int32()
        A = T.match_buffer(a, (CHAINS + 2,), "float32")
        C = T.match_buffer(c, (results,), "float32")
        bx = T.launch_thread("blockIdx.x", blocks)
        tx = T.launch_thread("threadIdx.x", THREADS)
        x = T.decl_buffer((CHAINS,), "float32", scope="local")
        for u in T.unroll(CHAINS):
            x[u] = A[u]
        for _ in range(steps):
            for _v in T.unroll(CHAIN_OPERATIONS):
                for u in T.unroll(CHAINS):
                    x[u] = operation(kind, x[u], A[CHAINS], A[CHAINS + 1])
        for u in T.unroll(CHAINS - 1):
            x[0] = x[0] + x[u + 1]
        C[bx * THREADS + tx] = x[0]

    return throughput


def read(threads: int) -> Any:
    """Each block reads slices of the array, in each pass that of another block."""

    @T.prim_func
    def read(
        a: T.handle, c: T.handle, blocks: T.int32, rounds: T.int32, passes: T.int32, shift: T.int32
    ):
        elements = T.int32()
        results = T.int32()
        A = T.match_buffer(a, (elements,), "float32")
        C = T.match_buffer(c, (results,), "float32")
        bx = T.launch_thread("blockIdx.x", blocks)
        tx = T.launch_thread("threadIdx.x", threads)
        x = T.decl_buffer((VECTORS * LANES,), "float32", scope="local")
        for u in T.unroll(VECTORS * LANES):
            x[u] = T.float32(0)
        for p in range(passes):
            for i in range(rounds):
                for u in T.unroll(VECTORS):
                    for v in T.vectorized(LANES):
                        x[u * LANES + v] = (
                            x[u * LANES + v]
                            + A[
                                (((bx + p * shift) % blocks * rounds + i) * VECTORS + u)
                                * (threads * LANES)
                                + tx * LANES
                                + v
                            ]
                        )
        for u in T.unroll(VECTORS * LANES - 1):
            x[0] = x[0] + x[u + 1]
        C[bx * threads + tx] = x[0]

    return read


def write() -> Any:
    """As `read`, with stores."""

    @T.prim_func
    def write(b: T.handle, blocks: T.int32, rounds: T.int32, passes: T.int32, shift: T.int32):
        elements = T.int32()
        B = T.match_buffer(b, (elements,), "float32")
        bx = T.launch_thread("blockIdx.x", blocks)
        tx = T.launch_thread("threadIdx.x", THREADS)
        for p in range(passes):
            for i in range(rounds):
                for u in T.unroll(VECTORS):
                    for v in T.vectorized(LANES):
                        B[
                            (((bx + p * shift) % blocks * rounds + i) * VECTORS + u)
                            * (THREADS * LANES)
                            + tx * LANES
                            + v
                        ] = T.cast(p, "float32")

    return write


def copy() -> Any:
    """Each element of one array is stored to another one."""

    @T.prim_func
    def copy(a: T.handle, b: T.handle, blocks: T.int32):
        elements = T.int32()
        A = T.match_buffer(a, (elements,), "float32")
        B = T.match_buffer(b, (elements,), "float32")
        bx = T.launch_thread("blockIdx.x", blocks)
        tx = T.launch_thread("threadIdx.x", THREADS)
        x = T.decl_buffer((VECTORS * LANES,), "float32", scope="local")
        for u in T.unroll(VECTORS):
            for v in T.vectorized(LANES):
                x[u * LANES + v] = A[(bx * VECTORS + u) * (THREADS * LANES) + tx * LANES + v]
        for u in T.unroll(VECTORS):
            for v in T.vectorized(LANES):
                B[(bx * VECTORS + u) * (THREADS * LANES) + tx * LANES + v] = x[u * LANES + v]

    return copy


def triad() -> Any:
    """Elements of two arrays are combined and stored to a third one."""

    @T.prim_func
    def triad(a: T.handle, b: T.handle, c: T.handle, blocks: T.int32):
        elements = T.int32()
        A = T.match_buffer(a, (elements,), "float32")
        B = T.match_buffer(b, (elements,), "float32")
        C = T.match_buffer(c, (elements,), "float32")
        bx = T.launch_thread("blockIdx.x", blocks)
        tx = T.launch_thread("threadIdx.x", THREADS)
        x = T.decl_buffer((VECTORS * LANES,), "float32", scope="local")
        for u in T.unroll(VECTORS):
            for v in T.vectorized(LANES):
                x[u * LANES + v] = (
                    A[(bx * VECTORS + u) * (THREADS * LANES) + tx * LANES + v]
                    + T.float32(0.4) * B[(bx * VECTORS + u) * (THREADS * LANES) + tx * LANES + v]
                )
        for u in T.unroll(VECTORS):
            for v in T.vectorized(LANES):
                C[(bx * VECTORS + u) * (THREADS * LANES) + tx * LANES + v] = x[u * LANES + v]

    return triad


_WITH_CLOCK = {
    "chain": chain,
    "shuffles": shuffles,
    "barriers": barriers,
    "chase": chase,
    "shared chase": shared_chase,
}
_OTHERS = {
    "empty": empty,
    "multiply-add": partial(throughput, "multiply-add"),
    "exp2": partial(throughput, "exp2"),
    "rsqrt": partial(throughput, "rsqrt"),
    "read": partial(read, THREADS),
    "wide read": partial(read, WIDE_THREADS),
    "write": write,
    "copy": copy,
    "triad": triad,
}
NAMES = (*_WITH_CLOCK, *_OTHERS)


def build(name: str, has_clock: bool) -> Any:
    """The kernel of a name; without a clock the clocks of its loop are 0."""
    return _WITH_CLOCK[name](has_clock) if name in _WITH_CLOCK else _OTHERS[name]()
