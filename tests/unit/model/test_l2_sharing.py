"""Blocks that share tiles in L2."""

from __future__ import annotations

import pytest

from tirlens.model.gpu.memory.l2_sharing import (
    BlockTile,
    block_order,
    blocks_per_tile,
    fetched_bytes,
)
from tirlens.model.gpu.memory.tile_sequences import TileSequence, find_tile_sequence
from tirlens.model.tree.context import kernel_context
from tirlens_worker.facts import Access, Loop


@pytest.mark.parametrize(
    "axes, wave, blocks",
    [((0,), 128, 16), ((1,), 128, 8), ((0, 1), 128, 1), ((), 128, 128), ((0,), 4, 1), ((1,), 4, 4)],
)
def test_blocks_of_a_wave_that_share_a_tile(
    axes: tuple[int, ...], wave: int, blocks: float
) -> None:
    assert blocks_per_tile([BlockTile(1.0, axes)], (8, 16), wave) == (blocks,)


BLOCKS, ROWS, CAPACITY_BYTES = 8, 64, 32_000


def steps_of(steps: int) -> TileSequence:
    """A tile in each step of a block, the same for all of a row of blocks."""
    tile = ("+", ("*", "step", BLOCKS), "bx")
    block = Loop("grid", "bx", 0, BLOCKS, (), tag="blockIdx.x")
    context = kernel_context({}).in_loop(block).in_loop(Loop("serial", "step", 0, steps, ()))
    access = Access("A", "read", (("*", ("//", tile, BLOCKS), 128), 0), (128, 64))
    found = find_tile_sequence(access, context, (("opaque", "rows"), 64))
    assert found is not None and found.steps == steps
    return found


@pytest.mark.parametrize("steps", [2, 4, 16])
@pytest.mark.parametrize(
    ("own_bytes", "fetches"),
    [
        # Each wave is a row of blocks, whose column tiles stay until the next wave.
        (0, 1),
        (1000, 1),
        # A wave touches four times the capacity: nothing stays.
        (16_000, ROWS),
    ],
)
def test_tiles_of_one_block_take_their_bytes_once_whatever_its_steps(
    own_bytes: int, fetches: int, steps: int
) -> None:
    column, own = BlockTile(10.0, (0,)), BlockTile(own_bytes, (0, 1))
    walked = BlockTile(1.0, (0,), steps_of(steps))
    found = fetched_bytes([column, walked, own], (BLOCKS, ROWS), BLOCKS, CAPACITY_BYTES)
    assert found == pytest.approx(
        (10 * BLOCKS * fetches, steps * fetches, own_bytes * BLOCKS * ROWS), rel=1e-3
    )


@pytest.mark.parametrize(
    ("grid", "panel", "order", "blocks"),
    [
        ((2, 2, 2), None, "row", "000 100 010 110 001 101 011 111"),
        ((3, 2), 1, "row", "000 100 200 010 110 210"),
        ((3, 2), 0, "row", "000 100 200 010 110 210"),
        # Columns of two rows, from the left and then from the right; the last panel is one row.
        ((2, 3), 2, "row", "000 010 100 110 120 020"),
        ((2, 5), 2, "row", "000 010 100 110 120 130 020 030 040 140"),
        ((3, 2), 2, "column", "000 100 010 110 210 200"),
        ((2, 2, 2), 2, "row", "000 010 100 110 001 011 101 111"),
    ],
)
@pytest.mark.parametrize("most", [None, 3, 99])
def test_blocks_in_the_order_of_their_launch(
    grid: tuple[int, ...], panel: int | None, order: str, blocks: str, most: int | None
) -> None:
    axes = block_order(grid, panel, order, most)
    found = ["".join(map(str, block)) for block in zip(*axes, strict=True)]
    assert found == blocks.split()[:most]
