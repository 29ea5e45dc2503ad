"""A matrix product: the cost of each line is at its end."""

import tilelang
import tilelang.language as T


# The call to estimate for, which you can change here.
# tirlens: matmul(4096, 4096, 4096)
@tilelang.jit(out_idx=[-1])
def matmul(M, N, K, BM=128, BN=128, BK=64):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(
            T.ceildiv(N, BN),
            T.ceildiv(M, BM),
            threads=128,
        ) as (x, y):
            A_s = T.alloc_shared((BM, BK), "float16")
            B_s = T.alloc_shared((BK, BN), "float16")
            C_l = T.alloc_fragment((BM, BN), "float32")
            T.clear(C_l)
            for k in T.Pipelined(
                T.ceildiv(K, BK),
                num_stages=2,
            ):
                T.copy(A[y * BM, k * BK], A_s)
                T.copy(B[k * BK, x * BN], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[y * BM, x * BN])

    return main
