"""From a block's time to the kernel's."""

from __future__ import annotations

import pytest

from tirlens.hardware import load
from tirlens.model.gpu.launch.launch_time import (
    BLOCK_START_S,
    BlockSchedule,
    ResourceDemand,
    time_launch,
)
from tirlens.model.gpu.memory.latency import memory_state, with_loaded_latency

DEVICE = load("h200")
MEMORY = memory_state(DEVICE, ())


def total(blocks: int, alone_s: float, dram_s: float, at_once: float) -> float:
    demand = ResourceDemand({"dram": dram_s}, simultaneous_fraction=at_once)
    return time_launch(DEVICE, BlockSchedule(blocks, 1, alone_s), demand).total_s


def test_the_smallest_kernel_takes_a_launch() -> None:
    load_s = with_loaded_latency(MEMORY, DEVICE, 0).l2_latency_s
    assert total(1, load_s, 0.0, 1.0) == pytest.approx(DEVICE.launch_s)


def test_the_less_a_kernel_moves_the_sooner_its_loads_come() -> None:
    idle, some, full = (
        with_loaded_latency(MEMORY, DEVICE, moved).dram_latency_s for moved in (0, 1e6, 1e8)
    )
    assert idle < some < full == DEVICE.dram.latency_s == 2 * idle
    assert with_loaded_latency(MEMORY, DEVICE, None) == MEMORY


def test_blocks_that_all_run_at_once_load_then_compute() -> None:
    launch_s = total(1, 0.0, 0.0, 0.0) - BLOCK_START_S
    alone_s = 5e-6
    apart = total(DEVICE.sm_count, alone_s, 5e-6, 1.0) - launch_s
    assert apart == pytest.approx(alone_s + BLOCK_START_S + 5e-6)


@pytest.mark.parametrize("rounds", [1, 2, 16])
def test_loads_turn_by_turn_and_other_rounds_overlap(rounds: int) -> None:
    blocks = rounds * DEVICE.sm_count
    loop, straight = (total(blocks, 5e-6, 5e-6 * rounds, share) for share in (0.0, 1.0))
    assert loop < straight or rounds > 8
    assert straight / loop == pytest.approx(1.0, abs=0.6 / rounds)


def test_warps_that_wait_for_nobody_overlap_but_for_the_first_wave() -> None:
    busy = {"dram": 10e-3, "fp32": 7e-3}

    def seconds(waves: int, drifts: bool) -> float:
        blocks = waves * DEVICE.sm_count
        demand = ResourceDemand(busy, simultaneous_fraction=1.0, is_unsynchronised=drifts)
        return time_launch(DEVICE, BlockSchedule(blocks, 1, 1e-6), demand).total_s

    assert 10e-3 < seconds(1000, drifts=True) < 10.3e-3 < seconds(1000, drifts=False)
    assert seconds(1, drifts=True) == pytest.approx(seconds(1, drifts=False))
    assert seconds(1, drifts=True) > 17e-3


def test_beside_the_last_wave_nothing_runs() -> None:
    """What the ends of a launch leave exposed gives way, wave by wave, to what overlaps."""
    alone_s, each_s = 2e-6, 2e-6

    def apart(waves: int) -> float:
        blocks = waves * DEVICE.sm_count
        busy = {"dram": waves * each_s}
        demand = ResourceDemand(busy, simultaneous_fraction=1.0, is_unsynchronised=True)
        time = time_launch(DEVICE, BlockSchedule(blocks, 1, alone_s), demand)
        return time.total_s / waves

    seconds = [apart(waves) for waves in (1, 2, 4, 16, 256)]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[0] - seconds[-1] > 0.5 * alone_s


def test_loads_queue_as_the_square_of_the_share_that_dram_is_busy() -> None:
    waves, alone_s, queued_s = 1000, 0.6e-6, 0.9e-6

    def seconds(share: float) -> float:
        """The time of a wave, in which DRAM is busy for `share` of what the blocks take alone."""
        busy = {"dram": share * waves * (alone_s + BLOCK_START_S)}
        blocks = waves * DEVICE.sm_count
        rounds = BlockSchedule(blocks, 1, alone_s, queueing_s=queued_s)
        time = time_launch(DEVICE, rounds, ResourceDemand(busy, is_unsynchronised=True))
        return (time.total_s - time.launch_s) / waves

    idle_s, busy_s = seconds(0.0), seconds(0.7)
    dram_share = 0.7 * idle_s / busy_s
    assert idle_s == pytest.approx(alone_s + BLOCK_START_S)
    assert busy_s == pytest.approx(idle_s + queued_s * dram_share**2, rel=0.01)
    assert seconds(20.0) == pytest.approx(20 * idle_s, rel=0.01)
