"""What a thread loads once for several of its elements: loads in nvcc's code for sm_90a."""

from __future__ import annotations

import pytest

from support.kernels import issued_mapping
from tirlens.model.tree.context import EnclosingLoop, LoopContext
from tirlens_worker.facts import Access, Buffer, Expr, Store

THREADS = 256
COLUMN: Expr = ("+", ("*", "bx", 128), "j")
BUFFERS = {
    "partial": Buffer("partial", "partial", "float32", (128, 128), "local.fragment"),
    "scale": Buffer("scale", "scale", "float32", (4096,)),
}


def loaded(
    index: Expr,
    condition: Expr | None = None,
    matrix: bool = True,
    stored: str = "partial",
) -> float:
    """Load instructions of a thread for a tile of 128 x 128, of which it has 64 elements."""
    around = (
        EnclosingLoop("bx", "grid", 17, "blockIdx.x"),
        EnclosingLoop("i", "parallel", 128),
        EnclosingLoop("j", "parallel", 128),
    )
    ranges = {loop.var: (0, (loop.extent or 1) - 1) for loop in around}
    place = LoopContext(around, ranges, {}, () if condition is None else (condition,))
    accesses = (
        Access("partial", "read", ("i", "j")),
        Access("scale", "read", (index,)),
        Access(stored, "write", ("i", "j") if stored == "partial" else ("j",)),
    )
    statement = Store("s", (), accesses, "block")
    fragments = frozenset({"partial"} if matrix else ())
    found = issued_mapping(statement, place, BUFFERS, THREADS, fragments)
    request = found.requests[1]
    assert request is not None
    return 64 / request.vector * found.issued_shares[1]


@pytest.mark.parametrize(
    ("index", "count"),
    [("i", 2), ("j", 16), (("*", "j", 56), 32), (("+", "i", ("*", "j", 128)), 64), ("bx", 1)],
)
def test_a_thread_of_a_matrix_product_loads_a_row_and_a_column_once(
    index: Expr, count: int
) -> None:
    """2 rows by 32 columns of the result of a wgmma: 2 loads of a row's scale, 32 of a column's."""
    assert loaded(index) == count


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        (("<", COLUMN, 2112), 64),  # the last block's columns are cut off
        (("<", COLUMN, 2176), 32),  # always true
        (("<", "bx", 3), 32),  # the same for all elements
        (("<", ("load", "lengths", "bx"), "j"), 64),  # data
    ],
)
def test_branches_of_single_elements_load_each_for_itself(condition: Expr, count: int) -> None:
    assert loaded(("*", "j", 56), condition) == count


def test_rows_of_a_tile_that_lie_on_the_threads_in_turn() -> None:
    """16 rounds of 4 elements a thread, always of the same columns and each of other rows."""
    assert loaded("j", matrix=False) == 1
    assert loaded("i", matrix=False) == 16


def test_what_the_statement_stores_is_loaded_again() -> None:
    assert loaded("j", stored="scale", matrix=False) == 16
