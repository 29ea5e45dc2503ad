"""Products of published tutorials on the scalar cores, written out in TVMScript.

leimao/CUDA-GEMM-Optimization (sizes in 64 bits, guarded) and siboehm/SGEMM_CUDA (32 bits, without
guards): ``C = alpha * A @ B + beta * C`` of (m, k) and (k, n), from one thread an element to tiles
in shared memory and registers.
"""

from __future__ import annotations

from typing import Any

from tvm.script import tirx as T

Kernel = Any


def naive(coalesced: bool, dtype: str = "float32", integer: str = "int64") -> Kernel:
    """``gemm_v00`` and ``gemm_v01``: a thread an element, neighbours in a column or in a row."""
    size = getattr(T, integer)

    def row(down: Any, across: Any) -> Any:
        return down if coalesced else across

    def column(down: Any, across: Any) -> Any:
        return across if coalesced else down

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(a: T.handle, b: T.handle, c: T.handle, alpha: T.float32, beta: T.float32):
        m = size()
        n = size()
        k = size()
        A = T.match_buffer(a, (m, k), dtype)
        B = T.match_buffer(b, (k, n), dtype)
        C = T.match_buffer(c, (m, n), dtype)
        for by in T.thread_binding((row(m, n) + 31) // 32, thread="blockIdx.y"):
            for bx in T.thread_binding((column(m, n) + 31) // 32, thread="blockIdx.x"):
                for ty in T.thread_binding(32, thread="threadIdx.y"):
                    for tx in T.thread_binding(32, thread="threadIdx.x"):
                        acc = T.alloc_buffer((1,), dtype, scope="local")
                        if by * 32 + ty < row(m, n) and bx * 32 + tx < column(m, n):
                            acc[0] = T.Cast(dtype, 0)
                            for i in range(k):
                                acc[0] = (
                                    acc[0]
                                    + A[row(by * 32 + ty, bx * 32 + tx), i]
                                    * B[i, column(by * 32 + ty, bx * 32 + tx)]
                                )
                            C[
                                row(by * 32 + ty, bx * 32 + tx), column(by * 32 + ty, bx * 32 + tx)
                            ] = (
                                T.Cast(dtype, alpha) * acc[0]
                                + T.Cast(dtype, beta)
                                * C[
                                    row(by * 32 + ty, bx * 32 + tx),
                                    column(by * 32 + ty, bx * 32 + tx),
                                ]
                            )

    return kernel


def tiled(
    tile_m: int,
    tile_n: int,
    step: int,
    each_m: int,
    each_n: int,
    dtype: str = "float32",
    integer: str = "int64",
    guarded: bool = True,
    transposed: bool = False,
    vector: int = 1,
    inner: int = 1,
    row_blocks_first: bool = False,
) -> Kernel:
    """``gemm_v02`` to ``gemm_v05``: tiles in shared memory, `each_m` x `each_n` results a thread.

    `transposed`: the tile of A lies along k.  `vector`: elements of a load from global memory,
    `inner`: of a load of B from shared memory.  `row_blocks_first`: x counts the blocks along m.
    """
    size = getattr(T, integer)
    across = tile_n // each_n
    threads = tile_m * tile_n // each_m // each_n
    load_a = tile_m * step // threads // vector
    load_b = tile_n * step // threads // vector
    out = min(vector, each_n)

    def within(*conditions: Any) -> Any:
        if not guarded:
            return True
        result = conditions[0]
        for condition in conditions[1:]:
            result = T.And(result, condition)
        return result

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(a: T.handle, b: T.handle, c: T.handle, alpha: T.float32, beta: T.float32):
        m = size()
        n = size()
        k = size()
        A = T.match_buffer(a, (m, k), dtype)
        B = T.match_buffer(b, (k, n), dtype)
        C = T.match_buffer(c, (m, n), dtype)
        for by in T.thread_binding(
            (m + tile_m - 1) // tile_m, thread="blockIdx.x" if row_blocks_first else "blockIdx.y"
        ):
            for bx in T.thread_binding(
                (n + tile_n - 1) // tile_n,
                thread="blockIdx.y" if row_blocks_first else "blockIdx.x",
            ):
                for t in T.thread_binding(threads, thread="threadIdx.x"):
                    As = T.alloc_buffer(
                        (step, tile_m) if transposed else (tile_m, step), dtype, scope="shared"
                    )
                    Bs = T.alloc_buffer((step, tile_n), dtype, scope="shared")
                    acc = T.alloc_buffer((each_m, each_n), dtype, scope="local")
                    a_own = T.alloc_buffer((each_m,), dtype, scope="local")
                    b_own = T.alloc_buffer((each_n,), dtype, scope="local")
                    next_a = T.alloc_buffer((vector,), dtype, scope="local")
                    for i in T.unroll(each_m):
                        for j in T.unroll(each_n):
                            acc[i, j] = T.Cast(dtype, 0)
                    for ko in range((k + step - 1) // step):
                        for i in T.unroll(load_a):
                            if within(
                                by * tile_m + (i * threads + t) * vector // step < m,
                                ko * step + (i * threads + t) * vector % step < k,
                            ):
                                for v in T.vectorized(vector):
                                    next_a[v] = A[
                                        by * tile_m + (i * threads + t) * vector // step,
                                        ko * step + (i * threads + t) * vector % step + v,
                                    ]
                            if transposed:
                                for v in T.unroll(vector):
                                    As[
                                        (i * threads + t) * vector % step + v,
                                        (i * threads + t) * vector // step,
                                    ] = next_a[v]
                            else:
                                for v in T.vectorized(vector):
                                    As[
                                        (i * threads + t) * vector // step,
                                        (i * threads + t) * vector % step + v,
                                    ] = next_a[v]
                        for i in T.unroll(load_b):
                            if within(
                                ko * step + (i * threads + t) * vector // tile_n < k,
                                bx * tile_n + (i * threads + t) * vector % tile_n < n,
                            ):
                                for v in T.vectorized(vector):
                                    Bs[
                                        (i * threads + t) * vector // tile_n,
                                        (i * threads + t) * vector % tile_n + v,
                                    ] = B[
                                        ko * step + (i * threads + t) * vector // tile_n,
                                        bx * tile_n + (i * threads + t) * vector % tile_n + v,
                                    ]
                        T.tvm_storage_sync("shared")
                        for ki in T.unroll(step):
                            for i in T.unroll(each_m):
                                if transposed:
                                    a_own[i] = As[ki, t // across * each_m + i]
                                else:
                                    a_own[i] = As[t // across * each_m + i, ki]
                            for j in T.unroll(each_n // inner):
                                for v in T.vectorized(inner):
                                    b_own[j * inner + v] = Bs[
                                        ki, t % across * each_n + j * inner + v
                                    ]
                            for i in T.unroll(each_m):
                                for j in T.unroll(each_n):
                                    acc[i, j] = acc[i, j] + a_own[i] * b_own[j]
                        T.tvm_storage_sync("shared")
                    for i in T.unroll(each_m):
                        for j in T.unroll(each_n // out):
                            if within(
                                by * tile_m + t // across * each_m + i < m,
                                bx * tile_n + t % across * each_n + j * out < n,
                            ):
                                for v in T.vectorized(out):
                                    C[
                                        by * tile_m + t // across * each_m + i,
                                        bx * tile_n + t % across * each_n + j * out + v,
                                    ] = (
                                        T.Cast(dtype, alpha) * acc[i, j * out + v]
                                        + T.Cast(dtype, beta)
                                        * C[
                                            by * tile_m + t // across * each_m + i,
                                            bx * tile_n + t % across * each_n + j * out + v,
                                        ]
                                    )

    return kernel
