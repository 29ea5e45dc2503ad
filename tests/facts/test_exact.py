"""Reports of real kernels against formulas worked out by hand."""

from __future__ import annotations

import pytest

from facts.test_kernels import TILELANG, TIRX, TVM, facts_of
from tirlens import model
from tirlens.hardware import load
from tirlens.model.counting.facts_walk import walk_nodes
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
    # All threads of 5 x 4 tiles multiply; A is read for 4 columns of tiles, B for 5 rows.
    "gemm_tiled": (20 * 256 * 48 * 2, 4 * 70 * 33 * 2 + 5 * 33 * 50 * 2, 70 * 50 * 4),
    "init_under_predicate": (10 * 10, 10 * 10 * 2 * 4, 10 * (10 + 1) * 4),
    "shuffle_sum": (8 * (100 + 32 * 5), 8 * 100 * 4, 8 * 4),
    "lower_triangle": (2 * 465, 3 * 465 * 4, (465 + 30) * 4),
    # 15 x 17 inner points of 17 x 19.
    "interior": (4 * 255, (4 * 255 + 68) * 4, 17 * 19 * 4),
    "nibbles": (32 * 64, 32 * 64 * 4, 32 * 64 * 2),
}
TIRX_KERNELS = {
    "row_sums": (1024 * 512, 1024 * 512 * 4, 1024 * 4),
    # Five halvings of 16 down to 1, in each of 32 lanes.
    "warp_sum": (32 * 5, 32 * 4, 32 * 4),
    "reverse_rows": (0, 64 * 256 * 2, 64 * 256 * 2),
    # A thread reads a row of A and a column of B.
    "product": (2 * 256 * 256 * 64, 2 * 256 * 256 * 64 * 4, 256 * 256 * 4),
    # One lane of each of four blocks.
    "elected_lanes": (0, 0, 4 * 4),
    "add_one_to_tiles": (768, 768 * 4, 768 * 4),
    "scale": (4096, 4096 * 4, 4096 * 4),
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
    # Four parts of the depth; A is read for 3 columns of tiles, B for 4 rows; atomics read C.
    "split_k_atomic": (
        4 * (3 * 4 * 2 * 32 * 32 * 128 + 100 * 70),
        3 * 100 * 512 * 2 + 4 * 70 * 512 * 2 + 4 * 100 * 70 * 4,
        4 * 100 * 70 * 4,
    ),
    # Tile (y, x) below the diagonal takes y + 1 steps: 1 + 2 * 2 + 3 * 3 of them.
    "triangle": (14 * 2 * 32**3, 14 * 2 * 32 * 32 * 2, 96 * 97 // 2 * 4),
    "persistent": (20 * 2 * 64 * 64 * 128, 4 * 300 * 128 * 2 + 5 * 128 * 200 * 2, 300 * 200 * 4),
    # Of the 18 rows of each tile 17, 18 and 9 lie inside, and so of its columns.
    "halo": (40 * 40 * 5, 44 * 44 * 4, 40 * 40 * 4),
    "tree": (4 * 127, 512 * 4, 4 * 4),
    # 2, 4 and 5 tiles of keys for each of two heads: both products, scores and sums; quotients.
    "flash": (
        22 * (2 * 2 * 32 * 16 * 32 + 5 * 512 + 3 * 32 + 32 + 512 + 2 * 32 + 1024) + 6 * 1024,
        80 * 64 * 2 + 22 * 2 * 16 * 32 * 2,
        80 * 64 * 2,
    ),
    # Each byte is read for both of its numbers, each scale for the 64 of its row.
    "unpack_int4": (64 * 64, 64 * 64 * (1 + 2), 64 * 64 * 2),
    # 2 blocks copy, 3 add, 3 update with half of their threads.
    "early_blocks": (3 * 32 + 3 * 16, (5 * 32 + 3 * 16 * 2) * 4, (5 * 32 + 3 * 16) * 4),
}


@pytest.mark.parametrize(
    ("environment_name", "stem", "name", "wanted"),
    [(env, "exact_tvm", *item) for env in TVM for item in TVM_KERNELS.items()]
    + [(TILELANG, "exact_tilelang", *item) for item in TILELANG_KERNELS.items()]
    + [(TIRX, "tirx_guide", *item) for item in TIRX_KERNELS.items()],
)
def test_counts_are_those_of_the_formula(
    environment_name: str, stem: str, name: str, wanted: tuple[int, int, int]
) -> None:
    (facts,) = (one for one in facts_of(environment_name, stem) if one.name == name)
    report = model.analyze(facts, load("h100-sxm"))
    assert report.status == "ok"
    assert (report.flop, report.global_bytes.read, report.global_bytes.write) == wanted


def test_tma_and_tensor_memory_of_tirx() -> None:
    (facts,) = facts_of(TIRX, "tirx_product")
    report = model.analyze(facts, load("b200"))
    # 8 x 8 blocks load 16 slabs of 128 x 64 of A and of B, and multiply them.
    loads_bytes = 64 * 16 * 2 * 128 * 64 * 2
    assert report.flop == 2 * 1024**3
    assert (report.global_bytes.read, report.global_bytes.write) == (loads_bytes, 1024 * 1024 * 4)
    # All 512 columns of tensor memory are one block's (PTX ISA, tcgen05.alloc).
    assert report.occupancy is not None and report.occupancy.blocks_per_sm == 1


@pytest.mark.parametrize("environment_name", TVM)
def test_a_local_variable_changes_in_the_loops_that_write_it(environment_name: str) -> None:
    (kernel,) = [k for k in facts_of(environment_name, "exact_tvm") if k.name == "normalised"]
    over = {
        arith.op: arith.over
        for node in walk_nodes(kernel.body)
        if isinstance(node, Statement)
        for arith in node.arith
    }
    # The sum changes in the loop that adds to it, its root in the loop around both alone.
    assert over == {"add": ("i", "j"), "sqrt": ("i",), "mul": ("i", "j_1")}
