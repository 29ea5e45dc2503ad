"""Kernels as they are and as an advice would have them: `NAME` and `NAME_RULE`."""

from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def scale(x: T.Buffer((1 << 22,), "float16"), y: T.Buffer((1 << 22,), "float16")):
    for b in T.thread_binding(16384, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            y[b * 256 + t] = x[b * 256 + t] * T.float16(2)


@T.prim_func(s_tir=True)
def scale_not_vectorized(x: T.Buffer((1 << 22,), "float16"), y: T.Buffer((1 << 22,), "float16")):
    for b in T.thread_binding(2048, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            for v in T.vectorized(8):
                y[b * 2048 + t * 8 + v] = x[b * 2048 + t * 8 + v] * T.float16(2)


@T.prim_func(s_tir=True)
def row_sum(x: T.Buffer((524288, 512), "float32"), out: T.Buffer((524288,), "float32")):
    for b in T.thread_binding(2048, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            out[b * 256 + t] = T.float32(0)
            for k in range(512):
                out[b * 256 + t] = out[b * 256 + t] + x[b * 256 + t, k]


@T.prim_func(s_tir=True)
def row_sum_uncoalesced(x: T.Buffer((512, 524288), "float32"), out: T.Buffer((524288,), "float32")):
    for b in T.thread_binding(2048, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            out[b * 256 + t] = T.float32(0)
            for k in range(512):
                out[b * 256 + t] = out[b * 256 + t] + x[k, b * 256 + t]


@T.prim_func(s_tir=True)
def transposed(x: T.Buffer((8192, 8192), "float32"), y: T.Buffer((8192, 8192), "float32")):
    for by in T.thread_binding(256, thread="blockIdx.y"):
        for bx in T.thread_binding(256, thread="blockIdx.x"):
            for ty in T.thread_binding(32, thread="threadIdx.y"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    tile = T.alloc_buffer((32, 32), "float32", scope="shared")
                    tile[ty, tx] = x[by * 32 + ty, bx * 32 + tx]
                    T.tvm_storage_sync("shared")
                    y[bx * 32 + ty, by * 32 + tx] = tile[tx, ty]


@T.prim_func(s_tir=True)
def transposed_bank_conflict(
    x: T.Buffer((8192, 8192), "float32"), y: T.Buffer((8192, 8192), "float32")
):
    for by in T.thread_binding(256, thread="blockIdx.y"):
        for bx in T.thread_binding(256, thread="blockIdx.x"):
            for ty in T.thread_binding(32, thread="threadIdx.y"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    tile = T.alloc_buffer((32, 33), "float32", scope="shared")
                    tile[ty, tx] = x[by * 32 + ty, bx * 32 + tx]
                    T.tvm_storage_sync("shared")
                    y[bx * 32 + ty, by * 32 + tx] = tile[tx, ty]


@T.prim_func(s_tir=True)
def twice(x: T.Buffer((8192, 8192), "float32"), y: T.Buffer((8192, 8192), "float32")):
    for by in T.thread_binding(256, thread="blockIdx.y"):
        for bx in T.thread_binding(256, thread="blockIdx.x"):
            for ty in T.thread_binding(32, thread="threadIdx.y"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    y[bx * 32 + tx, by * 32 + ty] = x[bx * 32 + tx, by * 32 + ty] * T.float32(2)


@T.prim_func(s_tir=True)
def twice_uncoalesced(x: T.Buffer((8192, 8192), "float32"), y: T.Buffer((8192, 8192), "float32")):
    for by in T.thread_binding(256, thread="blockIdx.y"):
        for bx in T.thread_binding(256, thread="blockIdx.x"):
            for ty in T.thread_binding(32, thread="threadIdx.y"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    y[bx * 32 + ty, by * 32 + tx] = x[bx * 32 + ty, by * 32 + tx] * T.float32(2)


@T.prim_func(s_tir=True)
def turned(x: T.Buffer((8192, 8192), "float32"), y: T.Buffer((8192, 8192), "float32")):
    for by in T.thread_binding(256, thread="blockIdx.y"):
        for bx in T.thread_binding(256, thread="blockIdx.x"):
            for ty in T.thread_binding(32, thread="threadIdx.y"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    y[bx * 32 + tx, by * 32 + ty] = x[by * 32 + ty, bx * 32 + tx]


# Its repair is `transposed_bank_conflict`: the tile in shared memory has padded rows.


@T.prim_func(s_tir=True)
def flat_rows(x: T.Buffer((134217728,), "float32"), y: T.Buffer((262144,), "float32")):
    for b in T.thread_binding(1024, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            y[b * 256 + t] = T.float32(0)
            for k in range(512):
                y[b * 256 + t] = y[b * 256 + t] + x[(b * 256 + t) * 512 + k]


@T.prim_func(s_tir=True)
def flat_rows_uncoalesced(x: T.Buffer((134217728,), "float32"), y: T.Buffer((262144,), "float32")):
    for b in T.thread_binding(1024, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            y[b * 256 + t] = T.float32(0)
            for k in range(512):
                y[b * 256 + t] = y[b * 256 + t] + x[k * 262144 + b * 256 + t]
