"""Which blocks run at the same time, and what of global memory they share in the L2 cache.

Blocks start in launch order (x fastest, or in panels with tilelang's ``T.use_swizzle``), a wave
of them at a time.  An access whose indices depend on some of the block indices touches one slab
for each combination of those; the blocks of a wave that share a slab fetch it once.  A slab that
an earlier wave fetched is fetched again with a probability that grows with what was touched since
(Gompertz curve of the miss rate over reuse distance / capacity; D. Ernst et al., "Analytical
performance estimation during code generation on modern GPUs").  Blocks that walk over tiles
(`walks`) take a step each time they turn, and share in a step what the blocks of a wave share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from .walks import Walk, distinct

# Waves beyond this many are extrapolated from the later half of those simulated.
MOST_WAVES = 24
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
_LARGEST = int(np.iinfo(np.int64).max) - 1
# Written lines take the place of lines to be read again.  A block that passes over its data several
# times writes during the last pass only, so that about half of what it writes comes in between: an
# estimate.
WRITTEN_BETWEEN = 0.6


@dataclass(frozen=True)
class LaunchShape:
    """The launch as numbers: grid, blocks resident at once, shared bytes of each, rasterisation."""

    grid: tuple[int, ...]
    wave_blocks: int
    shared_bytes: int = 0
    panel: int | None = None
    panel_order: str = "row"


@dataclass(frozen=True)
class Slab:
    """What one block touches by an access: `bytes`, shared by blocks equal in `axes` (x, y, z).

    Where the place depends on a quotient or remainder of the block indices, `walk` tells it for
    each turn, and `bytes` are those of one turn.
    """

    bytes: float
    axes: tuple[int, ...]
    walk: Walk | None = None

    @property
    def turns(self) -> int:
        """How many turns of the loop move its bytes."""
        return 1 if self.walk is None else self.walk.turns


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
    turns = max((slab.turns for slab in slabs), default=1)
    most = min(blocks, max(MOST_WAVES // turns, 1) * wave_blocks)
    coordinates = launch_order(grid, panel, order, most)
    steps = -(-most // wave_blocks) * turns
    members = _all_members(slabs, coordinates, grid, wave_blocks, turns)
    touched = np.zeros(steps)
    for slab, sets in zip(slabs, members, strict=True):
        touched += slab.bytes * (wave_blocks / turns if sets is None else sets.sizes(steps))
    before = np.concatenate([[0.0], np.cumsum(touched)]) / capacity_bytes
    all_steps = blocks / wave_blocks * turns
    return tuple(
        slab.bytes * (blocks if sets is None else _fetches(sets, before, all_steps))
        for slab, sets in zip(slabs, members, strict=True)
    )


def sharing(
    slabs: Sequence[Slab],
    grid: Sequence[int],
    wave_blocks: int,
    panel: int | None = None,
    order: str = "row",
) -> tuple[float, ...]:
    """How many blocks of the first wave ask for the same slab in the same step, on average."""
    wave_blocks = max(min(wave_blocks, math.prod(grid)), 1)
    turns = max((slab.turns for slab in slabs), default=1)
    coordinates = launch_order(grid, panel, order, wave_blocks)
    members = _all_members(slabs, coordinates, grid, wave_blocks, turns)
    return tuple(
        1.0 if sets is None or not sets.asked else sets.asked / len(sets.slabs) for sets in members
    )


@dataclass(frozen=True)
class _Members:
    """The distinct slabs of each step, ordered by slab and then by step.

    Blocks have `asked` for a slab so many times in all steps.
    """

    slabs: IntArray
    steps: IntArray
    asked: int

    def sizes(self, steps: int) -> IntArray:
        """How many slabs each step has."""
        return np.bincount(self.steps, minlength=steps)


def _all_members(
    slabs: Sequence[Slab],
    coordinates: tuple[IntArray, ...],
    grid: Sequence[int],
    wave_blocks: int,
    turns: int,
) -> list[_Members | None]:
    """`_members` of each slab, found once for those that blocks share alike."""
    found: dict[tuple[tuple[int, ...], Walk | None], _Members | None] = {}
    for slab in slabs:
        if (slab.axes, slab.walk) not in found:
            members = _members(slab, coordinates, grid, wave_blocks, turns)
            found[slab.axes, slab.walk] = members
    return [found[slab.axes, slab.walk] for slab in slabs]


def _members(
    slab: Slab,
    coordinates: tuple[IntArray, ...],
    grid: Sequence[int],
    wave_blocks: int,
    turns: int,
) -> _Members | None:
    """The distinct slabs of each step; None where every block has its own."""
    extents = (*grid, 1, 1, 1)[:3]
    x, y, z = coordinates
    steps = np.arange(len(x), dtype=np.int64) // wave_blocks * turns
    if slab.walk is not None:
        turn = np.arange(slab.turns, dtype=np.int64)[:, None]
        key = slab.walk.place_of(x, y, z, turn)
        steps = (steps + turn)[key >= 0]
        key = key[key >= 0]
    elif all(extent == 1 or axis in slab.axes for axis, extent in enumerate(extents)):
        return None
    else:
        key = np.zeros(len(x), dtype=np.int64)
        for axis in slab.axes:
            key = key * extents[axis] + coordinates[axis]
    asked = len(key)
    if not asked:
        return _Members(key, steps, asked)
    count = int(steps.max()) + 1
    if int(key.max()) > _LARGEST // count:
        key = np.unique(key, return_inverse=True)[1]
    slabs, steps = np.divmod(distinct(key * count + steps), count)
    return _Members(slabs, steps, asked)


def _fetches(sets: _Members, before: FloatArray, all_steps: float) -> float:
    """How many times a slab is fetched, first touches and refetches together.

    `before` is what was touched before each step, in cache capacities.
    """
    again = sets.slabs[1:] == sets.slabs[:-1]
    distance = before[sets.steps[1:]] - before[sets.steps[:-1]]
    count = np.ones(len(sets.slabs))
    count[1:][again] = miss_probability(distance[again])
    steps = len(before) - 1
    fetched = np.bincount(sets.steps, weights=count, minlength=steps)
    total = float(fetched.sum())
    if all_steps > steps:
        total += float(fetched[steps // 2 :].mean()) * (all_steps - steps)
    return total
