"""The elementwise kernels of torch and the fp32 products of cuBLAS, written out in TVMScript.

What torch and cuBLAS launch for these operations (their names and launch figures are in
`public.csv`) is public only as CUDA or as a binary.  These have the same decomposition: blocks,
threads, vector width, tiles.  Softmax and layer norm are in `library_rows.py`.
"""

from __future__ import annotations

from typing import Any

from tvm.script import tirx as T

Kernel = Any


def elementwise(operation: str, dtype: str = "float32") -> Kernel:
    """``vectorized_elementwise_kernel<4>``: 128 threads, four of the `n` elements each.

    Halves are computed with as floats; two arrays are read for ``add mul div pow`` of floats.
    """
    if operation in ("add", "mul", "div", "pow"):
        return _binary(operation)
    return _unary(operation, dtype)


def _binary(operation: str) -> Kernel:
    apply = {
        "add": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "pow": lambda a, b: T.pow(a, b),
    }[operation]

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, y: T.handle, out: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        Out = T.match_buffer(out, (n,), "float32")
        for block in T.thread_binding(n // 512, thread="blockIdx.x"):
            for thread in T.thread_binding(128, thread="threadIdx.x"):
                for lane in T.vectorized(4):
                    Out[block * 512 + thread * 4 + lane] = apply(
                        X[block * 512 + thread * 4 + lane], Y[block * 512 + thread * 4 + lane]
                    )

    return kernel


def _unary(operation: str, dtype: str) -> Kernel:
    apply = {
        "addu": lambda a: a + T.float32(1.5),
        "mulu": lambda a: a * T.float32(1.5),
        "divu": lambda a: a * T.float32(0.7),  # torch multiplies by the reciprocal of a scalar
        "powu": lambda a: T.pow(a, T.float32(2.5)),
        "relu": lambda a: T.max(a, T.float32(0)),
        "tanh": lambda a: T.tanh(a),
        "gelu": lambda a: (
            a * T.float32(0.5) * (T.float32(1) + T.erf(a * T.float32(0.7071067811865476)))
        ),
    }[operation]

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, out: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), dtype)
        Out = T.match_buffer(out, (n,), dtype)
        for block in T.thread_binding(n // 512, thread="blockIdx.x"):
            for thread in T.thread_binding(128, thread="threadIdx.x"):
                for lane in T.vectorized(4):
                    Out[block * 512 + thread * 4 + lane] = T.Cast(
                        dtype, apply(T.Cast("float32", X[block * 512 + thread * 4 + lane]))
                    )

    return kernel


def sgemm(
    batch: int,
    m: int,
    n: int,
    k: int,
    tile_m: int,
    tile_n: int,
    threads: int,
    transposed: bool = False,
) -> Kernel:
    """A register-tiled fp32 product of (m, k) and (k, n), k in steps of 8, double-buffered.

    With `transposed` the second matrix lies as (n, k), as the weights of a linear layer do.

    The structure of cuBLAS's ``sgemm_<tile>`` and CUTLASS's ``simt_sgemm_<tile>_8x``: while a step
    is multiplied from one half of shared memory, the next one travels to registers.  The 4 x 8
    lanes of a warp hold pieces of 4 x 4 results, four floats a load, and what lies along k is kept
    with its rows padded, so that no load from or store to shared memory meets a bank twice.
    """
    step = 8
    each_n = 8 if tile_m * tile_n // threads >= 64 else 4
    each_m = tile_m * tile_n // threads // each_n
    warp_m, warp_n = 4 * each_m, 8 * each_n
    across = tile_n // warp_n
    load_a, load_b = tile_m * step // threads, tile_n * step // threads
    steps = -(-k // step)
    second = (batch, n, k) if transposed else (batch, k, n)
    row_b = tile_n + 4 if transposed else tile_n

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (batch, m, k), "float32")
        B = T.match_buffer(b, second, "float32")
        C = T.match_buffer(c, (batch, m, n), "float32")
        for bz in T.thread_binding(batch, thread="blockIdx.z"):
            for by in T.thread_binding((m + tile_m - 1) // tile_m, thread="blockIdx.y"):
                for bx in T.thread_binding((n + tile_n - 1) // tile_n, thread="blockIdx.x"):
                    for t in T.thread_binding(threads, thread="threadIdx.x"):
                        As = T.alloc_buffer((2, step, tile_m + 4), "float32", scope="shared")
                        Bs = T.alloc_buffer((2, step, row_b), "float32", scope="shared")
                        a_next = T.alloc_buffer((load_a,), "float32", scope="local")
                        b_next = T.alloc_buffer((load_b,), "float32", scope="local")
                        a_own = T.alloc_buffer((each_m,), "float32", scope="local")
                        b_own = T.alloc_buffer((each_n,), "float32", scope="local")
                        acc = T.alloc_buffer((each_m, each_n), "float32", scope="local")
                        for i in T.unroll(each_m):
                            for j in T.unroll(each_n):
                                acc[i, j] = T.float32(0)
                        for i in T.unroll(load_a):
                            if by * tile_m + (i * threads + t) // step < m:
                                As[0, t % step, (i * threads + t) // step] = A[
                                    bz, by * tile_m + (i * threads + t) // step, t % step
                                ]
                        for i in T.unroll(load_b):
                            if transposed:
                                if bx * tile_n + (i * threads + t) // step < n:
                                    Bs[0, t % step, (i * threads + t) // step] = B[
                                        bz, bx * tile_n + (i * threads + t) // step, t % step
                                    ]
                            elif bx * tile_n + (i * threads + t) % tile_n < n:
                                Bs[0, (i * threads + t) // tile_n, (i * threads + t) % tile_n] = B[
                                    bz,
                                    (i * threads + t) // tile_n,
                                    bx * tile_n + (i * threads + t) % tile_n,
                                ]
                        T.tvm_storage_sync("shared")
                        for ko in range(steps):
                            for i in T.unroll(load_a):
                                if (
                                    by * tile_m + (i * threads + t) // step < m
                                    and (ko + 1) * step + t % step < k
                                ):
                                    a_next[i] = A[
                                        bz,
                                        by * tile_m + (i * threads + t) // step,
                                        (ko + 1) * step + t % step,
                                    ]
                            for i in T.unroll(load_b):
                                if transposed:
                                    if (
                                        bx * tile_n + (i * threads + t) // step < n
                                        and (ko + 1) * step + t % step < k
                                    ):
                                        b_next[i] = B[
                                            bz,
                                            bx * tile_n + (i * threads + t) // step,
                                            (ko + 1) * step + t % step,
                                        ]
                                elif (
                                    bx * tile_n + (i * threads + t) % tile_n < n
                                    and (ko + 1) * step + (i * threads + t) // tile_n < k
                                ):
                                    b_next[i] = B[
                                        bz,
                                        (ko + 1) * step + (i * threads + t) // tile_n,
                                        bx * tile_n + (i * threads + t) % tile_n,
                                    ]
                            for ki in T.unroll(step):
                                for i in T.unroll(each_m // 4):
                                    for v in T.vectorized(4):
                                        a_own[i * 4 + v] = As[
                                            ko % 2,
                                            ki,
                                            t // 32 // across * warp_m
                                            + i * 16
                                            + t % 32 // 8 * 4
                                            + v,
                                        ]
                                for j in T.unroll(each_n // 4):
                                    for v in T.vectorized(4):
                                        b_own[j * 4 + v] = Bs[
                                            ko % 2,
                                            ki,
                                            t // 32 % across * warp_n + j * 32 + t % 8 * 4 + v,
                                        ]
                                for i in T.unroll(each_m):
                                    for j in T.unroll(each_n):
                                        acc[i, j] = acc[i, j] + a_own[i] * b_own[j]
                            for i in T.unroll(load_a):
                                As[(ko + 1) % 2, t % step, (i * threads + t) // step] = a_next[i]
                            for i in T.unroll(load_b):
                                if transposed:
                                    Bs[(ko + 1) % 2, t % step, (i * threads + t) // step] = b_next[
                                        i
                                    ]
                                else:
                                    Bs[
                                        (ko + 1) % 2,
                                        (i * threads + t) // tile_n,
                                        (i * threads + t) % tile_n,
                                    ] = b_next[i]
                            T.tvm_storage_sync("shared")
                        for i in T.unroll(each_m):
                            for j in T.unroll(each_n // 4):
                                if (
                                    by * tile_m
                                    + t // 32 // across * warp_m
                                    + i // 4 * 16
                                    + t % 32 // 8 * 4
                                    + i % 4
                                    < m
                                    and bx * tile_n + t // 32 % across * warp_n + j * 32 + t % 8 * 4
                                    < n
                                ):
                                    for v in T.vectorized(4):
                                        C[
                                            bz,
                                            by * tile_m
                                            + t // 32 // across * warp_m
                                            + i // 4 * 16
                                            + t % 32 // 8 * 4
                                            + i % 4,
                                            bx * tile_n
                                            + t // 32 % across * warp_n
                                            + j * 32
                                            + t % 8 * 4
                                            + v,
                                        ] = acc[i, j * 4 + v]

    return kernel
