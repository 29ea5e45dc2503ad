# fmt: off
"""Products and quotients with 1.0 under a name, which are no operations."""

import tilelang.language as T


@T.prim_func
def softplus(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
# ^ kernel softplus grid 2 1 1 threads 128 1 1
    with T.Kernel(2, threads=128) as bx:
#   ^ grid bx 2
#   ^ let tz = 0
#   ^ let ty = 0
#   ^ block tx 128
        for i in T.Parallel(128):
#       ^ parallel i 128
            beta = T.cast(1.0, "float32")
            two = T.cast(2.0, "float32")
            B[bx * 128 + i] = T.log(two + T.exp(A[bx * 128 + i] * beta)) / beta
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block store [exp add log] A[((bx * 128) + i)] -> B[((bx * 128) + i)]
