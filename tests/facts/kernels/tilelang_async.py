# fmt: off
"""Copies that are started by cp.async and arrive at a barrier."""

import tilelang.language as T


@T.prim_func
def fetched(A: T.Tensor((64, 8), "float16")):
# ^ kernel fetched grid 2 1 1 threads 32 1 1
    with T.Kernel(2, threads=32) as bx:
#   ^ grid bx 2
#   ^ let tz = 0
#   ^ let ty = 0
#   ^ block tx 32
        tile = T.alloc_shared((32, 8), "float16")
        there = T.alloc_barrier(arrive_count=32)
        tx = T.get_thread_binding()
        with T.attr("default", "async_scope", 1):
            for v in T.vectorized(8):
#           ^ vectorized v 8
                tile[tx, v] = A[bx * 32 + tx, v]
#               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store A[((bx * 32) + tx), v] -> tile[tx, v]
        T.cp_async_barrier_noinc(there[0])
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ sync
        T.barrier_wait(there[0], 0)
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^ sync
