"""Kernels of which tilelang 0.1.8 and 0.1.9 make other code: `test_versions.py` compares both."""

import tilelang
import tilelang.language as T


@tilelang.jit
def staged(M=8192, N=128, K=8192):
    """A guarded copy by elements: cp.async in 0.1.8, loads and stores from 0.1.9 on.

    Reported as tile-ai/tilelang issue 2759: 58.6 % more time of an attention kernel on an H100.
    """

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        length: T.Tensor((1,), "int32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(M, 64), threads=128) as bx:
            A_shared = T.alloc_shared((64, 64), "float16")
            B_shared = T.alloc_shared((64, N), "float16")
            C_local = T.alloc_fragment((64, N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, 64), num_stages=2):
                for i, j in T.Parallel(64, 64):
                    if bx * 64 + i < length[0]:
                        A_shared[i, j] = A[bx * 64 + i, k * 64 + j]
                    else:
                        A_shared[i, j] = 0
                for i, j in T.Parallel(64, N):
                    B_shared[i, j] = B[k * 64 + i, j]
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[bx * 64, 0])

    return main


@tilelang.jit
def scaled(M=8192, N=8192):
    """Both make the same of it."""

    @T.prim_func
    def main(A: T.Tensor((M, N), "float16"), B: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(M, 64), T.ceildiv(N, 64), threads=128) as (bx, by):
            for i, j in T.Parallel(64, 64):
                B[bx * 64 + i, by * 64 + j] = A[bx * 64 + i, by * 64 + j] * 2

    return main


@tilelang.jit
def explicit(M=4096, N=128, K=128):
    """0.1.8 has no ``T.wgmma_gemm``."""

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(M, 64), threads=128) as bx:
            A_shared = T.alloc_shared((64, K), "float16")
            B_shared = T.alloc_shared((K, N), "float16")
            C_local = T.alloc_fragment((64, N), "float32")
            T.clear(C_local)
            T.copy(A[bx * 64, 0], A_shared)
            T.copy(B, B_shared)
            T.wgmma_gemm(A_shared, B_shared, C_local)
            T.wait_wgmma(0)
            T.copy(C_local, C[bx * 64, 0])

    return main
