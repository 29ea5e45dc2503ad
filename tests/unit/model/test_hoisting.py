"""Which share of an operation's executions are instructions of a thread."""

from __future__ import annotations

import pytest

from tirlens.model.gpu.compiler.loop_invariants import address_share, issued_share, packed_share
from tirlens.model.tree.context import EnclosingLoop, LoopContext
from tirlens.model.tree.thread_mapping import ThreadMapping
from tirlens_worker.facts import Arith

ROWS_AND_COLUMNS = (("i", "parallel", 64), ("j", "parallel", 128))


def share(
    over: tuple[str, ...] | None,
    loops: tuple[tuple[str, str, int], ...],
    vector: int = 1,
    matrix: bool = False,
) -> float:
    around = tuple(EnclosingLoop(name, kind, extent) for name, kind, extent in loops)
    arith = Arith("mul", "float32", over=over)
    spread = ThreadMapping(vector, 1.0, False, ())
    return issued_share(arith, LoopContext(around, {}, {}), spread, 128, matrix)


@pytest.mark.parametrize(
    ("over", "vector", "matrix", "expected"),
    [
        (None, 4, False, 1.0),
        (("i", "j"), 4, False, 1.0),
        # A row is 32 vectors of 4: four rows at a time, each thread one vector of each.
        (("i",), 4, False, 1 / 4),
        # The same four columns in all of a thread's rows.
        (("j",), 4, False, 4 / 64),
        (("block",), 4, False, 1 / 64),
        # A thread has two rows of 32 elements of the result of a matrix instruction.
        (("i",), 2, True, 1 / 32),
        (("j",), 2, True, 1 / 2),
        ((), 2, True, 1 / 64),
    ],
)
def test_in_a_tile_loop(
    over: tuple[str, ...] | None, vector: int, matrix: bool, expected: float
) -> None:
    assert share(over, ROWS_AND_COLUMNS, vector, matrix) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("i", "j"), 1.0),
        # 16 vectors of 4: each in a row of its own four, and always at the same column.
        (("i", "k"), 1.0),
        (("j",), 1 / 16),
        (("k",), 1 / 16),
    ],
)
def test_addresses_in_a_tile_loop(names: tuple[str, ...], expected: float) -> None:
    around = tuple(EnclosingLoop(name, kind, extent) for name, kind, extent in ROWS_AND_COLUMNS)
    place = LoopContext(around, {}, {})
    assert address_share(frozenset(names), place, vector=4, threads=128) == expected


@pytest.mark.parametrize(
    ("over", "expected"),
    [(("t", "u"), 1.0), (("t",), 1 / 64), (("k",), 1 / 4), (("t", "k", "u"), 1.0)],
)
def test_in_an_unrolled_loop_of_a_thread(over: tuple[str, ...], expected: float) -> None:
    loops = (("t", "block", 128), ("k", "serial", 16), ("u", "unroll", 4))
    assert share(over, loops) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("target", "vector", "expected"),
    [("float16", 2, 0.5), ("bfloat16", 8, 0.5), ("float16", 1, 1.0), ("int32", 4, 1.0)],
)
def test_neighbours_are_packed_in_one_conversion(target: str, vector: int, expected: float) -> None:
    cast = Arith("cast", "float32", accumulator=target)
    assert packed_share(cast, ThreadMapping(vector, 1.0, False, ())) == expected


@pytest.mark.parametrize(
    ("loops", "over", "share"),
    [
        ((("j", "serial"), ("k", "serial")), ("j",), 1 / 8),  # out of the inner loop
        ((("j", "serial"), ("k", "serial")), ("k",), 1),  # the loop that changes it is inside
        ((("j", "serial"), ("k", "serial")), (), 1 / 64),
        ((("j", "serial"), ("k", "unroll")), ("k",), 1),  # too many values to keep
        ((("j", "unroll"), ("k", "serial")), ("k",), 1 / 8),
    ],
)
def test_what_no_turn_of_a_loop_changes_is_computed_before_it(
    loops: tuple[tuple[str, str], ...], over: tuple[str, ...], share: float
) -> None:
    around = (
        EnclosingLoop("tx", "block", 256, "threadIdx.x"),
        *(EnclosingLoop(name, kind, 8) for name, kind in loops),
    )
    place = LoopContext(around, {loop.var: (0, (loop.extent or 1) - 1) for loop in around}, {})
    cast = Arith("cast", "int32", accumulator="float32", over=("tx", *over))
    assert issued_share(
        cast, place, ThreadMapping(1, 1.0, False, ()), 256, matrix=False
    ) == pytest.approx(share)
