"""Vectorized loops around other loops, of which TVM makes vectors or scalars."""

from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def around_a_loop(A: T.Buffer((64, 8, 4), "float32"), B: T.Buffer((64, 8, 4), "float32")):
    """The lanes of each access in the inner loop."""
    for t in T.thread_binding(64, thread="threadIdx.x"):
        for v in T.vectorized(4):
            for k in range(8):
                B[t, k, v] = A[t, k, v] + T.float32(1)


@T.prim_func(s_tir=True)
def apart(A: T.Buffer((64, 4, 8), "float32"), B: T.Buffer((64, 8, 4), "float32")):
    """What is loaded lies 8 elements apart, what is stored beside each other."""
    for t in T.thread_binding(64, thread="threadIdx.x"):
        for v in T.vectorized(4):
            for k in range(8):
                B[t, k, v] = A[t, v, k] + T.float32(1)


@T.prim_func(s_tir=True)
def around_a_vector(A: T.Buffer((64, 8, 4), "float32"), B: T.Buffer((64, 8, 4), "float32")):
    """TVM ignores a vectorized loop within another."""
    for t in T.thread_binding(64, thread="threadIdx.x"):
        for v in T.vectorized(4):
            for k in T.vectorized(8):
                B[t, k, v] = A[t, k, v] + T.float32(1)


@T.prim_func(s_tir=True)
def longer_by_lane(A: T.Buffer((64, 8, 4), "float32"), B: T.Buffer((64, 8, 4), "float32")):
    """An inner loop that is longer in later lanes: scalars."""
    for t in T.thread_binding(64, thread="threadIdx.x"):
        for v in T.vectorized(4):
            for k in range(v + 1):
                B[t, k, v] = A[t, k, v] + T.float32(1)


@T.prim_func(s_tir=True)
def cut_in_part(A: T.Buffer((64, 8, 4), "float32"), B: T.Buffer((64, 8, 4), "float32")):
    """Only what stands behind the condition on lanes is made of scalars."""
    for t in T.thread_binding(64, thread="threadIdx.x"):
        for v in T.vectorized(4):
            for k in range(8):
                A[t, k, v] = T.float32(0)
                if k * 4 + v < 30:
                    B[t, k, v] = T.float32(1)
