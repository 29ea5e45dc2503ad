"""Bytes at each level of the memory system, from issued accesses to DRAM.

* issued: what the program asks for, exact (in the counts);
* L2: what leaves the L1 caches.  Tile copies, TMA and cp.async pass L1 by, so it is what they
  issue; loads of single threads are counted in 32-byte sectors for the 32 lanes of a warp, and
  what the whole block shares comes once while it fits in L1;
* DRAM: see `dram` and `waves`; when all that a kernel touches fits well in L2, each byte comes
  once;
* written bytes reach DRAM once however often they are written, while they fit in L2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tirlens.hardware.spec import Device

from ...counting.footprint import Footprint
from ...tree.context import SECTOR_BYTES, EnclosingLoop, dtype_bytes
from ...tree.node import CostNode, Traffic
from .dram import to_dram
from .flows import Flow
from .waves import WRITTEN_BETWEEN, LaunchShape, miss_probability


def moved(
    leaves: Sequence[CostNode],
    flows: Sequence[Flow],
    launch: LaunchShape,
    device: Device,
    touched: Footprint | None,
) -> list[CostNode]:
    """The leaves with the bytes that L2 and DRAM move for them.

    `touched` gives the distinct bytes of each array, below which its DRAM traffic cannot fall.
    """
    asked = _to_l2(flows, launch)
    read = _not_in_l1(flows, launch, device, asked.read)
    distinct: Mapping[str, int] = {}
    if touched is not None and touched.exact:
        distinct = touched.by_buffer
    dram = to_dram(flows, launch, device, distinct, read)
    read_by = _by_leaf(read)
    written_by = _by_leaf(asked.written)
    return [
        leaf
        if leaf not in asked.leaves
        else leaf.replace(
            traffic=Traffic(
                read_by.get(leaf, 0.0),
                written_by.get(leaf, 0.0),
                dram.read.get(leaf, 0.0),
                dram.written.get(leaf, 0.0),
                dram.waited.get(leaf, 0.0),
                asked.sectors.get(leaf),
            )
        )
        for leaf in leaves
    ]


def _by_leaf(amounts: Mapping[Flow, float]) -> dict[CostNode, float]:
    found: dict[CostNode, float] = {}
    for flow, amount in amounts.items():
        found[flow.item] = found.get(flow.item, 0.0) + amount
    return found


class _Asked(NamedTuple):
    """What is asked of L1: bytes, and those of sectors over those that the warps of a leaf need."""

    leaves: frozenset[CostNode]
    read: Mapping[Flow, float]
    written: Mapping[Flow, float]
    sectors: Mapping[CostNode, float]


def _to_l2(flows: Sequence[Flow], launch: LaunchShape) -> _Asked:
    blocks = max(math.prod(launch.grid), 1)
    read: dict[Flow, float] = {}
    written: dict[Flow, float] = {}
    sectors: dict[CostNode, float] = {}
    for flow in flows:
        amount = float(flow.issued_bytes)
        if flow.access.route in ("thread", "tile"):
            ratio = _sector_ratio(flow)
            if ratio is not None:
                sectors[flow.item] = max(ratio, sectors.get(flow.item, 0.0))
                amount *= ratio
            # What the threads of a block have in common comes once while it stays in L1.
            if flow.access.mode == "read":
                amount = min(amount, max(flow.block_sector_bytes * blocks, flow.compulsory))
        if flow.access.mode != "write":
            read[flow] = amount
        if flow.access.mode != "read":
            written[flow] = amount
    return _Asked(frozenset(flow.item for flow in flows), read, written, sectors)


def _not_in_l1(
    flows: Sequence[Flow], launch: LaunchShape, device: Device, read: Mapping[Flow, float]
) -> Mapping[Flow, float]:
    """Of the bytes that each access `read`, those which L2 gives.

    What a block reads again from the same place comes from registers or from L1.

    Within one loop body it is one load.  Later, L1 has it if it holds what the blocks that run
    together on an SM read; the miss rate is that of `waves`.
    """
    again: dict[tuple[str, float], dict[tuple[EnclosingLoop, ...], list[Flow]]] = {}
    for flow in flows:
        if flow.access.mode == "read" and flow.access.route == "thread" and flow.start is not None:
            bodies = again.setdefault((flow.access.buffer, flow.start), {})
            bodies.setdefault(flow.item.context.loops, []).append(flow)
    together = max(launch.wave_blocks / device.sm_count, 1.0)
    window = sum(WRITTEN_BETWEEN * together * flow.block_bytes for flow in flows if _writes(flow))
    for bodies in again.values():
        own = [flow for group in bodies.values() for flow in group]
        window += max(flow.block_bytes * (together if flow.axes else 1.0) for flow in own)
    room = device.l1_bytes_per_sm - launch.shared_bytes * together
    missed = miss_probability(window / room) if room > 0 else 1.0
    left = dict(read)
    for bodies in again.values():
        for number, group in enumerate(bodies.values()):
            kept = 1.0 if number == 0 else missed
            for place, flow in enumerate(group):
                left[flow] *= kept if place == 0 else 0.0
    return left


def _writes(flow: Flow) -> bool:
    return flow.access.mode != "read" and flow.access.route == "thread"


def _sector_ratio(flow: Flow) -> float | None:
    """Bytes of the 32-byte sectors that a warp touches over the bytes that it asks for."""
    spread = flow.item.mapping
    if spread is None:
        return None
    for access, requests in zip(flow.item.source.accesses, spread.requests, strict=True):
        if access is flow.access and requests is not None:
            size = dtype_bytes(flow.buffer.dtype)
            return requests.sectors * SECTOR_BYTES / (requests.elements_of_warp * size)
    return None
