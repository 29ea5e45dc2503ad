"""Which blocks run at the same time, and what of global memory they share in the L2 cache.

Blocks start in launch order (x fastest, or in panels with tilelang's ``T.use_swizzle``), a wave
of them at a time.  An access whose indices depend on some of the block indices touches one slab
for each combination of those; the blocks of a wave that share a slab fetch it once.  A slab that
an earlier wave fetched is fetched again with a probability that grows with what was touched since
(Gompertz curve of the miss rate over reuse distance / capacity; D. Ernst et al., "Analytical
performance estimation during code generation on modern GPUs").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

# Waves beyond this many are extrapolated from the later half of those simulated.
MOST_WAVES = 24
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Slab:
    """What one block touches by an access: `bytes`, shared by blocks equal in `axes` (x, y, z).

    Where the place depends on a quotient or remainder of the block indices, `place_of` gives it
    for arrays of x, y and z.
    """

    bytes: float
    axes: tuple[int, ...]
    place_of: Callable[[IntArray, IntArray, IntArray], IntArray] | None = None


def launch_order(
    grid: Sequence[int], panel: int | None = None, order: str = "row", most: int | None = None
) -> tuple[IntArray, IntArray, IntArray]:
    """x, y and z of the first `most` blocks (default: all) in the order in which they start.

    With a panel of `p`, tilelang's ``rasterization2DRow`` walks p rows of blocks column by
    column, back and forth; ``column`` is the same with x and y exchanged.
    """
    gx, gy, gz = (*grid, 1, 1, 1)[:3]
    blocks = gx * gy * gz
    index = np.arange(blocks if most is None else min(most, blocks), dtype=np.int64)
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
    """The share of lines evicted after touching `distance` times the capacity since their use."""
    missed = np.exp(-37.1 * np.exp(-3.2 * np.asarray(distance)))
    return missed if isinstance(distance, np.ndarray) else float(missed)


def dram_bytes(
    slabs: Sequence[Slab],
    grid: Sequence[int],
    wave_blocks: int,
    capacity_bytes: float,
    panel: int | None = None,
    order: str = "row",
) -> tuple[float, ...]:
    """Bytes fetched from DRAM for each slab over the whole launch."""
    blocks = math.prod(grid)
    wave_blocks = max(min(wave_blocks, blocks), 1)
    most = min(blocks, MOST_WAVES * wave_blocks)
    coordinates = launch_order(grid, panel, order, most)
    waves = -(-most // wave_blocks)
    members = [_members(slab, coordinates, grid, wave_blocks) for slab in slabs]
    touched = np.zeros(waves)
    for slab, sets in zip(slabs, members, strict=True):
        touched += slab.bytes * (wave_blocks if sets is None else sets.sizes(waves))
    before = np.concatenate([[0.0], np.cumsum(touched)]) / capacity_bytes
    all_waves = blocks / wave_blocks
    return tuple(
        slab.bytes * (blocks if sets is None else _fetches(sets, before, all_waves))
        for slab, sets in zip(slabs, members, strict=True)
    )


@dataclass(frozen=True)
class _Members:
    """The distinct slabs of each wave, ordered by slab and then by wave."""

    slabs: IntArray
    waves: IntArray

    def sizes(self, waves: int) -> IntArray:
        """How many slabs each wave has."""
        return np.bincount(self.waves, minlength=waves)


def _members(
    slab: Slab, coordinates: tuple[IntArray, ...], grid: Sequence[int], wave_blocks: int
) -> _Members | None:
    """The distinct slabs of each wave; None where every block has its own."""
    extents = (*grid, 1, 1, 1)[:3]
    if slab.place_of is not None:
        x, y, z = coordinates
        key = slab.place_of(x, y, z)
    elif all(extent == 1 or axis in slab.axes for axis, extent in enumerate(extents)):
        return None
    else:
        key = np.zeros(len(coordinates[0]), dtype=np.int64)
        for axis in slab.axes:
            key = key * extents[axis] + coordinates[axis]
    order = np.argsort(key, kind="stable")
    slabs, waves = key[order], order // wave_blocks
    first = np.ones(len(slabs), dtype=bool)
    first[1:] = (slabs[1:] != slabs[:-1]) | (waves[1:] != waves[:-1])
    return _Members(slabs[first], waves[first])


def _fetches(sets: _Members, before: FloatArray, all_waves: float) -> float:
    """How many times a slab is fetched, first touches and refetches together.

    `before` is what was touched before each wave, in cache capacities.
    """
    again = sets.slabs[1:] == sets.slabs[:-1]
    distance = before[sets.waves[1:]] - before[sets.waves[:-1]]
    count = np.ones(len(sets.slabs))
    count[1:][again] = miss_probability(distance[again])
    waves = len(before) - 1
    fetched = np.bincount(sets.waves, weights=count, minlength=waves)
    total = float(fetched.sum())
    if all_waves > waves:
        total += float(fetched[waves // 2 :].mean()) * (all_waves - waves)
    return total
