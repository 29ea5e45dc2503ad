"""What one turn of a loop hands to the next: results, sectors, addresses; how often data turns."""

from __future__ import annotations

from fractions import Fraction

import pytest

from support.kernels import instructions, launched, leaves
from tirlens.model.counting.data_extents import slope
from tirlens.model.counting.kernel_counter import KernelCounter
from tirlens.model.gpu.compiler.loop_carried import CarriedDependence, find_carried_dependence
from tirlens.model.gpu.memory.l1_reuse import new_sector_share
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Copy,
    Evaluate,
    Expr,
    KernelFacts,
    Loop,
    Node,
    Store,
)

BUFFERS = (
    Buffer("a", "a", "float32", (8, 32, 64)),
    Buffer("lengths", "lengths", "int32", (8,)),
    Buffer("pages", "pages", "int32", (8, 16)),
    Buffer("sum", "sum", "float32", (4,), "local"),
    Buffer("scan", "scan", "int32", (65,), "shared.dyn"),
    Buffer("tile", "tile", "float32", (64, 64), "shared.dyn"),
)
ADD = (Arith("add", "float32"),)


def kernel(*body: Node) -> KernelFacts:
    return launched(body, BUFFERS, threads=32)


def turning(*accesses: Access, extent: Expr = 64) -> Loop:
    return Loop("serial", "k", 0, extent, (Store("", ADD, accesses),))


@pytest.mark.parametrize(
    "read, written, expected",
    [
        (("sum", (0,)), ("sum", (0,)), CarriedDependence("local", 64.0)),
        # A prefix sum hands each value on through memory.
        (("scan", ("k",)), ("scan", (("+", "k", 1),)), CarriedDependence("shared.dyn", 64.0)),
        # Nobody waits where each turn has its own element.
        (("scan", ("k",)), ("scan", ("k",)), None),
        (("scan", (("+", "k", 1),)), ("scan", ("k",)), None),
        (("sum", (0,)), ("scan", (0,)), None),
    ],
)
def test_what_a_turn_waits_for(
    read: tuple[str, tuple[Expr, ...]],
    written: tuple[str, tuple[Expr, ...]],
    expected: CarriedDependence | None,
) -> None:
    loop = turning(Access(read[0], "read", read[1]), Access(written[0], "write", written[1]))
    (leaf,) = leaves(kernel(loop))
    assert find_carried_dependence(leaf, 8) == expected


def test_chains_side_by_side() -> None:
    accesses = (Access("sum", "read", ("i",)), Access("sum", "write", ("i",)))
    inner = Loop("unroll", "i", 0, 4, (Store("", ADD, accesses),))
    (leaf,) = leaves(kernel(Loop("serial", "k", 0, 64, (inner,))))
    assert find_carried_dependence(leaf, 8) == CarriedDependence("local", 64.0)


@pytest.mark.parametrize(
    "indices, expected",
    [
        # A row of its own for each thread: eight elements of 4 bytes lie in a sector.
        (("bx", "tx", "k"), 1 / 8),
        (("bx", ("//", "k", 2), ("+", "tx", ("*", ("%", "k", 2), 32))), 1.0),
        # The same place in all turns is brought once.
        (("bx", 0, "tx"), 1 / 32),
        # Rows that begin anywhere in a sector: in each turn some thread needs a new one.
        (("bx", 0, ("+", "k", "tx")), 1.0),
        (("bx", 0, ("load", "lengths", "k")), 1.0),
    ],
)
def test_new_sectors(indices: tuple[Expr, ...], expected: float) -> None:
    loop = turning(Access("a", "read", indices), Access("sum", "write", (0,)))
    (leaf,) = leaves(kernel(loop))
    assert new_sector_share(leaf, 1) == expected


def test_an_address_is_computed_once() -> None:
    index: Expr = ("%", "k", 3)
    store = Store("", ADD, (Access("scan", "write", (index,)),))
    loop = Loop("serial", "k", 0, 64, (store, store))
    other = Loop("serial", "k", 0, 64, (store,))
    assert [row.index for row in instructions(kernel(loop, other))] == [6.0, 0.0, 6.0]


@pytest.mark.parametrize(
    "expr, expected",
    [
        (("+", ("*", "k", 128), "s"), 128),
        (("-", ("load", "lengths", "s"), "k"), -1),
        (("//", ("*", 64, ("+", "k", "s")), 256), Fraction(1, 4)),
        ("s", 0),
        (("load", "lengths", "k"), None),
        (("%", "k", 8), None),
    ],
)
def test_slope(expr: Expr, expected: Fraction | None) -> None:
    assert slope(expr, "k") == expected


LENGTH: Expr = ("//", ("+", ("load", "lengths", "bx"), 7), 8)


@pytest.mark.parametrize(
    "index, trips",
    [
        # All of the second dimension of 32, eight rows a turn.
        (("bx", ("*", "k", 8), 0), 4),
        # Eight parts, each with four of its rows.
        ((0, ("+", ("*", "k", 2), ("*", "bx", 4)), 0), 2),
        # Where in the array a block begins is data as well: they have it between them.
        ((0, ("+", "k", ("load", "lengths", "bx")), 0), 4),
    ],
)
def test_turns_up_to_a_length_in_memory(index: tuple[Expr, ...], trips: int) -> None:
    copy = Copy("", (), (Access("a", "read", index),), "block")
    consumer = Loop("serial", "j", 0, LENGTH, (Store("", ADD),))
    facts = kernel(Loop("serial", "k", 0, LENGTH, (copy,)), consumer)
    counts = KernelCounter(facts, {}).counts()
    (grid,) = counts.root
    (block,) = grid.children
    assert [loop.trips for loop in block.children] == [trips, trips]
    assert all("once" in caveat.message for caveat in counts.caveats)


def test_pages_of_a_sequence() -> None:
    page: Expr = ("load", "pages", "bx", ("//", ("*", "k", 16), 64))
    read = Copy("", (), (Access("a", "read", (page, ("%", "k", 4), 0)),), "block")
    table = Evaluate("", (), (Access("pages", "read", page[2:]),))
    loop = Loop("serial", "k", 0, LENGTH, (table, read))
    (grid,) = KernelCounter(kernel(loop), {}).counts().root
    assert grid.children[0].children[0].trips == 64


def test_pages_that_are_looked_up_in_indices_from_the_last_one() -> None:
    place: Expr = ("-", ("-", LENGTH, 1), "k")
    page: Expr = ("load", "pages", "bx", ("//", ("*", place, 16), 64))
    read = Copy("", (), (Access("a", "read", (page, ("%", "k", 4), 0)),), "block")
    (grid,) = KernelCounter(kernel(Loop("serial", "k", 0, LENGTH, (read,))), {}).counts().root
    assert grid.children[0].children[0].trips == 64


def test_turns_along_an_array_in_shared_memory() -> None:
    read = Evaluate("", (), (Access("scan", "read", ("k",)),))
    (grid,) = KernelCounter(kernel(Loop("serial", "k", 0, LENGTH, (read,))), {}).counts().root
    assert grid.children[0].children[0].trips == 65


def test_new_rows_behind_those_of_a_cache() -> None:
    cached: Expr = ("<", "k", ("load", "lengths", "bx"))
    old = Copy("", (), (Access("a", "read", ("bx", "k", 0)),), "block")
    new = Copy("", (), (Access("pages", "read", ("bx", "k")),), "block")
    loop = Loop("serial", "k", 0, LENGTH, (Branch(cached, (old,), (new,)),))
    (grid,) = KernelCounter(kernel(loop), {}).counts().root
    assert grid.children[0].children[0].trips == 32


def test_turns_along_nothing_are_not_known() -> None:
    loop = Loop("serial", "k", 0, LENGTH, (Store("", ADD),))
    counts = KernelCounter(kernel(loop), {}).counts()
    assert counts.root[0].children[0].children[0].trips is None
    assert "bind k" in counts.caveats[0].message
