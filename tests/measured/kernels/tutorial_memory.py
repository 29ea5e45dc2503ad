"""Kernels of published tutorials that move memory, written out in TVMScript.

Each tutorial improves one kernel step by step and prints the time of every step: copies, transposes
and sums of rows (leimao.github.io), sums of a whole array (BBuf/how-to-optim-algorithm-in-cuda),
additions and products of a matrix and a vector (Liu-xiandong/How_to_optimize_in_GPU), a stencil
(amd-lab-notes).  Blocks, threads, vectors, indices and the sizes that are known when the kernel is
compiled are as written there.
"""

from __future__ import annotations

from typing import Any

from tvm.script import tirx as T

Kernel = Any


def copy(dtype: str, lanes: int = 1, through_shared: bool = False) -> Kernel:
    """``custom_device_memcpy``: 1024 threads, `lanes` elements each, n a run-time size."""

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, out: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), dtype)
        Out = T.match_buffer(out, (n,), dtype)
        for block in T.thread_binding((n // lanes + 1023) // 1024, thread="blockIdx.x"):
            for thread in T.thread_binding(1024, thread="threadIdx.x"):
                kept = T.alloc_buffer((1024,), dtype, scope="shared")
                if through_shared:
                    if block * 1024 + thread < n:
                        kept[thread] = X[block * 1024 + thread]
                        Out[block * 1024 + thread] = kept[thread]
                elif (block * 1024 + thread) * lanes < n:
                    for lane in T.vectorized(lanes):
                        Out[(block * 1024 + thread) * lanes + lane] = X[
                            (block * 1024 + thread) * lanes + lane
                        ]

    return kernel


def strided_copy(blocks: int = 32) -> Kernel:
    """``copy`` of floats by a fixed grid whose threads take one element after the other."""

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, out: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Out = T.match_buffer(out, (n,), "float32")
        for block in T.thread_binding(blocks, thread="blockIdx.x"):
            for thread in T.thread_binding(1024, thread="threadIdx.x"):
                for i in range((n + blocks * 1024 - 1) // (blocks * 1024)):
                    if i * (blocks * 1024) + block * 1024 + thread < n:
                        Out[i * (blocks * 1024) + block * 1024 + thread] = X[
                            i * (blocks * 1024) + block * 1024 + thread
                        ]

    return kernel


def transpose(coalesced: str, pad: int = 1, column_first: bool = True) -> Kernel:
    """A transpose by 32 x 32 threads whose reads, writes or both are `coalesced`.

    For ``"both"`` a tile goes through shared memory with rows padded by `pad`, its rows stored as
    columns (`column_first`) or its columns read.
    """

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, out: T.handle):
        m = T.int64()
        n = T.int64()
        X = T.match_buffer(x, (m, n), "float32")
        Out = T.match_buffer(out, (n, m), "float32")
        if coalesced == "write":
            for by in T.thread_binding((n + 31) // 32, thread="blockIdx.y"):
                for bx in T.thread_binding((m + 31) // 32, thread="blockIdx.x"):
                    for ty in T.thread_binding(32, thread="threadIdx.y"):
                        for tx in T.thread_binding(32, thread="threadIdx.x"):
                            if by * 32 + ty < n and bx * 32 + tx < m:
                                Out[by * 32 + ty, bx * 32 + tx] = X[bx * 32 + tx, by * 32 + ty]
        else:
            for by in T.thread_binding((m + 31) // 32, thread="blockIdx.y"):
                for bx in T.thread_binding((n + 31) // 32, thread="blockIdx.x"):
                    for ty in T.thread_binding(32, thread="threadIdx.y"):
                        for tx in T.thread_binding(32, thread="threadIdx.x"):
                            tile = T.alloc_buffer((32, 32 + pad), "float32", scope="shared")
                            if coalesced == "read":
                                if by * 32 + ty < m and bx * 32 + tx < n:
                                    Out[bx * 32 + tx, by * 32 + ty] = X[by * 32 + ty, bx * 32 + tx]
                            else:
                                if by * 32 + ty < m and bx * 32 + tx < n:
                                    if column_first:
                                        tile[tx, ty] = X[by * 32 + ty, bx * 32 + tx]
                                    else:
                                        tile[ty, tx] = X[by * 32 + ty, bx * 32 + tx]
                                T.tvm_storage_sync("shared")
                                if by * 32 + tx < m and bx * 32 + ty < n:
                                    if column_first:
                                        Out[bx * 32 + ty, by * 32 + tx] = tile[ty, tx]
                                    else:
                                        Out[bx * 32 + ty, by * 32 + tx] = tile[tx, ty]

    return kernel


def transpose_swizzled() -> Kernel:
    """The transpose whose tile is kept at columns that are exchanged by the row."""

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, out: T.handle):
        m = T.int64()
        n = T.int64()
        X = T.match_buffer(x, (m, n), "float32")
        Out = T.match_buffer(out, (n, m), "float32")
        for by in T.thread_binding((m + 31) // 32, thread="blockIdx.y"):
            for bx in T.thread_binding((n + 31) // 32, thread="blockIdx.x"):
                for ty in T.thread_binding(32, thread="threadIdx.y"):
                    for tx in T.thread_binding(32, thread="threadIdx.x"):
                        tile = T.alloc_buffer((32, 32), "float32", scope="shared")
                        if by * 32 + ty < m and bx * 32 + tx < n:
                            tile[ty, T.bitwise_xor(tx, ty)] = X[by * 32 + ty, bx * 32 + tx]
                        T.tvm_storage_sync("shared")
                        if by * 32 + tx < m and bx * 32 + ty < n:
                            Out[bx * 32 + ty, by * 32 + tx] = tile[tx, T.bitwise_xor(ty, tx)]

    return kernel


def row_sums(by_warps: bool, threads: int = 256) -> Kernel:
    """``batched_reduce_sum``: a block adds up a row; the rest by a tree in shared memory, or
    `by_warps`: by shuffles, and all threads add what the warps have."""
    warps = threads // 32

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, out: T.handle):
        rows = T.int64()
        columns = T.int64()
        X = T.match_buffer(x, (rows, columns), "float32")
        Out = T.match_buffer(out, (rows,), "float32")
        for row in T.thread_binding(rows, thread="blockIdx.x"):
            for t in T.thread_binding(threads, thread="threadIdx.x"):
                total = T.alloc_buffer((1,), "float32", scope="local")
                shared = T.alloc_buffer(
                    (warps if by_warps else threads,), "float32", scope="shared"
                )
                total[0] = T.float32(0)
                for i in range((columns + threads - 1) // threads):
                    if i * threads + t < columns:
                        total[0] = total[0] + X[row, i * threads + t]
                if by_warps:
                    for step in T.unroll(5):
                        total[0] = total[0] + T.tvm_warp_shuffle_down(
                            -1, total[0], 16 >> step, 32, 32
                        )
                    if t % 32 == 0:
                        shared[t // 32] = total[0]
                    T.tvm_storage_sync("shared")
                    total[0] = T.float32(0)
                    for w in T.unroll(warps):
                        total[0] = total[0] + shared[w]
                else:
                    shared[t] = total[0]
                    T.tvm_storage_sync("shared")
                    for step in T.unroll(threads.bit_length() - 1):
                        if t < threads // 2 >> step:
                            shared[t] = shared[t] + shared[t + (threads // 2 >> step)]
                        T.tvm_storage_sync("shared")
                    total[0] = shared[0]
                if t == 0:
                    Out[row] = total[0]

    return kernel


def array_sum(version: int, n: int = 32 * 1024 * 1024, blocks: int = 1024) -> Kernel:
    """``reduce_v0`` to ``reduce_v7``: 256 threads a block, each block's sum to its own place.

    0: a tree whose active lanes are every second, fourth ...; 1: neighbours, with bank conflicts;
    2: halves; 3: two elements a thread; 4: the last warp without barriers; 5: unrolled; 6: `blocks`
    blocks; 7: shuffles.
    """
    each = 1 if version < 3 else 2 if version < 6 else n // blocks // 256
    grid = n // 256 // each

    @T.prim_func(s_tir=True, check_well_formed=False)
    def tree(x: T.handle, out: T.handle, steps: T.int32):
        X = T.match_buffer(x, (n,), "float32")
        Out = T.match_buffer(out, (grid,), "float32")
        for block in T.thread_binding(grid, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                shared = T.alloc_buffer((256,), "float32", scope="shared")
                if each == 1:
                    shared[t] = X[block * 256 + t]
                elif each == 2:
                    shared[t] = X[block * 512 + t] + X[block * 512 + t + 256]
                else:
                    shared[t] = T.float32(0)
                    for i in T.unroll(each):
                        shared[t] = shared[t] + X[block * (256 * each) + i * 256 + t]
                T.tvm_storage_sync("shared")
                if version > 4:
                    for step in T.unroll(2):
                        if t < 128 >> step:
                            shared[t] = shared[t] + shared[t + (128 >> step)]
                        T.tvm_storage_sync("shared")
                for step in range(steps):
                    if version == 0:
                        if t % (2 << step) == 0:
                            shared[t] = shared[t] + shared[t + (1 << step)]
                    elif version == 1:
                        if (2 << step) * t < 256:
                            shared[(2 << step) * t] = (
                                shared[(2 << step) * t] + shared[(2 << step) * t + (1 << step)]
                            )
                    elif t < 128 >> step:
                        shared[t] = shared[t] + shared[t + (128 >> step)]
                    T.tvm_storage_sync("shared")
                if version > 3 and t < 32:
                    for step in T.unroll(6):
                        shared[t] = shared[t] + shared[t + (32 >> step)]
                if t == 0:
                    Out[block] = shared[0]

    @T.prim_func(s_tir=True, check_well_formed=False)
    def shuffles(x: T.handle, out: T.handle):
        X = T.match_buffer(x, (n,), "float32")
        Out = T.match_buffer(out, (grid,), "float32")
        for block in T.thread_binding(grid, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                shared = T.alloc_buffer((32,), "float32", scope="shared")
                total = T.alloc_buffer((1,), "float32", scope="local")
                total[0] = T.float32(0)
                for i in T.unroll(each):
                    total[0] = total[0] + X[block * (256 * each) + i * 256 + t]
                for step in T.unroll(5):
                    total[0] = total[0] + T.tvm_warp_shuffle_down(-1, total[0], 16 >> step, 32, 32)
                if t % 32 == 0:
                    shared[t // 32] = total[0]
                T.tvm_storage_sync("shared")
                if t < 8:
                    total[0] = shared[t]
                else:
                    total[0] = T.float32(0)
                if t < 32:
                    for step in T.unroll(3):
                        total[0] = total[0] + T.tvm_warp_shuffle_down(
                            -1, total[0], 4 >> step, 32, 32
                        )
                if t == 0:
                    Out[block] = total[0]

    return shuffles if version == 7 else tree


def array_sum_vectors(blocks: int, n: int = 32 * 1024 * 1024) -> Kernel:
    """``reduce_v8``: a fixed grid, four floats a load, four sums a thread, then shuffles."""
    step = blocks * 256

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, out: T.handle):
        X = T.match_buffer(x, (n,), "float32")
        Out = T.match_buffer(out, (blocks,), "float32")
        for block in T.thread_binding(blocks, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                shared = T.alloc_buffer((32,), "float32", scope="shared")
                total = T.alloc_buffer((4,), "float32", scope="local")
                for lane in T.unroll(4):
                    total[lane] = T.float32(0)
                for i in range((n // 4 + step - 1) // step):
                    if i * step + block * 256 + t < n // 4:
                        for lane in T.vectorized(4):
                            total[lane] = total[lane] + X[(i * step + block * 256 + t) * 4 + lane]
                total[0] = total[0] + total[1] + total[2] + total[3]
                for k in T.unroll(5):
                    total[0] = total[0] + T.tvm_warp_shuffle_down(-1, total[0], 16 >> k, 32, 32)
                T.tvm_storage_sync("shared")
                if t % 32 == 0:
                    shared[t // 32] = total[0]
                T.tvm_storage_sync("shared")
                if t < 8:
                    total[0] = shared[t]
                else:
                    total[0] = T.float32(0)
                if t < 32:
                    for k in T.unroll(5):
                        total[0] = total[0] + T.tvm_warp_shuffle_down(-1, total[0], 16 >> k, 32, 32)
                if t == 0:
                    Out[block] = total[0]

    return kernel


OPERATIONS = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b}


def two_arrays(operation: str, dtype: str, lanes: int, n: int = 32 * 1024 * 1024) -> Kernel:
    """The sum or the product of two arrays by 256 threads, `lanes` elements each."""
    apply = OPERATIONS[operation]
    step = 256 * lanes

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, y: T.handle, out: T.handle):
        X = T.match_buffer(x, (n,), dtype)
        Y = T.match_buffer(y, (n,), dtype)
        Out = T.match_buffer(out, (n,), dtype)
        for block in T.thread_binding(n // step, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                for v in T.vectorized(lanes):
                    Out[block * step + t * lanes + v] = apply(
                        X[block * step + t * lanes + v], Y[block * step + t * lanes + v]
                    )

    return kernel


def two_arrays_strided(operation: str, dtype: str, lanes: int, blocks: int) -> Kernel:
    """The same by at most `blocks` blocks that take vector after vector (oneflow's template)."""
    apply = OPERATIONS[operation]
    step = 256 * lanes

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, y: T.handle, out: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), dtype)
        Y = T.match_buffer(y, (n,), dtype)
        Out = T.match_buffer(out, (n,), dtype)
        for block in T.thread_binding(T.min(blocks, n // step), thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                for i in range((n + blocks * step - 1) // (blocks * step)):
                    if (i * blocks * 256 + block * 256 + t) * lanes < n:
                        for v in T.vectorized(lanes):
                            Out[(i * blocks * 256 + block * 256 + t) * lanes + v] = apply(
                                X[(i * blocks * 256 + block * 256 + t) * lanes + v],
                                Y[(i * blocks * 256 + block * 256 + t) * lanes + v],
                            )

    return kernel


def matrix_vector(rows_a_warp: int, lanes: int) -> Kernel:
    """``Sgemv_v0, v1, v2``: a warp a row of (m, n), or two rows; floats or vectors of four."""
    width = 32 // rows_a_warp

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(a: T.handle, x: T.handle, y: T.handle):
        m = T.int32()
        n = T.int32()
        A = T.match_buffer(a, (m, n), "float32")
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (m,), "float32")
        for bx in T.thread_binding(m // (4 * rows_a_warp), thread="blockIdx.x"):
            for ty in T.thread_binding(4, thread="threadIdx.y"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    total = T.alloc_buffer((1,), "float32", scope="local")
                    own = T.alloc_buffer((lanes,), "float32", scope="local")
                    other = T.alloc_buffer((lanes,), "float32", scope="local")
                    if (bx * 4 + ty) * rows_a_warp + tx // width < m:
                        total[0] = T.float32(0)
                        for i in range(n // (width * lanes)):
                            for v in T.vectorized(lanes):
                                own[v] = A[
                                    (bx * 4 + ty) * rows_a_warp + tx // width,
                                    (i * width + tx % width) * lanes + v,
                                ]
                            for v in T.vectorized(lanes):
                                other[v] = X[(i * width + tx % width) * lanes + v]
                            for v in T.unroll(lanes):
                                total[0] = total[0] + own[v] * other[v]
                        for step in T.unroll(width.bit_length() - 1):
                            total[0] = total[0] + T.tvm_warp_shuffle_down(
                                -1, total[0], width // 2 >> step, 32, 32
                            )
                        if tx % width == 0:
                            Y[(bx * 4 + ty) * rows_a_warp + tx // width] = total[0]

    return kernel


def laplacian() -> Kernel:
    """``kernel1``: seven points in doubles, 256 threads along x, one point a thread."""

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(u: T.handle, f: T.handle, hx: T.float64, hy: T.float64, hz: T.float64, h: T.float64):
        nx = T.int32()
        ny = T.int32()
        nz = T.int32()
        U = T.match_buffer(u, (nz, ny, nx), "float64")
        F = T.match_buffer(f, (nz, ny, nx), "float64")
        for k in T.thread_binding(nz, thread="blockIdx.z"):
            for j in T.thread_binding(ny, thread="blockIdx.y"):
                for bx in T.thread_binding((nx + 255) // 256, thread="blockIdx.x"):
                    for tx in T.thread_binding(256, thread="threadIdx.x"):
                        if (
                            bx * 256 + tx > 0
                            and bx * 256 + tx < nx - 1
                            and j > 0
                            and j < ny - 1
                            and k > 0
                            and k < nz - 1
                        ):
                            F[k, j, bx * 256 + tx] = (
                                U[k, j, bx * 256 + tx] * h
                                + (U[k, j, bx * 256 + tx - 1] + U[k, j, bx * 256 + tx + 1]) * hx
                                + (U[k, j - 1, bx * 256 + tx] + U[k, j + 1, bx * 256 + tx]) * hy
                                + (U[k - 1, j, bx * 256 + tx] + U[k + 1, j, bx * 256 + tx]) * hz
                            )

    return kernel


def laplacian_tiled(tile: int) -> Kernel:
    """``kernel3``: `tile` points along y a thread, loads ordered by z and y."""

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(u: T.handle, f: T.handle, hx: T.float64, hy: T.float64, hz: T.float64, h: T.float64):
        nx = T.int32()
        ny = T.int32()
        nz = T.int32()
        U = T.match_buffer(u, (nz, ny, nx), "float64")
        F = T.match_buffer(f, (nz, ny, nx), "float64")
        for k in T.thread_binding(nz, thread="blockIdx.z"):
            for by in T.thread_binding((ny - 1) // tile + 1, thread="blockIdx.y"):
                for bx in T.thread_binding((nx + 255) // 256, thread="blockIdx.x"):
                    for tx in T.thread_binding(256, thread="threadIdx.x"):
                        total = T.alloc_buffer((tile,), "float64", scope="local")
                        center = T.alloc_buffer((1,), "float64", scope="local")
                        if bx * 256 + tx > 0 and bx * 256 + tx < nx - 1 and k > 0 and k < nz - 1:
                            for i in T.unroll(tile):
                                total[i] = U[k - 1, by * tile + i, bx * 256 + tx] * hz
                            if by > 0:
                                total[0] = total[0] + U[k, by * tile - 1, bx * 256 + tx] * hy
                            for i in T.unroll(tile):
                                total[i] = total[i] + U[k, by * tile + i, bx * 256 + tx - 1] * hx
                                center[0] = U[k, by * tile + i, bx * 256 + tx]
                                total[i] = total[i] + center[0] * h
                                total[i] = total[i] + U[k, by * tile + i, bx * 256 + tx + 1] * hx
                                if i > 0:
                                    total[i - 1] = total[i - 1] + center[0] * hy
                                if i < tile - 1:
                                    total[i + 1] = total[i + 1] + center[0] * hy
                            if by * tile < ny - tile:
                                total[tile - 1] = (
                                    total[tile - 1] + U[k, by * tile + tile, bx * 256 + tx] * hy
                                )
                            for i in T.unroll(tile):
                                total[i] = total[i] + U[k + 1, by * tile + i, bx * 256 + tx] * hz
                            for i in T.unroll(tile):
                                if by * tile + i > 0 and by * tile + i < ny - 1:
                                    F[k, by * tile + i, bx * 256 + tx] = total[i]

    return kernel
