"""A matrix product made of a tensor expression, and its schedule for a GPU, step by step."""

import tvm
from tvm import te

N = 512
A = te.placeholder((N, N), "float32", name="A")
B = te.placeholder((N, N), "float32", name="B")
k = te.reduce_axis((0, N), "k")
C = te.compute((N, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
func = te.create_prim_func([A, B, C])  # te: flop=268435456 line=11
mod = tvm.IRModule({"main": func})  # same: line=12

sch = tvm.s_tir.Schedule(mod)  # first: flop=268435456
block = sch.get_sblock("C")
i, j, k = sch.get_loops(block)
by, ty = sch.split(i, [None, 16])
bx, tx = sch.split(j, [None, 16])
sch.reorder(by, bx, ty, tx, k)  # reorder: flop=268435456
sch.bind(by, "blockIdx.y")
sch.bind(bx, "blockIdx.x")
sch.bind(ty, "threadIdx.y")
sch.bind(tx, "threadIdx.x")  # bind: grid=[32, 32, 1] threads=256 shared=0
ko, ki = sch.split(k, [None, 16])
for operand in range(2):
    tile = sch.cache_read(block, operand, "shared")
    sch.compute_at(tile, ko)
    fused = sch.fuse(*sch.get_loops(tile)[-2:])
    _, ty, tx = sch.split(fused, [None, 16, 16])
    sch.bind(ty, "threadIdx.y")
    sch.bind(tx, "threadIdx.x")  # tiles: shared=2048
sch.unroll(ki)  # last: flop=268435456 shared=2048
