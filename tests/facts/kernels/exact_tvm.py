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


@T.prim_func(s_tir=True)
def gemm_tiled(
    A: T.Buffer((70, 33), "float16"),
    B: T.Buffer((33, 50), "float16"),
    C: T.Buffer((70, 50), "float32"),
):
    """Tiles of 16 x 16 whose edges are guarded by T.where, shared tiles padded."""
    for by in T.thread_binding(5, thread="blockIdx.y"):
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            for ty in T.thread_binding(16, thread="threadIdx.y"):
                for tx in T.thread_binding(16, thread="threadIdx.x"):
                    with T.sblock("tile"):
                        T.reads()
                        T.writes()
                        As = T.sblock_alloc_buffer((16, 17), "float16", scope="shared")
                        Bs = T.sblock_alloc_buffer((16, 17), "float16", scope="shared")
                        acc = T.sblock_alloc_buffer((1,), "float32", scope="local")
                        acc[0] = T.float32(0)
                        for k in range(3):
                            As[ty, tx] = T.if_then_else(
                                by * 16 + ty < 70 and k * 16 + tx < 33,
                                A[by * 16 + ty, k * 16 + tx],
                                T.float16(0),
                            )
                            Bs[ty, tx] = T.if_then_else(
                                k * 16 + ty < 33 and bx * 16 + tx < 50,
                                B[k * 16 + ty, bx * 16 + tx],
                                T.float16(0),
                            )
                            T.tvm_storage_sync("shared")
                            for r in range(16):
                                acc[0] = acc[0] + T.cast(As[ty, r], "float32") * T.cast(
                                    Bs[r, tx], "float32"
                                )
                            T.tvm_storage_sync("shared")
                        if by * 16 + ty < 70 and bx * 16 + tx < 50:
                            C[by * 16 + ty, bx * 16 + tx] = acc[0]


@T.prim_func(s_tir=True)
def init_under_predicate(A: T.Buffer((100,), "float32"), B: T.Buffer((10,), "float32")):
    """Ten steps in three tiles of four; the first one sets the sum to zero."""
    for i in T.thread_binding(10, thread="threadIdx.x"):
        for ko, ki in T.grid(3, 4):
            with T.sblock("s"):
                T.where(ko * 4 + ki < 10)
                vi = T.axis.spatial(10, i)
                vk = T.axis.reduce(10, ko * 4 + ki)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi * 10 + vk]


@T.prim_func(s_tir=True)
def shuffle_sum(A: T.Buffer((8, 100), "float32"), B: T.Buffer((8,), "float32")):
    """Each lane adds up to four elements, the lanes of a warp then add in five steps."""
    for i in T.thread_binding(8, thread="blockIdx.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            part = T.alloc_buffer((1,), "float32", scope="local")
            part[0] = T.float32(0)
            for k in range(4):
                if k * 32 + t < 100:
                    part[0] = part[0] + A[i, k * 32 + t]
            for s in T.unroll(5):
                part[0] = part[0] + T.tvm_warp_shuffle_down(
                    T.tvm_warp_activemask(), part[0], T.shift_right(16, s), 32, 32
                )
            if t == 0:
                B[i] = part[0]


@T.prim_func(s_tir=True)
def lower_triangle(
    A: T.Buffer((30, 30), "float32"), x: T.Buffer((30,), "float32"), y: T.Buffer((30,), "float32")
):
    """Rows of 1 to 30 elements."""
    for i in T.thread_binding(30, thread="threadIdx.x"):
        y[i] = T.float32(0)
        for j in range(i + 1):
            y[i] = y[i] + A[i, j] * x[j]


@T.prim_func(s_tir=True)
def interior(A: T.Buffer((17, 19), "float32"), B: T.Buffer((17, 19), "float32")):
    """The inner points of a grid have four neighbours, the others are copied."""
    for y in T.thread_binding(17, thread="blockIdx.x"):
        for x in T.thread_binding(19, thread="threadIdx.x"):
            if y > 0 and y < 16:
                if x > 0 and x < 18:
                    B[y, x] = (A[y - 1, x] + A[y + 1, x] + A[y, x - 1] + A[y, x + 1]) * T.float32(
                        0.25
                    )
                else:
                    B[y, x] = A[y, x]
            else:
                B[y, x] = A[y, x]


@T.prim_func(s_tir=True)
def nibbles(A: T.Buffer((32, 8), "uint32"), B: T.Buffer((32, 64), "float16")):
    """Eight numbers in a word."""
    for i in T.thread_binding(32, thread="threadIdx.x"):
        for j in range(64):
            B[i, j] = T.cast(
                T.bitwise_and(
                    T.shift_right(A[i, j // 8], T.cast(j % 8 * 4, "uint32")), T.uint32(15)
                ),
                "float16",
            ) - T.float16(8)
