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
from typing import Any

import numpy as np

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Access, Buffer

from .expr import evaluate, free_variables
from .footprint import Touched
from .places import SECTOR_BYTES, SPATIAL, Place, depends_on, distinct_elements, dtype_bytes
from .waves import Slab, dram_bytes
from .work import Item

# Large parts have an L2 of two halves, and lines are kept in both: about half of it is usable.
L2_SHARE = 0.55
PARTITIONED_L2_BYTES = 30e6
# Below this share of L2 nothing that one kernel touches is evicted before it is used again.
RESIDENT_SHARE = 0.8


@dataclass(frozen=True)
class LaunchShape:
    """The launch as numbers: grid, blocks resident at once, rasterisation panel."""

    grid: tuple[int, ...]
    wave_blocks: int
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


def apply(
    leaves: Sequence[Item],
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Sequence[Any]],
    launch: LaunchShape,
    device: Device,
    touched: Touched | None,
) -> None:
    """Fill in the L2 and DRAM bytes of every leaf.

    `touched` gives the distinct bytes of each array, below which its DRAM traffic cannot fall.
    """
    flows = [
        _flow(item, entry, buffers, shapes, launch)
        for item in leaves
        for entry in item.count.accesses
        if entry.bytes and buffers[entry.access.buffer].scope == "global"
    ]
    _to_l2(flows, buffers, launch, device)
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
    own = distinct_elements(access, buffer, place, inner, shape) * size
    everything = distinct_elements(access, buffer, place, names, shape) * size
    tags = {"blockIdx.x": 0, "blockIdx.y": 1, "blockIdx.z": 2}
    axes = tuple(
        sorted(tags.get(grid[name].tag or "", 0) for name in depends_on(access, place, grid))
    )
    return _Flow(item, entry, access, min(own, issued), axes, min(everything, float(entry.bytes)))


def _to_l2(
    flows: Sequence[_Flow], buffers: Mapping[str, Buffer], launch: LaunchShape, device: Device
) -> None:
    blocks = max(math.prod(launch.grid), 1)
    for flow in flows:
        amount = float(flow.entry.bytes)
        if flow.access.route == "thread":
            ratio = sector_ratio(flow.access, buffers[flow.access.buffer], flow.item.place)
            if ratio is not None:
                flow.item.sectors_per_request = max(ratio, flow.item.sectors_per_request or 0.0)
                amount *= ratio
            # What the threads of a block have in common comes once while it stays in L1.
            if flow.access.mode == "read":
                amount = min(amount, max(flow.block_bytes * blocks, flow.compulsory))
        if flow.access.mode == "read":
            flow.item.l2_read_bytes += amount
        elif flow.access.mode == "write":
            flow.item.l2_write_bytes += amount
        else:
            flow.item.l2_read_bytes += amount
            flow.item.l2_write_bytes += amount


def sector_ratio(access: Access, buffer: Buffer, place: Place) -> float | None:
    """Bytes of the 32-byte sectors that a warp touches over the bytes that it asks for.

    The addresses of the 32 lanes are evaluated with every other variable at its first value;
    None where the index depends on data or no loop is bound to threads.
    """
    threads = {
        loop.tag: loop for loop in place.around if loop.kind == "block" and loop.tag is not None
    }
    if not threads or len(access.indices) != len(buffer.shape):
        return None
    env: dict[str, Any] = {
        name: int(reach[0]) if math.isfinite(reach[0]) else 0
        for name, reach in place.ranges.items()
    }
    lane = np.arange(32)
    for tag in ("threadIdx.x", "threadIdx.y", "threadIdx.z"):
        loop = threads.get(tag)
        if loop is not None and loop.extent:
            env[loop.var] = lane % loop.extent
            lane = lane // loop.extent
    size = dtype_bytes(buffer.dtype)
    try:
        address: Any = 0
        for extent, index in zip(buffer.shape, access.indices, strict=True):
            address = address * evaluate(extent, env) + evaluate(place.resolve(index), env)
        first = np.broadcast_to(np.asarray(address, dtype=np.int64), (32,)) * size
    except Exception:  # an index that depends on data has no address before the run
        return None
    width = size * max(access.lanes, 1) * _vector_width(access, place)
    touched = {
        sector
        for start in first.tolist()
        for sector in range(
            int(start // SECTOR_BYTES), int((start + width - 1) // SECTOR_BYTES) + 1
        )
    }
    return len(touched) * SECTOR_BYTES / (32 * width)


def _vector_width(access: Access, place: Place) -> int:
    """Elements that one instruction moves: the innermost vectorized loop, if it is contiguous."""
    innermost = place.around[-1] if place.around else None
    if innermost is None or innermost.kind != "vectorized" or not access.indices:
        return 1
    return (innermost.extent or 1) if innermost.var in free_variables(access.indices[-1]) else 1


def _to_dram(
    flows: Sequence[_Flow], launch: LaunchShape, device: Device, distinct: Mapping[str, int]
) -> None:
    touched: dict[str, float] = {}
    for flow in flows:
        held = touched.get(flow.access.buffer, 0.0)
        touched[flow.access.buffer] = max(held, flow.compulsory)
    usable = device.l2.bytes
    if usable > PARTITIONED_L2_BYTES:
        usable *= L2_SHARE
    resident = sum(touched.values()) <= RESIDENT_SHARE * usable
    reads = _grouped([flow for flow in flows if flow.access.mode != "write"])
    writes = _grouped([flow for flow in flows if flow.access.mode != "read"])
    slabs = [Slab(max(flow.block_bytes for flow in group), group[0].axes) for group in reads]
    fetched: Sequence[float] = (
        [0.0] * len(slabs)
        if resident or not slabs
        else dram_bytes(
            slabs, launch.grid, launch.wave_blocks, usable, launch.panel, launch.panel_order
        )
    )
    for group, amount in zip(reads, fetched, strict=True):
        least = _least(group, flows, distinct)
        most = sum(float(flow.entry.bytes) for flow in group)
        _share(group, min(max(amount, least), max(most, least)), "dram_read_bytes")
    for group in writes:
        _share(group, _least(group, flows, distinct), "dram_write_bytes")


def _least(group: Sequence[_Flow], flows: Sequence[_Flow], distinct: Mapping[str, int]) -> float:
    """Bytes that a group of accesses of one array moves at the least.

    They were grouped as touching the same bytes; where they are all that touches the array, they
    touch all of its distinct bytes, be it in parts.
    """
    least = max(flow.compulsory for flow in group)
    name = group[0].access.buffer
    if sum(flow.access.buffer == name for flow in flows) == len(group):
        return max(least, distinct.get(name, 0))
    return least


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
