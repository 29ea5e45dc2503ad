"""Five kernels in TVMScript, from naive to tiled: what each line of them costs is shown on save."""

from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def matmul_naive(
    A: T.Buffer((1024, 1024), "float32"),
    B: T.Buffer((1024, 1024), "float32"),
    C: T.Buffer((1024, 1024), "float32"),
):
    for i in T.thread_binding(1024, thread="blockIdx.x"):
        for j in T.thread_binding(1024, thread="threadIdx.x"):
            C[i, j] = T.float32(0)
            for k in range(1024):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


@T.prim_func(s_tir=True)
def matmul_tiled(
    A: T.Buffer((2048, 2048), "float32"),
    B: T.Buffer((2048, 2048), "float32"),
    C: T.Buffer((2048, 2048), "float32"),
):
    for by in T.thread_binding(64, thread="blockIdx.y"):
        for bx in T.thread_binding(64, thread="blockIdx.x"):
            for ty in T.thread_binding(32, thread="threadIdx.y"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    A_shared = T.alloc_buffer((32, 32), "float32", scope="shared")
                    B_shared = T.alloc_buffer((32, 32), "float32", scope="shared")
                    acc = T.alloc_buffer((1,), "float32", scope="local")
                    acc[0] = T.float32(0)
                    for ko in range(64):
                        A_shared[ty, tx] = A[by * 32 + ty, ko * 32 + tx]
                        B_shared[ty, tx] = B[ko * 32 + ty, bx * 32 + tx]
                        T.tvm_storage_sync("shared")
                        for ki in T.unroll(32):
                            acc[0] = acc[0] + A_shared[ty, ki] * B_shared[ki, tx]
                        T.tvm_storage_sync("shared")
                    C[by * 32 + ty, bx * 32 + tx] = acc[0]


@T.prim_func(s_tir=True)
def scale_and_add(
    x: T.Buffer((1000000,), "float16"),
    y: T.Buffer((1000000,), "float16"),
):
    # 1,000,000 is no multiple of 256: the last block is guarded.
    for b in T.thread_binding(3907, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            if b * 256 + t < 1000000:
                y[b * 256 + t] = x[b * 256 + t] * T.float16(2) + y[b * 256 + t]


@T.prim_func(s_tir=True)
def row_sum(x: T.Buffer((8192, 4096), "float32"), out: T.Buffer((8192,), "float32")):
    for i in T.thread_binding(32, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            for k in range(4096):
                with T.sblock("sum"):
                    row = T.axis.spatial(8192, i * 256 + t)
                    column = T.axis.reduce(4096, k)
                    with T.init():
                        out[row] = T.float32(0)
                    out[row] = out[row] + x[row, column]


@T.prim_func(s_tir=True)
def softmax(x: T.Buffer((4096, 1024), "float32"), y: T.Buffer((4096, 1024), "float32")):
    for i in T.thread_binding(16, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            peak = T.alloc_buffer((1,), "float32", scope="local")
            total = T.alloc_buffer((1,), "float32", scope="local")
            peak[0] = T.float32(-3.4e38)
            for k in range(1024):
                peak[0] = T.max(peak[0], x[i * 256 + t, k])
            total[0] = T.float32(0)
            for k in range(1024):
                total[0] = total[0] + T.exp(x[i * 256 + t, k] - peak[0])
            for k in range(1024):
                y[i * 256 + t, k] = T.exp(x[i * 256 + t, k] - peak[0]) / total[0]
