"""A module of Relax and a schedule, of sizes that nothing gives."""

import tvm
from tvm import te
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("batch", "n", 4096), "float16"), w: R.Tensor((4096, "m"), "float16")):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.silu(y)
            R.output(z)
        return z


rows = te.var("rows")
A = te.placeholder((rows, 4096), "float16", name="A")
W = te.placeholder((11008, 4096), "float16", name="W")
k = te.reduce_axis((0, 4096), "k")
C = te.compute((rows, 11008), lambda i, j: te.sum(A[i, k] * W[j, k], axis=k), name="C")
func = te.create_prim_func([A, W, C])
sch = tvm.s_tir.Schedule(func)
i, j, k = sch.get_loops(sch.get_sblock("C"))
by, ty = sch.split(i, [None, 16])
bx, tx = sch.split(j, [None, 16])
sch.reorder(by, bx, ty, tx, k)
sch.bind(by, "blockIdx.y")
sch.bind(bx, "blockIdx.x")
sch.bind(ty, "threadIdx.y")
sch.bind(tx, "threadIdx.x")

# As many rows as above would take more than the memory of a device.
X = te.placeholder((rows, rows, 4096), "float32", name="X")
Y = te.compute((rows, rows, 4096), lambda i, j, k: X[i, j, k] * 2.0, name="Y")
large = te.create_prim_func([X, Y])
