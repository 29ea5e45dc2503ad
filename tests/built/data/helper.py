"""A helper of tests whose parameter is a kernel, which no assumed value is."""

import tvm
from tvm.script import tirx as T


def check(original):  # helper
    mod = tvm.IRModule.from_expr(original.with_attr("global_symbol", "main"))
    mod = tvm.tirx.transform.Simplify()(mod)
    assert tvm.ir.structural_equal(mod["main"], original)


@T.prim_func(s_tir=True)
def add(A: T.Buffer((64,), "float32")):
    for i in range(64):
        A[i] = A[i] + T.float32(1)
