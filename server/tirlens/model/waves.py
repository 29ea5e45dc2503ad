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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Waves beyond this many are extrapolated from the later half of those simulated.
MOST_WAVES = 24
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Slab:
    """What one block touches by an access: `bytes`, shared by blocks equal in `axes` (x, y, z)."""

    bytes: float
    axes: tuple[int, ...]


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


def miss_probability(distance: float) -> float:
    """The share of lines evicted after touching `distance` times the capacity since their use."""
    return math.exp(-37.1 * math.exp(-3.2 * distance))


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
    members = [_members(slab, coordinates, grid, wave_blocks, waves) for slab in slabs]
    touched = [
        sum(
            slab.bytes * (wave_blocks if sets is None else len(sets[wave]))
            for slab, sets in zip(slabs, members, strict=True)
        )
        for wave in range(waves)
    ]
    all_waves = blocks / wave_blocks
    return tuple(
        slab.bytes * blocks
        if sets is None
        else slab.bytes * _fetches(sets, touched, capacity_bytes, all_waves)
        for slab, sets in zip(slabs, members, strict=True)
    )


def _members(
    slab: Slab,
    coordinates: tuple[IntArray, ...],
    grid: Sequence[int],
    wave_blocks: int,
    waves: int,
) -> list[list[int]] | None:
    """The distinct slabs of each wave; None where every block has its own."""
    extents = (*grid, 1, 1, 1)[:3]
    if all(extent == 1 or axis in slab.axes for axis, extent in enumerate(extents)):
        return None
    key = np.zeros(len(coordinates[0]), dtype=np.int64)
    for axis in slab.axes:
        key = key * extents[axis] + coordinates[axis]
    return [
        list(dict.fromkeys(key[w * wave_blocks : (w + 1) * wave_blocks].tolist()))
        for w in range(waves)
    ]


def _fetches(
    sets: list[list[int]], touched: Sequence[float], capacity_bytes: float, all_waves: float
) -> float:
    """How many times a slab is fetched, first touches and refetches together."""
    before = [0.0]
    for amount in touched:
        before.append(before[-1] + amount)
    last: dict[int, int] = {}
    fetched: list[float] = []
    for wave, members in enumerate(sets):
        count = 0.0
        for member in members:
            seen = last.get(member)
            if seen is None:
                count += 1.0
            else:
                distance = before[max(wave, seen + 1)] - before[seen]
                count += miss_probability(distance / capacity_bytes)
            last[member] = wave
        fetched.append(count)
    total = sum(fetched)
    if all_waves > len(sets):
        later = fetched[len(fetched) // 2 :]
        total += sum(later) / len(later) * (all_waves - len(sets))
    return total
