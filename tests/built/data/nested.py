"""A factory that schedules its kernel in a function of its own."""

import tvm
from tvm import te


def scale(n: int):
    A = te.placeholder((n,), "float32", name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    func = te.create_prim_func([A, B])

    def _schedule():
        sch = tvm.s_tir.Schedule(func)
        block = sch.get_sblock("B")
        (loop,) = sch.get_loops(block)
        outer, inner = sch.split(loop, [None, 128])
        sch.reorder(outer, inner)
        if n < 0:
            sch.unroll(inner)
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
        return sch.mod["main"]

    return _schedule()
