"""Loops that depend on data have a trip count that is assumed, and said to be."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tirlens import model
from tirlens.hardware import load
from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[..., Result]

KERNEL = """from tvm.script import tirx as T
@T.prim_func
def search(A: T.Buffer((4096,), "{dtype}"), B: T.Buffer((4096,), "int32")):
    for bx in T.thread_binding(32, thread="blockIdx.x"):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            state = T.alloc_local((4,), "{dtype}")
            state[0] = A[0]
            state[1] = A[tx]
            while {condition}:
                {body}
            B[bx * 128 + tx] = T.Cast("int32", state[0])
"""
STEP = "state[0] = A[T.Cast('int32', state[0]) % 4096] + state[1]"
NESTED = f"""{STEP}
                while state[2] < 8:
                    state[2] = A[T.Cast("int32", state[2]) % 4096] + state[1]"""


def _facts(run: Run, condition: str, body: str = STEP, dtype: str = "int32") -> KernelFacts:
    result = run(KERNEL.format(condition=condition, body=body, dtype=dtype))
    assert result.problems == ()
    (facts,) = result.kernels
    return facts


@pytest.mark.parametrize(
    ("condition", "dtype", "trips"),
    [
        ("state[0] < state[1]", "int32", 12),
        ("state[0] - state[1] > T.float32(0.001)", "float32", 16),
        ("state[0] < 24", "int32", 24),
        ("state[0] < 100000", "int32", 8),
        ("state[0] < 24 and state[1] < 5", "int32", 5),
    ],
)
def test_the_form_of_the_condition_implies_it(
    run_tvm: Run, condition: str, dtype: str, trips: int
) -> None:
    facts = _facts(run_tvm, condition, dtype=dtype)
    assert facts.assumed == {"while_1": trips}
    (caveat,) = [item for item in facts.caveats if "while_1" in item.message]
    assert caveat.span is not None and caveat.span.line == 9
    report = model.analyze(facts, load("h100-sxm"))
    assert report.status == "ok" and report.assumed["while_1"] == str(trips)
    assert report.bindings["while_1"] == trips and report.call_source == "assumed"
    given = model.analyze(facts, load("h100-sxm"), {"while_1": 100})
    few, many = report.global_bytes.total, given.global_bytes.total
    assert few is not None and many is not None and many > few
    assert "while_1" not in given.assumed


def test_a_loop_on_what_the_loop_around_it_tests_counts_once(run_tvm: Run) -> None:
    own = _facts(run_tvm, "state[2] < 16", NESTED)
    assert own.assumed == {"while_1": 16, "while_2": 1}
