"""Sizes that are known at run time alone: guarded tiles, windows, triangles."""

from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def gemm(a: T.handle, b: T.handle, c: T.handle):
    m, n, k = T.int32(), T.int32(), T.int32()
    A = T.match_buffer(a, (m, k), "float16")
    B = T.match_buffer(b, (n, k), "float16")
    C = T.match_buffer(c, (m, n), "float32")
    for by in T.thread_binding(T.ceildiv(m, 16), thread="blockIdx.y"):
        for bx in T.thread_binding(T.ceildiv(n, 16), thread="blockIdx.x"):
            for ty in T.thread_binding(16, thread="threadIdx.y"):
                for tx in T.thread_binding(16, thread="threadIdx.x"):
                    if by * 16 + ty < m and bx * 16 + tx < n:
                        C[by * 16 + ty, bx * 16 + tx] = T.float32(0)
                        for kk in range(k):
                            C[by * 16 + ty, bx * 16 + tx] = C[by * 16 + ty, bx * 16 + tx] + T.cast(
                                A[by * 16 + ty, kk], "float32"
                            ) * T.cast(B[bx * 16 + tx, kk], "float32")


@T.prim_func(s_tir=True)
def window(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for o in T.thread_binding(T.ceildiv(n, 32), thread="blockIdx.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            if o * 32 + t < n:
                B[o * 32 + t] = T.float32(0)
                for d in range(T.max(0, o * 32 + t - 5), T.min(n, o * 32 + t + 6)):
                    B[o * 32 + t] = B[o * 32 + t] + A[d]


@T.prim_func(s_tir=True)
def triangle(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, n), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in T.thread_binding(n, thread="blockIdx.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            for j in range(T.ceildiv(i + 1, 32)):
                if j * 32 + t <= i:
                    B[i] = B[i] + A[i, j * 32 + t]
