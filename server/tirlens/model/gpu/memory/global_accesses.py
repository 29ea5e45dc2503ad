"""The accesses to global memory: what one block touches, what all touch, and how blocks differ.

They do not depend on the device.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    is_data_dependent,
    simplify,
)
from tirlens_counting.intervals import Interval
from tirlens_worker.facts import Access, Buffer

from ...tree.context import (
    CONCURRENT_KINDS,
    GRID_KINDS,
    NO_LOOPS,
    SECTOR_BYTES,
    EnclosingLoop,
    LoopContext,
    StoreLoops,
    drop_loads,
    dtype_bytes,
    loads_of,
)
from ...tree.node import Leaf
from .access_footprint import AccessFootprint
from .flat_address import FlatAddress, flat_address, join_neighbours
from .l2_sharing import BlockTile
from .tile_sequences import AXES, TileSequence, find_tile_sequence

# Memory that each thread has for itself.
PRIVATE_SCOPES = frozenset({"local", "local.var"})


@dataclass(frozen=True, eq=False)
class GlobalAccess:
    """One access to global memory of one leaf.

    Attributes
    ----------
    issued_bytes, block_bytes, step_bytes, compulsory_bytes
        Issued by the launch; distinct bytes of one block, of one step of a block that processes
        several tiles, and of all blocks.
    address
        The flat address; None where it is not known.
    block_ranges, launch_ranges
        The ranges of the loop variables of one block, and of all blocks.
    axes
        The block indices (0, 1, 2 for x, y, z) on which the address depends.
    start_elements
        The offset of the first thread of the first block, relative to offsets that are loaded.
    offset_loads
        The loads that give those offsets.
    block_stride_bytes
        The greatest common divisor of the distances between neighbouring blocks.
    tile_sequence
        The tiles of each block, where their order is not affine in the block indices.
    has_data_offset
        Whether the offset is data of which no variable tells the position.
    array_bytes
        The size of the array, infinite where it is not known.
    candidate_tile
        The part of the array from which a data-dependent offset selects.
    """

    node: Leaf
    access: Access
    buffer: Buffer
    issued_bytes: int
    block_bytes: float
    axes: tuple[int, ...]
    compulsory_bytes: float
    start_elements: float | None
    offset_loads: tuple[Any, ...]
    block_stride_bytes: float | None
    address: FlatAddress | None
    block_ranges: Mapping[str, Interval]
    launch_ranges: Mapping[str, Interval]
    step_bytes: float
    tile_sequence: TileSequence | None
    has_data_offset: bool
    array_bytes: float
    candidate_tile: BlockTile | None

    def sector_density(self, ranges: Mapping[str, Interval], sector_bytes: int) -> float:
        """Bytes of sectors over bytes of elements while loop variables run over `ranges`."""
        if self.address is None:
            return 1.0
        return self.address.touched_bytes(ranges, sector_bytes).density


def find_global_accesses(
    leaves: Sequence[Leaf],
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Sequence[Any]],
    grid: tuple[int, ...],
) -> tuple[GlobalAccess, ...]:
    """The global memory accesses of the leaves of a launch of `grid` blocks."""
    store_loops = _store_loops(leaves, buffers)
    found = [
        _global_access(node, entry.access, buffers, entry.bytes, shapes, grid, store_loops)
        for node in leaves
        for entry in node.count.accesses
        if entry.bytes and buffers[entry.access.buffer].scope == "global"
    ]
    return tuple(_join_addresses(found))


def _join_addresses(accesses: Sequence[GlobalAccess]) -> list[GlobalAccess]:
    """The accesses, with addresses that know the neighbours in their sectors."""
    groups: dict[object, list[int]] = {}
    for number, access in enumerate(accesses):
        if access.address is not None:
            written = access.access.mode != "read"
            key = access.access.buffer, written, access.address.terms, access.address.width_bytes
            groups.setdefault(key, []).append(number)
    joined = list(accesses)
    for numbers in groups.values():
        addresses = [address for one in numbers if (address := accesses[one].address)]
        for number, address in zip(numbers, join_neighbours(addresses, SECTOR_BYTES), strict=True):
            joined[number] = replace(accesses[number], address=address)
    return joined


def _global_access(
    node: Leaf,
    access: Access,
    buffers: Mapping[str, Buffer],
    issued_bytes: int,
    shapes: Mapping[str, Sequence[Any]],
    launched: tuple[int, ...],
    store_loops: StoreLoops,
) -> GlobalAccess:
    buffer = buffers[access.buffer]
    shape = shapes.get(buffer.id, ())
    context = node.context
    names = [loop.var for loop in context.loops]
    grid = {loop.var: loop for loop in context.loops if loop.kind in GRID_KINDS}
    size = dtype_bytes(buffer.dtype)
    blocks = max(math.prod(launched), 1)
    inner = [name for name in names if name not in grid]
    issued = issued_bytes / blocks
    footprint = AccessFootprint(access, context, shape, store_loops)
    own = footprint.element_count(inner) * size
    everything = footprint.element_count(names) * size
    axes = tuple(
        sorted(AXES.get(grid[name].tag or "", 0) for name in footprint.varying_names(grid))
    )
    least = min(everything, float(issued_bytes))
    data_dependent = footprint.has_data_offset
    if data_dependent:
        # Data-dependent tiles are assumed to be divided evenly among the blocks.
        own = min(own, least / blocks)
    offset_loads: tuple[Any, ...] = ()
    if footprint.has_known_offset:
        offset_loads = tuple(load for index in footprint.indices for load in loads_of(index))
    start = _start_elements(footprint, buffer, context, context.first_values)
    step = own = min(own, issued)
    walk = (
        None if data_dependent else find_tile_sequence(access, context, buffer.shape, store_loops)
    )
    if walk is not None:
        if walk.var is not None:
            within = [name for name in inner if name != walk.var]
            step = min(footprint.element_count(within) * size, own)
        least = min(least, walk.tile_count(launched) * step)
    address = None
    if all(
        load[0] == "load" and buffers[load[1]].scope == "global"
        for index in footprint.indices
        for load in loads_of(index)
    ):
        # What threads compute themselves, such as positions of a compaction, is no random data.
        address = flat_address(access, footprint.indices, buffer, context)
    # A loop that starts where data say counts its iterations from 0.
    ranges = {
        name: reach if all(map(math.isfinite, reach)) else (0, context.extents.get(name, 1) - 1)
        for name, reach in context.ranges.items()
    }
    known = [extent for extent in shape if isinstance(extent, int)]
    array = math.prod(known) * size if len(known) == len(shape) else math.inf
    return GlobalAccess(
        node,
        access,
        buffer,
        issued_bytes,
        own,
        axes,
        least,
        start,
        offset_loads,
        _block_stride_bytes(footprint, buffer, context, grid),
        address,
        {name: reach for name, reach in ranges.items() if name not in grid},
        ranges,
        step,
        walk,
        data_dependent,
        array,
        _candidate_tile(footprint, inner, grid, size) if offset_loads and walk is None else None,
    )


def _candidate_tile(
    footprint: AccessFootprint, inner: Sequence[str], grid: Mapping[str, EnclosingLoop], size: float
) -> BlockTile | None:
    elements, names = footprint.candidate_elements(inner, grid)
    axes = tuple(sorted({AXES.get(grid[name].tag or "", 0) for name in names}))
    return BlockTile(elements * size, axes) if math.isfinite(elements) else None


def _store_loops(leaves: Sequence[Leaf], buffers: Mapping[str, Buffer]) -> StoreLoops:
    """The loops in which arrays of a block or thread are stored.

    Those over threads are among them for arrays that each thread has for itself.
    """
    found: dict[str, frozenset[str]] = {}
    for leaf in leaves:
        own_loops = leaf.context.extents.keys()
        block_loops = frozenset(
            loop.var for loop in leaf.context.loops if loop.kind not in CONCURRENT_KINDS
        )
        for access in leaf.source.accesses:
            scope = buffers[access.buffer].scope
            if access.mode != "read" and scope != "global":
                loops = own_loops if scope in PRIVATE_SCOPES else block_loops
                found[access.buffer] = found.get(access.buffer, NO_LOOPS) | loops
    return found


def _start_elements(
    footprint: AccessFootprint, buffer: Buffer, context: LoopContext, values: Mapping[str, int]
) -> int | None:
    """The offset in elements where variables have these `values`, of the first thread."""
    try:
        flat = 0
        for size, index in zip(buffer.shape, footprint.indices, strict=True):
            offset = simplify(drop_loads(index)) if is_data_dependent(index) else index
            # The leading size does not enter an offset.
            flat = flat * int(context.first_value(size)) if flat else 0
            flat += int(evaluate(offset, values))
        return flat
    except (UnknownValueError, ValueError, ZeroDivisionError):
        return None


def _block_stride_bytes(
    footprint: AccessFootprint,
    buffer: Buffer,
    context: LoopContext,
    grid: Mapping[str, EnclosingLoop],
) -> float | None:
    """The greatest common divisor of the distances between blocks in bytes; None: not known."""
    if any(map(is_data_dependent, footprint.indices)):
        return None
    here = context.first_values
    first = _start_elements(footprint, buffer, context, here)
    steps: list[int] = []
    for name in grid:
        there = {**here, name: here.get(name, 0) + 1}
        moved = _start_elements(footprint, buffer, context, there)
        if first is None or moved is None:
            return None
        steps.append(moved - first)
    return math.gcd(*steps) * dtype_bytes(buffer.dtype)
