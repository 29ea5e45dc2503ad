"""Loops up to a length that is read from memory: one length decides all that asks for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import launched
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
    Loop,
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
