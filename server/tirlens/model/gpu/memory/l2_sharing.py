"""The tiles of global memory that concurrent blocks share in L2, and how often they are fetched.

Blocks start in launch order (x fastest, or in panels with tilelang's ``T.use_swizzle``), one wave
at a time.  An access that depends on some of the block indices touches one tile for each
combination of those; the blocks of a wave that share a tile fetch it once.  A tile of an earlier
wave is fetched again with a probability that is a Gompertz curve of reuse distance over capacity
(D. Ernst et al., "Analytical performance estimation during code generation on modern GPUs").  The
steps of persistent blocks (`tile_sequences`) count as waves of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from tirlens_counting.arrays import np, npt

from ...constants import constant
from .tile_sequences import TileSequence, distinct_values

# Number of simulated waves; later ones are extrapolated from the second half of these.
MAX_WAVES = 24
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_MAX_KEY = int(np.iinfo(np.int64).max) - 1
WRITTEN_BETWEEN_READS_FRACTION = constant(
    "WRITTEN_BETWEEN_READS_FRACTION",
    0.6,
    kind="estimate",
    unit="fraction",
    meaning="Fraction of the written bytes that evict lines between two reads of the same line.",
    source=(
        "a block that traverses its data several times writes in the last pass only, about "
        "half of it between two reads"
    ),
)
GOMPERTZ_OFFSET = constant(
    "GOMPERTZ_OFFSET",
    37.1,
    kind="measured",
    unit="dimensionless",
    meaning="Offset b of the miss curve ``exp(-b exp(-c d))`` of reuse distance over capacity d.",
    source=(
        'D. Ernst et al., "Analytical performance estimation during code generation on modern '
        'GPUs", fitted to the L2 of V100 and A100 there'
    ),
)
GOMPERTZ_RATE = constant(
    "GOMPERTZ_RATE",
    3.2,
    kind="measured",
    unit="dimensionless",
    meaning="Rate c of the miss curve ``exp(-b exp(-c d))`` of reuse distance over capacity d.",
    source=(
        'D. Ernst et al., "Analytical performance estimation during code generation on modern '
        'GPUs", fitted to the L2 of V100 and A100 there'
    ),
)


@dataclass(frozen=True)
class LaunchShape:
    """Grid, blocks resident at the same time, shared bytes of a block, and rasterisation."""

    grid: tuple[int, ...]
    wave_blocks: int
    shared_bytes: int = 0
    panel: int | None = None
    panel_order: str = "row"


@dataclass(frozen=True)
class BlockTile:
    """The bytes that one block touches by an access.

    Blocks with equal indices along `axes` (0, 1, 2 for x, y, z) share the tile.  Where the tile
    depends on a quotient or remainder of the block indices, `sequence` gives it for each step of
    the block, and `bytes` are those of one step.
    """

    bytes: float
    axes: tuple[int, ...]
    sequence: TileSequence | None = None

    @property
    def steps(self) -> int:
        """The number of steps in which a block loads tiles."""
        return 1 if self.sequence is None else self.sequence.steps


def block_order(
    grid: Sequence[int], panel: int | None = None, order: str = "row", max_blocks: int | None = None
) -> tuple[IntArray, IntArray, IntArray]:
    """The x, y and z indices of the first `max_blocks` blocks (default: all) in launch order.

    With a panel of p rows, tilelang's ``rasterization2DRow`` orders p rows of blocks column by
    column, in alternating direction; ``column`` exchanges x and y.
    """
    gx, gy, gz = (*grid, 1, 1, 1)[:3]
    blocks = gx * gy * gz
    index = np.arange(blocks if max_blocks is None else min(max_blocks, blocks), dtype=np.int64)
    z, flat = index // (gx * gy), index % (gx * gy)
    if not panel or panel <= 1:
        return flat % gx, flat // gx, z
    across, along = (gx, gy) if order == "row" else (gy, gx)
    group, within = flat // (panel * across), flat % (panel * across)
    height = np.minimum(panel, along - group * panel)
    fast = within // height
    fast = np.where(group % 2 == 1, across - 1 - fast, fast)
    slow = group * panel + within % height
    return (fast, slow, z) if order == "row" else (slow, fast, z)


@overload
def miss_probability(distance: float) -> float: ...
@overload
def miss_probability(distance: FloatArray) -> FloatArray: ...
def miss_probability(distance: float | FloatArray) -> float | FloatArray:
    """The probability that a line was evicted since its last use.

    Parameters
    ----------
    distance
        Bytes touched since then over the capacity in bytes.

    Notes
    -----
    Gompertz curve ``exp(-37.1 exp(-3.2 d))`` of D. Ernst et al., "Analytical performance
    estimation during code generation on modern GPUs".
    """
    missed = np.exp(-GOMPERTZ_OFFSET * np.exp(-GOMPERTZ_RATE * np.asarray(distance)))
    return missed if isinstance(distance, np.ndarray) else float(missed)


def fetched_bytes(
    tiles: Sequence[BlockTile],
    grid: Sequence[int],
    wave_blocks: int,
    capacity_bytes: float,
    panel: int | None = None,
    order: str = "row",
) -> tuple[float, ...]:
    """The bytes of each tile that L2 fetches from DRAM over the whole launch."""
    blocks = math.prod(grid)
    wave_blocks = max(min(wave_blocks, blocks), 1)
    block_steps = max((tile.steps for tile in tiles), default=1)
    # The second of two waves tells what the later ones fetch again.
    max_blocks = min(blocks, max(MAX_WAVES // block_steps, 2) * wave_blocks)
    coordinates = block_order(grid, panel, order, max_blocks)
    steps = -(-max_blocks // wave_blocks) * block_steps
    uses = _find_all_uses(tiles, coordinates, grid, wave_blocks, block_steps)
    touched = np.zeros(steps)
    for tile, tile_uses in zip(tiles, uses, strict=True):
        touched += tile.bytes * (
            wave_blocks / block_steps if tile_uses is None else tile_uses.sizes(steps)
        )
    before = np.concatenate([[0.0], np.cumsum(touched)]) / capacity_bytes
    all_steps = blocks / wave_blocks * block_steps
    return tuple(
        tile.bytes * (blocks if tile_uses is None else _count_fetches(tile_uses, before, all_steps))
        for tile, tile_uses in zip(tiles, uses, strict=True)
    )


def blocks_per_tile(
    tiles: Sequence[BlockTile],
    grid: Sequence[int],
    wave_blocks: int,
    panel: int | None = None,
    order: str = "row",
) -> tuple[float, ...]:
    """The mean number of blocks of the first wave that request the same tile in the same step."""
    wave_blocks = max(min(wave_blocks, math.prod(grid)), 1)
    block_steps = max((tile.steps for tile in tiles), default=1)
    coordinates = block_order(grid, panel, order, wave_blocks)
    uses = _find_all_uses(tiles, coordinates, grid, wave_blocks, block_steps)
    return tuple(
        1.0
        if tile_uses is None or not tile_uses.requests
        else tile_uses.requests / len(tile_uses.tiles)
        for tile_uses in uses
    )


@dataclass(frozen=True)
class TileUses:
    """The distinct tiles of each step, ordered by tile, then by step.

    `requests` is the number of requests of all blocks and steps.
    """

    tiles: IntArray
    steps: IntArray
    requests: int

    def sizes(self, steps: int) -> IntArray:
        """The number of distinct tiles of each step."""
        return np.bincount(self.steps, minlength=steps)


def _find_all_uses(
    tiles: Sequence[BlockTile],
    coordinates: tuple[IntArray, ...],
    grid: Sequence[int],
    wave_blocks: int,
    block_steps: int,
) -> list[TileUses | None]:
    """The uses of each tile; tiles that are shared in the same way have the same uses."""
    found: dict[tuple[tuple[int, ...], TileSequence | None], TileUses | None] = {}
    for tile in tiles:
        if (tile.axes, tile.sequence) not in found:
            uses = _find_uses(tile, coordinates, grid, wave_blocks, block_steps)
            found[tile.axes, tile.sequence] = uses
    return [found[tile.axes, tile.sequence] for tile in tiles]


def _find_uses(
    tile: BlockTile,
    coordinates: tuple[IntArray, ...],
    grid: Sequence[int],
    wave_blocks: int,
    block_steps: int,
) -> TileUses | None:
    """The distinct tiles of each step; None where every block has a tile of its own."""
    extents = (*grid, 1, 1, 1)[:3]
    x, y, z = coordinates
    steps = np.arange(len(x), dtype=np.int64) // wave_blocks * block_steps
    if tile.sequence is not None:
        block_step = np.arange(tile.steps, dtype=np.int64)[:, None]
        steps = steps + block_step
        # Tiles that are the same in all blocks have ids of fewer dimensions.
        key = tile.sequence.tile_ids(x, y, z, block_step) + 0 * steps
        steps, key = steps[key >= 0], key[key >= 0]
    elif all(extent == 1 or axis in tile.axes for axis, extent in enumerate(extents)):
        return None
    else:
        key = np.zeros(len(x), dtype=np.int64)
        for axis in tile.axes:
            key = key * extents[axis] + coordinates[axis]
    requests = len(key)
    if not requests:
        return TileUses(key, steps, requests)
    count = int(steps.max()) + 1
    if int(key.max()) > _MAX_KEY // count:
        key = np.unique(key, return_inverse=True)[1]
    tiles, steps = np.divmod(distinct_values(key * count + steps), count)
    return TileUses(tiles, steps, requests)


def _count_fetches(tile_uses: TileUses, before: FloatArray, all_steps: float) -> float:
    """The number of fetches: compulsory misses and expected capacity misses.

    `before` is the volume touched before each step, in units of the capacity.
    """
    again = tile_uses.tiles[1:] == tile_uses.tiles[:-1]
    distance = np.where(again, before[tile_uses.steps[1:]] - before[tile_uses.steps[:-1]], 0.0)
    capacity_misses = np.where(again, miss_probability(distance), 1.0)
    count = np.concatenate([np.ones(min(len(tile_uses.tiles), 1)), capacity_misses])
    steps = len(before) - 1
    fetched = np.bincount(tile_uses.steps, weights=count, minlength=steps)
    total = float(fetched.sum())
    if all_steps > steps:
        total += float(fetched[steps // 2 :].mean()) * (all_steps - steps)
    return total
