"""A Relax module that calls two kernels, one of them twice; its operators are lowered first."""

import tvm
from tvm import relax
from tvm.relax.frontend import nn
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Twice:
    @T.prim_func(s_tir=True)  # double: flop=1024
    def double(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
        for i, j in T.grid(32, 32):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor((32, 32), "float32")) -> R.Tensor((32, 32), "float32"):  # graph: calls=2
        cls = Twice
        with R.dataflow():
            y = R.call_tir(cls.double, (x,), out_ty=R.Tensor((32, 32), "float32"))
            z = R.call_tir(cls.double, (y,), out_ty=R.Tensor((32, 32), "float32"))
            R.output(z)
        return z


class Layer(nn.Module):
    def __init__(self):
        self.linear = nn.Linear(64, 128, bias=False)

    def forward(self, x):
        return self.linear(x)


# The product has 2 * 8 * 128 * 64 operations, the transposition of the weights none.
layer, parameters = Layer().export_tvm({"forward": {"x": nn.spec.Tensor((8, 64), "float32")}})
lowered = relax.transform.LegalizeOps()(layer)
executable = tvm.compile(lowered, target="llvm")
