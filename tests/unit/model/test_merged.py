"""Loads of straight code: nvcc 13.0 for sm_86 makes these numbers of LDS and LDG."""

from __future__ import annotations

import pytest

from tirlens.model.gpu.compiler.load_reuse import reads_per_load
from tirlens.model.tree.context import EnclosingLoop, LoopContext, find_store_loops
from tirlens_worker.facts import Access, Buffer, Expr, Loop, Store

ARRAY = Buffer("S", "S", "float32", (64, 256), "shared")
ROW = Buffer("A", "A", "float32", (1 << 20,))


def straight(kind: str = "unroll", **extents: int) -> LoopContext:
    """Inside a block of 64 threads and unrolled loops of these extents, from the outside in."""
    around = (
        EnclosingLoop("tx", "block", 64, "threadIdx.x"),
        EnclosingLoop("k", "serial", 100),
        *(EnclosingLoop(name, kind, extent) for name, extent in extents.items()),
    )
    ranges = {loop.var: (0, (loop.extent or 1) - 1) for loop in around}
    return LoopContext(around, ranges, {})


def loads(place: LoopContext, *indices: tuple[Expr, Expr]) -> float:
    """The load instructions of the accesses to `ARRAY` in all turns of the loops."""
    accesses = tuple(Access("S", "read", index) for index in indices)
    statement = Store("s", (), accesses)
    each = [reads_per_load(access, statement, ARRAY, place, {}) for access in accesses]
    return sum(place.unrolled_iterations / one for one in each)


def window(rows: int, columns: int) -> tuple[Expr, Expr]:
    """Filter (i, j) at output (y, x) of a thread whose outputs are this far apart."""
    row: Expr = ("+", ("*", "y", rows), "i")
    column: Expr = ("+", "tx", ("+", ("*", "x", columns), "j"))
    return row, column


@pytest.mark.parametrize(
    ("y", "x", "rows", "columns", "number"),
    [(8, 1, 2, 64, 435), (7, 2, 2, 64, 810), (5, 4, 4, 32, 1860), (4, 1, 16, 64, 900)],
)
def test_the_window_of_a_filter_is_loaded_once(
    y: int, x: int, rows: int, columns: int, number: int
) -> None:
    place = straight(i=15, j=15, y=y, x=x)
    assert loads(place, window(rows, columns)) == pytest.approx(number)


def test_what_a_loop_does_not_change_is_loaded_once() -> None:
    assert loads(straight(i=8, j=4), ("k", "i")) == 8


def test_what_all_lanes_of_a_vector_use_is_loaded_once() -> None:
    place = straight("vectorized", v=4)
    statement = Store("s", (), (Access("S", "read", ("k", 0)),))
    assert reads_per_load(statement.accesses[0], statement, ARRAY, place, {}) == 4
    lanes = Store("s", (), (Access("S", "read", ("k", "v")),))
    assert reads_per_load(lanes.accesses[0], lanes, ARRAY, place, {}) == 1


def test_neighbours_of_one_statement_are_taken_together() -> None:
    accesses: list[tuple[Expr, Expr]] = [("k", ("+", "i", step)) for step in (0, 1, 2)]
    assert loads(straight(i=16), *accesses) == pytest.approx(18)


def test_turns_of_a_loop_that_is_not_unrolled_load_again() -> None:
    assert loads(straight("serial", i=8), ("k", 0)) == 1  # of the one turn that is seen
    access = Access("S", "read", ("k", 0))
    assert (
        reads_per_load(access, Store("s", (), (access,)), ARRAY, straight("serial", i=8), {}) == 1
    )


def test_what_is_written_in_between_is_loaded_again() -> None:
    access = Access("S", "read", ("k", "i"))
    read = Store("s", (), (access,))
    filling = Store("s", (), (Access("S", "write", ("k", "tx")),))
    body = (Loop("unroll", "j", 0, 4, (filling, Loop("unroll", "i", 0, 8, (read,)))),)
    place = straight(j=4, i=8)
    assert reads_per_load(access, read, ARRAY, place, {}) == 4
    assert reads_per_load(access, read, ARRAY, place, find_store_loops(body)) == 1


def test_a_condition_of_a_turn_keeps_its_loads_apart() -> None:
    place = straight(i=8, j=4).under_condition(("<", ("+", "tx", "j"), 60))
    access = Access("S", "read", ("k", "i"))
    assert reads_per_load(access, Store("s", (), (access,)), ARRAY, place, {}) == 1


@pytest.mark.parametrize(
    ("loops", "indices", "expected"),
    [
        # Once for all iterations, or one for each.
        ((("i", "unroll", 4),), ("t",), 4),
        ((("i", "unroll", 4),), (("+", "t", "i"),), 1),
        # A window of three at four positions: six distinct elements of twelve.
        ((("i", "unroll", 4), ("j", "unroll", 3)), (("+", ("+", "t", "i"), "j"),), 2),
        # Two neighbours at four positions: five of eight.
        ((("i", "unroll", 4),), (("+", "t", "i"), ("+", ("+", "t", "i"), 1)), 8 / 5),
        # What a rolled loop encloses, or separates, is straight-line code for itself.
        ((("k", "serial", 8), ("i", "unroll", 4)), ("t",), 4),
        ((("i", "unroll", 4), ("k", "serial", 8)), ("t",), 1),
        # Lanes of a vector are one instruction.
        ((("v", "vectorized", 4),), (("+", ("*", "t", 4), "v"),), 1),
        ((("v", "vectorized", 4),), ("t",), 4),
        # Code of more than 16,384 iterations counts as rolled.
        ((("i", "unroll", 4), ("j", "unroll", 4096)), ("t",), 16384),
        ((("i", "unroll", 5), ("j", "unroll", 4096)), ("t",), 4096),
        ((("i", "unroll", 4),), (("load", "A", "t"),), 1),
    ],
)
def test_reads_that_one_load_serves(
    loops: tuple[tuple[str, str, int], ...], indices: tuple[Expr, ...], expected: float
) -> None:
    around = (
        EnclosingLoop("t", "block", 256, "threadIdx.x"),
        *(EnclosingLoop(*loop) for loop in loops),
    )
    ranges = {loop.var: (0, loop.trip_count - 1) for loop in around}
    accesses = tuple(Access("A", "read", (index,)) for index in indices)
    found = [
        reads_per_load(one, Store("", (), accesses), ROW, LoopContext(around, ranges, {}), {})
        for one in accesses
    ]
    assert found == [pytest.approx(expected)] * len(accesses)


@pytest.mark.parametrize(
    ("access", "others", "expected"),
    [
        (Access("A", "read", ("t",)), (), 4),
        # A guard makes a branch of each load; a tile, an update and a store are no loads.
        (Access("A", "read", ("t",), guard=("<", "t", 60)), (), 1),
        (Access("A", "read", ("t",), (2,)), (), 1),
        (Access("A", "read", ("t",), (2,), guard=("<", "t", 60)), (), 1),
        (Access("A", "atomic", ("t",)), (), 1),
        (Access("A", "write", ("t",)), (), 1),
        # So they are nothing that a load is taken together with.
        (Access("A", "read", ("t",)), (Access("A", "read", ("t",)),), 4),
        (Access("A", "read", ("t",)), (Access("A", "read", (("+", "t", "i"),)),), 8 / 4),
        (Access("A", "read", ("t",)), (Access("B", "read", (("+", "t", "i"),)),), 4),
        (Access("A", "read", ("t",)), (Access("A", "write", (("+", "t", "i"),)),), 4),
        (Access("A", "read", ("t",)), (Access("A", "read", (("+", "t", "i"),), (2,)),), 4),
        (Access("A", "read", ("t",)), (Access("A", "read", ("i",), guard=("<", "t", 60)),), 4),
    ],
)
def test_loads_that_are_one(access: Access, others: tuple[Access, ...], expected: float) -> None:
    """In four unrolled iterations over i."""
    around = (EnclosingLoop("t", "block", 64, "threadIdx.x"), EnclosingLoop("i", "unroll", 4))
    place = LoopContext(around, {"t": (0, 63), "i": (0, 3)}, {})
    statement = Store("", (), (access, *others))
    assert reads_per_load(access, statement, ROW, place, {}) == expected
