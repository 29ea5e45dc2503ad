"""How often products of tiles read their operands, as tilelang's partition of the warps has it."""

from __future__ import annotations

import pytest

from tirlens.model.gpu.compiler.matrix_instructions import operand_read_counts
from tirlens.model.tree.context import kernel_context
from tirlens.model.tree.node import StatementCost
from tirlens.model.tree.route import Route
from tirlens_worker.facts import Copy, Gemm, MatrixInstruction, WarpPolicy


def product(
    instruction: MatrixInstruction, rows: int, columns: int, threads: int, policy: WarpPolicy
) -> StatementCost:
    node = Gemm("T.gemm(A, B, C)", m_n_k=(rows, columns, 64), policy=policy)
    route = Route(instruction=instruction)
    return StatementCost(node, None, kernel_context({}), threads=threads, route=route)


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
    assert operand_read_counts(product(instruction, rows, columns, threads, policy)) == times


def test_what_is_no_product_of_tiles_reads_once() -> None:
    item = StatementCost(Copy("T.copy(A, B)"), None, kernel_context({}), threads=256)
    assert operand_read_counts(item) == (1, 1)
