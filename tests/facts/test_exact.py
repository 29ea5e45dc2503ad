"""Reports of real kernels against formulas worked out by hand."""

from __future__ import annotations

import pytest

from facts.test_kernels import TILELANG, TVM, facts_of
from tirlens import model
from tirlens.hardware import load
from tirlens.model.nodes import every_node
from tirlens_worker.facts import Statement

pytestmark = pytest.mark.slow

# Kernel: floating-point operations, bytes read and written of global memory.
TVM_KERNELS = {
    # One multiply-accumulate for each of B*M*N*K; the sum lives in global memory.
    "batched_gemm": (
        2 * 6 * 128 * 64 * 96,
        6 * 128 * 64 * 96 * 3 * 4,
        6 * 128 * 64 * 96 * 4,
    ),
    # The last block holds 104 of 128 elements.
    "tail_by_where": (1000, 4000, 4000),
    "tail_by_if": (1000, 4000, 4000),
    # N*F*H*W*C*3*3; the first step of each sum also writes its initial value.
    "convolution": (
        2 * 2 * 32 * 32 * 32 * 16 * 9,
        2 * 32 * 32 * 32 * 16 * 9 * 3 * 4,
        2 * 32 * 32 * 32 * (16 * 9 + 1) * 4,
    ),
    # Two names for the same 256 threads, of which one warpgroup works.
    "overlapping_scopes": (128, 512, 512),
}
TILELANG_KERNELS = {
    # 2*M*N*K whatever the split, and one addition for each element of each of four partial sums.
    "split_k": (
        2 * 256 * 128 * 1024 + 4 * 256 * 128,
        # A is read by both columns of blocks, B by both rows; the atomics read C.
        2 * 256 * 1024 * 2 + 2 * 1024 * 128 * 2 + 4 * 256 * 128 * 4,
        4 * 256 * 128 * 4,
    ),
    # Row of blocks b needs 2 * (b + 1) tiles of keys: 2 + 4 + 6 + 8 in all.
    "causal": (2 * 128 * 64 * 64 * 20, 512 * 64 * 2 + 20 * 64 * 64 * 2, 20 * 128 * 64 * 4),
    # A tile that reaches over the edge is clipped: each element once.
    "tail": (0, 1000 * 100 * 4, 1000 * 100 * 4),
    # 48 rows of 128 for maximum, difference, exponential and sum; the quotients of what is stored.
    # Minus infinity is a constant, not a product.
    "softmax": (4 * 48 * 128 + 40 * 100, 40 * 100 * 4, 40 * 100 * 4),
    "own_counter": (1024, 1024 * 4, 1024 * 4),
}


@pytest.mark.parametrize(
    ("environment_name", "stem", "name", "wanted"),
    [(env, "exact_tvm", *item) for env in TVM for item in TVM_KERNELS.items()]
    + [(TILELANG, "exact_tilelang", *item) for item in TILELANG_KERNELS.items()],
)
def test_counts_are_those_of_the_formula(
    environment_name: str, stem: str, name: str, wanted: tuple[int, int, int]
) -> None:
    (facts,) = (one for one in facts_of(environment_name, stem) if one.name == name)
    report = model.analyze(facts, load("h100-sxm"))
    assert report.status == "ok"
    assert (report.flop, report.global_bytes.read, report.global_bytes.write) == wanted


@pytest.mark.parametrize("environment_name", TVM)
def test_a_local_variable_changes_in_the_loops_that_write_it(environment_name: str) -> None:
    (kernel,) = [k for k in facts_of(environment_name, "exact_tvm") if k.name == "normalised"]
    over = {
        arith.op: arith.over
        for node in every_node(kernel.body)
        if isinstance(node, Statement)
        for arith in node.arith
    }
    # The sum changes in the loop that adds to it, its root in the loop around both alone.
    assert over == {"add": ("i", "j"), "sqrt": ("i",), "mul": ("i", "j_1")}
