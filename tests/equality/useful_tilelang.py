"""Kernels whose products reach over the edges of arrays or are masked in part."""

import tilelang.language as T


def gemm(M, N, K, transposed):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((N, K) if transposed else (K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 64), threads=128) as (bx, by):
            A_s = T.alloc_shared((64, 16), "float16")
            B_s = T.alloc_shared((32, 16) if transposed else (16, 32), "float16")
            C_l = T.alloc_fragment((64, 32), "float32")
            T.clear(C_l)
            for k in T.Pipelined(T.ceildiv(K, 16), num_stages=2):
                T.copy(A[by * 64, k * 16], A_s)
                if transposed:
                    T.copy(B[bx * 32, k * 16], B_s)
                else:
                    T.copy(B[k * 16, bx * 32], B_s)
                T.gemm(A_s, B_s, C_l, transpose_B=transposed)
            T.copy(C_l, C[by * 64, bx * 32])

    return main


def attention(length, dim, masked_first, scaled):
    @T.prim_func
    def main(
        Q: T.Tensor((length, dim), "float16"),
        K: T.Tensor((length, dim), "float16"),
        V: T.Tensor((length, dim), "float16"),
        O: T.Tensor((length, dim), "float32"),  # noqa: E741
    ):
        with T.Kernel(T.ceildiv(length, 64), threads=128) as bx:
            Q_s = T.alloc_shared((64, dim), "float16")
            K_s = T.alloc_shared((32, dim), "float16")
            V_s = T.alloc_shared((32, dim), "float16")
            S = T.alloc_fragment((64, 32), "float32")
            P = T.alloc_fragment((64, 32), "float16")
            acc = T.alloc_fragment((64, dim), "float32")
            T.copy(Q[bx * 64, 0], Q_s)
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(T.min((bx + 1) * 64, length), 32), num_stages=1):
                T.copy(K[k * 32, 0], K_s)
                if masked_first:
                    for i, j in T.Parallel(64, 32):
                        S[i, j] = T.if_then_else(
                            bx * 64 + i >= k * 32 + j, 0, -T.infinity("float32")
                        )
                    T.gemm(Q_s, K_s, S, transpose_B=True)
                else:
                    T.gemm(Q_s, K_s, S, transpose_B=True, clear_accum=True)
                    for i, j in T.Parallel(64, 32):
                        S[i, j] = T.if_then_else(
                            bx * 64 + i < k * 32 + j, -T.infinity("float32"), S[i, j]
                        )
                for i, j in T.Parallel(64, 32):
                    S[i, j] = T.exp2(S[i, j])
                T.copy(V[k * 32, 0], V_s)
                if scaled:
                    for i, j in T.Parallel(64, 32):
                        P[i, j] = S[i, j] * 2.0
                else:
                    T.copy(S, P)
                T.gemm(P, V_s, acc)
            T.copy(acc, O[bx * 64, 0])

    return main


def loaded_ahead(M):
    """The tile that a product reads is that of the iteration before."""

    @T.prim_func
    def main(A: T.Tensor((M, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((64, 64), "float16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.clear(C_l)
            T.copy(A[0, 0], A_s)
            for k in T.serial(T.ceildiv(M, 64)):
                T.gemm(A_s, A_s, C_l)
                T.copy(A[(k + 1) * 64, 0], A_s)
            T.copy(C_l, C)

    return main


def masked_behind(M, K):
    """A product whose result is masked behind the loop that sums it up."""

    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), C: T.Tensor((M, 64), "float32")):
        with T.Kernel(T.ceildiv(M, 64), threads=128) as bx:
            A_s = T.alloc_shared((64, 32), "float16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.clear(C_l)
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
                T.copy(A[bx * 64, k * 32], A_s)
                T.gemm(A_s, A_s, C_l, transpose_B=True)
            for i, j in T.Parallel(64, 64):
                C_l[i, j] = T.if_then_else(i >= j, C_l[i, j], 0.0)
            T.copy(C_l, C[bx * 64, 0])

    return main


CASES = {
    "tails": (lambda _: gemm(100, 70, 40, False), None),
    "whole": (lambda _: gemm(128, 64, 32, True), None),
    "transposed": (lambda _: gemm(65, 33, 17, True), None),
    "masked_first": (lambda _: attention(150, 32, True, False), None),
    "masked_later": (lambda _: attention(150, 32, False, True), None),
    "whole_tiles": (lambda _: attention(128, 64, False, False), None),
    "masked_behind": (lambda _: masked_behind(150, 40), None),
    "tile_of_before": (lambda _: loaded_ahead(100), None),
}
