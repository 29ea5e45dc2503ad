"""Kernels whose arguments are what an advice would change."""

import tilelang.language as T


def product(threads, stages, panel=0, size=8192, columns=128):
    @T.prim_func
    def matmul(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "float16"),
        C: T.Tensor((size, size), "float16"),
    ):
        with T.Kernel(size // columns, size // 128, threads=threads) as (bx, by):
            A_shared = T.alloc_shared((128, 32), "float16")
            B_shared = T.alloc_shared((32, columns), "float16")
            C_local = T.alloc_fragment((128, columns), "float32")
            if panel:
                T.use_swizzle(panel)
            T.clear(C_local)
            for k in T.Pipelined(size // 32, num_stages=stages):
                T.copy(A[by * 128, k * 32], A_shared)
                T.copy(B[k * 32, bx * columns], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 128, bx * columns])

    return matmul


def scores(bounded, batch=16, length=4096, dim=128):
    @T.prim_func
    def attention(
        Q: T.Tensor((batch, length, dim), "float16"),
        K: T.Tensor((batch, length, dim), "float16"),
        Out: T.Tensor((batch, length, dim), "float32"),
    ):
        with T.Kernel(length // 128, batch, threads=256) as (bx, by):
            Q_shared = T.alloc_shared((128, dim), "float16")
            K_shared = T.alloc_shared((128, dim), "float16")
            P_shared = T.alloc_shared((128, 128), "float16")
            P = T.alloc_fragment((128, 128), "float32")
            acc = T.alloc_fragment((128, dim), "float32")
            T.clear(acc)
            T.copy(Q[by, bx * 128, 0], Q_shared)
            for k in T.Pipelined(bx + 1 if bounded else length // 128, num_stages=2):
                T.copy(K[by, k * 128, 0], K_shared)
                for i, j in T.Parallel(128, 128):
                    P[i, j] = T.if_then_else(bx * 128 + i >= k * 128 + j, 0, -T.infinity("float32"))
                T.gemm(Q_shared, K_shared, P, transpose_B=True)
                T.copy(P, P_shared)
                T.gemm(P_shared, K_shared, acc)
            T.copy(acc, Out[by, bx * 128, 0])

    return attention
