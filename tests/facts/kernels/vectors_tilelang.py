"""Vectorized loops as tilelang plans them anew; what its CUDA source shows is told for each."""

import tilelang.language as T


@T.prim_func
def around_a_loop(A: T.Tensor((64, 8, 4), "float32"), B: T.Tensor((64, 8, 4), "float32")):
    """The innermost loop is no vector: scalars."""
    with T.Kernel(1, threads=64):
        t = T.get_thread_binding()
        for v in T.vectorized(4):
            for k in range(8):
                B[t, k, v] = A[t, k, v] + T.float32(1)


@T.prim_func
def innermost(A: T.Tensor((64, 8, 4), "float32"), B: T.Tensor((64, 8, 4), "float32")):
    """The innermost loop is the vector, however it is written."""
    with T.Kernel(1, threads=64):
        t = T.get_thread_binding()
        for v in T.vectorized(8):
            for k in range(4):
                B[t, v, k] = A[t, v, k] + T.float32(1)


@T.prim_func
def cut(A: T.Tensor((64, 8, 4), "float32"), B: T.Tensor((64, 8, 4), "float32")):
    """A condition cuts through vectors of four: they have two elements."""
    with T.Kernel(1, threads=64):
        t = T.get_thread_binding()
        for k in range(8):
            for v in T.vectorized(4):
                if k * 4 + v < 30:
                    B[t, k, v] = A[t, k, v] + T.float32(1)


@T.prim_func
def chosen(A: T.Tensor((64, 8, 4), "float32"), B: T.Tensor((64, 8, 4), "float32")):
    """So does a choice."""
    with T.Kernel(1, threads=64):
        t = T.get_thread_binding()
        for k in range(8):
            for v in T.vectorized(4):
                B[t, k, v] = T.if_then_else(k * 4 + v < 30, A[t, k, v], T.float32(1))


@T.prim_func
def apart(A: T.Tensor((64, 8, 4), "float32"), B: T.Tensor((64, 8, 4), "float32")):
    """One access whose elements are no neighbours makes scalars of the other."""
    with T.Kernel(1, threads=64):
        t = T.get_thread_binding()
        for k in range(8):
            for v in T.vectorized(4):
                B[t, k, v] = A[t, v, k // 2]


@T.prim_func
def one_for_all(A: T.Tensor((64, 8, 4), "float32"), B: T.Tensor((64, 8, 4), "float32")):
    """One element is loaded, four are stored."""
    with T.Kernel(1, threads=64):
        t = T.get_thread_binding()
        for k in range(8):
            for v in T.vectorized(4):
                B[t, k, v] = A[t, k, 0]


@T.prim_func
def sum_of_lanes(A: T.Tensor((64, 8, 4), "float32"), B: T.Tensor((64, 8, 4), "float32")):
    """All lanes add to one variable: scalars."""
    with T.Kernel(1, threads=64):
        t = T.get_thread_binding()
        total = T.alloc_local((1,), "float32")
        total[0] = T.float32(0)
        for k in range(8):
            for v in T.vectorized(4):
                total[0] += A[t, k, v]
        B[t, 0, 0] = total[0]


@T.prim_func
def two_statements(A: T.Tensor((64, 8, 4), "float32"), B: T.Tensor((64, 8, 4), "float32")):
    """The statements of one loop agree on the length of vectors."""
    with T.Kernel(1, threads=64):
        t = T.get_thread_binding()
        for k in range(8):
            for v in T.vectorized(4):
                B[t, k, v] = A[t, k, v]
                B[t, v, k // 2] = A[t, k, v]


@T.prim_func
def aligned_at_first(A: T.Tensor((64, 8, 4), "float32"), B: T.Tensor((64, 8, 4), "float32")):
    """Four neighbours that only the first turn has at a multiple of four."""
    with T.Kernel(1, threads=64):
        t = T.get_thread_binding()
        for k in range(7):
            for v in T.vectorized(4):
                B[t, k, v] = A[t, (k * 5 + v) // 4, (k + v) % 4]


@T.prim_func
def backwards(A: T.Tensor((64, 8, 4), "float32"), B: T.Tensor((64, 8, 4), "float32")):
    """What is in registers the wrong way round is stored one by one."""
    with T.Kernel(1, threads=64):
        t = T.get_thread_binding()
        own = T.alloc_local((4,), "float32")
        for k in range(8):
            for v in T.vectorized(4):
                own[v] = A[t, k, v]
            for v in T.vectorized(4):
                B[t, k, v] = own[3 - v]


@T.prim_func
def twelve(A: T.Tensor((64, 8, 4), "float32"), B: T.Tensor((64, 8, 4), "float32")):
    """Three vectors of four."""
    with T.Kernel(1, threads=64):
        t = T.get_thread_binding()
        for k in range(2):
            for v in T.vectorized(12):
                B[t, k * 3 + v // 4, v % 4] = A[t, k * 3 + v // 4, v % 4]


@T.prim_func
def named_places(A: T.Tensor((64, 8, 4), "float32"), B: T.Tensor((64, 8, 4), "float32")):
    """Names for what the lanes are made of change nothing."""
    with T.Kernel(1, threads=64):
        t = T.get_thread_binding()
        for k in range(8):
            for v in T.vectorized(4):
                row: T.int32 = (k * 4 + v) // 4
                column: T.int32 = (k * 4 + v) % 4
                B[t, row, column] = A[t, row, column]
