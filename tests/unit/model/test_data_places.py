"""Traffic of tiles that are chosen at run time, and branches on data of which one side runs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from support.kernels import facts as built
from support.kernels import launched
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.gpu.memory.tile_sequences import MAX_TILES, POSITION, STEP, TileSequence
from tirlens_worker.facts import (
    Access,
    Branch,
    Buffer,
    Copy,
    Expr,
    KernelFacts,
    Launch,
    Loop,
    Node,
    Statement,
)

BLOCKS, TURNS, EXPERTS, WIDE = 132, 40, 64, 1 << 20
TILE = 1 << 14
X, Y = POSITION[:2]
WEIGHTS = Buffer("w", "w", "float16", (EXPERTS, WIDE), "global", is_parameter=True)
OUTPUT = Buffer("o", "o", "float16", (WIDE * EXPERTS,), "global", is_parameter=True)
SHARED = Buffer("s", "s", "float16", (TILE,), "shared")
EXPERT = Buffer("expert", "expert", "int32", (1,), "local")


def facts(*body: Node) -> KernelFacts:
    return launched(body, (WEIGHTS, OUTPUT, SHARED, EXPERT), BLOCKS)


def copy(read: Access, write: Access) -> Statement:
    return Copy("copy", per="block", accesses=(read, write))


def weights(*indices: object) -> Statement:
    return copy(
        Access("w", "read", indices, (1, TILE), route="tma"),  # type: ignore[arg-type]
        Access("s", "write", (0,), (TILE,)),
    )


@pytest.mark.parametrize("parts", [1, 4])
def test_a_tile_chosen_at_run_time_is_another_in_each_turn(parts: int) -> None:
    inner = Loop("serial", "part", 0, parts, (weights(("load", "expert", 0), ("*", "part", TILE)),))
    report = analyze(facts(Loop("serial", "turn", 0, TURNS, (inner,))), load("h200"), {})
    issued = BLOCKS * TURNS * parts * TILE * 2
    read = report.dram_bytes.read
    assert read is not None
    # Each of the experts' parts comes, and none of them more often than it is asked for.
    assert EXPERTS * parts * TILE * 2 <= read <= issued


@pytest.mark.parametrize(("rows", "kept"), [(256, True), (1 << 16, False)])
def test_what_blocks_choose_from_comes_once_where_l2_holds_it(rows: int, kept: bool) -> None:
    heads, queries, turns = 16, 1024, 16
    cache = Buffer("w", "w", "float16", (heads, rows, TILE), "global", is_parameter=True)
    chosen = Buffer("o", "o", "int32", (heads, queries, turns), "global", is_parameter=True)
    place = ("by", ("load", "o", "by", "bx", "turn"), 0)
    tile = copy(
        Access("w", "read", place, (1, 1, TILE), route="tma"),
        Access("s", "write", (0,), (TILE,)),
    )
    block = Loop("block", "tx", 0, 128, (Loop("serial", "turn", 0, turns, (tile,)),))
    row = Loop("grid", "bx", 0, queries, (replace(block, tag="threadIdx.x"),), tag="blockIdx.x")
    grid = Loop("grid", "by", 0, heads, (row,), tag="blockIdx.y")
    launch = Launch((queries, heads), (128,))
    report = analyze(built((grid,), (cache, chosen, SHARED), launch), load("h200"), {})
    each = heads * (rows if kept else queries * turns) * TILE * 2
    assert report.dram_bytes.read == pytest.approx(each, rel=0.02)


def test_tiles_of_a_group_that_each_block_looks_up_are_of_one_group() -> None:
    """But a block that finds all of its place in data has another one than the other blocks."""

    def read(tiles: int, inside: object) -> float:
        place = ("+", ("*", ("load", "expert", "bx"), WIDE), inside)
        tile = copy(
            Access("o", "read", (place,), (TILE,), route="tma"),
            Access("s", "write", (0,), (TILE,)),
        )
        found = analyze(facts(Loop("serial", "turn", 0, TURNS, (tile,))), load("h200"), {})
        assert found.dram_bytes.read is not None
        return found.dram_bytes.read / (tiles * TILE * 2)

    assert read(4, ("*", ("%", "bx", 4), TILE)) == pytest.approx(1.0)
    assert read(BLOCKS, 0) == pytest.approx(1.0)


def test_a_tile_behind_a_branch_on_data_is_loaded_at_once() -> None:
    """The branch is decided before the first element, anew in each turn."""
    tile = copy(
        Access("w", "read", ("turn", 0), (1, TILE), route="tile"),
        Access("s", "write", (0,), (TILE,), route="tile"),
    )
    branch = Branch(("<", ("load", "o", "turn"), 3), (tile,))
    plain, behind = (
        analyze(facts(Loop("serial", "turn", 0, TURNS, (node,))), load("h200"), {}).time_s
        for node in (tile, branch)
    )
    assert plain is not None and behind is not None
    assert plain <= behind < 1.5 * plain


def test_of_two_sides_that_data_decide_between_the_dearer_is_counted() -> None:
    def store(tiles: int) -> Statement:
        return copy(Access("s", "read", (0,), (TILE,)), Access("o", "write", (0,), (tiles * TILE,)))

    full = (">", ("load", "expert", 0), 3)
    for then, orelse in ((1, 4), (4, 1)):
        report = analyze(facts(Branch(full, (store(then),), (store(orelse),))), load("h200"), {})
        assert report.global_bytes.write == BLOCKS * 4 * TILE * 2
        assert any(str(BLOCKS * TILE * 2) in c.message.replace(",", "") for c in report.caveats)


@pytest.mark.parametrize("least", [10, 40, TURNS])
def test_a_loop_up_to_a_number_in_memory_fills_its_output_once(least: int) -> None:
    """The output holds what `least` of the turns write; more turns would write it again."""
    size = BLOCKS * least * TILE
    tile = ("+", ("*", BLOCKS, "turn"), "bx")
    place = ("*", ("load", "expert", 0), TILE)
    store = copy(Access("s", "read", (0,), (TILE,)), Access("o", "write", (place,), (TILE,)))
    inside = Branch(("<", tile, ("load", "expert", 0)), (store,))
    given = facts(Loop("serial", "turn", 0, TURNS, (inside,)))
    output = replace(OUTPUT, shape=(size,))
    report = analyze(replace(given, buffers=(output, *given.buffers[2:])), load("h200"), {})
    assert report.global_bytes.write == size * 2
    assert report.dram_bytes.write == size * 2


def test_places_too_many_to_tell_are_no_bound() -> None:
    walk = TileSequence((("//", POSITION[0], 2),), (8,))
    assert walk.tile_count((8, 1, 1)) == 4
    assert walk.tile_count((MAX_TILES + 1, 1, 1)) == math.inf


@pytest.mark.parametrize(
    ("indices", "sizes", "places"),
    [
        # Two dimensions of one axis, and one of another.
        ((("//", X, 4), Y, ("%", X, 4)), (2, 6, 4), 48),
        ((("//", X, 4), Y, ("%", X, 2)), (2, 6, 4), 24),
        # Of sizes that are not known: too many for 64 bits together.
        ((("//", X, 4), Y, 0, ("%", X, 4), 0), (1 << 20,) * 5, 48),
        # Beyond a row the next one begins.
        ((Y, ("*", X, 2)), (6, 4), 18),
    ],
)
def test_places_of_all_blocks(indices: tuple[Expr, ...], sizes: tuple[int, ...], places: int):
    assert TileSequence(indices, sizes).tile_count((8, 6, 1)) == places


def test_blocks_without_a_turn_are_nowhere() -> None:
    walk = TileSequence((("+", ("*", X, 4), STEP),), (64,), ("%", X, 4), 3, "turn")
    assert walk.tile_count((4, 1, 1)) == 1 + 2 + 3
