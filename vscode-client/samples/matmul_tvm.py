"""A matrix product in TVMScript. Save the file: the cost of each line is at its end."""

from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def matmul(
    A: T.Buffer((2048, 2048), "float32"),
    B: T.Buffer((2048, 2048), "float32"),
    C: T.Buffer((2048, 2048), "float32"),
):
    for by in T.thread_binding(64, thread="blockIdx.y"):
        for bx in T.thread_binding(64, thread="blockIdx.x"):
            for ty in T.thread_binding(32, thread="threadIdx.y"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    A_shared = T.alloc_buffer((32, 32), "float32", scope="shared")
                    B_shared = T.alloc_buffer((32, 32), "float32", scope="shared")
                    acc = T.alloc_buffer((1,), "float32", scope="local")
                    acc[0] = T.float32(0)
                    for ko in range(64):
                        A_shared[ty, tx] = A[by * 32 + ty, ko * 32 + tx]
                        B_shared[ty, tx] = B[ko * 32 + ty, bx * 32 + tx]
                        T.tvm_storage_sync("shared")
                        for ki in T.unroll(32):
                            acc[0] = acc[0] + A_shared[ty, ki] * B_shared[ki, tx]
                        T.tvm_storage_sync("shared")
                    C[by * 32 + ty, bx * 32 + tx] = acc[0]
