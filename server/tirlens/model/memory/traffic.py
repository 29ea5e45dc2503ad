"""Bytes at each level of the memory system, from issued accesses to DRAM.

* issued: what the program asks for, exact (in the counts);
* L2: what leaves the L1 caches.  Tile copies, TMA and cp.async pass L1 by, so it is what they
  issue; loads of single threads are counted in 32-byte sectors for the 32 lanes of a warp, and
  what the whole block shares comes once while it fits in L1;
* DRAM: see `waves`; when all that a kernel touches fits well in L2, each byte comes once;
* written bytes reach DRAM once however often they are written, while they fit in L2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Access, Buffer, Expr

from ..counting.footprint import Touched
from ..expr import UnknownValueError, evaluate, is_data_dependent, simplify
from ..instructions.places import (
    SECTOR_BYTES,
    SPATIAL,
    Around,
    Place,
    SetIn,
    dtype_bytes,
    loads_of,
    without_loads,
)
from ..instructions.reach import Reach
from ..instructions.spread import WARP
from ..instructions.work import Item
from .shifts import block_strides, blocks_apart, is_straight
from .walks import AXES, Walk, walk_of
from .waves import Slab, dram_bytes, miss_probability, sharing

# An L2 of two halves keeps lines in both, so that about half of it is usable.
L2_SHARE = 0.55
# Below this share of L2 nothing that one kernel touches is evicted before it is used again.
RESIDENT_SHARE = 0.8
# Written lines take the place of lines to be read again.  A block that passes over its data several
# times writes during the last pass only, so that about half of what it writes comes in between.
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
class _Flow:
    """One global access of one leaf with its sizes in bytes."""

    item: Item
    entry: Any
    access: Access
    block_bytes: float
    axes: tuple[int, ...]
    compulsory: float
    start: float | None  # beyond the places that are loaded
    behind: tuple[Any, ...]  # those places
    stride: float | None  # the greatest that divides the steps from block to block, in bytes
    block_sector_bytes: float
    step_bytes: float  # what a block touches in one turn of its walk, if it walks
    walk: Walk | None
    wanders: bool
    array_bytes: float


@dataclass(frozen=True)
class Flows:
    """The accesses to global memory, which are the same on every device, by number of the leaf."""

    numbered: tuple[tuple[int, _Flow], ...]

    def of(self, leaves: Sequence[Item]) -> list[_Flow]:
        """The same of other items of the same leaves."""
        return [_again(flow, leaves[number]) for number, flow in self.numbered]


def _again(flow: _Flow, item: Item) -> _Flow:
    new = object.__new__(_Flow)
    new.__dict__.update(flow.__dict__, item=item)
    return new


def flows(
    leaves: Sequence[Item],
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Sequence[Any]],
    grid: tuple[int, ...],
) -> Flows:
    """What the leaves of a launch of `grid` blocks read and write in global memory."""
    set_in = _set_in(leaves, buffers)
    launch = LaunchShape(grid, 1)
    return Flows(
        tuple(
            (number, _flow(item, entry, buffers, shapes, launch, set_in))
            for number, item in enumerate(leaves)
            for entry in item.count.accesses
            if entry.bytes and buffers[entry.access.buffer].scope == "global"
        )
    )


def apply(
    flows: Sequence[_Flow], launch: LaunchShape, device: Device, touched: Touched | None
) -> None:
    """Fill in the L2 and DRAM bytes of every leaf.

    `touched` gives the distinct bytes of each array, below which its DRAM traffic cannot fall.
    """
    _to_l2(flows, launch)
    _from_l1(flows, launch, device)
    distinct: Mapping[str, int] = {}
    if touched is not None and touched.exact:
        distinct = touched.by_buffer
    _to_dram(flows, launch, device, distinct)


def _flow(
    item: Item,
    entry: Any,
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Sequence[Any]],
    launch: LaunchShape,
    set_in: SetIn,
) -> _Flow:
    access: Access = entry.access
    buffer = buffers[access.buffer]
    shape = shapes.get(buffer.id, ())
    place = item.place
    names = [loop.var for loop in place.around]
    grid = {loop.var: loop for loop in place.around if loop.kind in SPATIAL}
    size = dtype_bytes(buffer.dtype)
    blocks = max(math.prod(launch.grid), 1)
    inner = [name for name in names if name not in grid]
    issued = entry.bytes / blocks
    reach = Reach(access, place, shape, set_in)
    own = reach.elements(inner) * size
    everything = reach.elements(names) * size
    axes = tuple(sorted(AXES.get(grid[name].tag or "", 0) for name in reach.varies_with(grid)))
    least = min(everything, float(entry.bytes))
    chosen = reach.wanders
    if chosen:
        # Blocks that choose their tiles at run time are taken to choose those that others have.
        own = min(own, least / blocks)
    # Each row of what a block touches is brought in whole sectors.
    rows = 1.0
    if len(access.indices) > 1:
        rows = max(min(reach.rows(inner), own / size), 1.0)
    sectors = rows * math.ceil(own / rows / SECTOR_BYTES) * SECTOR_BYTES
    behind: tuple[Any, ...] = ()
    if reach.says_its_place:
        behind = tuple(load for index in reach.indices for load in loads_of(index))
    start = _start(reach.indices, buffer, place)
    step = own = min(own, issued)
    walk = None if chosen else walk_of(access, place, buffer.shape, set_in)
    if walk is not None:
        if walk.var is not None:
            within = [name for name in inner if name != walk.var]
            step = min(reach.elements(within) * size, own)
        least = min(least, walk.places(launch.grid) * step)
    known = [extent for extent in shape if isinstance(extent, int)]
    array = math.prod(known) * size if len(known) == len(shape) else math.inf
    return _Flow(
        item,
        entry,
        access,
        own,
        axes,
        least,
        start,
        behind,
        _stride(reach.indices, buffer, place, grid),
        sectors,
        step,
        walk,
        chosen,
        array,
    )


def _set_in(leaves: Sequence[Item], buffers: Mapping[str, Buffer]) -> SetIn:
    found: dict[str, frozenset[str]] = {}
    for leaf in leaves:
        for access in leaf.node.accesses:
            if access.mode != "read" and buffers[access.buffer].scope != "global":
                loops = frozenset(loop.var for loop in leaf.place.around)
                found[access.buffer] = found.get(access.buffer, frozenset()) | loops
    return found


def _writes(flow: _Flow) -> bool:
    return flow.access.mode != "read" and flow.access.route == "thread"


def _start(indices: Sequence[Expr], buffer: Buffer, place: Place) -> float | None:
    """Where the first thread of the first block starts to read, in elements."""
    try:
        flat = 0
        for size, index in zip(buffer.shape, indices, strict=True):
            behind = simplify(without_loads(index)) if is_data_dependent(index) else index
            # How many rows there are says nothing of where one begins.
            flat = (flat * place.first_value(size) if flat else 0) + place.first_value(behind)
        return float(flat)
    except (UnknownValueError, ValueError, ZeroDivisionError):
        return None


def _stride(
    indices: Sequence[Expr], buffer: Buffer, place: Place, grid: Mapping[str, Around]
) -> float | None:
    """The greatest stride that divides the steps from block to block, in bytes; None: not known."""
    if any(map(is_data_dependent, indices)):
        return None
    steps: list[int] = []
    try:
        for name in grid:
            here = dict(place.first_values)
            there = {**here, name: here[name] + 1}
            flat = 0
            for size, index in zip(buffer.shape, indices, strict=True):
                moved = int(evaluate(index, there)) - int(evaluate(index, here))
                flat = (flat * int(place.first_value(size)) if flat else 0) + moved
            steps.append(flat)
    except (UnknownValueError, ValueError, ZeroDivisionError, KeyError):
        return None
    return math.gcd(*steps) * dtype_bytes(buffer.dtype)


def _to_l2(flows: Sequence[_Flow], launch: LaunchShape) -> None:
    blocks = max(math.prod(launch.grid), 1)
    for flow in flows:
        amount = float(flow.entry.bytes)
        if flow.access.route in ("thread", "tile"):
            ratio = _sector_ratio(flow)
            if ratio is not None:
                flow.item.sectors_per_request = max(ratio, flow.item.sectors_per_request or 0.0)
                amount *= ratio
            # What the threads of a block have in common comes once while it stays in L1.
            if flow.access.mode == "read":
                amount = min(amount, max(flow.block_sector_bytes * blocks, flow.compulsory))
        if flow.access.mode == "read":
            flow.item.l2_read_bytes += amount
        elif flow.access.mode == "write":
            flow.item.l2_write_bytes += amount
        else:
            flow.item.l2_read_bytes += amount
            flow.item.l2_write_bytes += amount


def _from_l1(flows: Sequence[_Flow], launch: LaunchShape, device: Device) -> None:
    """What a block reads again from the same place comes from registers or from L1.

    Within one loop body it is one load.  Later, L1 has it if it holds what the blocks that run
    together on an SM read; the miss rate is that of `waves`.
    """
    again: dict[tuple[str, float], dict[tuple[Around, ...], list[_Flow]]] = {}
    for flow in flows:
        if flow.access.mode == "read" and flow.access.route == "thread" and flow.start is not None:
            bodies = again.setdefault((flow.access.buffer, flow.start), {})
            bodies.setdefault(flow.item.place.around, []).append(flow)
    together = max(launch.wave_blocks / device.sm_count, 1.0)
    window = sum(WRITTEN_BETWEEN * together * flow.block_bytes for flow in flows if _writes(flow))
    for bodies in again.values():
        own = [flow for group in bodies.values() for flow in group]
        window += max(flow.block_bytes * (together if flow.axes else 1.0) for flow in own)
    room = device.l1_bytes_per_sm - launch.shared_bytes * together
    missed = miss_probability(window / room) if room > 0 else 1.0
    for bodies in again.values():
        for number, group in enumerate(bodies.values()):
            kept = 1.0 if number == 0 else missed
            for place, flow in enumerate(group):
                flow.item.l2_read_bytes *= kept if place == 0 else 0.0


def _sector_ratio(flow: _Flow) -> float | None:
    """Bytes of the 32-byte sectors that a warp touches over the bytes that it asks for."""
    spread = flow.item.spread
    if spread is None:
        return None
    for access, requests in zip(flow.item.node.accesses, spread.requests, strict=True):
        if access is flow.access and requests is not None:
            size = dtype_bytes(flow.entry.buffer.dtype)
            return requests.sectors * SECTOR_BYTES / (WARP * requests.vector * size)
    return None


def _to_dram(
    flows: Sequence[_Flow], launch: LaunchShape, device: Device, distinct: Mapping[str, int]
) -> None:
    touched: dict[str, float] = {}
    for flow in flows:
        held = touched.get(flow.access.buffer, 0.0)
        touched[flow.access.buffer] = max(held, flow.compulsory)
    cache = device.llc or device.l2
    usable = cache.bytes * (L2_SHARE if cache.partitions > 1 else 1.0)
    resident = sum(touched.values()) <= RESIDENT_SHARE * usable
    reads = _grouped([flow for flow in flows if flow.access.mode != "write"])
    writes = _grouped([flow for flow in flows if flow.access.mode != "read"])
    slabs = [
        Slab(max(flow.step_bytes for flow in group), group[0].axes, group[0].walk)
        for group in reads
    ]
    fetched: Sequence[float] = (
        [0.0] * len(slabs)
        if resident or not slabs
        else dram_bytes(
            slabs, launch.grid, launch.wave_blocks, usable, launch.panel, launch.panel_order
        )
    )
    together = sharing(slabs, launch.grid, launch.wave_blocks, launch.panel, launch.panel_order)
    # Blocks start together in the first wave; later ones start as others end, one by one.
    abreast = min(launch.wave_blocks / max(math.prod(launch.grid), 1), 1.0)
    owns = [max(flow.block_bytes for flow in group) for group in reads]
    between = sum(own for own, slab in zip(owns, slabs, strict=True) if slab.axes)
    between += WRITTEN_BETWEEN * sum(flow.block_bytes for group in writes for flow in group)
    missed = miss_probability(between * launch.wave_blocks / usable)
    for group, own, amount, sharers in zip(reads, owns, fetched, together, strict=True):
        if not resident:
            # What a block reads again has left L2 if the blocks of a wave read more than it holds.
            shifts = _shifts(group, launch)
            if shifts:
                gaps = (later - sooner for sooner, later in pairwise(shifts))
                left = sum(miss_probability(gap * between / usable) for gap in gaps)
                amount += own * math.prod(launch.grid) * left
            else:
                again = len(group) > 1 and not any(flow.wanders for flow in group)
                repeated = sum(flow.item.l2_read_bytes for flow in group if again)
                amount += max(repeated - own * math.prod(launch.grid), 0.0) * missed
        least = _least(group, flows, distinct)
        most = sum(float(flow.entry.bytes) for flow in group)
        amount = min(max(amount, least), max(most, least))
        _share(group, amount, "dram_read_bytes")
        _share(group, amount * (1 + (sharers - 1) * abreast), "dram_waited_bytes")
    for group in writes:
        _share(group, _least(group, flows, distinct), "dram_write_bytes")


def _shifts(group: Sequence[_Flow], launch: LaunchShape) -> list[int]:
    """How many blocks lie between those whose data the accesses of a block are, in their order.

    None where blocks take turns, and read again later what they have read, or where it is not
    known.
    """
    starts = [flow.start for flow in group]
    if launch.panel or len(set(starts)) < 2 or None in starts:
        return []
    if any(flow.wanders or not is_straight(flow.item.place) for flow in group):
        return []
    strides = block_strides(group[0].access.indices, group[0].entry.buffer, group[0].item.place)
    if strides is None or not any(strides):
        return []
    known = [start for start in starts if start is not None]
    apart = {blocks_apart(start - known[0], strides, launch.grid) for start in known}
    return sorted(apart)


def _least(group: Sequence[_Flow], flows: Sequence[_Flow], distinct: Mapping[str, int]) -> float:
    """Bytes that a group of accesses of one array moves at the least.

    They were grouped as touching the same bytes, but for those of which the place is data; where
    they are all that touches the array, they touch all of its distinct bytes, be it in parts.
    """
    least = max(flow.compulsory for flow in group)
    # An array in which not even one access has room has a size that is not known.
    room = group[0].array_bytes if group[0].array_bytes >= least else math.inf
    least = max(least, min(_in_pieces(group), room), min(_apart(group), room))
    if all(flow.wanders for flow in group):
        parts = sum(flow.compulsory for flow in group)
        least = max(least, min(parts, group[0].array_bytes))
    name = group[0].access.buffer
    if sum(flow.access.buffer == name for flow in flows) == len(group):
        return max(least, distinct.get(name, 0))
    return least


def _in_pieces(group: Sequence[_Flow]) -> float:
    """Bytes of accesses of which a block's own lie behind each other in all blocks alike.

    They are halves of a row, say; 0 where they may meet those of other blocks.
    """
    stride = group[0].stride
    pieces: list[float] = []
    end = -math.inf
    places = [(_begin(flow), flow) for flow in group]
    for begin, flow in sorted(places, key=lambda place: (place[0], -place[1].block_bytes)):
        ends = begin + flow.block_bytes
        if math.isnan(begin) or flow.stride != stride or (stride and ends > stride):
            return 0.0
        if begin >= end:
            pieces.append(flow.compulsory)
        else:
            pieces[-1] = max(pieces[-1], flow.compulsory)
        end = max(end, ends)
    return sum(pieces)


def _begin(flow: _Flow) -> float:
    """Where the first block begins, in bytes behind the stride of the blocks."""
    if flow.start is None or flow.stride is None or flow.behind or flow.wanders:
        return math.nan
    begin = flow.start * dtype_bytes(flow.entry.buffer.dtype)
    return begin % flow.stride if flow.stride else begin


def _apart(group: Sequence[_Flow]) -> float:
    """Bytes of accesses behind places that are loaded, in so many different places behind those.

    0 where no place is loaded, or it is not known how far behind one is.
    """
    places: dict[tuple[Any, ...], float] = {}
    for flow in group:
        if not flow.behind or flow.start is None:
            return 0.0
        place = (flow.start, *flow.behind)
        places[place] = max(places.get(place, 0.0), flow.compulsory)
    return sum(places.values())


def _grouped(flows: Sequence[_Flow]) -> list[list[_Flow]]:
    """Accesses of one buffer with the same block indices touch much the same bytes."""
    groups: dict[tuple[str, tuple[int, ...]], list[_Flow]] = {}
    for flow in flows:
        groups.setdefault((flow.access.buffer, flow.axes), []).append(flow)
    return list(groups.values())


def _share(group: Sequence[_Flow], amount: float, name: str) -> None:
    weight = sum(flow.compulsory for flow in group)
    for flow in group:
        part = flow.compulsory / weight if weight else 1 / len(group)
        setattr(flow.item, name, getattr(flow.item, name) + amount * part)
