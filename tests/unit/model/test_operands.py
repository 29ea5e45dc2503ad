"""How often products of tiles read their operands, as tilelang's partition of the warps has it."""

from __future__ import annotations

import pytest

from support.kernels import statement
from tirlens.model.gpu.compiler.matrix_instructions import operand_read_counts
from tirlens.model.tree.context import kernel_context
from tirlens.model.tree.node import Leaf
from tirlens_worker.facts import Copy, Gemm, MatrixInstruction, WarpPolicy


def product(rows: int, columns: int, threads: int, policy: WarpPolicy) -> Leaf:
    node = Gemm("T.gemm(A, B, C)", m_n_k=(rows, columns, 64), policy=policy)
    return statement(node, kernel_context({}), threads)


@pytest.mark.parametrize(
    ("instruction", "rows", "columns", "threads", "policy", "times"),
    [
        # wgmma: B once for every 64 rows, A by each warpgroup that has some of the columns
        ("wgmma", 128, 128, 128, "full_row", (1, 2)),
        ("wgmma", 128, 256, 256, "square", (2, 2)),
        ("wgmma", 64, 64, 256, "full_col", (2, 1)),
        ("wgmma", 64, 512, 256, "full_col", (2, 1)),
        ("wgmma", 64, 512, 128, "full_col", (2, 1)),
        ("wgmma", 128, 256, 512, "square", (4, 2)),
        # mma.sync: as many times as warps stand beside each other
        ("mma", 32, 128, 128, "square", (2, 2)),
        ("mma", 128, 128, 128, "square", (2, 2)),
        ("mma", 128, 128, 128, "full_row", (1, 4)),
        ("mma", 128, 128, 256, "full_col", (8, 1)),
        ("tcgen05", 128, 256, 256, "square", (1, 1)),
    ],
)
def test_times(
    instruction: MatrixInstruction,
    rows: int,
    columns: int,
    threads: int,
    policy: WarpPolicy,
    times: tuple[float, float],
) -> None:
    found = operand_read_counts(product(rows, columns, threads, policy), instruction)
    assert found == times


def test_what_is_no_product_of_tiles_reads_once() -> None:
    item = statement(Copy("T.copy(A, B)"), kernel_context({}), 256)
    assert operand_read_counts(item, None) == (1, 1)
