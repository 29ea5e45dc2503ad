"""The same kernels in several spellings: see `test_spellings.py`."""

from tvm.script import tirx as T

F = "float32"
N = 4096


def coalesced_reads_grid_2d():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N, N), F), Y: T.Buffer((N, N), F)):
        for by in T.thread_binding(N // 8, thread="blockIdx.y"):
            for bx in T.thread_binding(N // 32, thread="blockIdx.x"):
                for ty in T.thread_binding(8, thread="threadIdx.y"):
                    for tx in T.thread_binding(32, thread="threadIdx.x"):
                        Y[bx * 32 + tx, by * 8 + ty] = X[by * 8 + ty, bx * 32 + tx]

    return kernel


def coalesced_reads_threads_1d():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N, N), F), Y: T.Buffer((N, N), F)):
        for by in T.thread_binding(N // 8, thread="blockIdx.y"):
            for bx in T.thread_binding(N // 32, thread="blockIdx.x"):
                for t in T.thread_binding(256, thread="threadIdx.x"):
                    Y[bx * 32 + t % 32, by * 8 + t // 32] = X[by * 8 + t // 32, bx * 32 + t % 32]

    return kernel


def coalesced_reads_grid_1d():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N, N), F), Y: T.Buffer((N, N), F)):
        for b in T.thread_binding(N * N // 256, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                Y[b % 128 * 32 + t % 32, b // 128 * 8 + t // 32] = X[
                    b // 128 * 8 + t // 32, b % 128 * 32 + t % 32
                ]

    return kernel


def coalesced_reads_flat():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N * N,), F), Y: T.Buffer((N * N,), F)):
        for b in T.thread_binding(N * N // 256, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                Y[(b % 128 * 32 + t % 32) * N + b // 128 * 8 + t // 32] = X[
                    (b // 128 * 8 + t // 32) * N + b % 128 * 32 + t % 32
                ]

    return kernel


def coalesced_reads_fused():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N * N,), F), Y: T.Buffer((N * N,), F)):
        for b in T.thread_binding(N * N // 256, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                Y[
                    ((b * 256 + t) // 256 % 128 * 32 + (b * 256 + t) % 32) * N
                    + (b * 256 + t) // (256 * 128) * 8
                    + (b * 256 + t) // 32 % 8
                ] = X[
                    ((b * 256 + t) // (256 * 128) * 8 + (b * 256 + t) // 32 % 8) * N
                    + (b * 256 + t) // 256 % 128 * 32
                    + (b * 256 + t) % 32
                ]

    return kernel


def coalesced_reads_shifts():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N * N,), F), Y: T.Buffer((N * N,), F)):
        for b in T.thread_binding(N * N // 256, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                Y[((b & 127) * 32 + (t & 31)) * N + (b >> 7) * 8 + (t >> 5)] = X[
                    ((b >> 7) * 8 + (t >> 5)) * N + (b & 127) * 32 + (t & 31)
                ]

    return kernel


def coalesced_writes_grid_2d():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N, N), F), Y: T.Buffer((N, N), F)):
        for by in T.thread_binding(N // 8, thread="blockIdx.y"):
            for bx in T.thread_binding(N // 32, thread="blockIdx.x"):
                for ty in T.thread_binding(8, thread="threadIdx.y"):
                    for tx in T.thread_binding(32, thread="threadIdx.x"):
                        Y[by * 8 + ty, bx * 32 + tx] = X[bx * 32 + tx, by * 8 + ty]

    return kernel


def coalesced_writes_grid_1d():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N, N), F), Y: T.Buffer((N, N), F)):
        for b in T.thread_binding(N * N // 256, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                Y[b // 128 * 8 + t // 32, b % 128 * 32 + t % 32] = X[
                    b % 128 * 32 + t % 32, b // 128 * 8 + t // 32
                ]

    return kernel


def coalesced_writes_fused():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N * N,), F), Y: T.Buffer((N * N,), F)):
        for b in T.thread_binding(N * N // 256, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                Y[
                    ((b * 256 + t) // (256 * 128) * 8 + (b * 256 + t) // 32 % 8) * N
                    + (b * 256 + t) // 256 % 128 * 32
                    + (b * 256 + t) % 32
                ] = X[
                    ((b * 256 + t) // 256 % 128 * 32 + (b * 256 + t) % 32) * N
                    + (b * 256 + t) // (256 * 128) * 8
                    + (b * 256 + t) // 32 % 8
                ]

    return kernel


def coalesced_writes_shifts():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N * N,), F), Y: T.Buffer((N * N,), F)):
        for b in T.thread_binding(N * N // 256, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                Y[((b >> 7) * 8 + (t >> 5)) * N + (b & 127) * 32 + (t & 31)] = X[
                    ((b & 127) * 32 + (t & 31)) * N + (b >> 7) * 8 + (t >> 5)
                ]

    return kernel


def columns_grid_2d():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N, N), F), Y: T.Buffer((N, N), F)):
        for by in T.thread_binding(N, thread="blockIdx.y"):
            for bx in T.thread_binding(N // 256, thread="blockIdx.x"):
                for t in T.thread_binding(256, thread="threadIdx.x"):
                    Y[by, bx * 256 + t] = X[bx * 256 + t, by]

    return kernel


def columns_fused():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N * N,), F), Y: T.Buffer((N * N,), F)):
        for b in T.thread_binding(N * N // 256, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                Y[b * 256 + t] = X[(b * 256 + t) % N * N + (b * 256 + t) // N]

    return kernel


def columns_shifts():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N * N,), F), Y: T.Buffer((N * N,), F)):
        for b in T.thread_binding(N * N // 256, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                Y[b * 256 + t] = X[((b * 256 + t) & (N - 1)) * N + ((b * 256 + t) >> 12)]

    return kernel


def product_grid_2d():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(
        A: T.Buffer((2048, 2048), F), B: T.Buffer((2048, 2048), F), C: T.Buffer((2048, 2048), F)
    ):
        for by in T.thread_binding(128, thread="blockIdx.y"):
            for bx in T.thread_binding(128, thread="blockIdx.x"):
                for ty in T.thread_binding(16, thread="threadIdx.y"):
                    for tx in T.thread_binding(16, thread="threadIdx.x"):
                        acc = T.alloc_buffer((1,), F, scope="local")
                        acc[0] = T.float32(0)
                        for k in range(2048):
                            acc[0] = acc[0] + A[by * 16 + ty, k] * B[k, bx * 16 + tx]
                        C[by * 16 + ty, bx * 16 + tx] = acc[0]

    return kernel


def product_flat():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(
        A: T.Buffer((2048 * 2048,), F),
        B: T.Buffer((2048 * 2048,), F),
        C: T.Buffer((2048 * 2048,), F),
    ):
        for b in T.thread_binding(128 * 128, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                acc = T.alloc_buffer((1,), F, scope="local")
                acc[0] = T.float32(0)
                for k in range(2048):
                    acc[0] = (
                        acc[0]
                        + A[(b // 128 * 16 + t // 16) * 2048 + k]
                        * B[k * 2048 + b % 128 * 16 + t % 16]
                    )
                C[(b // 128 * 16 + t // 16) * 2048 + b % 128 * 16 + t % 16] = acc[0]

    return kernel


def product_shifts():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(
        A: T.Buffer((2048 * 2048,), F),
        B: T.Buffer((2048 * 2048,), F),
        C: T.Buffer((2048 * 2048,), F),
    ):
        for b in T.thread_binding(128 * 128, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                acc = T.alloc_buffer((1,), F, scope="local")
                acc[0] = T.float32(0)
                for k in range(2048):
                    acc[0] = (
                        acc[0]
                        + A[((b >> 7) * 16 + (t >> 4)) * 2048 + k]
                        * B[k * 2048 + (b & 127) * 16 + (t & 15)]
                    )
                C[((b >> 7) * 16 + (t >> 4)) * 2048 + (b & 127) * 16 + (t & 15)] = acc[0]

    return kernel


def stencil_grid_2d():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N + 2, N + 2), F), Y: T.Buffer((N, N), F)):
        for by in T.thread_binding(N // 8, thread="blockIdx.y"):
            for bx in T.thread_binding(N // 32, thread="blockIdx.x"):
                for ty in T.thread_binding(8, thread="threadIdx.y"):
                    for tx in T.thread_binding(32, thread="threadIdx.x"):
                        Y[by * 8 + ty, bx * 32 + tx] = (
                            X[by * 8 + ty, bx * 32 + tx + 1]
                            + X[by * 8 + ty + 2, bx * 32 + tx + 1]
                            + X[by * 8 + ty + 1, bx * 32 + tx]
                            + X[by * 8 + ty + 1, bx * 32 + tx + 2]
                        )

    return kernel


def stencil_flat():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer(((N + 2) * (N + 2),), F), Y: T.Buffer((N * N,), F)):
        for b in T.thread_binding(N * N // 256, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                Y[(b // 128 * 8 + t // 32) * N + b % 128 * 32 + t % 32] = (
                    X[(b // 128 * 8 + t // 32) * (N + 2) + b % 128 * 32 + t % 32 + 1]
                    + X[(b // 128 * 8 + t // 32 + 2) * (N + 2) + b % 128 * 32 + t % 32 + 1]
                    + X[(b // 128 * 8 + t // 32 + 1) * (N + 2) + b % 128 * 32 + t % 32]
                    + X[(b // 128 * 8 + t // 32 + 1) * (N + 2) + b % 128 * 32 + t % 32 + 2]
                )

    return kernel


def stencil_shifts():
    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer(((N + 2) * (N + 2),), F), Y: T.Buffer((N * N,), F)):
        for b in T.thread_binding(N * N // 256, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                Y[((b >> 7) * 8 + (t >> 5)) * N + (b & 127) * 32 + (t & 31)] = (
                    X[((b >> 7) * 8 + (t >> 5)) * (N + 2) + (b & 127) * 32 + (t & 31) + 1]
                    + X[((b >> 7) * 8 + (t >> 5) + 2) * (N + 2) + (b & 127) * 32 + (t & 31) + 1]
                    + X[((b >> 7) * 8 + (t >> 5) + 1) * (N + 2) + (b & 127) * 32 + (t & 31)]
                    + X[((b >> 7) * 8 + (t >> 5) + 1) * (N + 2) + (b & 127) * 32 + (t & 31) + 2]
                )

    return kernel


def tiled_product(kind):
    if kind == "2d":

        @T.prim_func(s_tir=True, check_well_formed=False)
        def kernel(A: T.Buffer((N, N), F), B: T.Buffer((N, N), F), C: T.Buffer((N, N), F)):
            for by in T.thread_binding(N // 64, thread="blockIdx.y"):
                for bx in T.thread_binding(N // 64, thread="blockIdx.x"):
                    for ty in T.thread_binding(16, thread="threadIdx.y"):
                        for tx in T.thread_binding(16, thread="threadIdx.x"):
                            As = T.alloc_buffer((64, 16), F, scope="shared")
                            Bs = T.alloc_buffer((16, 64), F, scope="shared")
                            acc = T.alloc_buffer((4, 4), F, scope="local")
                            for i, j in T.grid(4, 4):
                                acc[i, j] = T.float32(0)
                            for k0 in range(N // 16):
                                for i in T.unroll(4):
                                    As[ty + i * 16, tx] = A[by * 64 + ty + i * 16, k0 * 16 + tx]
                                for i in T.unroll(4):
                                    Bs[ty, tx + i * 16] = B[k0 * 16 + ty, bx * 64 + tx + i * 16]
                                T.tvm_storage_sync("shared")
                                for k in T.unroll(16):
                                    for i in T.unroll(4):
                                        for j in T.unroll(4):
                                            acc[i, j] = (
                                                acc[i, j] + As[ty * 4 + i, k] * Bs[k, tx + j * 16]
                                            )
                                T.tvm_storage_sync("shared")
                            for i in T.unroll(4):
                                for j in T.unroll(4):
                                    C[by * 64 + ty * 4 + i, bx * 64 + tx + j * 16] = acc[i, j]

        return kernel
    if kind == "flatlocal":

        @T.prim_func(s_tir=True, check_well_formed=False)
        def kernel(A: T.Buffer((N, N), F), B: T.Buffer((N, N), F), C: T.Buffer((N, N), F)):
            for by in T.thread_binding(N // 64, thread="blockIdx.y"):
                for bx in T.thread_binding(N // 64, thread="blockIdx.x"):
                    for t in T.thread_binding(256, thread="threadIdx.x"):
                        As = T.alloc_buffer((64 * 16,), F, scope="shared")
                        Bs = T.alloc_buffer((16 * 64,), F, scope="shared")
                        acc = T.alloc_buffer((16,), F, scope="local")
                        for i in T.unroll(16):
                            acc[i] = T.float32(0)
                        for k0 in range(N // 16):
                            for i in T.unroll(4):
                                As[(t // 16 + i * 16) * 16 + t % 16] = A[
                                    by * 64 + t // 16 + i * 16, k0 * 16 + t % 16
                                ]
                            for i in T.unroll(4):
                                Bs[t // 16 * 64 + t % 16 + i * 16] = B[
                                    k0 * 16 + t // 16, bx * 64 + t % 16 + i * 16
                                ]
                            T.tvm_storage_sync("shared")
                            for k in T.unroll(16):
                                for ij in T.unroll(16):
                                    acc[ij] = (
                                        acc[ij]
                                        + As[(t // 16 * 4 + ij // 4) * 16 + k]
                                        * Bs[k * 64 + t % 16 + ij % 4 * 16]
                                    )
                            T.tvm_storage_sync("shared")
                        for ij in T.unroll(16):
                            C[by * 64 + t // 16 * 4 + ij // 4, bx * 64 + t % 16 + ij % 4 * 16] = (
                                acc[ij]
                            )

        return kernel
    if kind == "serial":

        @T.prim_func(s_tir=True, check_well_formed=False)
        def kernel(A: T.Buffer((N, N), F), B: T.Buffer((N, N), F), C: T.Buffer((N, N), F)):
            for by in T.thread_binding(N // 64, thread="blockIdx.y"):
                for bx in T.thread_binding(N // 64, thread="blockIdx.x"):
                    for ty in T.thread_binding(16, thread="threadIdx.y"):
                        for tx in T.thread_binding(16, thread="threadIdx.x"):
                            As = T.alloc_buffer((64, 16), F, scope="shared")
                            Bs = T.alloc_buffer((16, 64), F, scope="shared")
                            acc = T.alloc_buffer((4, 4), F, scope="local")
                            for i, j in T.grid(4, 4):
                                acc[i, j] = T.float32(0)
                            for k0 in range(N // 16):
                                for i in range(4):
                                    As[ty + i * 16, tx] = A[by * 64 + ty + i * 16, k0 * 16 + tx]
                                for i in range(4):
                                    Bs[ty, tx + i * 16] = B[k0 * 16 + ty, bx * 64 + tx + i * 16]
                                T.tvm_storage_sync("shared")
                                for k, i, j in T.grid(16, 4, 4):
                                    acc[i, j] = acc[i, j] + As[ty * 4 + i, k] * Bs[k, tx + j * 16]
                                T.tvm_storage_sync("shared")
                            for i, j in T.grid(4, 4):
                                C[by * 64 + ty * 4 + i, bx * 64 + tx + j * 16] = acc[i, j]

        return kernel
    if kind == "regs":

        @T.prim_func(s_tir=True, check_well_formed=False)
        def kernel(A: T.Buffer((N, N), F), B: T.Buffer((N, N), F), C: T.Buffer((N, N), F)):
            for by in T.thread_binding(N // 64, thread="blockIdx.y"):
                for bx in T.thread_binding(N // 64, thread="blockIdx.x"):
                    for ty in T.thread_binding(16, thread="threadIdx.y"):
                        for tx in T.thread_binding(16, thread="threadIdx.x"):
                            As = T.alloc_buffer((64, 16), F, scope="shared")
                            Bs = T.alloc_buffer((16, 64), F, scope="shared")
                            acc = T.alloc_buffer((4, 4), F, scope="local")
                            a = T.alloc_buffer((4,), F, scope="local")
                            b = T.alloc_buffer((4,), F, scope="local")
                            for i, j in T.grid(4, 4):
                                acc[i, j] = T.float32(0)
                            for k0 in range(N // 16):
                                for i in T.unroll(4):
                                    As[ty + i * 16, tx] = A[by * 64 + ty + i * 16, k0 * 16 + tx]
                                for i in T.unroll(4):
                                    Bs[ty, tx + i * 16] = B[k0 * 16 + ty, bx * 64 + tx + i * 16]
                                T.tvm_storage_sync("shared")
                                for k in T.unroll(16):
                                    for i in T.unroll(4):
                                        a[i] = As[ty * 4 + i, k]
                                    for j in T.unroll(4):
                                        b[j] = Bs[k, tx + j * 16]
                                    for i in T.unroll(4):
                                        for j in T.unroll(4):
                                            acc[i, j] = acc[i, j] + a[i] * b[j]
                                T.tvm_storage_sync("shared")
                            for i in T.unroll(4):
                                for j in T.unroll(4):
                                    C[by * 64 + ty * 4 + i, bx * 64 + tx + j * 16] = acc[i, j]

        return kernel
    raise ValueError(kind)


def exponentials(kind):
    M = 1 << 24
    if kind == "vectorized":

        @T.prim_func(s_tir=True, check_well_formed=False)
        def kernel(X: T.Buffer((M,), F), Y: T.Buffer((M,), F)):
            for b in T.thread_binding(M // 1024, thread="blockIdx.x"):
                for t in T.thread_binding(256, thread="threadIdx.x"):
                    for v in T.vectorized(4):
                        Y[b * 1024 + t * 4 + v] = T.exp(X[b * 1024 + t * 4 + v])

        return kernel
    if kind == "2d":

        @T.prim_func(s_tir=True, check_well_formed=False)
        def kernel(X: T.Buffer((M // 4, 4), F), Y: T.Buffer((M // 4, 4), F)):
            for b in T.thread_binding(M // 1024, thread="blockIdx.x"):
                for t in T.thread_binding(256, thread="threadIdx.x"):
                    for v in T.vectorized(4):
                        Y[b * 256 + t, v] = T.exp(X[b * 256 + t, v])

        return kernel
    if kind == "local":

        @T.prim_func(s_tir=True, check_well_formed=False)
        def kernel(X: T.Buffer((M,), F), Y: T.Buffer((M,), F)):
            for b in T.thread_binding(M // 1024, thread="blockIdx.x"):
                for t in T.thread_binding(256, thread="threadIdx.x"):
                    r = T.alloc_buffer((4,), F, scope="local")
                    for v in T.vectorized(4):
                        r[v] = X[b * 1024 + t * 4 + v]
                    for v in T.unroll(4):
                        r[v] = T.exp(r[v])
                    for v in T.vectorized(4):
                        Y[b * 1024 + t * 4 + v] = r[v]

        return kernel
    raise ValueError(kind)


def row_sums(kind):
    R, C = 8192, 4096
    if kind == "plain":

        @T.prim_func(s_tir=True, check_well_formed=False)
        def kernel(X: T.Buffer((R, C), F), Y: T.Buffer((R,), F)):
            for b in T.thread_binding(R // 8, thread="blockIdx.x"):
                for ty in T.thread_binding(8, thread="threadIdx.y"):
                    for tx in T.thread_binding(32, thread="threadIdx.x"):
                        s = T.alloc_buffer((1,), F, scope="local")
                        s[0] = T.float32(0)
                        for k in range(C // 32):
                            s[0] = s[0] + X[b * 8 + ty, k * 32 + tx]
                        for m in T.unroll(5):
                            s[0] = s[0] + T.tvm_warp_shuffle_down(
                                T.uint32(0xFFFFFFFF), s[0], 16 >> m, 32, 32
                            )
                        if tx == 0:
                            Y[b * 8 + ty] = s[0]

        return kernel
    if kind == "one":

        @T.prim_func(s_tir=True, check_well_formed=False)
        def kernel(X: T.Buffer((R * C,), F), Y: T.Buffer((R,), F)):
            for b in T.thread_binding(R // 8, thread="blockIdx.x"):
                for t in T.thread_binding(256, thread="threadIdx.x"):
                    s = T.alloc_buffer((1,), F, scope="local")
                    s[0] = T.float32(0)
                    for k in range(C // 32):
                        s[0] = s[0] + X[(b * 8 + t // 32) * C + k * 32 + t % 32]
                    for m in T.unroll(5):
                        s[0] = s[0] + T.tvm_warp_shuffle_down(
                            T.uint32(0xFFFFFFFF), s[0], 16 >> m, 32, 32
                        )
                    if t % 32 == 0:
                        Y[b * 8 + t // 32] = s[0]

        return kernel
    if kind == "stride":

        @T.prim_func(s_tir=True, check_well_formed=False)
        def kernel(X: T.Buffer((R, C), F), Y: T.Buffer((R,), F)):
            for b in T.thread_binding(R // 8, thread="blockIdx.x"):
                for ty in T.thread_binding(8, thread="threadIdx.y"):
                    for tx in T.thread_binding(32, thread="threadIdx.x"):
                        s = T.alloc_buffer((1,), F, scope="local")
                        s[0] = T.float32(0)
                        for k in T.serial(tx, C, step=32):
                            s[0] = s[0] + X[b * 8 + ty, k]
                        for m in T.unroll(5):
                            s[0] = s[0] + T.tvm_warp_shuffle_down(
                                T.uint32(0xFFFFFFFF), s[0], 16 >> m, 32, 32
                            )
                        if tx == 0:
                            Y[b * 8 + ty] = s[0]

        return kernel
    if kind == "guard":

        @T.prim_func(s_tir=True, check_well_formed=False)
        def kernel(X: T.Buffer((R, C), F), Y: T.Buffer((R,), F)):
            for b in T.thread_binding(R // 8, thread="blockIdx.x"):
                for ty in T.thread_binding(8, thread="threadIdx.y"):
                    for tx in T.thread_binding(32, thread="threadIdx.x"):
                        s = T.alloc_buffer((1,), F, scope="local")
                        s[0] = T.float32(0)
                        for k in range((C + 31) // 32):
                            if k * 32 + tx < C:
                                s[0] = s[0] + X[b * 8 + ty, k * 32 + tx]
                        for m in T.unroll(5):
                            s[0] = s[0] + T.tvm_warp_shuffle_down(
                                T.uint32(0xFFFFFFFF), s[0], 16 >> m, 32, 32
                            )
                        if tx == 0:
                            Y[b * 8 + ty] = s[0]

        return kernel
    if kind == "ite":

        @T.prim_func(s_tir=True, check_well_formed=False)
        def kernel(X: T.Buffer((R, C), F), Y: T.Buffer((R,), F)):
            for b in T.thread_binding(R // 8, thread="blockIdx.x"):
                for ty in T.thread_binding(8, thread="threadIdx.y"):
                    for tx in T.thread_binding(32, thread="threadIdx.x"):
                        s = T.alloc_buffer((1,), F, scope="local")
                        s[0] = T.float32(0)
                        for k in range((C + 31) // 32):
                            s[0] = s[0] + T.if_then_else(
                                k * 32 + tx < C, X[b * 8 + ty, k * 32 + tx], T.float32(0)
                            )
                        for m in T.unroll(5):
                            s[0] = s[0] + T.tvm_warp_shuffle_down(
                                T.uint32(0xFFFFFFFF), s[0], 16 >> m, 32, 32
                            )
                        if tx == 0:
                            Y[b * 8 + ty] = s[0]

        return kernel
    raise ValueError(kind)


def scaled(kind):
    R, C = 8192, 4096
    if kind == "grid_mul":

        @T.prim_func(s_tir=True, check_well_formed=False)
        def kernel(X: T.Buffer((R * C,), F), Y: T.Buffer((R * C,), F)):
            for b in T.thread_binding(432, thread="blockIdx.x"):
                for t in T.thread_binding(256, thread="threadIdx.x"):
                    for i in range((R * C + 432 * 256 - 1) // (432 * 256)):
                        if i * 432 * 256 + b * 256 + t < R * C:
                            Y[i * 432 * 256 + b * 256 + t] = X[i * 432 * 256 + b * 256 + t] * 2.0

        return kernel

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((R * C,), F), Y: T.Buffer((R * C,), F)):
        for b in T.thread_binding(432, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                for i in T.serial(b * 256 + t, R * C, step=432 * 256):
                    Y[i] = X[i] * 2.0

    return kernel


def blocks(kind):
    if kind == "threads":

        @T.prim_func(s_tir=True, check_well_formed=False)
        def kernel(X: T.Buffer((N, N), F), Y: T.Buffer((N, N), F)):
            for b in T.thread_binding(N * N // 1024, thread="blockIdx.x"):
                for t in T.thread_binding(256, thread="threadIdx.x"):
                    for v in T.vectorized(4):
                        Y[(b * 1024 + t * 4 + v) // N, (b * 1024 + t * 4 + v) % N] = X[
                            (b * 1024 + t * 4 + v) // N, (b * 1024 + t * 4 + v) % N
                        ] * T.float32(2)

        return kernel

    @T.prim_func(s_tir=True, check_well_formed=False)
    def kernel(X: T.Buffer((N, N), F), Y: T.Buffer((N, N), F)):
        for b in T.thread_binding(N * N // 1024, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                for v in T.vectorized(4):
                    with T.sblock("y"):
                        i = T.axis.spatial(N, (b * 1024 + t * 4 + v) // N)
                        j = T.axis.spatial(N, (b * 1024 + t * 4 + v) % N)
                        Y[i, j] = X[i, j] * T.float32(2)

    return kernel
