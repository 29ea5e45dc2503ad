"""The same for apache-tvm 0.25 to 0.27."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CASES: dict[str, tuple[Callable[[Any], Any], list[str]]] = {}


def means(*lines: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    def register(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
        CASES[build.__name__] = (build, list(lines))
        return build

    return register


@means("if _ty*64 + _tx == 0", "write B[bx]", "write B[_ty*2 + _tx // 32]")
def thread_rank(T):
    @T.prim_func(s_tir=True)
    def main(B: T.Buffer((4096,), "float32")):
        for bx in T.thread_binding(8, thread="blockIdx.x"):
            for _ty in T.thread_binding(2, thread="threadIdx.y"):
                for _tx in T.thread_binding(64, thread="threadIdx.x"):
                    if T.cuda.thread_rank() == 0:
                        B[bx] = T.float32(0)
                    B[T.cuda.thread_rank() // 32] = T.float32(1)

    return main


@means("write B[tx // 32]", "write B[? _bx tx]")
def shuffled(T):
    @T.prim_func(s_tir=True)
    def main(B: T.Buffer((4096,), "float32")):
        for _bx in T.thread_binding(8, thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                B[T.tvm_warp_shuffle(T.tvm_warp_activemask(), tx // 32, 0, 32, 32)] = T.float32(0)
                B[T.tvm_warp_shuffle_up(T.tvm_warp_activemask(), tx, 1, 32, 32)] = T.float32(0)

    return main


@means(
    "write B[? bx]", "write B[? _i _j bx tx]",
    "read A[tx]", "read A[A[tx]]", "write B[? A[A[tx]]]",
)  # fmt: skip
def unknown(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "int32"), B: T.Buffer((4096,), "float32")):
        for bx in T.thread_binding(8, thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                B[T.call_pure_extern("int32", "hash", bx)] = T.float32(0)
                for _i in range(4):
                    for _j in range(4):
                        B[T.call_extern("int32", "next", 0)] = T.float32(0)
                B[T.clz(A[A[tx]])] = T.float32(0)

    return main
