"""Kernels of TVMScript whose work is known by formula."""

from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def batched_gemm(
    A: T.Buffer((6, 128, 96), "float32"),
    B: T.Buffer((6, 96, 64), "float32"),
    C: T.Buffer((6, 128, 64), "float32"),
):
    for b in T.thread_binding(6, thread="blockIdx.z"):
        for y in T.thread_binding(8, thread="blockIdx.y"):
            for x in T.thread_binding(4, thread="blockIdx.x"):
                for ty in T.thread_binding(16, thread="threadIdx.y"):
                    for tx in T.thread_binding(16, thread="threadIdx.x"):
                        for k in range(96):
                            C[b, y * 16 + ty, x * 16 + tx] = (
                                C[b, y * 16 + ty, x * 16 + tx]
                                + A[b, y * 16 + ty, k] * B[b, k, x * 16 + tx]
                            )


@T.prim_func(s_tir=True)
def tail_by_where(A: T.Buffer((1000,), "float32"), B: T.Buffer((1000,), "float32")):
    for b in T.thread_binding(8, thread="blockIdx.x"):
        for t in T.thread_binding(128, thread="threadIdx.x"):
            with T.sblock("add"):
                T.where(b * 128 + t < 1000)
                i = T.axis.spatial(1000, b * 128 + t)
                B[i] = A[i] + T.float32(1)


@T.prim_func(s_tir=True)
def tail_by_if(A: T.Buffer((1000,), "float32"), B: T.Buffer((1000,), "float32")):
    for b in T.thread_binding(8, thread="blockIdx.x"):
        for t in T.thread_binding(128, thread="threadIdx.x"):
            if b * 128 + t < 1000:
                B[b * 128 + t] = A[b * 128 + t] + T.float32(1)


@T.prim_func(s_tir=True)
def convolution(
    image: T.Buffer((2, 16, 34, 34), "float32"),
    weight: T.Buffer((32, 16, 3, 3), "float32"),
    out: T.Buffer((2, 32, 32, 32), "float32"),
):
    for n, f in T.grid(2, 32):
        for y in T.thread_binding(32, thread="blockIdx.x"):
            for x in T.thread_binding(32, thread="threadIdx.x"):
                for c, dy, dx in T.grid(16, 3, 3):
                    with T.sblock("conv"):
                        vn, vf, vy, vx = T.axis.remap("SSSS", [n, f, y, x])
                        vc, vdy, vdx = T.axis.remap("RRR", [c, dy, dx])
                        with T.init():
                            out[vn, vf, vy, vx] = T.float32(0)
                        out[vn, vf, vy, vx] = (
                            out[vn, vf, vy, vx]
                            + image[vn, vc, vy + vdy, vx + vdx] * weight[vf, vc, vdy, vdx]
                        )


@T.prim_func
def overlapping_scopes(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    T.device_entry()
    group = T.warpgroup_id([2])
    thread = T.thread_id([256])
    if group == 1:
        B[thread] = A[thread] + T.float32(1)


@T.prim_func
def normalised(A: T.Buffer((32, 64), "float32"), B: T.Buffer((32, 64), "float32")):
    for i in range(32):
        total = T.alloc_buffer((1,), "float32", scope="local")
        total[0] = T.float32(0)
        for j in range(64):
            total[0] = total[0] + A[i, j]
        for j in range(64):
            B[i, j] = A[i, j] * T.sqrt(total[0])


@T.prim_func(s_tir=True)
def cut_vector(A: T.Buffer((500,), "float32"), B: T.Buffer((500,), "float32")):
    """The last lanes of one vector in 128 are left out, so that all are scalars."""
    for t in T.thread_binding(128, thread="threadIdx.x"):
        for v in T.vectorized(4):
            if t * 4 + v < 499:
                B[t * 4 + v] = A[t * 4 + v] + T.float32(1)


@T.prim_func(s_tir=True)
def part_of_a_tile(A: T.Buffer((32,), "float32")):
    """Of each row of 33 elements a half is used: TVM keeps 16, in other banks."""
    S = T.sblock_alloc_buffer((8, 33), "float32", scope="shared")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        A[t] = S[t % 8, t // 8 * 5]
