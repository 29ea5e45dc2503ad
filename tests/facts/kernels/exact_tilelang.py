"""Kernels of tilelang whose work is known by formula."""

import tilelang.language as T


@T.prim_func
def split_k(
    A: T.Tensor((256, 1024), "float16"),
    B: T.Tensor((1024, 128), "float16"),
    C: T.Tensor((256, 128), "float32"),
):
    with T.Kernel(2, 2, 4, threads=128) as (bx, by, bz):
        A_s = T.alloc_shared((128, 32), "float16")
        B_s = T.alloc_shared((32, 64), "float16")
        C_f = T.alloc_fragment((128, 64), "float32")
        T.clear(C_f)
        for k in T.Pipelined(8, num_stages=2):
            T.copy(A[by * 128, bz * 256 + k * 32], A_s)
            T.copy(B[bz * 256 + k * 32, bx * 64], B_s)
            T.gemm(A_s, B_s, C_f)
        for i, j in T.Parallel(128, 64):
            T.atomic_add(C[by * 128 + i, bx * 64 + j], C_f[i, j])


@T.prim_func
def causal(
    Q: T.Tensor((512, 64), "float16"),
    K: T.Tensor((512, 64), "float16"),
    S: T.Tensor((512, 512), "float32"),
):
    with T.Kernel(4, threads=128) as bx:
        Q_s = T.alloc_shared((128, 64), "float16")
        K_s = T.alloc_shared((64, 64), "float16")
        S_f = T.alloc_fragment((128, 64), "float32")
        T.copy(Q[bx * 128, 0], Q_s)
        for k in T.Pipelined((bx + 1) * 2, num_stages=2):
            T.copy(K[k * 64, 0], K_s)
            T.clear(S_f)
            T.gemm(Q_s, K_s, S_f, transpose_B=True)
            T.copy(S_f, S[bx * 128, k * 64])


@T.prim_func
def tail(A: T.Tensor((1000, 100), "float32"), B: T.Tensor((1000, 100), "float32")):
    with T.Kernel(2, 16, threads=128) as (bx, by):
        tile = T.alloc_shared((64, 64), "float32")
        T.copy(A[by * 64, bx * 64], tile)
        T.copy(tile, B[by * 64, bx * 64])


@T.prim_func
def softmax(A: T.Tensor((40, 100), "float32"), B: T.Tensor((40, 100), "float32")):
    """Rows of 100 in tiles of 128, whose last 28 elements are minus infinity."""
    with T.Kernel(T.ceildiv(40, 16), threads=128) as b:
        F = T.alloc_fragment((16, 128), "float32")
        m = T.alloc_fragment((16,), "float32")
        s = T.alloc_fragment((16,), "float32")
        for i, j in T.Parallel(16, 128):
            F[i, j] = T.if_then_else(j < 100, A[b * 16 + i, j], -T.infinity("float32"))
        T.reduce_max(F, m, dim=1, clear=True)
        for i, j in T.Parallel(16, 128):
            F[i, j] = T.exp(F[i, j] - m[i])
        T.reduce_sum(F, s, dim=1)
        for i, j in T.Parallel(16, 128):
            if j < 100:
                B[b * 16 + i, j] = F[i, j] / s[i]


@T.prim_func
def own_counter(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
    """A loop over what each thread counts for itself."""
    with T.Kernel(4, threads=32) as b:
        i = T.alloc_var("int32")
        i = T.get_thread_binding()
        while i < 256:
            B[b * 256 + i] = A[b * 256 + i] * 3.0
            i = i + 32
