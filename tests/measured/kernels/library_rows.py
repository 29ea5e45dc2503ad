"""The kernels of torch that reduce rows, written out in TVMScript: softmax and layer norm.

Sources: pytorch's ``aten/src/ATen/native/cuda``: ``SoftMax.cu`` (before it kept rows in shared
memory), ``PersistentSoftmax.cuh``, ``layer_norm_kernel.cu``, ``thread_constants.h``.  Blocks,
threads, vectors, passes over the row and the exchange between threads are as written there.
`warp` is 32, or the 64 lanes of ROCm, where a block of the layer norm has 256 threads, not 128.
Rows have as many columns as the kernel is told when it runs, but for the softmax by warps, which is
compiled for each power of two.
"""

from __future__ import annotations

from typing import Any

from tvm.script import tirx as T

Kernel = Any


def softmax_threads(columns: int, dtype: str, warp: int = 32) -> int:
    """Threads of a block of the softmax (``SoftMax_getBlockSize``): half a row's vectors."""
    most = min(columns // _lanes(dtype), 1024) // 2
    threads = 1
    while threads < most:
        threads *= 2
    return max(threads, warp)


def _lanes(dtype: str) -> int:
    return 4 if dtype == "float32" else 8


def softmax_by_block(threads: int, dtype: str = "float32", warp: int = 32) -> Kernel:
    """``cunn_SoftMaxForward``: a block reads its row three times: maximum, sum, result.

    What does not fill a vector of 16 bytes for every thread is read one element at a time
    (``ilpReduce``).  Partial results meet in shared memory, which the first warp and then the
    first thread add up (``blockReduce``).
    """
    lanes = _lanes(dtype)
    step = threads * lanes
    warps = threads // warp

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, out: T.handle):
        rows = T.int64()
        columns = T.int64()
        X = T.match_buffer(x, (rows, columns), dtype)
        Out = T.match_buffer(out, (rows, columns), dtype)
        for row in T.thread_binding(rows, thread="blockIdx.x"):
            for thread in T.thread_binding(threads, thread="threadIdx.x"):
                largest = T.alloc_buffer((1,), "float32", scope="local")
                total = T.alloc_buffer((1,), "float32", scope="local")
                partial = T.alloc_buffer((threads,), "float32", scope="shared")
                largest[0] = T.float32(-3.4e38)
                for i in range(columns // step):
                    for lane in T.vectorized(lanes):
                        largest[0] = T.max(
                            largest[0],
                            T.Cast("float32", X[row, (i * threads + thread) * lanes + lane]),
                        )
                for i in range((columns % step + threads - 1) // threads):
                    if columns - columns % step + i * threads + thread < columns:
                        largest[0] = T.max(
                            largest[0],
                            T.Cast(
                                "float32", X[row, columns - columns % step + i * threads + thread]
                            ),
                        )
                T.tvm_storage_sync("shared")
                partial[thread] = largest[0]
                T.tvm_storage_sync("shared")
                if thread < warps:
                    for i in T.unroll(warp):
                        largest[0] = T.max(largest[0], partial[thread * warp + i])
                    partial[thread] = largest[0]
                T.tvm_storage_sync("shared")
                if thread == 0:
                    for w in range(warps):
                        largest[0] = T.max(largest[0], partial[w])
                    partial[0] = largest[0]
                T.tvm_storage_sync("shared")
                largest[0] = partial[0]
                total[0] = T.float32(0)
                for i in range(columns // step):
                    for lane in T.vectorized(lanes):
                        total[0] = total[0] + T.exp(
                            T.Cast("float32", X[row, (i * threads + thread) * lanes + lane])
                            - largest[0]
                        )
                for i in range((columns % step + threads - 1) // threads):
                    if columns - columns % step + i * threads + thread < columns:
                        total[0] = total[0] + T.exp(
                            T.Cast(
                                "float32", X[row, columns - columns % step + i * threads + thread]
                            )
                            - largest[0]
                        )
                T.tvm_storage_sync("shared")
                partial[thread] = total[0]
                T.tvm_storage_sync("shared")
                if thread < warps:
                    for i in T.unroll(warp):
                        total[0] = total[0] + partial[thread * warp + i]
                    partial[thread] = total[0]
                T.tvm_storage_sync("shared")
                if thread == 0:
                    for w in range(warps):
                        total[0] = total[0] + partial[w]
                    partial[0] = total[0]
                T.tvm_storage_sync("shared")
                total[0] = partial[0]
                for i in range(columns // step):
                    for lane in T.vectorized(lanes):
                        Out[row, (i * threads + thread) * lanes + lane] = T.Cast(
                            dtype,
                            T.exp(
                                T.Cast("float32", X[row, (i * threads + thread) * lanes + lane])
                                - largest[0]
                            )
                            / total[0],
                        )
                for i in range((columns % step + threads - 1) // threads):
                    if columns - columns % step + i * threads + thread < columns:
                        Out[row, columns - columns % step + i * threads + thread] = T.Cast(
                            dtype,
                            T.exp(
                                T.Cast(
                                    "float32",
                                    X[row, columns - columns % step + i * threads + thread],
                                )
                                - largest[0]
                            )
                            / total[0],
                        )

    return kernel


def softmax_by_warp(columns: int, dtype: str = "float32", warp: int = 32) -> Kernel:
    """``softmax_warp_forward``: a warp keeps its row (two rows up to 128 columns) in registers."""
    width = 1 << max(columns - 1, 1).bit_length()
    lanes = min(warp, width)
    kept = width // lanes
    batch = 2 if width <= 128 else 1
    warps = 128 // warp
    per_block = warps * batch
    steps = warp.bit_length() - 1

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, out: T.handle):
        rows = T.int64()
        X = T.match_buffer(x, (rows, columns), dtype)
        Out = T.match_buffer(out, (rows, columns), dtype)
        for block in T.thread_binding(T.ceildiv(rows, per_block), thread="blockIdx.x"):
            for own in T.thread_binding(warps, thread="threadIdx.y"):
                for thread in T.thread_binding(warp, thread="threadIdx.x"):
                    values = T.alloc_buffer((batch, kept), "float32", scope="local")
                    largest = T.alloc_buffer((batch,), "float32", scope="local")
                    total = T.alloc_buffer((batch,), "float32", scope="local")
                    for b in T.unroll(batch):
                        for i in T.unroll(kept):
                            if i * warp + thread < columns:
                                values[b, i] = T.Cast(
                                    "float32",
                                    X[(block * warps + own) * batch + b, i * warp + thread],
                                )
                    for b in T.unroll(batch):
                        largest[b] = values[b, 0]
                        for i in T.unroll(kept - 1):
                            largest[b] = T.max(largest[b], values[b, i + 1])
                        for step in T.unroll(steps):
                            largest[b] = T.max(
                                largest[b],
                                T.tvm_warp_shuffle_xor(
                                    -1, largest[b], warp // 2 >> step, warp, warp
                                ),
                            )
                        total[b] = T.float32(0)
                        for i in T.unroll(kept):
                            values[b, i] = T.exp(values[b, i] - largest[b])
                            total[b] = total[b] + values[b, i]
                        for step in T.unroll(steps):
                            total[b] = total[b] + T.tvm_warp_shuffle_xor(
                                -1, total[b], warp // 2 >> step, warp, warp
                            )
                    for b in T.unroll(batch):
                        for i in T.unroll(kept):
                            if i * warp + thread < columns:
                                Out[(block * warps + own) * batch + b, i * warp + thread] = T.Cast(
                                    dtype, values[b, i] / total[b]
                                )

    return kernel


def layer_norm(dtype: str = "float32", warp: int = 32) -> Kernel:
    """``vectorized_layer_norm_kernel``: 4 warps a row, moments in one pass, result in another.

    Each thread carries mean, squares and count (Welford's update); the lanes of a warp combine
    theirs by shuffles, the four warps by halves in shared memory.  Of its pointers only that of the
    input is ``__restrict__``: the loads of the weights stay behind the stores of earlier turns.
    """
    lanes = 4
    threads = 4 * warp
    steps = warp.bit_length() - 1

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(x: T.handle, g: T.handle, c: T.handle, out: T.handle):
        rows = T.int64()
        columns = T.int64()
        X = T.match_buffer(x, (rows, columns), dtype)
        Gamma = T.match_buffer(g, (columns,), dtype)
        Beta = T.match_buffer(c, (columns,), dtype)
        Out = T.match_buffer(out, (rows, columns), dtype)
        T.func_attr({"tl.non_restrict_params": [Gamma.data, Beta.data, Out.data]})
        for row in T.thread_binding(rows, thread="blockIdx.x"):
            for own in T.thread_binding(4, thread="threadIdx.y"):
                for thread in T.thread_binding(warp, thread="threadIdx.x"):
                    data = T.alloc_buffer((lanes,), "float32", scope="local")
                    mean = T.alloc_buffer((1,), "float32", scope="local")
                    squares = T.alloc_buffer((1,), "float32", scope="local")
                    count = T.alloc_buffer((1,), "float32", scope="local")
                    delta = T.alloc_buffer((1,), "float32", scope="local")
                    theirs = T.alloc_buffer((3,), "float32", scope="local")
                    partial = T.alloc_buffer((6,), "float32", scope="shared")
                    mean[0] = T.float32(0)
                    squares[0] = T.float32(0)
                    count[0] = T.float32(0)
                    for i in range((columns // lanes + threads - 1) // threads):
                        if i * threads + own * warp + thread < columns // lanes:
                            for lane in T.vectorized(lanes):
                                data[lane] = T.Cast(
                                    "float32",
                                    X[row, (i * threads + own * warp + thread) * lanes + lane],
                                )
                            for lane in T.unroll(lanes):
                                delta[0] = data[lane] - mean[0]
                                count[0] = count[0] + T.float32(1)
                                mean[0] = mean[0] + delta[0] * T.call_extern(
                                    "float32", "__frcp_rn", count[0]
                                )
                                squares[0] = squares[0] + delta[0] * (data[lane] - mean[0])
                    for step in T.unroll(steps):
                        theirs[0] = T.tvm_warp_shuffle_down(
                            -1, mean[0], warp // 2 >> step, warp, warp
                        )
                        theirs[1] = T.tvm_warp_shuffle_down(
                            -1, squares[0], warp // 2 >> step, warp, warp
                        )
                        theirs[2] = T.tvm_warp_shuffle_down(
                            -1, count[0], warp // 2 >> step, warp, warp
                        )
                        delta[0] = theirs[0] - mean[0]
                        squares[0] = squares[0] + theirs[1]
                        theirs[1] = T.call_extern("float32", "__frcp_rn", count[0] + theirs[2])
                        mean[0] = (mean[0] * count[0] + theirs[0] * theirs[2]) * theirs[1]
                        squares[0] = (
                            squares[0] + delta[0] * delta[0] * count[0] * theirs[2] * theirs[1]
                        )
                        count[0] = count[0] + theirs[2]
                    for half in T.unroll(2):
                        if thread == 0 and own >= 2 >> half and own < 4 >> half:
                            partial[(own - (2 >> half)) * 2] = mean[0]
                            partial[(own - (2 >> half)) * 2 + 1] = squares[0]
                            partial[4 + own - (2 >> half)] = count[0]
                        T.tvm_storage_sync("shared")
                        if thread == 0 and own < 2 >> half:
                            theirs[0] = partial[own * 2]
                            theirs[1] = partial[own * 2 + 1]
                            theirs[2] = partial[4 + own]
                            delta[0] = theirs[0] - mean[0]
                            squares[0] = squares[0] + theirs[1]
                            theirs[1] = T.call_extern("float32", "__frcp_rn", count[0] + theirs[2])
                            mean[0] = (mean[0] * count[0] + theirs[0] * theirs[2]) * theirs[1]
                            squares[0] = (
                                squares[0] + delta[0] * delta[0] * count[0] * theirs[2] * theirs[1]
                            )
                        T.tvm_storage_sync("shared")
                    if thread == 0 and own == 0:
                        partial[0] = mean[0]
                        partial[1] = squares[0] / T.Cast("float32", columns)
                    T.tvm_storage_sync("shared")
                    mean[0] = partial[0]
                    squares[0] = T.rsqrt(partial[1] + T.float32(1e-5))
                    for i in range((columns // lanes + threads - 1) // threads):
                        if i * threads + own * warp + thread < columns // lanes:
                            for lane in T.vectorized(lanes):
                                Out[row, (i * threads + own * warp + thread) * lanes + lane] = (
                                    T.Cast(
                                        dtype,
                                        (
                                            T.Cast(
                                                "float32",
                                                X[
                                                    row,
                                                    (i * threads + own * warp + thread) * lanes
                                                    + lane,
                                                ],
                                            )
                                            - mean[0]
                                        )
                                        * squares[0]
                                        * T.Cast(
                                            "float32",
                                            Gamma[
                                                (i * threads + own * warp + thread) * lanes + lane
                                            ],
                                        )
                                        + T.Cast(
                                            "float32",
                                            Beta[
                                                (i * threads + own * warp + thread) * lanes + lane
                                            ],
                                        ),
                                    )
                                )

    return kernel
