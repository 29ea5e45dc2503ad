"""The state of the memory: the rate of DRAM, and latencies between an idle and a loaded memory.

Device files hold the latencies under load, with all SMs full of warps that load.
"""

from __future__ import annotations

from collections.abc import Iterable

from tirlens.hardware.spec import Device

from ...constants import constant
from ...tree.moved import MemoryState, Traffic

IDLE_LATENCY_FRACTION = constant(
    "IDLE_LATENCY_FRACTION",
    0.5,
    kind="measured",
    unit="fraction",
    meaning=(
        "Latency of an idle memory over that of a loaded one. It also gives the difference "
        "between a block that reads and one that stores where an SM has few warps: 0.43 us on "
        "an A100, 0.33 us on an H200."
    ),
    source="V100, A100, H100 and MI210 (gpu-benches, gpu-latency)",
    bounds=(0.45, 0.55),
)


def with_loaded_latency(
    memory: MemoryState, device: Device, moved_bytes: float | None
) -> MemoryState:
    """The memory with its latencies under the traffic of a kernel (bytes; None: full)."""
    return _scale_latencies(memory, loaded_latency_fraction(memory, device, moved_bytes))


def loaded_latency_fraction(
    memory: MemoryState, device: Device, moved_bytes: float | None, warps: float = 0.0
) -> float:
    """The fraction of the loaded latency that loads of `moved_bytes` wait for.

    Traffic below the bytes in flight of DRAM (bandwidth x latency, Little's law) leaves its queues
    partly empty; so do fewer `warps` than fit on the SMs.  The fraction is linear in the larger of
    the two, between the measured idle latency (one warp) and the measured loaded one.
    """
    in_flight = memory.dram_bytes_per_s * memory.dram_latency_s
    if moved_bytes is None or moved_bytes >= in_flight:
        return 1.0
    max_warps = device.sm_count * device.limits.threads_per_sm / device.limits.warp_size
    return IDLE_LATENCY_FRACTION + (1 - IDLE_LATENCY_FRACTION) * min(
        max(moved_bytes / in_flight, warps / max_warps), 1.0
    )


def with_idle_latency(memory: MemoryState) -> MemoryState:
    """The memory with the latencies of an idle one."""
    return _scale_latencies(memory, IDLE_LATENCY_FRACTION)


def with_saturated_latency(memory: MemoryState, device: Device) -> MemoryState:
    """The memory with the latencies of one whose DRAM is always busy."""
    if device.dram.saturated_latency_s is None:
        return memory
    return _scale_latencies(memory, device.dram.saturated_latency_s / device.dram.latency_s)


def memory_state(device: Device, traffic: Iterable[Traffic]) -> MemoryState:
    """The fully loaded memory of a device with its DRAM rate for a mix of reads and writes.

    Read-write turnarounds of DRAM take time, most with equal parts of both.  On A100, H100, L40,
    A40 and V100 pure reads or writes are 2 to 14 % faster than a copy; a triad (one write for two
    reads) is mostly in between (gpu-benches, gpu-stream).
    """
    one_way, both_ways = device.dram.one_way_fraction, device.dram.sustained_fraction
    fraction = both_ways
    if one_way is not None:
        read = write = 0.0
        for each in traffic:
            read += each.dram_read_bytes
            write += each.dram_write_bytes
        if read + write:
            mixed_share = 2 * min(read, write) / (read + write)
            fraction = one_way + (both_ways - one_way) * mixed_share
    return MemoryState(
        device.dram.bytes_per_s * fraction, device.dram.latency_s, device.l2.latency_s
    )


def _scale_latencies(memory: MemoryState, factor: float) -> MemoryState:
    return MemoryState(
        memory.dram_bytes_per_s, memory.dram_latency_s * factor, memory.l2_latency_s * factor
    )
