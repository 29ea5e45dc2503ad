"""Full unrolling before vectorization, and type legalization of explicit vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.cpu.compiler.statements import address_of
from tirlens.model.cpu.compiler.vector_width import is_unrolled_late
from tirlens.model.cpu.memory.footprints import signature_of
from tirlens.model.tree.context import LoopContext
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Expr,
    KernelFacts,
    Loop,
    LoopKind,
    Store,
)

from .test_cpu import DEVICE, FLOAT, facts, loop, store, timed
from .test_cpu_accesses import nests

ROWS, DEPTH = 128, 96


def copied(columns: int, kind: LoopKind) -> KernelFacts:
    arrays = {"A": (ROWS, columns), "B": (ROWS, columns)}
    leaf = store({"A": ("i", "j")}, ("B", ("i", "j")))
    return facts(arrays, [loop("i", ROWS, kind), loop("j", columns)], leaf)


def added(columns: int, kind: LoopKind) -> KernelFacts:
    arrays = dict.fromkeys("ABC", (ROWS, columns))
    leaf = store({"A": ("i", "j"), "B": ("i", "j")}, ("C", ("i", "j")), "add")
    return facts(arrays, [loop("i", ROWS, kind), loop("j", columns)], leaf)


def maxima(columns: int, kind: LoopKind) -> KernelFacts:
    arrays = dict.fromkeys("ABC", (ROWS, columns))
    leaf = store({"A": ("i", "j"), "B": ("i", "j")}, ("C", ("i", "j")), "max")
    return facts(arrays, [loop("i", ROWS, kind), loop("j", columns)], leaf)


def neighbours(columns: int, kind: LoopKind) -> KernelFacts:
    arrays = {"A": (ROWS, columns + 2), "C": (ROWS, columns)}
    reads = (Access("A", "read", ("i", "j")), Access("A", "read", ("i", ("+", "j", 1))))
    leaf = Store("store", (Arith("add", FLOAT),), (*reads, Access("C", "write", ("i", "j"))))
    return facts(arrays, [loop("i", ROWS, kind), loop("j", columns)], leaf)


def roots(columns: int, kind: LoopKind) -> KernelFacts:
    arrays = {"A": (ROWS, columns), "B": (ROWS, columns)}
    leaf = store({"A": ("i", "j")}, ("B", ("i", "j")), "rsqrt")
    return facts(arrays, [loop("i", ROWS, kind), loop("j", columns)], leaf)


def updates(columns: int, kind: LoopKind) -> KernelFacts:
    arrays = {"A": (ROWS, DEPTH), "B": (DEPTH, columns), "C": (ROWS, columns)}
    leaf = store(
        {"A": ("i", "k"), "B": ("k", "j"), "C": ("i", "j")}, ("C", ("i", "j")), "mul", "add"
    )
    return facts(arrays, [loop("i", ROWS, kind), loop("k", DEPTH), loop("j", columns)], leaf)


@pytest.mark.parametrize(
    ("made", "kind", "most"),
    [
        (copied, "serial", 59),
        (added, "serial", 42),
        # A maximum is a comparison and a selection.
        (maxima, "serial", 37),
        (neighbours, "serial", 37),
        # A root and a division.
        (roots, "serial", 42),
        (updates, "serial", 42),
        # Not inlined, and so simplified only once.
        (updates, "parallel", 33),
    ],
)
def test_the_longest_unrolled_loop_equals_llvms(
    made: Callable[[int, LoopKind], KernelFacts], kind: LoopKind, most: int
) -> None:
    """The numbers are those of LLVM's passes as printed with apache-tvm 0.27.

    Unrolled columns leave no loop to vectorize.
    """
    unrolled, vectors = (
        timed(analyze(made(columns, kind), DEVICE)) / columns for columns in (most, most + 1)
    )
    assert unrolled > 1.3 * vectors


@pytest.mark.parametrize(("columns", "is_unrolled"), [(29, True), (30, False)])
def test_copies_of_an_unrolled_loop_count_in_the_loop_around(
    columns: int, is_unrolled: bool
) -> None:
    """``B[i, j, f] = A[i, j, f]`` with two copies for f, in a loop over j.

    A copy has a load, a store, and two address computations: its columns are two elements apart,
    and both arrays have the same.  An iteration has eight instructions and two of control, and the
    backedge two more: below 300 for 29 iterations.
    """
    arrays = dict.fromkeys("AB", (ROWS, columns, 2))
    index: tuple[Expr, ...] = ("i", "j", "f")
    loops = [loop("i", ROWS), loop("j", columns), loop("f", 2, "unroll")]
    (nest,) = nests(facts(arrays, loops, store({"A": index}, ("B", index))))
    assert nest.loop is not None
    assert nest.loop.var == ("i" if is_unrolled else "j")


def guarded(columns: int) -> KernelFacts:
    """Rows of tiles, the last of which is not full."""
    place: Expr = ("+", ("*", "i", columns), "j")
    size = (ROWS - 1) * columns + 3
    leaf = store({"A": (place,), "B": (place,)}, ("C", (place,)), "add")
    inside = Branch(("<", place, size), (leaf,))
    made = facts(dict.fromkeys("ABC", (size,)), [loop("i", ROWS)], leaf)
    columns_loop = replace(loop("j", columns), body=(inside,))
    return replace(made, body=(replace(loop("i", ROWS), body=(columns_loop,)),))


def test_a_condition_adds_instructions_to_a_loop() -> None:
    """LLVM unrolls 26 columns with the condition, not 28; without it 42."""
    short, long = (timed(analyze(guarded(columns), DEVICE)) / columns for columns in (26, 28))
    assert short > 1.2 * long


def guarded_update(size: int) -> KernelFacts:
    """A product in tiles of 32, guarded because `size` is no multiple."""
    tiles = -(-size // 32)
    row, column = (("+", ("*", outer, 32), inner) for outer, inner in (("io", "i"), ("jo", "j")))
    leaf = store(
        {"A": (row, "k"), "B": ("k", column), "C": (row, column)},
        ("C", (row, column)),
        "mul",
        "add",
    )
    inside = Branch(("<", column, size), (Branch(("<", row, size), (leaf,)),))
    arrays = {"A": (size, DEPTH), "B": (DEPTH, size), "C": (size, size)}
    node: Loop | Branch = inside
    for name, extent in (("j", 32), ("k", DEPTH), ("i", 32), ("jo", tiles), ("io", tiles)):
        node = replace(loop(name, extent), body=(node,))
    return replace(facts(arrays, [loop("io", tiles)], leaf), body=(node,))


def test_a_predicated_invariant_load_is_a_masked_gather() -> None:
    """An element of A that one row of a tile shares is gathered with the columns' mask."""
    device = load("x86-avx512")
    assert device.cpu is not None
    size = 127
    gathers = size * 4 * DEPTH * (32 / (device.cpu.vector_bytes / 4)) * device.cpu.gather_clk
    assert timed(analyze(guarded_update(size), device)) > 0.9 * gathers / device.clock_hz


def summed(lanes: int) -> KernelFacts:
    """Sums over k of explicit vectors, which stay in registers."""
    arrays = {"A": (ROWS, DEPTH * 8), "B": (DEPTH * 8, lanes), "C": (ROWS, lanes)}
    leaf = store(
        {"A": ("i", "k"), "B": ("k", "v"), "C": ("i", "v")}, ("C", ("i", "v")), "mul", "add"
    )
    loops = [loop("i", ROWS), loop("k", DEPTH * 8), loop("v", lanes, "vectorized")]
    return facts(arrays, loops, leaf)


def test_sums_in_vectors_of_no_power_of_two_are_scalarized() -> None:
    odd, even = (timed(analyze(summed(lanes), DEVICE)) / lanes for lanes in (12, 16))
    assert odd > 2 * even


@pytest.mark.parametrize(
    ("lanes", "step", "trip_count", "is_unrolled"),
    [
        # Four registers for 24 elements as for 32: four loads, four sums and a branch each time.
        (24, 1, 33, True),
        (24, 1, 34, False),
        (32, 1, 33, True),
        (32, 1, 34, False),
        # Two registers: 2 + 2 + 1, below 300 with the two of the backedge.
        (12, 1, 59, True),
        (12, 1, 60, False),
        # A value for all lanes is loaded as often.
        (12, 0, 59, True),
        (12, 0, 60, False),
        # Every second element is loaded and inserted: 2 * 12 + 2 + 1.
        (12, 2, 11, True),
        (12, 2, 12, False),
    ],
)
def test_loops_of_vectors_that_are_unrolled_late(
    lanes: int, step: int, trip_count: int, is_unrolled: bool
) -> None:
    leaf = store({"A": ("r", ("*", "v", step)), "C": ("v",)}, ("C", ("v",)), "add")
    loops = [loop("r", trip_count), loop("v", lanes, "vectorized")]
    (nest,) = nests(facts({"A": (trip_count, 2 * lanes), "C": (lanes,)}, loops, leaf))
    assert is_unrolled_late(nest, 32) == is_unrolled


def test_rows_that_different_data_select_are_distinct() -> None:
    table = Buffer("W", "W", FLOAT, (4096, 16), is_parameter=True)
    context = LoopContext((), {"i": (0, 99)}, {})
    chosen = [Access("W", "read", (("load", "R", "i", n), 0)) for n in (0, 1, 1)]
    one, other, again = (
        signature_of(address_of(access, table, (4096, 16), context), (), {}) for access in chosen
    )
    assert one != other == again
