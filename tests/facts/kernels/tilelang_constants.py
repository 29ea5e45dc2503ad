# fmt: off
"""Constants under a name: products with 1.0 are no operations, powers of 1e4 cheaper ones."""

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


@T.prim_func
def angles(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
# ^ kernel angles grid 1 1 1 threads 128 1 1
    with T.Kernel(1, threads=128):
#   ^ grid bx 1
#   ^ let tz = 0
#   ^ let ty = 0
#   ^ block tx 128
        for i in T.Parallel(128):
#       ^ parallel i 128
            base = T.cast(10000.0, "float32")
            B[i] = T.pow(T.pow(base, A[i]), base)
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block store [pow_of_constant pow] A[i] -> B[i]
