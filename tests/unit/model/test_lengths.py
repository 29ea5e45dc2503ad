"""Loops up to a length that is read from memory: one length decides all that asks for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import facts as built
from support.kernels import launched, leaves
from tirlens.hardware import load
from tirlens.model import analyze, count_workload
from tirlens_worker.facts import (
    Access,
    Branch,
    Buffer,
    Copy,
    Evaluate,
    Expr,
    KernelFacts,
    Launch,
    Loop,
    Node,
    Statement,
)

BATCH, TILE, WIDTH, PAGES = 4, 64, 128, 12
LENGTH: Expr = ("load", "lengths", "bx")


def brings(source: str, place: Expr) -> Statement:
    return Copy(
        source,
        per="block",
        accesses=(
            Access(source, "read", (place, 0), (TILE, WIDTH)),
            Access("tile", "write", (0, 0), (TILE, WIDTH)),
        ),
    )


def facts(length: Expr, extra: int) -> KernelFacts:
    """A block reads old rows by pages up to a length, and `extra` rows behind it elsewhere."""
    page = brings("pages", ("*", ("load", "table", "bx", "k"), TILE))
    new = brings("fresh", ("-", ("*", "k", TILE), length))
    old = Branch(("<=", ("*", ("+", "k", 1), TILE), length), (page,), (new,))
    trips = ("//", ("+", length, extra + TILE - 1), TILE)
    buffers = (
        Buffer("lengths", "lengths", "int32", (BATCH,), "global"),
        Buffer("table", "table", "int32", (BATCH, PAGES), "global"),
        Buffer("pages", "pages", "float16", (BATCH * PAGES * TILE, WIDTH), "global"),
        Buffer("fresh", "fresh", "float16", (1024, WIDTH), "global"),
        Buffer("tile", "tile", "float16", (TILE, WIDTH), "shared"),
    )
    names = Evaluate("page", (), (Access("table", "read", ("bx", "k")),))
    return launched((Loop("serial", "k", 0, trips, (names, old)),), buffers, BATCH)


@pytest.mark.parametrize("extra", [0, 64, 200])
def test_the_length_is_what_the_loop_passes_over_its_arrays_with(extra: int) -> None:
    known = analyze(facts(PAGES * TILE - extra, extra), load("h200"))
    report = analyze(facts(LENGTH, extra), load("h200"))
    assert report.global_bytes.read == known.global_bytes.read
    assert report.time_s == pytest.approx(known.time_s, rel=0.05)
    said = [note.message for note in report.caveats if "lengths is data" in note.message]
    assert len(said) == 1 and f"assumed to be {PAGES * TILE - extra}" in said[0]


def test_counts_with_a_length_hold_for_a_change_that_is_not_counted() -> None:
    given = facts(LENGTH, 64)
    counted = count_workload(given, {})
    changed = replace(given, name="other")
    again = counted.for_facts(changed, {})
    assert again is not None and again.counts.root == counted.counts.root
    assert counted.for_facts(counted.facts, {}) is counted


def traversal(array: str, *index: Expr, guard: Expr | None = None) -> Statement:
    return Evaluate(array, (), (Access(array, "read", index, guard=guard),))


IF_CACHED: Expr = ("<", ("load", "few", 0), 3)


@pytest.mark.parametrize(
    ("body", "trips"),
    [
        # All arrays are traversed, so that the shortest ends first.
        ((traversal("long", "k"), traversal("short", "k")), 48),
        # Those that data select are alternatives to each other, and to what is always traversed.
        ((traversal("long", "k"), traversal("short", "k", guard=IF_CACHED)), 96),
        ((traversal("long", "k", guard=IF_CACHED), traversal("short", "k", guard=IF_CACHED)), 96),
        ((Branch(IF_CACHED, (traversal("long", "k"),), (traversal("short", "k"),)),), 96),
        # An array in shared memory counts where no other one is traversed.
        ((traversal("tile", "k"), traversal("long", "k", guard=IF_CACHED)), 96),
        ((traversal("tile", "k"), traversal("few", 0)), 32),
        # Four, or a quarter, of an element in each iteration, from either end.
        ((traversal("long", ("*", "k", 4)),), 24),
        ((traversal("long", ("//", "k", 4)),), 384),
        ((traversal("long", ("-", 95, "k")),), 96),
        # Each of 4 * 12 blocks has a part of two elements; 40 are too few for all blocks.
        ((traversal("long", ("+", ("*", "bx", 2), ("*", ("%", "by", 12), 8), "k")),), 2),
        ((traversal("few", ("+", ("*", "bx", 40), ("*", "by", 160), "k")),), 40),
        ((traversal("short", ("+", ("*", "bx", 12), "by", "k")),), 1),
        # Rows that another dimension names are no parts of this one.
        ((traversal("square", ("+", ("*", "by", 8), "k"), "by"),), 96),
        ((traversal("square", ("+", ("*", "by", 8), "k"), "bx"),), 8),
        # The table in which the rows are looked up.
        ((traversal("long", ("load", "short", "k")),), 48),
    ],
)
def test_a_loop_up_to_a_length_traverses_its_arrays_once(
    body: tuple[Node, ...], trips: int
) -> None:
    """Four blocks in a row of twelve rows."""
    loop = Loop("serial", "k", 0, ("load", "lengths", "bx"), body)
    row = Loop("grid", "bx", 0, BATCH, (loop,), tag="blockIdx.x")
    buffers = (
        Buffer("lengths", "lengths", "int32", (BATCH,), "global"),
        Buffer("few", "few", "int32", (40,), "global"),
        Buffer("long", "long", "int32", (96,), "global"),
        Buffer("short", "short", "int32", (48,), "global"),
        Buffer("square", "square", "int32", (96, 12), "global"),
        Buffer("tile", "tile", "int32", (32,), "shared"),
    )
    grid = Loop("grid", "by", 0, 12, (row,), tag="blockIdx.y")
    given = built((grid,), buffers, Launch((BATCH, 12), (1,)))
    assert leaves(given)[0].count.executions == trips * BATCH * 12
