"""Kernels that functions build: one returns it, one keeps it, one is given a schedule."""

import tvm
from tvm import te


def add(n: int):  # factory: flop=n
    A = te.placeholder((n,), "float32", name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    return te.create_prim_func([A, B])


small = add(1024)
large = add(1 << 20)


def bind(sch, name):
    (loop,) = sch.get_loops(sch.get_sblock(name))
    outer, inner = sch.split(loop, [None, 128])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")


def test_bind(n=4096):
    sch = tvm.s_tir.Schedule(add(n))
    bind(sch, "B")
    raise AssertionError("what follows the kernels may fail")


def never_called(mod):
    return tvm.s_tir.Schedule(mod)
