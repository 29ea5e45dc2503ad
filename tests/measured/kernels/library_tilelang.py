"""Tensor-core products in tilelang, for the public tables whose kernels are not at hand.

`matmul` is the plain tiled product of tilelang's own benchmark (benchmark/matmul): tiles of A and
B (its rows are columns of the product, "NT", unless it is not `transposed`) through shared memory,
a pipelined loop over k, the result through shared memory.  `gemv` is a row of it: a warp sums a
column of the product.
"""

from __future__ import annotations

from typing import Any

import tilelang.language as T


def matmul(
    m: int,
    n: int,
    k: int,
    *,
    block_m: int,
    block_n: int,
    block_k: int,
    stages: int,
    threads: int,
    dtype: str = "float16",
    accumulator: str = "float32",
    panel: int = 10,
    through_shared: bool = True,
    transposed: bool = True,
    out: str = "",
) -> Any:
    """`out` is the type of the result, `dtype` unless it is given."""
    result = out or dtype
    b_tile = (block_n, block_k) if transposed else (block_k, block_n)

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), dtype),
        B: T.Tensor((n, k) if transposed else (k, n), dtype),
        C: T.Tensor((m, n), result),
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_m, block_k), dtype)
            B_shared = T.alloc_shared(b_tile, dtype)
            acc = T.alloc_fragment((block_m, block_n), accumulator)
            C_shared = T.alloc_shared((block_m, block_n), result)
            T.use_swizzle(panel_size=panel, enable=panel > 0)
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(k, block_k), num_stages=stages):
                T.copy(A[by * block_m, ko * block_k], A_shared)
                if transposed:
                    T.copy(B[bx * block_n, ko * block_k], B_shared)
                else:
                    T.copy(B[ko * block_k, bx * block_n], B_shared)
                T.gemm(A_shared, B_shared, acc, transpose_B=transposed)
            if through_shared:
                T.copy(acc, C_shared)
                T.copy(C_shared, C[by * block_m, bx * block_n])
            else:
                T.copy(acc, C[by * block_m, bx * block_n])

    return kernel


def gemv(n: int, k: int, *, columns: int = 4, lanes: int = 8) -> Any:
    """One warp a column of B's product with a vector, 16 bytes a lane, `columns` warps a block."""

    @T.prim_func
    def kernel(
        A: T.Tensor((k,), "float16"),
        B: T.Tensor((n, k), "float16"),
        C: T.Tensor((n,), "float16"),
    ):
        with T.Kernel(T.ceildiv(n, columns), threads=(32, columns)) as bx:
            thread = T.get_thread_binding(0)
            warp = T.get_thread_binding(1)
            a = T.alloc_local((lanes,), "float16")
            b = T.alloc_local((lanes,), "float16")
            total = T.alloc_local((1,), "float32")
            T.clear(total)
            for ko in T.serial(T.ceildiv(k, 32 * lanes)):
                for lane in T.vectorized(lanes):
                    a[lane] = A[ko * 32 * lanes + thread * lanes + lane]
                    b[lane] = B[bx * columns + warp, ko * 32 * lanes + thread * lanes + lane]
                for lane in T.serial(lanes):
                    total[0] += a[lane].astype("float32") * b[lane].astype("float32")
            total[0] = T.warp_reduce_sum(total[0])
            if thread == 0:
                C[bx * columns + warp] = total[0]

    return kernel


def attention(
    heads: int,
    queries: int,
    keys: int,
    dim: int,
    *,
    block_m: int,
    block_n: int,
    stages: int,
    threads: int,
    dtype: str = "bfloat16",
) -> Any:
    """Attention whose queries stay in registers, with keys and values alone in shared memory.

    The steps of gau-nernst/learn-cuda 07_attention: a block takes `block_m` queries of a head and
    walks its keys in blocks of `block_n`.
    """
    scale = 1.44269504 / dim**0.5

    @T.prim_func
    def kernel(
        Q: T.Tensor((heads, queries, dim), dtype),
        K: T.Tensor((heads, keys, dim), dtype),
        V: T.Tensor((heads, keys, dim), dtype),
        Out: T.Tensor((heads, queries, dim), dtype),
    ):
        with T.Kernel(T.ceildiv(queries, block_m), heads, threads=threads) as (bx, by):
            q = T.alloc_fragment((block_m, dim), dtype)
            k_shared = T.alloc_shared((block_n, dim), dtype)
            v_shared = T.alloc_shared((block_n, dim), dtype)
            scores = T.alloc_fragment((block_m, block_n), "float32")
            weights = T.alloc_fragment((block_m, block_n), dtype)
            out = T.alloc_fragment((block_m, dim), "float32")
            largest = T.alloc_fragment((block_m,), "float32")
            before = T.alloc_fragment((block_m,), "float32")
            factor = T.alloc_fragment((block_m,), "float32")
            added = T.alloc_fragment((block_m,), "float32")
            total = T.alloc_fragment((block_m,), "float32")
            T.copy(Q[by, bx * block_m : (bx + 1) * block_m, :], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity("float32"))
            for step in T.Pipelined(T.ceildiv(keys, block_n), num_stages=stages):
                T.copy(K[by, step * block_n : (step + 1) * block_n, :], k_shared)
                T.clear(scores)
                T.gemm(q, k_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(largest, before)
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(block_m):
                    factor[i] = T.exp2((before[i] - largest[i]) * scale)
                for i, j in T.Parallel(block_m, block_n):
                    scores[i, j] = T.exp2(scores[i, j] * scale - largest[i] * scale)
                T.reduce_sum(scores, added, dim=1)
                for i in T.Parallel(block_m):
                    total[i] = total[i] * factor[i] + added[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block_m, dim):
                    out[i, j] *= factor[i]
                T.copy(V[by, step * block_n : (step + 1) * block_n, :], v_shared)
                T.gemm(weights, v_shared, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_m, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[by, bx * block_m : (bx + 1) * block_m, :])

    return kernel
