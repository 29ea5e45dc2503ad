"""DRAM traffic: the bytes that L2 misses, and at least the footprint of each array.

Two mechanisms cause more than the compulsory traffic: tiles that several blocks share and that a
later wave fetches again (`l2_sharing`), and repeated reads of one block that other blocks have
evicted.  In a stencil, the accesses of one block are a fixed number of blocks apart; the data
of the blocks between them must fit in L2 (the layer condition; amd-lab-notes,
finite-difference/docs/Laplacian_Part4: three planes must fit in L2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from tirlens.hardware.spec import Device
from tirlens_counting.intervals import Interval

from ...constants import constant
from ...counting.kernel_counts import ArrayBytes
from ...tree.context import CONCURRENT_KINDS, GRID_KINDS
from .block_distances import block_distance, block_strides, has_no_sequential_loop
from .compulsory_traffic import min_dram_bytes
from .flat_address import TouchedBytes
from .global_accesses import GlobalAccess
from .l2_sharing import (
    WRITTEN_BETWEEN_READS_FRACTION,
    BlockTile,
    LaunchShape,
    blocks_per_tile,
    fetched_bytes,
    miss_probability,
)
from .tile_sequences import AXES

#: Bytes by leaf, without leaves that move none.
BytesByLeaf = Mapping[int, float]

L2_USABLE_FRACTION = constant(
    "L2_USABLE_FRACTION",
    0.55,
    kind="measured",
    unit="fraction",
    meaning=(
        "Usable fraction of an L2 with two partitions. Each partition caches the lines of its "
        "own SMs, so most lines are held twice."
    ),
    source=(
        'NVIDIA A100 whitepaper, "A100 L2 Cache"; 20 of 40 MB are usable on an A100, 30 of 50 '
        "MB on an H100 (D. Ernst et al., warpspeed's device list)"
    ),
    bounds=(0.5, 0.6),
)
L2_RESIDENT_FRACTION = constant(
    "L2_RESIDENT_FRACTION",
    0.8,
    kind="estimate",
    unit="fraction",
    meaning=(
        "Fraction of the usable L2 below which a kernel's data is never evicted before its reuse."
    ),
    source="the miss curve (GOMPERTZ_OFFSET, GOMPERTZ_RATE) is 0.06 there",
)


class DramTraffic(NamedTuple):
    """DRAM bytes of each leaf; `requested` counts a fetch once for each block that waits for it."""

    read: BytesByLeaf
    requested: BytesByLeaf
    written: BytesByLeaf


def compute_dram_traffic(
    entries: Sequence[GlobalAccess],
    launch: LaunchShape,
    device: Device,
    distinct: ArrayBytes,
    l2_read_bytes: Mapping[GlobalAccess, float],
) -> DramTraffic:
    """The bytes that DRAM reads and writes for each leaf.

    Parameters
    ----------
    entries
        The accesses to global memory of all leaves.
    launch
        The grid and the number of blocks that run at the same time.
    device
        The device, for the capacity of its last-level cache.
    distinct
        The distinct bytes that each array has read and written, where known.  No array moves fewer
        bytes.
    l2_read_bytes
        The bytes that each access reads from L2.
    """
    by_access = {entry: _in_sectors(entry, launch, device.dram_sector_bytes) for entry in entries}
    entries = list(by_access.values())
    l2_read_bytes = {by_access[entry]: amount for entry, amount in l2_read_bytes.items()}
    cache = device.llc or device.l2
    capacity = cache.bytes * (L2_USABLE_FRACTION if cache.partitions > 1 else 1.0)
    is_resident = _footprint_bytes(entries) <= L2_RESIDENT_FRACTION * capacity
    reading = [entry for entry in entries if entry.access.mode != "write"]
    writing = [entry for entry in entries if entry.access.mode != "read"]
    reads, writes = _group_by_tile(reading), _group_by_tile(writing)
    tiles = [
        BlockTile(max(entry.step_bytes for entry in group), group[0].axes, group[0].tile_sequence)
        for group in reads
    ]
    fetched: Sequence[float] = [0.0] * len(tiles)
    if not is_resident:
        fetched = _fetch_tiles(reads, tiles, launch, capacity)
    reuse = _BlockReuse.of(reads, writes, tiles, launch, capacity)
    sharers = blocks_per_tile(
        tiles, launch.grid, launch.wave_blocks, launch.panel, launch.panel_order
    )
    # Blocks of the first wave start together; later ones start one by one, as others end.
    first_wave_share = min(launch.wave_blocks / reuse.blocks, 1.0)
    amounts: list[float] = []
    for group, amount in zip(reads, fetched, strict=True):
        if not is_resident:
            amount += reuse.refetched_bytes(group, amount, l2_read_bytes)
        least = min_dram_bytes(group, reading, distinct.read)
        amount = _without_selection_hits(group, amount, least, capacity)
        most = sum(float(entry.issued_bytes) for entry in group)
        amounts.append(min(max(amount, least), max(most, least)))
    amounts = _with_distinct_bytes(reads, amounts, distinct.read)
    write_amounts = [min_dram_bytes(group, writing, distinct.written) for group in writes]
    amounts += _with_distinct_bytes(writes, write_amounts, distinct.written)
    read: dict[int, float] = {}
    requested: dict[int, float] = {}
    written: dict[int, float] = {}
    for group, amount, blocks in zip(reads, amounts, sharers, strict=False):
        # An access that hits L1 causes no traffic of DRAM.
        weights = [min(entry.compulsory_bytes, l2_read_bytes[entry]) for entry in group]
        _distribute(group, weights, amount, read)
        _distribute(group, weights, amount * (1 + (blocks - 1) * first_wave_share), requested)
    for group, amount in zip(writes, amounts[len(reads) :], strict=True):
        weights = [entry.compulsory_bytes for entry in group]
        _distribute(group, weights, amount, written)
    return DramTraffic(read, requested, written)


def _in_sectors(entry: GlobalAccess, launch: LaunchShape, sector_bytes: int) -> GlobalAccess:
    """An access with the bytes of the sectors that it moves in place of those of its elements.

    The blocks that run at the same time share the sectors between their tiles.
    """
    address = entry.address
    if address is None:
        return entry
    touched = address.touched_bytes(entry.launch_ranges, sector_bytes)
    concurrent = entry.sector_density(_wave_ranges(entry, launch), sector_bytes)
    tile = entry.candidate_tile
    return replace(
        entry,
        issued_bytes=round(entry.issued_bytes * concurrent),
        block_bytes=entry.block_bytes * concurrent,
        step_bytes=entry.step_bytes * concurrent,
        compulsory_bytes=min(
            entry.compulsory_bytes * touched.density,
            _expected_bytes(entry, touched, sector_bytes),
        ),
        candidate_tile=None if tile is None else replace(tile, bytes=tile.bytes * concurrent),
    )


def _wave_ranges(entry: GlobalAccess, launch: LaunchShape) -> Mapping[str, Interval]:
    """The ranges of loop variables in the blocks that run at the same time, x fastest."""
    ranges = dict(entry.block_ranges)
    blocks = launch.wave_blocks
    grid = [loop for loop in entry.node.context.loops if loop.kind in GRID_KINDS]
    for loop in sorted(grid, key=lambda loop: AXES.get(loop.tag or "", 0)):
        extent = loop.trip_count
        first = entry.launch_ranges.get(loop.var, (0, 0))[0]
        ranges[loop.var] = (first, first + min(extent, max(blocks, 1)) - 1)
        blocks //= extent
    return ranges


def _expected_bytes(entry: GlobalAccess, touched: TouchedBytes, sector_bytes: int) -> float:
    """The sectors that hold distinct elements which data select at random; else infinite.

    Each of the `e` elements of a sector is selected with the probability `n / N` that it is one of
    `n` of the `N` elements of the array: ``1 - (1 - n / N) ** e`` of all sectors are touched.
    """
    assert entry.address is not None
    stride = entry.address.selection_stride_bytes
    if not 0 < stride < sector_bytes or not math.isfinite(entry.array_bytes):
        return math.inf
    elements = entry.compulsory_bytes * touched.selections / touched.element_bytes
    selected = min(elements * stride / entry.array_bytes, 1.0)
    return entry.array_bytes * (1 - (1 - selected) ** (sector_bytes / stride))


def _without_selection_hits(
    group: Sequence[GlobalAccess], fetched_bytes: float, least_bytes: float, capacity_bytes: float
) -> float:
    """The bytes that L2 fetches of elements that data select, where it holds a part of the array.

    Between two selections from one sector, as many bytes are fetched as the array has.
    """
    if not all(entry.address and entry.address.selection_stride_bytes for entry in group):
        return fetched_bytes
    repeated = max(fetched_bytes - least_bytes, 0.0)
    missed = miss_probability(min(group[0].array_bytes / capacity_bytes, 10.0))
    return fetched_bytes - repeated * (1 - missed)


def _with_distinct_bytes(
    groups: Sequence[Sequence[GlobalAccess]],
    amounts: Sequence[float],
    distinct_bytes: Mapping[str, int],
) -> list[float]:
    """The DRAM bytes of groups of accesses, those of an array at least its exact footprint.

    The sides of a branch may touch different parts of an array by the same block indices.
    """
    arrays = [group[0].buffer.alias_of or group[0].buffer.id for group in groups]
    totals: dict[str, float] = {}
    for array, amount in zip(arrays, amounts, strict=True):
        totals[array] = totals.get(array, 0.0) + amount
    return [
        amount * max(distinct_bytes.get(array, 0) / totals[array], 1.0) if totals[array] else amount
        for array, amount in zip(arrays, amounts, strict=True)
    ]


def _footprint_bytes(entries: Sequence[GlobalAccess]) -> float:
    """The bytes of all arrays that a kernel accesses."""
    largest: dict[str, float] = {}
    for entry in entries:
        held = largest.get(entry.access.buffer, 0.0)
        largest[entry.access.buffer] = max(held, entry.compulsory_bytes)
    return sum(largest.values())


def _fetch_tiles(
    reads: Sequence[Sequence[GlobalAccess]],
    tiles: Sequence[BlockTile],
    launch: LaunchShape,
    capacity_bytes: float,
) -> Sequence[float]:
    """The bytes that L2 fetches of each group of reads when blocks load their tiles once."""
    if not tiles:
        return []

    def fetch(candidates: Sequence[BlockTile]) -> Sequence[float]:
        return fetched_bytes(
            candidates,
            launch.grid,
            launch.wave_blocks,
            capacity_bytes,
            launch.panel,
            launch.panel_order,
        )

    fetched = fetch(tiles)
    candidates = [_candidate_tile(group) or tile for group, tile in zip(reads, tiles, strict=True)]
    return fetched if candidates == tiles else list(map(min, fetched, fetch(candidates)))


@dataclass(frozen=True)
class _BlockReuse:
    """Repeated reads of one block.

    `window_bytes` is what it touches between two of them, `iteration_bytes` what it touches in one
    iteration of its sequential loops.
    """

    launch: LaunchShape
    blocks: int
    window_bytes: float
    iteration_bytes: float
    capacity_bytes: float

    @classmethod
    def of(
        cls,
        reads: Sequence[Sequence[GlobalAccess]],
        writes: Sequence[Sequence[GlobalAccess]],
        tiles: Sequence[BlockTile],
        launch: LaunchShape,
        capacity_bytes: float,
    ) -> _BlockReuse:
        """The reuse of a launch that reads and writes these groups of accesses."""
        window = sum(
            _block_bytes(group) for group, tile in zip(reads, tiles, strict=True) if tile.axes
        )
        window += WRITTEN_BETWEEN_READS_FRACTION * sum(
            entry.block_bytes for group in writes for entry in group
        )
        iteration = sum(
            max(map(_iteration_bytes, group))
            for group, tile in zip(reads, tiles, strict=True)
            if tile.axes
        )
        return cls(launch, max(math.prod(launch.grid), 1), window, iteration, capacity_bytes)

    def refetched_bytes(
        self,
        group: Sequence[GlobalAccess],
        fetched_bytes: float,
        l2_read_bytes: Mapping[GlobalAccess, float],
    ) -> float:
        """The bytes of repeated reads that the blocks of a wave have evicted from L2.

        Blocks that share a tile, of which `fetched_bytes` come once, share it each time.
        """
        own = _block_bytes(group)
        distances = _block_distances(group, self.launch)
        if distances:
            gaps = (later - sooner for sooner, later in pairwise(distances))
            missed = sum(
                miss_probability(gap * self.window_bytes / self.capacity_bytes) for gap in gaps
            )
            return own * math.prod(self.launch.grid) * missed
        if len(group) < 2 or any(entry.has_data_offset for entry in group):
            return 0.0
        once = own * math.prod(self.launch.grid)
        repeated = max(sum(l2_read_bytes[entry] for entry in group) - once, 0.0)
        window = self.window_bytes
        if all(_iteration_bytes(entry) >= own for entry in group):
            # No loop moves the tile: at most one iteration lies between two reads of it.
            window = min(window, self.iteration_bytes)
        missed = miss_probability(window * self.launch.wave_blocks / self.capacity_bytes)
        return repeated * min(fetched_bytes / once, 1.0) * missed if once else 0.0


def _block_bytes(group: Sequence[GlobalAccess]) -> float:
    return max(entry.block_bytes for entry in group)


def _iteration_bytes(entry: GlobalAccess) -> float:
    """The bytes that one block touches in one iteration of the sequential loops."""
    if entry.address is None:
        return entry.block_bytes
    loops = entry.node.context.loops
    ranges = {
        loop.var: entry.block_ranges[loop.var]
        for loop in loops
        if loop.kind in CONCURRENT_KINDS and loop.var in entry.block_ranges
    }
    touched = entry.address.touched_bytes(ranges, 1)
    return min(touched.element_bytes, entry.block_bytes)


def _candidate_tile(group: Sequence[GlobalAccess]) -> BlockTile | None:
    """The common tile from which reads with data-dependent offsets choose, or None."""
    candidates = {entry.candidate_tile for entry in group}
    return next(iter(candidates)) if len(candidates) == 1 else None


def _block_distances(group: Sequence[GlobalAccess], launch: LaunchShape) -> list[int]:
    """The blocks, relative to the own one, whose data the accesses of a stencil read, in order.

    Empty where a block has a sequential loop around the accesses, or where it is not known.
    """
    starts = [entry.start_elements for entry in group]
    if launch.panel or len(set(starts)) < 2 or None in starts:
        return []
    if any(
        entry.has_data_offset or not has_no_sequential_loop(entry.node.context) for entry in group
    ):
        return []
    strides = block_strides(group[0].access.indices, group[0].buffer, group[0].node.context)
    if strides is None or not any(strides):
        return []
    known = [start for start in starts if start is not None]
    distances = {block_distance(start - known[0], strides, launch.grid) for start in known}
    return sorted(distances)


def _group_by_tile(entries: Sequence[GlobalAccess]) -> list[list[GlobalAccess]]:
    """Groups of accesses to one buffer that depend on the same block indices.

    They are assumed to touch about the same bytes.
    """
    groups: dict[tuple[str, tuple[int, ...]], list[GlobalAccess]] = {}
    for entry in entries:
        groups.setdefault((entry.access.buffer, entry.axes), []).append(entry)
    return list(groups.values())


def _distribute(
    group: Sequence[GlobalAccess],
    weights: Sequence[float],
    amount: float,
    table: dict[int, float],
) -> None:
    """Add `amount` to a table, divided among the accesses by their weights."""
    total = sum(weights)
    for entry, weight in zip(group, weights, strict=True):
        part = weight / total if total else 1 / len(group)
        number = entry.node.number
        table[number] = table.get(number, 0.0) + amount * part
