"""Blocks that share tiles in L2."""

from __future__ import annotations

import pytest

from tirlens.model.gpu.memory.l2_sharing import BlockTile, blocks_per_tile


@pytest.mark.parametrize(
    "axes, wave, blocks",
    [((0,), 128, 16), ((1,), 128, 8), ((0, 1), 128, 1), ((), 128, 128), ((0,), 4, 1), ((1,), 4, 4)],
)
def test_blocks_of_a_wave_that_share_a_tile(
    axes: tuple[int, ...], wave: int, blocks: float
) -> None:
    assert blocks_per_tile([BlockTile(1.0, axes)], (8, 16), wave) == (blocks,)
