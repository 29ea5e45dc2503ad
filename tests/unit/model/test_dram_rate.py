"""The rate of DRAM for a mix of reads and writes, and its latencies under load."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tirlens.hardware import load
from tirlens.model.gpu.memory.latency import (
    loaded_latency_fraction,
    memory_state,
    with_idle_latency,
    with_saturated_latency,
)
from tirlens.model.tree.moved import Traffic

DEVICE = load("a100-80-sxm")
DRAM = replace(DEVICE.dram, bytes_per_s=1e12, one_way_fraction=0.9, sustained_fraction=0.8)
MIXED = replace(DEVICE, dram=DRAM)


@pytest.mark.parametrize(
    ("read_bytes", "write_bytes", "fraction"),
    [
        # Without traffic and in one direction; as much of both; two reads for a write.
        (0, 0, 0.8),
        (1, 0, 0.9),
        (0, 1, 0.9),
        (1, 1, 0.8),
        (2, 1, 0.9 - 0.1 * 2 / 3),
        (1, 3, 0.85),
    ],
)
def test_turnarounds_take_the_share_of_the_smaller_direction(
    read_bytes: float, write_bytes: float, fraction: float
) -> None:
    # The bytes of several statements are one mix.
    traffic = [
        Traffic(dram_read_bytes=read_bytes * 1e6, l2_write_bytes=7e6),
        Traffic(dram_write_bytes=write_bytes * 1e6, l2_read_bytes=7e6),
    ]
    assert memory_state(MIXED, traffic).dram_bytes_per_s == pytest.approx(fraction * 1e12)


def test_a_device_without_a_rate_of_one_direction_has_one_rate() -> None:
    device = replace(MIXED, dram=replace(DRAM, one_way_fraction=None))
    for traffic in (Traffic(dram_read_bytes=1.0), Traffic()):
        assert memory_state(device, [traffic]).dram_bytes_per_s == pytest.approx(0.8e12)


def test_a_saturated_memory_scales_both_latencies() -> None:
    memory = memory_state(DEVICE, [])
    assert memory.dram_latency_s == DEVICE.dram.latency_s
    assert memory.l2_latency_s == DEVICE.l2.latency_s
    loaded = replace(DEVICE.dram, saturated_latency_s=3 * DEVICE.dram.latency_s)
    found = with_saturated_latency(memory, replace(DEVICE, dram=loaded))
    assert found.dram_latency_s == pytest.approx(3 * memory.dram_latency_s)
    assert found.l2_latency_s == pytest.approx(3 * memory.l2_latency_s)
    assert found.dram_bytes_per_s == memory.dram_bytes_per_s
    unknown = replace(DEVICE, dram=replace(DEVICE.dram, saturated_latency_s=None))
    assert with_saturated_latency(memory, unknown) == memory


@pytest.mark.parametrize(
    ("bytes_in_flight", "warp_slots", "fraction"),
    [
        (None, 0, 1),
        (1, 0, 1),
        (2, 0, 1),
        # From the latency of an idle memory, half of it, by the larger of both shares.
        (0, 0, 0.5),
        (0.5, 0, 0.75),
        (0.5, 0.25, 0.75),
        (0.25, 0.5, 0.75),
        (0, 2, 1),
    ],
)
def test_the_less_is_in_flight_the_shorter_are_latencies(
    bytes_in_flight: float | None, warp_slots: float, fraction: float
) -> None:
    memory = memory_state(DEVICE, [])
    whole = memory.dram_bytes_per_s * memory.dram_latency_s
    moved = None if bytes_in_flight is None else bytes_in_flight * whole
    warps = warp_slots * DEVICE.sm_count * 64
    found = loaded_latency_fraction(memory, DEVICE, moved, warps)
    assert found == pytest.approx(fraction)
    idle = with_idle_latency(memory)
    assert (idle.dram_latency_s, idle.l2_latency_s) == (
        pytest.approx(memory.dram_latency_s / 2),
        pytest.approx(memory.l2_latency_s / 2),
    )
