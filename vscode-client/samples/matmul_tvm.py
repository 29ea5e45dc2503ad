"""A matrix product: the cost of each line is at its end."""

from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def matmul(
    A: T.Buffer((2048, 2048), "float32"),
    B: T.Buffer((2048, 2048), "float32"),
    C: T.Buffer((2048, 2048), "float32"),
):
    for b in T.thread_binding(4096, "blockIdx.x"):
        for t in T.thread_binding(1024, "threadIdx.x"):
            y, x = b // 64 * 32, b % 64 * 32
            i, j = t // 32, t % 32
            A_s = T.alloc_buffer((32, 32), "float32", scope="shared")
            B_s = T.alloc_buffer((32, 32), "float32", scope="shared")
            acc = T.alloc_buffer((1,), "float32", scope="local")
            acc[0] = T.float32(0)
            for k in range(64):
                A_s[i, j] = A[y + i, k * 32 + j]
                B_s[i, j] = B[k * 32 + i, x + j]
                T.tvm_storage_sync("shared")
                for n in T.unroll(32):
                    acc[0] += A_s[i, n] * B_s[n, j]
                T.tvm_storage_sync("shared")
            C[y + i, x + j] = acc[0]
