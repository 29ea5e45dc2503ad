"""The latency of DRAM and L2 between an idle and a loaded memory.

Device files hold the latencies under load, with all SMs full of warps that load.
"""

from __future__ import annotations

from dataclasses import replace

from tirlens.hardware.spec import Device

from ...constants import constant

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


def with_loaded_latency(device: Device, moved_bytes: float | None) -> Device:
    """The device with its memory latencies under the traffic of a kernel (bytes; None: full)."""
    fraction = loaded_latency_fraction(device, moved_bytes)
    return device if fraction == 1.0 else _scale_latencies(device, fraction)


def loaded_latency_fraction(device: Device, moved_bytes: float | None, warps: float = 0.0) -> float:
    """The fraction of the loaded latency that loads of `moved_bytes` wait for.

    Traffic below the bytes in flight of DRAM (bandwidth x latency, Little's law) leaves its queues
    partly empty; so do fewer `warps` than fit on the SMs.  The fraction is linear in the larger of
    the two, between the measured idle latency (one warp) and the measured loaded one.
    """
    in_flight = device.dram.bytes_per_s * device.dram.sustained_fraction * device.dram.latency_s
    if moved_bytes is None or moved_bytes >= in_flight:
        return 1.0
    max_warps = device.sm_count * device.limits.threads_per_sm / device.limits.warp_size
    return IDLE_LATENCY_FRACTION + (1 - IDLE_LATENCY_FRACTION) * min(
        max(moved_bytes / in_flight, warps / max_warps), 1.0
    )


def with_idle_latency(device: Device) -> Device:
    """The device with the latencies of an idle memory."""
    return _scale_latencies(device, IDLE_LATENCY_FRACTION)


def with_saturated_latency(device: Device) -> Device:
    """The device with the latencies of a memory whose DRAM is always busy."""
    if device.dram.saturated_latency_s is None:
        return device
    return _scale_latencies(device, device.dram.saturated_latency_s / device.dram.latency_s)


def _scale_latencies(device: Device, factor: float) -> Device:
    dram = replace(device.dram, latency_s=device.dram.latency_s * factor)
    l2 = replace(device.l2, latency_s=device.l2.latency_s * factor)
    return replace(device, dram=dram, l2=l2)
