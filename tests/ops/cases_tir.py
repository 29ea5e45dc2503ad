"""Small TVMScript functions, static and deterministic, to be executed twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CASES: dict[str, tuple[Callable[[Any], Any], list[str]]] = {}


def case(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
    CASES[build.__name__] = (build, [])
    return build


@case
def elementwise(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((6, 10), "float32"), B: T.Buffer((6, 10), "float32")):
        for i, j in T.grid(6, 10):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2) + T.float32(1)

    return main


@case
def matmul_with_init(T):
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((5, 7), "float16"),
        B: T.Buffer((7, 6), "float16"),
        C: T.Buffer((5, 6), "float32"),
    ):
        for i, j, k in T.grid(5, 6, 7):
            with T.sblock("c"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "float32") * T.cast(B[vk, vj], "float32")

    return main


@case
def tail_by_predicate(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((37,), "float32"), B: T.Buffer((37,), "float32")):
        for bx in T.thread_binding(3, thread="blockIdx.x"):
            for tx in T.thread_binding(16, thread="threadIdx.x"):
                with T.sblock("b"):
                    T.where(bx * 16 + tx < 37)
                    vi = T.axis.spatial(37, bx * 16 + tx)
                    B[vi] = T.exp(A[vi])

    return main


@case
def tail_by_if(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((37,), "float32"), B: T.Buffer((37,), "float32")):
        for bx in T.thread_binding(3, thread="blockIdx.x"):
            for tx in T.thread_binding(16, thread="threadIdx.x"):
                if bx * 16 + tx < 37:
                    B[bx * 16 + tx] = T.sqrt(A[bx * 16 + tx])

    return main


@case
def triangular(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((9, 9), "float32"), B: T.Buffer((9,), "float32")):
        for i in range(9):
            B[i] = T.float32(0)
            for j in range(i + 1):
                B[i] = B[i] + A[i, j] / T.float32(3)

    return main


@case
def padded_convolution(T):
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((8, 8), "float32"),
        W: T.Buffer((3, 3), "float32"),
        B: T.Buffer((8, 8), "float32"),
    ):
        for i, j, r, s in T.grid(8, 8, 3, 3):
            with T.sblock("b"):
                vi, vj, vr, vs = T.axis.remap("SSRR", [i, j, r, s])
                with T.init():
                    B[vi, vj] = T.float32(0)
                B[vi, vj] = B[vi, vj] + W[vr, vs] * T.if_then_else(
                    vi + vr >= 1 and vi + vr < 9 and vj + vs >= 1 and vj + vs < 9,
                    A[vi + vr - 1, vj + vs - 1],
                    T.float32(0),
                )

    return main


@case
def tiled_reduction_with_tail(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((6, 21), "float32"), B: T.Buffer((6,), "float32")):
        for i, ko, ki in T.grid(6, 3, 8):
            with T.sblock("b"):
                T.where(ko * 8 + ki < 21)
                vi = T.axis.spatial(6, i)
                vk = T.axis.reduce(21, ko * 8 + ki)
                with T.init():
                    B[vi] = T.float32(-1)
                B[vi] = T.max(B[vi], A[vi, vk])

    return main


@case
def gather_by_stride(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((16,), "float32")):
        for i in T.serial(16):
            B[i] = A[i * 3] + A[(i * 5) % 16]

    return main


@case
def two_statements_and_a_temporary(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        total = T.sblock_alloc_buffer((4,), "float32")
        for i, k in T.grid(4, 8):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + T.exp(A[vi, vk])
        for i, j in T.grid(4, 8):
            with T.sblock("divide"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.exp(A[vi, vj]) / total[vi]

    return main


@case
def branch_with_an_else(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
        for i in range(12):
            if i % 3 == 0:
                B[i] = T.tanh(A[i]) + T.float32(1)
            else:
                B[i] = A[i] - T.float32(1)

    return main


@case
def vectorized_and_unrolled(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 16), "float16"), B: T.Buffer((8, 16), "float16")):
        for i in T.unroll(8):
            for jo in T.serial(4):
                for ji in T.vectorized(4):
                    with T.sblock("b"):
                        vi = T.axis.spatial(8, i)
                        vj = T.axis.spatial(16, jo * 4 + ji)
                        B[vi, vj] = A[vi, vj] * A[vi, vj]

    return main


@case
def shared_staging(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("root"):
                    S = T.sblock_alloc_buffer((32,), "float32", scope="shared")
                    S[tx] = A[bx, tx]
                    for k in T.serial(3):
                        B[bx, tx] = S[(tx + k) % 32] + S[tx]

    return main


@case
def chosen_by_data(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((9,), "int8"), B: T.Buffer((9,), "int8")):
        for i in range(9):
            B[i] = T.max(T.int8(2), T.if_then_else(T.Cast("int32", A[i]) > 0, T.int8(1), T.int8(3)))

    return main


@case
def predicate_on_data(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32")):
        for i in range(9):
            with T.sblock("b"):
                vi = T.axis.spatial(9, i)
                T.where(A[i] * T.float32(2) < T.float32(10))
                B[vi] = A[vi] + T.float32(1)

    return main


@case
def number_that_nothing_has_set(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((9,), "int32")):
        number = T.sblock_alloc_buffer((1,), "int32", scope="local")
        number[0] = number[0] + 1
        A[0] = number[0]

    return main


@case
def keys_in_addresses(T):
    """The keys are read for the addresses of updates, which move nothing else."""

    @T.prim_func(s_tir=True)
    def main(
        X: T.Buffer((64,), "int32"), A: T.Buffer((64,), "float32"), G: T.Buffer((32,), "float32")
    ):
        for bx in T.thread_binding(2, thread="blockIdx.x"):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                T.evaluate(
                    T.cuda.atomic_add(T.address_of(G[X[bx * 32 + tx]]), A[X[63 - bx * 32 - tx]])
                )
                T.evaluate(T.cuda.atomic_add(T.address_of(G[X[X[tx]] % 8]), T.float32(1)))

    return main
