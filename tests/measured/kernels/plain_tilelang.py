"""Memory-bound kernels in tilelang, as its users write them, and a product split along k.

Annotations are evaluated at once: tilelang does not find names that only they use otherwise.
"""

from typing import Any

import tilelang.language as T


def add(m: int, n: int, *, block_m: int, block_n: int, threads: int, dtype: str = "float16") -> Any:
    """C = A + B by tiles."""

    @T.prim_func
    def kernel(A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=threads) as (bx, by):
            for i, j in T.Parallel(block_m, block_n):
                C[by * block_m + i, bx * block_n + j] = (
                    A[by * block_m + i, bx * block_n + j] + B[by * block_m + i, bx * block_n + j]
                )

    return kernel


def rms_norm(m: int, n: int, *, block_m: int, threads: int, dtype: str = "float16") -> Any:
    """Rows over the root of their mean square, whole rows in registers."""

    @T.prim_func
    def kernel(X: T.Tensor((m, n), dtype), Y: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(m, block_m), threads=threads) as by:
            rows = T.alloc_fragment((block_m, n), "float32")
            squares = T.alloc_fragment((block_m, n), "float32")
            total = T.alloc_fragment((block_m,), "float32")
            T.copy(X[by * block_m, 0], rows)
            for i, j in T.Parallel(block_m, n):
                squares[i, j] = rows[i, j] * rows[i, j]
            T.reduce_sum(squares, total, dim=1)
            for i, j in T.Parallel(block_m, n):
                rows[i, j] *= T.rsqrt(total[i] / n + 1e-5)
            T.copy(rows, Y[by * block_m, 0])

    return kernel


def softmax(m: int, n: int, *, block_m: int, threads: int, dtype: str = "float16") -> Any:
    """Softmax of rows, whole rows in registers."""

    @T.prim_func
    def kernel(X: T.Tensor((m, n), dtype), Y: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(m, block_m), threads=threads) as by:
            rows = T.alloc_fragment((block_m, n), "float32")
            peak = T.alloc_fragment((block_m,), "float32")
            total = T.alloc_fragment((block_m,), "float32")
            T.copy(X[by * block_m, 0], rows)
            T.reduce_max(rows, peak, dim=1)
            for i, j in T.Parallel(block_m, n):
                rows[i, j] = T.exp2((rows[i, j] - peak[i]) * 1.44269504)
            T.reduce_sum(rows, total, dim=1)
            for i, j in T.Parallel(block_m, n):
                rows[i, j] /= total[i]
            T.copy(rows, Y[by * block_m, 0])

    return kernel


def transpose(m: int, n: int, *, block: int, threads: int, dtype: str = "float32") -> Any:
    """B = A transposed, tiles through shared memory."""

    @T.prim_func
    def kernel(A: T.Tensor((m, n), dtype), B: T.Tensor((n, m), dtype)):
        with T.Kernel(T.ceildiv(n, block), T.ceildiv(m, block), threads=threads) as (bx, by):
            tile = T.alloc_shared((block, block), dtype)
            T.copy(A[by * block, bx * block], tile)
            for i, j in T.Parallel(block, block):
                B[bx * block + i, by * block + j] = tile[j, i]

    return kernel


def split_k(
    m: int, n: int, k: int, *, block_m: int, block_n: int, block_k: int, splits: int, threads: int
) -> Any:
    """A product of which `splits` blocks add up each tile, atomically in float32."""
    part = k // splits

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((k, n), "float16"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), splits, threads=threads) as (
            bx,
            by,
            bz,
        ):
            A_shared = T.alloc_shared((block_m, block_k), "float16")
            B_shared = T.alloc_shared((block_k, block_n), "float16")
            acc = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(part, block_k), num_stages=3):
                T.copy(A[by * block_m, bz * part + ko * block_k], A_shared)
                T.copy(B[bz * part + ko * block_k, bx * block_n], B_shared)
                T.gemm(A_shared, B_shared, acc)
            for i, j in T.Parallel(block_m, block_n):
                T.atomic_add(C[by * block_m + i, bx * block_n + j], acc[i, j])

    return kernel
