"""Arguments that assertions of the code demand, of kernels and of the classes that hold them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[..., Result]

IMPORTS = "import tilelang.language as T\nfrom dataclasses import dataclass\n"
KERNEL = """
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, 128), threads=128) as bx:
            for i in T.Parallel(128):
                B[bx * 128 + i] = A[bx * 128 + i] + 1.0
    return main
"""


def _only(result: Result) -> KernelFacts:
    assert (result.problems, result.needs) == ((), ())
    (facts,) = result.kernels
    return facts


@pytest.mark.parametrize(
    ("parameter", "test", "argument"),
    [
        ("kind=0", "kind != 0", "kind=1"),
        ("kind=0", "kind >= 2", "kind=2"),
        ("kind=0", "kind > 2", "kind=3"),
        ("fast=False", "fast is True", "fast=True"),
        ("fast=False", "fast", "fast=True"),
        ("slow=True", "not slow", "slow=False"),
        ("kind='a'", "kind in ('b', 'c')", 'kind="b"'),
        ("kind=3", "kind >= 2", ""),
        ("block_M=None", "block_M is not None", "128"),
    ],
)
def test_a_default_that_an_assertion_refuses_is_replaced(
    run_tilelang: Run, parameter: str, test: str, argument: str
) -> None:
    text = f"\ndef add(N, {parameter}):\n    assert {test}, 'not supported'\n" + KERNEL
    facts = _only(run_tilelang(IMPORTS + text))
    assert facts.call.replace("'", '"') == f"add({', '.join(filter(None, ['4194304', argument]))})"


def test_an_object_is_constructed_with_what_its_methods_demand(run_tilelang: Run) -> None:
    method = (
        KERNEL.replace("\n    ", "\n        ").replace("(N", "(self.N").replace("v(N", "v(self.N")
    )
    text = f"""
@dataclass
class Scheduler:
    N: int
    trans: bool = False
    dtype: str = "float32"

    def build(self):
        assert self.trans is True, "only transposed"
{method}"""
    facts = _only(run_tilelang(IMPORTS + text))
    assert facts.call == "Scheduler(N=4096, trans=True).build()"
    # Nothing says what N is.
    assert (facts.call_source, facts.assumed_arguments) == ("assumed", {"N": "4096"})


def test_a_field_that_must_be_a_number_is_one(run_tilelang: Run) -> None:
    method = KERNEL.replace("\n    ", "\n        ")
    text = f"""
from typing import Optional

@dataclass
class Scheduler:
    N: Optional[int] = None
    M: Optional[int] = None

    def build(self):
        N = self.N
        assert isinstance(N, int), "not dynamic"
{method}"""
    facts = _only(run_tilelang(IMPORTS + text))
    assert (facts.call, facts.call_source) == ("Scheduler(N=4096).build()", "assumed")
