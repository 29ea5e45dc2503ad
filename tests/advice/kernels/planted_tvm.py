"""Kernels with a planted defect, `NAME`, and the same kernels without, `NAME_mended`."""

from tvm.script import tirx as T

SIZE = 8192


@T.prim_func(s_tir=True)
def transpose_by_axis(x: T.Buffer((SIZE, SIZE), "float32"), y: T.Buffer((SIZE, SIZE), "float32")):
    for b in T.thread_binding(SIZE * SIZE // 256, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            y[(b * 256 + t) % SIZE, (b * 256 + t) // SIZE] = x[
                (b * 256 + t) // SIZE, (b * 256 + t) % SIZE
            ]


@T.prim_func(s_tir=True)
def transpose_by_axis_mended(
    x: T.Buffer((SIZE, SIZE), "float32"), y: T.Buffer((SIZE, SIZE), "float32")
):
    for by in T.thread_binding(SIZE // 32, thread="blockIdx.y"):
        for bx in T.thread_binding(SIZE // 32, thread="blockIdx.x"):
            for ty in T.thread_binding(32, thread="threadIdx.y"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    tile = T.alloc_buffer((32, 33), "float32", scope="shared")
                    tile[ty, tx] = x[by * 32 + ty, bx * 32 + tx]
                    T.tvm_storage_sync("shared")
                    y[bx * 32 + ty, by * 32 + tx] = tile[tx, ty]


@T.prim_func(s_tir=True)
def remainder_lanes(x: T.Buffer((SIZE, SIZE), "float32"), y: T.Buffer((SIZE, SIZE), "float32")):
    for b in T.thread_binding(SIZE * SIZE // 1024, thread="blockIdx.x"):
        for t in T.thread_binding(1024, thread="threadIdx.x"):
            y[b // 256 * 32 + t % 32, b % 256 * 32 + t // 32] = x[
                b // 256 * 32 + t % 32, b % 256 * 32 + t // 32
            ] + T.float32(1)


@T.prim_func(s_tir=True)
def remainder_lanes_mended(
    x: T.Buffer((SIZE, SIZE), "float32"), y: T.Buffer((SIZE, SIZE), "float32")
):
    for b in T.thread_binding(SIZE * SIZE // 1024, thread="blockIdx.x"):
        for t in T.thread_binding(1024, thread="threadIdx.x"):
            y[b // 256 * 32 + t // 32, b % 256 * 32 + t % 32] = x[
                b // 256 * 32 + t // 32, b % 256 * 32 + t % 32
            ] + T.float32(1)


@T.prim_func(s_tir=True)
def rows_of_lanes(x: T.Buffer((65536, 1024), "float32"), y: T.Buffer((65536, 1024), "float32")):
    for b in T.thread_binding(256, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            for k in range(1024):
                y[b * 256 + t, k] = T.exp(x[b * 256 + t, k])


@T.prim_func(s_tir=True)
def rows_of_lanes_mended(
    x: T.Buffer((65536, 1024), "float32"), y: T.Buffer((65536, 1024), "float32")
):
    for b in T.thread_binding(256, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            for r, k in T.grid(256, 4):
                y[b * 256 + r, k * 256 + t] = T.exp(x[b * 256 + r, k * 256 + t])


@T.prim_func(s_tir=True)
def scalar_rows(x: T.Buffer((16384, 4096), "float16"), y: T.Buffer((16384, 4096), "float16")):
    for by in T.thread_binding(16384, thread="blockIdx.y"):
        for bx in T.thread_binding(16, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                y[by, bx * 256 + t] = T.max(x[by, bx * 256 + t], T.float16(0))


@T.prim_func(s_tir=True)
def scalar_rows_mended(
    x: T.Buffer((16384, 4096), "float16"), y: T.Buffer((16384, 4096), "float16")
):
    for by in T.thread_binding(16384, thread="blockIdx.y"):
        for bx in T.thread_binding(2, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                for v in T.vectorized(8):
                    y[by, bx * 2048 + t * 8 + v] = T.max(x[by, bx * 2048 + t * 8 + v], T.float16(0))


@T.prim_func(s_tir=True)
def divergent(x: T.Buffer((1 << 22,), "float32"), y: T.Buffer((1 << 22,), "float32")):
    for b in T.thread_binding(16384, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            if t % 4 == 0:
                y[b * 256 + t] = x[b * 256 + t]
                for _ in range(128):
                    y[b * 256 + t] = T.sqrt(T.exp(y[b * 256 + t]))
            else:
                y[b * 256 + t] = x[b * 256 + t] * T.float32(2)


@T.prim_func(s_tir=True)
def divergent_mended(x: T.Buffer((1 << 22,), "float32"), y: T.Buffer((1 << 22,), "float32")):
    for b in T.thread_binding(16384, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            if t // 32 % 4 == 0:
                y[b * 256 + t] = x[b * 256 + t]
                for _ in range(128):
                    y[b * 256 + t] = T.sqrt(T.exp(y[b * 256 + t]))
            else:
                y[b * 256 + t] = x[b * 256 + t] * T.float32(2)


@T.prim_func(s_tir=True)
def first_thread(x: T.Buffer((1 << 24,), "float32"), y: T.Buffer((1 << 24,), "float32")):
    for b in T.thread_binding(4096, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            if t == 0:
                for k in range(4096):
                    y[b * 4096 + k] = x[b * 4096 + k] * T.float32(2)


@T.prim_func(s_tir=True)
def first_thread_mended(x: T.Buffer((1 << 24,), "float32"), y: T.Buffer((1 << 24,), "float32")):
    for b in T.thread_binding(4096, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            for k in range(16):
                y[b * 4096 + k * 256 + t] = x[b * 4096 + k * 256 + t] * T.float32(2)


@T.prim_func(s_tir=True)
def redundant_threads(x: T.Buffer((1 << 24,), "float32"), y: T.Buffer((1 << 24,), "float32")):
    for b in T.thread_binding(4096, thread="blockIdx.x"):
        for _ in T.thread_binding(128, thread="threadIdx.x"):
            for k in range(4096):
                y[b * 4096 + k] = x[b * 4096 + k] * T.float32(2)


@T.prim_func(s_tir=True)
def redundant_threads_mended(
    x: T.Buffer((1 << 24,), "float32"), y: T.Buffer((1 << 24,), "float32")
):
    for b in T.thread_binding(4096, thread="blockIdx.x"):
        for t in T.thread_binding(128, thread="threadIdx.x"):
            for k in range(32):
                y[b * 4096 + k * 128 + t] = x[b * 4096 + k * 128 + t] * T.float32(2)


@T.prim_func(s_tir=True)
def split_warp(x: T.Buffer((1 << 24,), "float32"), y: T.Buffer((1 << 24,), "float32")):
    for b in T.thread_binding(1 << 18, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            if t % 32 < 16:
                y[b * 64 + t] = T.tanh(T.exp(T.sin(T.cos(x[b * 64 + t]))))
            else:
                y[b * 64 + t] = T.erf(T.log(T.sin(T.cos(x[b * 64 + t]))))


@T.prim_func(s_tir=True)
def split_warp_mended(x: T.Buffer((1 << 24,), "float32"), y: T.Buffer((1 << 24,), "float32")):
    for b in T.thread_binding(1 << 18, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            if t < 32:
                y[b * 64 + t] = T.tanh(T.exp(T.sin(T.cos(x[b * 64 + t]))))
            else:
                y[b * 64 + t] = T.erf(T.log(T.sin(T.cos(x[b * 64 + t]))))
