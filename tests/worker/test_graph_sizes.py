"""The kernels of a Relax module have the sizes of its graph, and share its dimensions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[..., Result]

MODULE = """from tvm.script import ir as I, tirx as T, relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def matmul(var_A: T.handle, var_B: T.handle, var_C: T.handle):
        n = T.int64()
        k = T.int64()
        A = T.match_buffer(var_A, (n, k), "float16")
        B = T.match_buffer(var_B, (k, T.int64(512)), "float16")
        C = T.match_buffer(var_C, (n, T.int64(512)), "float16")
        for i, j, l in T.grid(n, T.int64(512), k):
            with T.sblock("matmul"):
                vi, vj, vl = T.axis.remap("SSR", [i, j, l])
                with T.init():
                    C[vi, vj] = T.float16(0)
                C[vi, vj] = C[vi, vj] + A[vi, vl] * B[vl, vj]

    @T.prim_func(private=True, s_tir=True)
    def relu(var_A: T.handle, var_B: T.handle):
        m = T.int64()
        A = T.match_buffer(var_A, (m, T.int64(512)), "float16")
        B = T.match_buffer(var_B, (m, T.int64(512)), "float16")
        for i, j in T.grid(m, T.int64(512)):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.max(A[vi, vj], T.float16(0))

    @T.prim_func(private=True, s_tir=True)
    def zeros(offset: T.int64, var_A: T.handle):
        rows = T.int64()
        A = T.match_buffer(var_A, (rows, offset), "float16")
        for i, j in T.grid(rows, offset):
            with T.sblock("zeros"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = T.float16(0)

    @R.function
    def main(
        x: R.Tensor(({type}, 768), "float16"), w: R.Tensor((768, 512), "float16")
    ) -> R.Tensor(({type}, 512), "float16"):
        {define}
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.matmul, (x, w), out_ty=R.Tensor(({rows}, 512), "float16"))
            z = R.call_tir(cls.relu, (y,), out_ty=R.Tensor(({rows}, 512), "float16"))
            e = R.call_tir(cls.zeros, (512,), out_ty=R.Tensor(({rows}, 512), "float16"))
            s = R.add(z, e)
            R.output(s)
        return s
"""


def _kernels(run: Run, rows: str, define: str) -> list[tuple[str, KernelFacts]]:
    in_type = f'"{rows}"' if define else rows
    text = MODULE.replace("{rows}", rows).replace("{type}", in_type)
    result = run(text.replace("{define}", define))
    assert result.problems == ()
    return [(item.name, item) for item in result.kernels]


def test_literal_sizes_are_found(run_tvm: Run) -> None:
    found = _kernels(run_tvm, "24", "")
    own = {name: item for name, item in found if item.built is None}
    assert {name: dict(item.sizes) for name, item in own.items()} == {
        "matmul": {"n": 24, "k": 768},
        "relu": {"m": 24},
        "zeros": {"rows": 24, "offset": 512},
    }
    assert all(not item.assumed for _, item in found)


def test_a_dimension_of_the_graph_has_one_assumed_size_in_all_kernels(run_tvm: Run) -> None:
    found = _kernels(run_tvm, "tokens", "tokens = T.int64()")
    variables = {"matmul": "n", "relu": "m", "zeros": "rows"}
    sizes = {item.assumed[variables[name]] for name, item in found if name in variables}
    assert len(sizes) == 1
    assert {tuple(item.sizes.items()) for name, item in found if name == "matmul"} == {
        (("k", 768),)
    }
