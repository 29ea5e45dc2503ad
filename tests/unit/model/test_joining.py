"""Accesses of shared memory that the compiler joins: what nvcc 13.0 makes of unrolled loops."""

from __future__ import annotations

import pytest

from support.kernels import issued_mapping
from tirlens.model.tree.context import EnclosingLoop, LoopContext
from tirlens_worker.facts import Access, Buffer, Expr, Store


def at(*loops: tuple[str, str, int], conditions: tuple[Expr, ...] = ()) -> LoopContext:
    around = (
        EnclosingLoop("t", "block", 256, "threadIdx.x"),
        *(EnclosingLoop(*loop) for loop in loops),
    )
    ranges = {loop.var: (0, (loop.extent or 1) - 1) for loop in around}
    return LoopContext(around, ranges, {}, conditions)


def moved(
    index: Expr,
    place: LoopContext,
    dtype: str = "float32",
    scope: str = "shared",
    again: bool = False,
    guard: Expr | None = None,
) -> float:
    """Elements of one instruction for a load that goes to a register, or is stored `again`."""
    buffers = {
        "A": Buffer("A", "A", dtype, (1 << 14,), scope),
        "r": Buffer("r", "r", dtype, (64,), "local"),
    }
    target = Access("A", "write", ("t",)) if again else Access("r", "write", (0,))
    accesses = (Access("A", "read", (index,), guard=guard), target)
    found = issued_mapping(Store("s", (), accesses, "thread"), place, buffers, 256)
    assert found.requests[0] is not None
    return found.requests[0].vector


ROW: Expr = ("+", ("*", "t", 8), "k")
INNER = ("i", "unroll", 8)
STEPS = ("k", "unroll", 8)


@pytest.mark.parametrize(
    ("index", "loops", "dtype", "vector"),
    [
        (ROW, (STEPS,), "float32", 4),  # LDS.128
        (ROW, (STEPS,), "float16", 4),  # LDS.64: four elements are the most
        (ROW, (STEPS,), "float64", 2),
        (ROW, (STEPS, INNER), "float32", 4),  # neighbours of the outer loop
        (ROW, (STEPS, INNER), "float64", 2),
        (ROW, (("k", "serial", 8),), "float32", 1),
        (ROW, (STEPS, ("i", "serial", 8)), "float32", 1),
        (ROW, (("k", "unroll", 6),), "float32", 2),
        (("+", ROW, 1), (STEPS,), "float32", 1),  # not aligned
        (("+", ("*", "t", 9), "k"), (STEPS,), "float32", 1),
        (("+", ROW, ("*", "i", 33)), (INNER, STEPS), "float32", 1),  # padded rows
        (("+", ("*", "k", 256), "t"), (STEPS,), "float32", 1),  # a column
    ],
)
def test_neighbours_of_straight_code_are_one_instruction(
    index: Expr, loops: tuple[tuple[str, str, int], ...], dtype: str, vector: int
) -> None:
    assert moved(index, at(*loops), dtype) == vector


def test_nothing_is_joined_that_may_change_or_is_chosen_or_has_no_known_place() -> None:
    assert moved(ROW, at(STEPS), again=True) == 1
    assert moved(ROW, at(STEPS, conditions=(("<", "k", 3),))) == 1
    assert moved(ROW, at(STEPS), scope="global") == 1
    assert moved(ROW, at(STEPS), guard=("<", "t", 9)) == 1
