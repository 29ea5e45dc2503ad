"""Kernels of R100001/Programming-Massively-Parallel-Processors, written out in TVMScript.

The exercises of the book of that name, timed with nvbench on a GeForce RTX 3080: additions,
convolutions, a conversion to grey, products of matrices and vectors.  Blocks, threads, indices,
guards and the sizes that are known when a kernel is compiled are as written there.
"""

from __future__ import annotations

from typing import Any

from tvm.script import tirx as T

Kernel = Any


def add(coalesced: bool) -> Kernel:
    """``array_add``: 16 x 16 threads, neighbours along a row or along a column."""

    def row(y: Any, x: Any) -> Any:
        return y if coalesced else x

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(a: T.handle, b: T.handle, c: T.handle):
        m = T.int32()
        n = T.int32()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (n, m), "float32")
        C = T.match_buffer(c, (n, m), "float32")
        for by in T.thread_binding((n + 15) // 16, thread="blockIdx.y"):
            for bx in T.thread_binding((m + 15) // 16, thread="blockIdx.x"):
                for ty in T.thread_binding(16, thread="threadIdx.y"):
                    for tx in T.thread_binding(16, thread="threadIdx.x"):
                        if (
                            row(by * 16 + ty, bx * 16 + tx) < n
                            and row(bx * 16 + tx, by * 16 + ty) < m
                        ):
                            C[row(by * 16 + ty, bx * 16 + tx), row(bx * 16 + tx, by * 16 + ty)] = (
                                A[row(by * 16 + ty, bx * 16 + tx), row(bx * 16 + tx, by * 16 + ty)]
                                + B[
                                    row(by * 16 + ty, bx * 16 + tx), row(bx * 16 + tx, by * 16 + ty)
                                ]
                            )

    return kernel


def convolution_1d(threads: int) -> Kernel:
    """``convolution_1D_basic_kernel``: a thread an element; its limits are constants of 64 bits."""

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, mask: T.handle, out: T.handle):
        n = T.int32()
        width = T.int32()
        X = T.match_buffer(x, (n,), "float32")
        M = T.match_buffer(mask, (width,), "float32")
        Out = T.match_buffer(out, (n,), "float32")
        for block in T.thread_binding((n + threads - 1) // threads, thread="blockIdx.x"):
            for t in T.thread_binding(threads, thread="threadIdx.x"):
                total = T.alloc_buffer((1,), "float32", scope="local")
                if block * threads + t < n:
                    total[0] = T.float32(0)
                    for j in range(width):
                        if (
                            block * threads + t - width // 2 + j >= 0
                            and block * threads + t - width // 2 + j < n
                        ):
                            total[0] = total[0] + X[block * threads + t - width // 2 + j] * M[j]
                    Out[block * threads + t] = T.Cast(
                        "float32",
                        T.min(T.max(T.Cast("float64", total[0]), T.float64(0)), T.float64(1)),
                    )

    return kernel


def convolution_2d() -> Kernel:
    """``convolution_2D_basic_kernel``: 16 x 16 threads, one channel after the other."""

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, mask: T.handle, out: T.handle):
        height = T.int32()
        width = T.int32()
        channels = T.int32()
        tall = T.int32()
        wide = T.int32()
        X = T.match_buffer(x, (height, width, channels), "float32")
        M = T.match_buffer(mask, (tall, wide), "float32")
        Out = T.match_buffer(out, (height, width, channels), "float32")
        for by in T.thread_binding((height + 15) // 16, thread="blockIdx.y"):
            for bx in T.thread_binding((width + 15) // 16, thread="blockIdx.x"):
                for ty in T.thread_binding(16, thread="threadIdx.y"):
                    for tx in T.thread_binding(16, thread="threadIdx.x"):
                        total = T.alloc_buffer((1,), "float32", scope="local")
                        if by * 16 + ty < height and bx * 16 + tx < width:
                            for c in range(channels):
                                total[0] = T.float32(0)
                                for k in range(tall):
                                    for j in range(wide):
                                        if (
                                            by * 16 + ty - tall // 2 + k >= 0
                                            and by * 16 + ty - tall // 2 + k < height
                                            and bx * 16 + tx - wide // 2 + j >= 0
                                            and bx * 16 + tx - wide // 2 + j < width
                                        ):
                                            total[0] = (
                                                total[0]
                                                + X[
                                                    by * 16 + ty - tall // 2 + k,
                                                    bx * 16 + tx - wide // 2 + j,
                                                    c,
                                                ]
                                                * M[k, j]
                                            )
                                Out[by * 16 + ty, bx * 16 + tx, c] = T.Cast(
                                    "float32",
                                    T.min(
                                        T.max(T.Cast("float64", total[0]), T.float64(0)),
                                        T.float64(1),
                                    ),
                                )

    return kernel


def grey() -> Kernel:
    """``color_to_grayscale_conversion``: three bytes to one, 16 x 16 threads."""

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, out: T.handle):
        height = T.int32()
        width = T.int32()
        X = T.match_buffer(x, (height, width, 3), "uint8")
        Out = T.match_buffer(out, (height, width), "uint8")
        for by in T.thread_binding((height + 15) // 16, thread="blockIdx.y"):
            for bx in T.thread_binding((width + 15) // 16, thread="blockIdx.x"):
                for ty in T.thread_binding(16, thread="threadIdx.y"):
                    for tx in T.thread_binding(16, thread="threadIdx.x"):
                        if by * 16 + ty < height and bx * 16 + tx < width:
                            Out[by * 16 + ty, bx * 16 + tx] = T.Cast(
                                "uint8",
                                T.float32(0.21)
                                * T.Cast("float32", X[by * 16 + ty, bx * 16 + tx, 0])
                                + T.float32(0.71)
                                * T.Cast("float32", X[by * 16 + ty, bx * 16 + tx, 1])
                                + T.float32(0.07)
                                * T.Cast("float32", X[by * 16 + ty, bx * 16 + tx, 2]),
                            )

    return kernel


def matrix_vector(threads: int, tiled: bool) -> Kernel:
    """``mat_vec_mul`` and ``mat_vec_mul_tiles``: a thread a row, the vector through shared memory
    where it is `tiled`."""

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(matrix: T.handle, vector: T.handle, out: T.handle):
        m = T.int32()
        n = T.int32()
        A = T.match_buffer(matrix, (m, n), "uint32")
        V = T.match_buffer(vector, (n,), "uint32")
        Out = T.match_buffer(out, (m,), "uint32")
        for block in T.thread_binding((m + threads - 1) // threads, thread="blockIdx.x"):
            for t in T.thread_binding(threads, thread="threadIdx.x"):
                total = T.alloc_buffer((1,), "uint32", scope="local")
                kept = T.alloc_buffer((threads,), "uint32", scope="shared")
                if tiled:
                    total[0] = T.uint32(0)
                    for phase in range((n + threads - 1) // threads):
                        kept[t] = T.if_then_else(
                            phase * threads + t < n, V[phase * threads + t], T.uint32(0)
                        )
                        T.tvm_storage_sync("shared")
                        if block * threads + t < m:
                            for k in range(T.min(threads, n - phase * threads)):
                                total[0] = (
                                    total[0] + A[block * threads + t, phase * threads + k] * kept[k]
                                )
                        T.tvm_storage_sync("shared")
                    Out[block * threads + t] = total[0]
                elif block * threads + t < m:
                    total[0] = T.uint32(0)
                    for k in range(n):
                        total[0] = total[0] + A[block * threads + t, k] * V[k]
                    Out[block * threads + t] = total[0]

    return kernel


def product(width: int, tiled: bool) -> Kernel:
    """``mat_mat_mul`` and ``mat_mat_mul_tiles``: `width` x `width` threads, an element each.

    The width of the tiles is known when the kernel runs.
    """

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(a: T.handle, b: T.handle, c: T.handle, tile: T.int32):
        m = T.int32()
        n = T.int32()
        k = T.int32()
        A = T.match_buffer(a, (m, k), "uint32")
        B = T.match_buffer(b, (k, n), "uint32")
        C = T.match_buffer(c, (m, n), "uint32")
        for by in T.thread_binding((m + width - 1) // width, thread="blockIdx.y"):
            for bx in T.thread_binding((n + width - 1) // width, thread="blockIdx.x"):
                for ty in T.thread_binding(width, thread="threadIdx.y"):
                    for tx in T.thread_binding(width, thread="threadIdx.x"):
                        total = T.alloc_buffer((1,), "uint32", scope="local")
                        As = T.alloc_buffer((width, width), "uint32", scope="shared")
                        Bs = T.alloc_buffer((width, width), "uint32", scope="shared")
                        if tiled:
                            total[0] = T.uint32(0)
                            for phase in range((k + width - 1) // width):
                                As[ty, tx] = T.if_then_else(
                                    by * width + ty < m and phase * width + tx < k,
                                    A[by * width + ty, phase * width + tx],
                                    T.uint32(0),
                                )
                                Bs[ty, tx] = T.if_then_else(
                                    phase * width + ty < k and bx * width + tx < n,
                                    B[phase * width + ty, bx * width + tx],
                                    T.uint32(0),
                                )
                                T.tvm_storage_sync("shared")
                                for i in range(tile):
                                    total[0] = total[0] + As[ty, i] * Bs[i, tx]
                                T.tvm_storage_sync("shared")
                            if by * width + ty < m and bx * width + tx < n:
                                C[by * width + ty, bx * width + tx] = total[0]
                        elif by * width + ty < m and bx * width + tx < n:
                            total[0] = T.uint32(0)
                            for i in range(k):
                                total[0] = total[0] + A[by * width + ty, i] * B[i, bx * width + tx]
                            C[by * width + ty, bx * width + tx] = total[0]

    return kernel


def mma_by_scalars(tiles: int) -> Kernel:
    """``mma_matmul_1_0`` and ``1_1`` of spatters/mma-matmul: 8 warps, `tiles` x `tiles` products of
    16 x 8 each, operands loaded one half at a time."""
    tile = 32 * tiles

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(a: T.handle, b: T.handle, c: T.handle):
        m = T.int32()
        n = T.int32()
        k = T.int32()
        A = T.match_buffer(a, (m, k), "float16")
        B = T.match_buffer(b, (k, n), "float16")
        C = T.match_buffer(c, (m, n), "float32")
        for by in T.thread_binding(m // tile, thread="blockIdx.y"):
            for bx in T.thread_binding(n // tile, thread="blockIdx.x"):
                for ty in T.thread_binding(16, thread="threadIdx.y"):
                    for tx in T.thread_binding(16, thread="threadIdx.x"):
                        As = T.alloc_buffer((tile, 16), "float16", scope="shared")
                        Bs = T.alloc_buffer((16, tile), "float16", scope="shared")
                        a_own = T.alloc_buffer((8,), "float16", scope="local")
                        b_own = T.alloc_buffer((4,), "float16", scope="local")
                        acc = T.alloc_buffer((tiles, tiles, 4), "float32", scope="local")
                        for i in T.unroll(tiles):
                            for j in T.unroll(tiles):
                                for e in T.unroll(4):
                                    acc[i, j, e] = T.float32(0)
                        for ko in range(k // 16):
                            for i in T.unroll(2 * tiles):
                                As[i * 16 + ty, tx] = A[by * tile + i * 16 + ty, ko * 16 + tx]
                            for i in T.unroll(2 * tiles):
                                Bs[ty, i * 16 + tx] = B[ko * 16 + ty, bx * tile + i * 16 + tx]
                            T.tvm_storage_sync("shared")
                            for i in T.unroll(tiles):
                                for e in T.unroll(8):
                                    a_own[e] = As[
                                        i * 32
                                        + (ty * 16 + tx) // 128 * 16
                                        + (ty * 16 + tx) % 32 // 4
                                        + e // 2 % 2 * 8,
                                        (ty * 16 + tx) % 4 * 2 + e % 2 + e // 4 * 8,
                                    ]
                                for j in T.unroll(tiles):
                                    for e in T.unroll(4):
                                        b_own[e] = Bs[
                                            (ty * 16 + tx) % 4 * 2 + e % 2 + e // 2 * 8,
                                            j * 32
                                            + (ty * 16 + tx) // 32 % 4 * 8
                                            + (ty * 16 + tx) % 32 // 4,
                                        ]
                                    T.evaluate(
                                        T.ptx_legacy.mma(
                                            "m16n8k16",
                                            "row",
                                            "col",
                                            "fp16",
                                            "fp16",
                                            "fp32",
                                            a_own.data,
                                            0,
                                            b_own.data,
                                            0,
                                            acc.data,
                                            (i * tiles + j) * 4,
                                            False,
                                            dtype="float32",
                                        )
                                    )
                            T.tvm_storage_sync("shared")
                        for i in T.unroll(tiles):
                            for j in T.unroll(tiles):
                                for e in T.unroll(4):
                                    C[
                                        by * tile
                                        + i * 32
                                        + (ty * 16 + tx) // 128 * 16
                                        + (ty * 16 + tx) % 32 // 4
                                        + e // 2 * 8,
                                        bx * tile
                                        + j * 32
                                        + (ty * 16 + tx) // 32 % 4 * 8
                                        + (ty * 16 + tx) % 4 * 2
                                        + e % 2,
                                    ] = acc[i, j, e]

    return kernel
