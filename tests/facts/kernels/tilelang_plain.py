# fmt: off
"""Plain TVMScript for tilelang's own TVM."""

import tilelang  # noqa: F401
from tvm.script import tirx as T


@T.prim_func
def plain(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
# ^ kernel plain
    for i in T.parallel(64):
#   ^ parallel i 64
        for j, k in T.grid(4, 8):  # noqa: B007
#       ^ serial j 4
#       ^ serial k 8
            with T.sblock("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                if vi < 3:
#               ^ if (i < 3)
                    B[vi, vj] = A[vi, vj] + T.float32(1)
#                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ store [add] A[i, j] -> B[i, j]
