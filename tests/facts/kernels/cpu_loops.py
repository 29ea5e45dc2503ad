"""Kernels of a CPU: what waits for what, what is computed twice, integers with a name."""

from tvm.script import tirx as T


@T.prim_func
def sweep(A: T.Buffer((10, 10), "float32"), X: T.Buffer((10, 10), "float32")):
    for i, j in T.grid(8, 8):
        A[i + 1, j + 1] = X[i, j] * A[i + 1, j] + T.max(A[i, j + 1], X[i, j] / A[i + 1, j + 2])


@T.prim_func
def squares(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(15):
        B[i] = (A[i] - A[i + 1]) * (A[i] - A[i + 1])


@T.prim_func
def named(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i, j in T.grid(8, 8):
        k: T.int32 = i * 8 + j
        B[k] = A[k] * T.float32(2)
