"""Half a square of work, behind a guard and by a loop that grows with its row."""

from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def causal_scores(
    Q: T.Buffer((1024, 64), "float32"),
    K: T.Buffer((1024, 64), "float32"),
    S: T.Buffer((1024, 1024), "float32"),
):
    for i in T.thread_binding(1024, thread="blockIdx.x"):
        for j in T.thread_binding(1024, thread="threadIdx.x"):
            if j <= i:
                S[i, j] = T.float32(0)
                for k in range(64):
                    S[i, j] = S[i, j] + Q[i, k] * K[j, k]


@T.prim_func(s_tir=True)
def lower_triangular_matvec(
    L: T.Buffer((4096, 4096), "float32"),
    x: T.Buffer((4096,), "float32"),
    y: T.Buffer((4096,), "float32"),
):
    for block in T.thread_binding(16, thread="blockIdx.x"):
        for thread in T.thread_binding(256, thread="threadIdx.x"):
            y[block * 256 + thread] = T.float32(0)
            for j in range(block * 256 + thread + 1):
                y[block * 256 + thread] = (
                    y[block * 256 + thread] + L[block * 256 + thread, j] * x[j]
                )
