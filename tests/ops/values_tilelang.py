"""Kernels of tilelang 0.1.15 with calls in guards and indices, and the values of the calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CASES: dict[str, tuple[Callable[[Any], Any], list[str]]] = {}


def means(*lines: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    def register(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
        CASES[build.__name__] = (build, list(lines))
        return build

    return register


@means(
    "write B[bx*128 + tx // 32*32 + tx % 32]",
    "write B[bx*128 + tx // 64*64 + tx % 64]",
    "write B[tx // 128 + tx // 96]",
)
def warps_and_lanes(T):
    @T.prim_func
    def main(B: T.Tensor((4096,), "float32")):
        with T.Kernel(8, threads=256) as bx:
            B[bx * 128 + T.get_warp_idx() * 32 + T.get_lane_idx()] = 0.0
            B[bx * 128 + T.get_warp_idx_sync(64) * 64 + T.get_lane_idx(64)] = 0.0
            B[T.get_warp_group_idx() + T.get_warp_group_idx(32, 3)] = 0.0

    return main


@means("write B[ty + tx // 32]", "if (ty*32 + tx) % 64 == 0", "write B[0]")
def threads_of_two_axes(T):
    @T.prim_func
    def main(B: T.Tensor((4096,), "float32")):
        with T.Kernel(8, threads=(32, 8)):
            B[T.get_warp_idx()] = 0.0
            if T.shuffle_elect(64):
                B[0] = 1.0

    return main


@means(
    "if t // 32 == 0", "write B[t]",
    "if t == 0", "write B[t]",
    "if t % 32 == 0", "write B[t]",
    "if t // 32 == 3", "write B[t]",
)  # fmt: skip
def guards(T):
    @T.prim_func
    def main(B: T.Tensor((4096,), "float32")):
        with T.Kernel(8, threads=128):
            t = T.get_thread_binding()
            if T.get_warp_idx() == 0:
                B[t] = 0.0
            if T.shuffle_elect(0):
                B[t] = 1.0
            if T.shuffle_elect(32):
                B[t] = 1.0
            if T.shfl_sync(t // 32, 0) == 3:
                B[t] = 2.0

    return main


@means(
    "read keys[t]", "read A[keys[t]]", "read keys[t]", "read A[keys[t]]", "write B[t]", "write B[0]"
)
def elements_that_calls_load(T):
    @T.prim_func
    def main(
        keys: T.Tensor((128,), "int32"),
        A: T.Tensor((4096,), "float32"),
        B: T.Tensor((128,), "float32"),
    ):
        with T.Kernel(8, threads=128):
            t = T.get_thread_binding()
            B[t] = A[T.__ldg(keys[t])] + A[T.atomic_load(keys[t])]
            B[T.clamp(0, 0, 0)] = 0.0

    return main


@means(
    "write B[? _i bx t]",
    "write B[? t]",
    "read keys[t]",
    "write B[? keys[t]]",
    "atomic C[0]",
    "write B[? _i bx t]",
    "if ? _i bx t",
    "write B[0]",
)
def unknown(T):
    """What an unknown value varies with: all there is, or the operands of a function."""

    @T.prim_func
    def main(
        keys: T.Tensor((128,), "int32"), B: T.Tensor((4096,), "float32"), C: T.Tensor((1,), "int32")
    ):
        with T.Kernel(8, threads=128) as _bx:
            t = T.get_thread_binding()
            for _i in T.serial(4):
                B[T.call_extern("int32", "next", 1)] = 0.0
                B[T.call_pure_extern("int32", "hash", t)] = 0.0
                B[T.popcount(keys[t])] = 0.0
                B[T.atomic_add(C[0], 1, return_prev=True)] = 0.0
                if T.any_sync(t < 4):
                    B[0] = 0.0

    return main
