"""Sizes that are known at run time alone, with tails, triangles and loops over what is left."""

import tilelang.language as T

m = T.dynamic("m")
n = T.dynamic("n")


@T.prim_func
def gemm(
    A: T.Tensor((m, 96), "float16"),
    B: T.Tensor((96, 80), "float16"),
    C: T.Tensor((m, 80), "float16"),
):
    with T.Kernel(T.ceildiv(80, 32), T.ceildiv(m, 32), threads=64) as (bx, by):
        As = T.alloc_shared((32, 32), "float16")
        Bs = T.alloc_shared((32, 32), "float16")
        Cl = T.alloc_fragment((32, 32), "float32")
        T.clear(Cl)
        for k in T.Pipelined(3, num_stages=2):
            T.copy(A[by * 32, k * 32], As)
            T.copy(B[k * 32, bx * 32], Bs)
            T.gemm(As, Bs, Cl)
        T.copy(Cl, C[by * 32, bx * 32])


@T.prim_func
def copy(A: T.Tensor((m, n), "float32"), B: T.Tensor((m, n), "float32")):
    with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 16), threads=128) as (bx, by):
        for i, j in T.Parallel(16, 64):
            if by * 16 + i < m and bx * 64 + j < n:
                B[by * 16 + i, bx * 64 + j] = A[by * 16 + i, bx * 64 + j] * 2.0 + 1.0


@T.prim_func
def rows(A: T.Tensor((m, n), "float32"), R: T.Tensor((m,), "float32")):
    with T.Kernel(m, threads=64) as b:
        F = T.alloc_fragment((1, 128), "float32")
        s = T.alloc_fragment((1,), "float32")
        T.clear(s)
        for k in T.serial(T.ceildiv(n, 128)):
            T.copy(A[b, k * 128], F)
            T.reduce_sum(F, s, dim=1, clear=False)
        R[b] = s[0]


@T.prim_func
def causal(A: T.Tensor((m, 64), "float16"), C: T.Tensor((m, 32), "float32")):
    with T.Kernel(T.ceildiv(m, 32), threads=64) as b:
        Q = T.alloc_shared((32, 64), "float16")
        K = T.alloc_shared((32, 64), "float16")
        S = T.alloc_fragment((32, 32), "float32")
        T.copy(A[b * 32, 0], Q)
        T.clear(S)
        for k in T.Pipelined(b + 1, num_stages=2):
            T.copy(A[k * 32, 0], K)
            T.gemm(Q, K, S, transpose_B=True)
        T.copy(S, C[b * 32, 0])


@T.prim_func
def persistent(A: T.Tensor((m, 64), "float32"), B: T.Tensor((m, 64), "float32")):
    with T.Kernel(6, threads=64) as b:
        for w in T.serial(T.ceildiv(T.ceildiv(m, 16) - b, 6)):
            for i, j in T.Parallel(16, 64):
                if (w * 6 + b) * 16 + i < m:
                    B[(w * 6 + b) * 16 + i, j] = A[(w * 6 + b) * 16 + i, j] + 1.0


@T.prim_func
def vectors(
    A: T.Tensor((m, 64), "float16"), S: T.Tensor((m,), "float16"), B: T.Tensor((m, 64), "float16")
):
    with T.Kernel(T.ceildiv(m, 16), threads=128) as b:
        t = T.get_thread_binding()
        if b * 16 + t // 8 < m:
            for v in T.vectorized(8):
                B[b * 16 + t // 8, t % 8 * 8 + v] = (
                    A[b * 16 + t // 8, t % 8 * 8 + v] * S[b * 16 + t // 8]
                )
