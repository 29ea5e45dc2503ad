"""The template of torch's compiler for products, as Triton compiles it, in tilelang.

A turn waits for the loads that the one `stages - 1` before it has started, starts its own and then
multiplies: of `stages` buffers one less is on its way.  tilelang starts its loads behind the
product, so that of `n` buffers `n` are; here it has one less, and the result's tile the rest of the
shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tilelang.language as T

HALF_BYTES = 2
GROUP_M = 8


def mm(shape: Mapping[str, int], config: Mapping[str, int]) -> Any:
    """The product of `shape` (M, N, K) with the template's own names of a configuration."""
    m, n, k = (shape[name] for name in "MNK")
    block_m, block_n, block_k = (config[f"BLOCK_{name}"] for name in "MNK")
    stages, threads = config["num_stages"], 32 * config["num_warps"]
    shared_bytes = stages * (block_m + block_n) * block_k * HALF_BYTES
    columns = max(shared_bytes // (block_m * HALF_BYTES), block_n)

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((n, k), "float16"),
        C: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_m, block_k), "float16")
            B_shared = T.alloc_shared((block_n, block_k), "float16")
            acc = T.alloc_fragment((block_m, block_n), "float32")
            C_shared = T.alloc_shared((block_m, columns), "float16")
            T.use_swizzle(panel_size=GROUP_M)
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages - 1):
                T.copy(A[by * block_m, ko * block_k], A_shared)
                T.copy(B[bx * block_n, ko * block_k], B_shared)
                T.gemm(A_shared, B_shared, acc, transpose_B=True)
            T.copy(acc, C_shared[0:block_m, 0:block_n])
            T.copy(C_shared[0:block_m, 0:block_n], C[by * block_m, bx * block_n])

    return kernel
