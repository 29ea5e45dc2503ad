"""Whether a kernel with assumed arguments does as much work as kernels of programs do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[..., Result]

ADD = """import tilelang
import tilelang.language as T

@tilelang.jit
def add(N):
    part = {part}
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, part), threads=256) as b:
            for i in T.Parallel(part):
                if b * part + i < N:
                    B[b * part + i] = A[b * part + i] + 1.0
    return main
"""


@pytest.mark.parametrize(("part", "call"), [("1024", "add(4194304)"), ("N", "add(4096)")])
def test_a_single_block_gets_no_more_elements(run_tilelang: Run, part: str, call: str) -> None:
    (facts,) = run_tilelang(ADD.format(part=part)).kernels
    assert (facts.call, facts.call_source) == (call, "assumed")
