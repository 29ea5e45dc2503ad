"""Batches of sequences of different lengths, laid end to end."""

from __future__ import annotations

import pytest

from support.kernels import launched
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import Access, Buffer, Copy, Expr, Fill, KernelFacts, Let, Loop

BATCH, TILE, WIDTH = 4, 64, 128


def facts(length: int, start: Expr, stop: Expr) -> KernelFacts:
    """Each block copies the rows from `start` to `stop` of its sequence, tile by tile."""
    trips = ("//", ("+", ("-", "stop", "start"), TILE - 1), TILE)
    place = ("+", "start", ("*", "k", TILE))
    copy = Copy(
        "copy",
        per="block",
        accesses=(
            Access("rows", "read", (place, 0), (TILE, WIDTH), clipped=True),
            Access("tile", "write", (0, 0), (TILE, WIDTH)),
        ),
    )
    loop = Loop("serial", "k", 0, trips, (copy,))
    buffers = (
        Buffer("rows", "rows", "float16", (BATCH * length, WIDTH), "global"),
        Buffer("offsets", "offsets", "int32", (BATCH + 1,), "global"),
        Buffer("tile", "tile", "float16", (TILE, WIDTH), "shared"),
    )
    return launched((Let("start", start), Let("stop", stop), loop), buffers, BATCH)


@pytest.mark.parametrize("length", [64, 640, 1000])
def test_offsets_split_the_rows_evenly(length: int) -> None:
    first, last = ("load", "offsets", "bx"), ("load", "offsets", ("+", "bx", 1))
    known = facts(length, ("*", "bx", length), ("*", ("+", "bx", 1), length))
    device = load("h200")
    report, same = analyze(facts(length, first, last), device), analyze(known, device)
    assert report.time_s == same.time_s is not None
    assert report.global_bytes == same.global_bytes
    assert report.dram_bytes == same.dram_bytes
    assert any("offsets is data" in note.message for note in report.caveats)
    assert not same.caveats


def test_an_array_that_starts_nothing_is_left_alone() -> None:
    """The difference of its neighbours is a number of trips: those that pass over the rows once."""
    last = ("load", "offsets", ("+", "bx", 1))
    given = facts(64, 0, ("-", last, ("load", "offsets", "bx")))
    report = analyze(given, load("h200"))
    assert report.status == "ok"
    assert report.global_bytes.read == BATCH * BATCH * TILE * WIDTH * 2


@pytest.mark.parametrize("heads", [1, 4])
def test_a_loop_turns_as_often_as_a_later_one_over_the_same_number(heads: int) -> None:
    """A consumer that stands before its producer; the rows are those of the batch, not of heads."""
    batch: Expr = ("//", "bx", heads)
    head: Expr = ("%", "bx", heads)
    trips: Expr = ("load", "lengths", batch, head)
    own = Fill("fill", per="block", accesses=(Access("tile", "write", (0, 0), (TILE, WIDTH)),))
    place: Expr = ("+", ("*", batch, 10 * TILE), ("*", "j", TILE))
    reads = Access("rows", "read", (place, head, 0), (TILE, 1, WIDTH))
    copy = Copy(
        "copy",
        per="block",
        accesses=(reads, Access("tile", "write", (0, 0), (TILE, WIDTH))),
    )
    buffers = (
        Buffer("rows", "rows", "float16", (BATCH * 10 * TILE, heads, WIDTH), "global"),
        Buffer("lengths", "lengths", "int32", (BATCH, heads), "global"),
        Buffer("tile", "tile", "float16", (TILE, WIDTH), "shared"),
    )
    loops = (Loop("serial", "i", 0, trips, (own,)), Loop("serial", "j", 0, trips, (copy,)))
    report = analyze(launched(loops, buffers, BATCH * heads), load("h200"))
    assert report.time_s is not None
    assert report.global_bytes.read == BATCH * 10 * TILE * heads * WIDTH * 2
