# fmt: off
"""Products and quotients with 1.0 under a name, which are no operations."""

import tilelang.language as T


@T.prim_func
def softplus(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
# ^ kernel softplus grid 1 1 1 threads 128 1 1
    with T.Kernel(1, threads=128):
#   ^ grid bx 1
#   ^ let tz = 0
#   ^ let ty = 0
#   ^ block tx 128
        for i in T.Parallel(128):
#       ^ parallel i 128
            beta = T.cast(1.0, "float32")
            two = T.cast(2.0, "float32")
            B[i] = T.log(two + T.exp(A[i] * beta)) / beta
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block store [exp add log] A[i] -> B[i]
