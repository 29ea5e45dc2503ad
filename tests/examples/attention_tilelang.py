"""Causal flash attention in tilelang: the inner loop is shorter for the earlier rows."""

import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[3])
def attention(batch, heads, length, dim, causal=True, block_M=128, block_N=64, num_stages=2):
    scale = (1.0 / dim) ** 0.5 * 1.44269504  # log2(e), for exp2 in place of exp
    shape = (batch, length, heads, dim)
    rows = T.GemmWarpPolicy.FullRow  # a row of scores stays in one warp

    @T.prim_func
    def main(
        Q: T.Tensor(shape, "float16"),
        K: T.Tensor(shape, "float16"),
        V: T.Tensor(shape, "float16"),
        Output: T.Tensor(shape, "float16"),
    ):
        with T.Kernel(T.ceildiv(length, block_M), heads, batch, threads=256) as (bx, by, bz):
            Q_shared = T.alloc_shared((block_M, dim), "float16")
            K_shared = T.alloc_shared((block_N, dim), "float16")
            V_shared = T.alloc_shared((block_N, dim), "float16")
            scores = T.alloc_fragment((block_M, block_N), "float32")
            weights = T.alloc_fragment((block_M, block_N), "float16")
            output = T.alloc_fragment((block_M, dim), "float32")
            peak = T.alloc_fragment((block_M,), "float32")
            peak_before = T.alloc_fragment((block_M,), "float32")
            rescale = T.alloc_fragment((block_M,), "float32")
            row_sum = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")

            T.copy(Q[bz, bx * block_M : (bx + 1) * block_M, by, :], Q_shared)
            T.fill(output, 0)
            T.fill(total, 0)
            T.fill(peak, -T.infinity("float32"))
            blocks = (
                T.ceildiv((bx + 1) * block_M, block_N) if causal else T.ceildiv(length, block_N)
            )
            for k in T.Pipelined(blocks, num_stages=num_stages):
                T.copy(K[bz, k * block_N : (k + 1) * block_N, by, :], K_shared)
                if causal:
                    for i, j in T.Parallel(block_M, block_N):
                        scores[i, j] = T.if_then_else(
                            bx * block_M + i >= k * block_N + j, 0, -T.infinity("float32")
                        )
                else:
                    T.clear(scores)
                T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=rows)
                T.copy(peak, peak_before)
                T.reduce_max(scores, peak, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    rescale[i] = T.exp2(peak_before[i] * scale - peak[i] * scale)
                for i, j in T.Parallel(block_M, block_N):
                    scores[i, j] = T.exp2(scores[i, j] * scale - peak[i] * scale)
                T.reduce_sum(scores, row_sum, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * rescale[i] + row_sum[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block_M, dim):
                    output[i, j] *= rescale[i]
                T.copy(V[bz, k * block_N : (k + 1) * block_N, by, :], V_shared)
                T.gemm(weights, V_shared, output, policy=rows)
            for i, j in T.Parallel(block_M, dim):
                output[i, j] /= total[i]
            T.copy(output, Output[bz, bx * block_M : (bx + 1) * block_M, by, :])

    return main


def run(batch=8, heads=32, length=4096, dim=128):
    kernel = attention(batch, heads, length, dim)
    print(kernel.get_kernel_source())


if __name__ == "__main__":
    run()
