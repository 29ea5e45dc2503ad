"""Bytes that come from DRAM and go there: what L2 does not keep, and never less than once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tirlens.hardware.spec import Device

from ...tree.node import CostNode
from .flows import Flow
from .least import least_bytes
from .shifts import block_strides, blocks_apart, is_straight
from .waves import WRITTEN_BETWEEN, LaunchShape, Slab, dram_bytes, miss_probability, sharing

#: Bytes of the leaves that move any.
PerLeaf = Mapping[CostNode, float]

# An L2 of two halves keeps lines in both, each those of the SMs beside it (NVIDIA A100 whitepaper,
# "A100 L2 Cache"): about half of it is usable, 20 MB of an A100's 40 and 30 of an H100's 50 (D.
# Ernst et al., warpspeed's device list).
L2_SHARE = 0.55
# Below this share of L2 nothing that one kernel touches is evicted before it is used again: the
# curve of `waves` is 0.06 there.
RESIDENT_SHARE = 0.8


class DramBytes(NamedTuple):
    """The bytes of each leaf: `waited` are those of all who wait for one fetch (see `Moved`)."""

    read: PerLeaf
    waited: PerLeaf
    written: PerLeaf


def to_dram(
    flows: Sequence[Flow],
    launch: LaunchShape,
    device: Device,
    distinct: Mapping[str, int],
    asked: Mapping[Flow, float],
) -> DramBytes:
    """What DRAM moves for each leaf, of the bytes that its reads have `asked` L2 for.

    `distinct` are the bytes of the arrays of which they are known.
    """
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
    fetched: Sequence[float] = [0.0] * len(slabs)
    if slabs and not resident:
        fetched = _fetched(slabs, launch, usable)
        pools = [_pool(group) or slab for group, slab in zip(reads, slabs, strict=True)]
        if pools != slabs:
            fetched = list(map(min, fetched, _fetched(pools, launch, usable)))
    together = sharing(slabs, launch.grid, launch.wave_blocks, launch.panel, launch.panel_order)
    # Blocks start together in the first wave; later ones start as others end, one by one.
    abreast = min(launch.wave_blocks / max(math.prod(launch.grid), 1), 1.0)
    owns = [max(flow.block_bytes for flow in group) for group in reads]
    between = sum(own for own, slab in zip(owns, slabs, strict=True) if slab.axes)
    between += WRITTEN_BETWEEN * sum(flow.block_bytes for group in writes for flow in group)
    missed = miss_probability(between * launch.wave_blocks / usable)
    read: dict[CostNode, float] = {}
    waited: dict[CostNode, float] = {}
    written: dict[CostNode, float] = {}
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
                repeated = sum(asked[flow] for flow in group if again)
                amount += max(repeated - own * math.prod(launch.grid), 0.0) * missed
        least = least_bytes(group, flows, distinct)
        most = sum(float(flow.issued_bytes) for flow in group)
        amount = min(max(amount, least), max(most, least))
        _share(group, amount, read)
        _share(group, amount * (1 + (sharers - 1) * abreast), waited)
    for group in writes:
        _share(group, least_bytes(group, flows, distinct), written)
    return DramBytes(read, waited, written)


def _fetched(slabs: Sequence[Slab], launch: LaunchShape, usable: float) -> Sequence[float]:
    grid, blocks = launch.grid, launch.wave_blocks
    return dram_bytes(slabs, grid, blocks, usable, launch.panel, launch.panel_order)


def _pool(group: Sequence[Flow]) -> Slab | None:
    """What blocks choose from that read where data tell: more than one reads, less than all do."""
    pools = {flow.pool for flow in group}
    return next(iter(pools)) if len(pools) == 1 else None


def _shifts(group: Sequence[Flow], launch: LaunchShape) -> list[int]:
    """How many blocks lie between those whose data the accesses of a block are, in their order.

    Empty where blocks take turns, and read again later what they have read, or where it is not
    known.
    """
    starts = [flow.start for flow in group]
    if launch.panel or len(set(starts)) < 2 or None in starts:
        return []
    if any(flow.wanders or not is_straight(flow.item.context) for flow in group):
        return []
    strides = block_strides(group[0].access.indices, group[0].buffer, group[0].item.context)
    if strides is None or not any(strides):
        return []
    known = [start for start in starts if start is not None]
    apart = {blocks_apart(start - known[0], strides, launch.grid) for start in known}
    return sorted(apart)


def _grouped(flows: Sequence[Flow]) -> list[list[Flow]]:
    """Accesses of one buffer with the same block indices touch much the same bytes."""
    groups: dict[tuple[str, tuple[int, ...]], list[Flow]] = {}
    for flow in flows:
        groups.setdefault((flow.access.buffer, flow.axes), []).append(flow)
    return list(groups.values())


def _share(group: Sequence[Flow], amount: float, table: dict[CostNode, float]) -> None:
    """Add to a table what each access of a group has of an amount."""
    weight = sum(flow.compulsory for flow in group)
    for flow in group:
        part = flow.compulsory / weight if weight else 1 / len(group)
        table[flow.item] = table.get(flow.item, 0.0) + amount * part
