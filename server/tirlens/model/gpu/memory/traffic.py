"""Bytes at each level of the memory hierarchy, from issued accesses to DRAM.

* Issued bytes are exact counts.
* L2 bytes: tile copies, TMA and cp.async bypass L1.  Loads of threads move whole 32-byte sectors
  for the lanes of a warp; data that the threads of a block share is loaded once while it fits L1.
* DRAM bytes: `dram_traffic`, `compulsory_traffic` and `l2_sharing`.  A kernel whose data fits in
  L2 loads each byte once.
* Written bytes reach DRAM once, however often they are written, while they fit in L2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tirlens.hardware.spec import Device

from ...counting.kernel_counts import ArrayBytes, Footprint
from ...tree.compiled import Instructions
from ...tree.context import SECTOR_BYTES, EnclosingLoop, dtype_bytes
from ...tree.moved import Traffic
from ...tree.table import Table
from .dram_traffic import compute_dram_traffic
from .global_accesses import GlobalAccess
from .l2_sharing import WRITTEN_BETWEEN_READS_FRACTION, LaunchShape, miss_probability

# Of a kernel whose distinct bytes are not known.
NO_BYTES = ArrayBytes({}, {})


def compute_traffic(
    instructions: Table[Instructions],
    entries: Sequence[GlobalAccess],
    launch: LaunchShape,
    device: Device,
    footprint: Footprint | None,
) -> Table[Traffic]:
    """The bytes that L2 and DRAM move for each statement.

    Parameters
    ----------
    instructions
        The instructions of the statements of the kernel.
    entries
        Their accesses to global memory.
    launch
        Grid, concurrent blocks, shared bytes and rasterisation.
    device
        Capacities and partitions of its caches.
    footprint
        The distinct bytes of each array, a lower bound of its DRAM traffic where exact.
    """
    requests = _l1_requests(entries, instructions, launch)
    read = _l1_misses(entries, launch, device, requests.read)
    distinct = NO_BYTES if footprint is None else footprint.known_bytes(device.dram_sector_bytes)
    dram = compute_dram_traffic(entries, launch, device, distinct, read)
    read_by = _sum_by_leaf(read)
    written_by = _sum_by_leaf(requests.written)
    return Table(
        Traffic(
            read_by.get(number, 0.0),
            written_by.get(number, 0.0),
            dram.read.get(number, 0.0),
            dram.written.get(number, 0.0),
            dram.requested.get(number, 0.0),
            requests.sector_ratios.get(number),
        )
        for number in range(len(instructions))
    )


def _sum_by_leaf(amounts: Mapping[GlobalAccess, float]) -> dict[int, float]:
    found: dict[int, float] = {}
    for entry, amount in amounts.items():
        number = entry.node.number
        found[number] = found.get(number, 0.0) + amount
    return found


class _L1Requests(NamedTuple):
    """Bytes that accesses request of L1; sector bytes over requested bytes by statement."""

    read: Mapping[GlobalAccess, float]
    written: Mapping[GlobalAccess, float]
    sector_ratios: Mapping[int, float]


def _l1_requests(
    entries: Sequence[GlobalAccess], instructions: Table[Instructions], launch: LaunchShape
) -> _L1Requests:
    blocks = max(math.prod(launch.grid), 1)
    read: dict[GlobalAccess, float] = {}
    written: dict[GlobalAccess, float] = {}
    sectors: dict[int, float] = {}
    for entry in entries:
        amount = float(entry.issued_bytes)
        if entry.access.route in ("thread", "tile"):
            ratio = _sector_ratio(entry, instructions)
            if ratio is not None:
                number = entry.node.number
                sectors[number] = max(ratio, sectors.get(number, 0.0))
                amount *= ratio
            # Data that the threads of a block share is loaded once while it stays in L1.
            if entry.access.mode == "read":
                density = entry.sector_density(entry.block_ranges, SECTOR_BYTES)
                block_bytes = entry.block_bytes * density
                amount = min(amount, max(block_bytes * blocks, entry.compulsory_bytes))
        if entry.access.mode != "write":
            read[entry] = amount
        if entry.access.mode != "read":
            written[entry] = amount
    return _L1Requests(read, written, sectors)


def _l1_misses(
    entries: Sequence[GlobalAccess],
    launch: LaunchShape,
    device: Device,
    read: Mapping[GlobalAccess, float],
) -> Mapping[GlobalAccess, float]:
    """The part of the bytes that each access reads that misses L1.

    A block that reads the same address repeated in one loop body loads it once.  Later reads hit L1
    if it holds what the concurrent blocks of the SM read; the miss rate is that of `l2_sharing`.
    """
    repeated: dict[tuple[str, float], dict[tuple[EnclosingLoop, ...], list[GlobalAccess]]] = {}
    for entry in entries:
        if (
            entry.access.mode == "read"
            and entry.access.route == "thread"
            and entry.start_elements is not None
        ):
            bodies = repeated.setdefault((entry.access.buffer, entry.start_elements), {})
            bodies.setdefault(entry.node.context.loops, []).append(entry)
    concurrent_blocks = max(launch.wave_blocks / device.sm_count, 1.0)
    window = sum(
        WRITTEN_BETWEEN_READS_FRACTION * concurrent_blocks * entry.block_bytes
        for entry in entries
        if _is_thread_write(entry)
    )
    for bodies in repeated.values():
        reads = [entry for group in bodies.values() for entry in group]
        window += max(
            entry.block_bytes * (concurrent_blocks if entry.axes else 1.0) for entry in reads
        )
    room = device.l1_bytes_per_sm - launch.shared_bytes * concurrent_blocks
    missed = miss_probability(window / room) if room > 0 else 1.0
    missed_bytes = dict(read)
    for entry in read:
        if room > 0 and _is_selection(entry):
            missed_bytes[entry] = _table_misses(entry, read[entry], room, device.sm_count)
    for bodies in repeated.values():
        for number, group in enumerate(bodies.values()):
            kept = 1.0 if number == 0 else missed
            for position, entry in enumerate(group):
                missed_bytes[entry] *= kept if position == 0 else 0.0
    return missed_bytes


def _is_selection(entry: GlobalAccess) -> bool:
    """Whether data select what threads read of an array."""
    is_read = entry.access.mode == "read" and entry.access.route == "thread"
    return is_read and entry.address is not None and entry.address.selection_stride_bytes > 0


def _table_misses(entry: GlobalAccess, read_bytes: float, room: float, sms: int) -> float:
    """The bytes that reads of a table miss: each SM loads it once while L1 of `room` bytes has it.

    L1 keeps what one block has loaded for the next one.
    """
    once = min(entry.array_bytes * sms, read_bytes)
    return once + (read_bytes - once) * miss_probability(min(entry.array_bytes / room, 10.0))


def _is_thread_write(entry: GlobalAccess) -> bool:
    return entry.access.mode != "read" and entry.access.route == "thread"


def _sector_ratio(entry: GlobalAccess, instructions: Table[Instructions]) -> float | None:
    """Bytes of the 32-byte sectors that a warp touches over the bytes that it requests."""
    mapping = instructions[entry.node].mapping
    for access, requests in zip(entry.node.source.accesses, mapping.requests, strict=True):
        if access is entry.access and requests is not None:
            size = dtype_bytes(entry.buffer.dtype)
            return requests.sectors * SECTOR_BYTES / (requests.sector_elements * size)
    if entry.access.route == "thread" and entry.address and entry.address.selection_stride_bytes:
        # Data select the addresses of the lanes.
        return entry.sector_density(entry.block_ranges, SECTOR_BYTES)
    return None
