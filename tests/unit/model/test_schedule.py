"""From a block's time to the kernel's."""

from __future__ import annotations

import numpy as np
import pytest

from tirlens.hardware import load
from tirlens.model.gpu.launch.launch_time import (
    BLOCK_START_S,
    LATENCY_OVERLAP_EXPONENT,
    MAX_OVERLAP_EXPONENT,
    OVERLAP_EXPONENT,
    UNSYNCHRONISED_OVERLAP_EXPONENT,
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


BLOCK_S = 3e-6 - BLOCK_START_S


@pytest.mark.parametrize(
    ("per_sm", "blocks", "per_block", "seconds"),
    [
        # Blocks of 3 us alone, in us: as many at a time as are resident, the last ones alone.
        (1, 1, 0, 3),
        (1, 2, 0, 6),
        (2, 2, 0, 3),
        (2, 3, 0, 6),
        (2, 4, 0, 6),
        # Each keeps the SM busy for 1 us, or for 2, which is longer than they take beside another.
        (2, 2, 1, 3),
        (2, 2, 2, 4),
        (2, 3, 2, 4 + 3),
        (2, 5, 2, 4 + 4 + 3),
        (4, 4, 2, 8),
        # An even distribution has a shorter last wave.
        (2, 2.5, 0, 3 + 3 / 4),
        (2, 1.5, 0, 3),
        (2, 2.5, 2, 4 + 1),
    ],
)
def test_the_time_of_one_sm(per_sm: int, blocks: float, per_block: float, seconds: float) -> None:
    schedule = BlockSchedule(1, per_sm, BLOCK_S)
    found = schedule.sm_time_s(blocks, per_block * 1e-6, BLOCK_S)
    assert found == pytest.approx(seconds * 1e-6)


@pytest.mark.parametrize(
    ("per_sm", "blocks", "per_block", "seconds"),
    [
        # Alone 3 us after the busy times of the others, against all of them overlapped.
        (1, 4, 1, 0),
        (2, 1, 1, 0),
        (2, 4, 1, 3 + 1 - 3),
        (3, 4, 1, 3 + 2 - 3),
        (3, 4, 2, 3 + 4 - 6),
        (2, 4, 4, 4 + 4 - 8),
    ],
)
def test_what_a_wave_in_step_takes_longer(
    per_sm: int, blocks: int, per_block: float, seconds: float
) -> None:
    found = BlockSchedule(1, per_sm, BLOCK_S).in_step_s(blocks, per_block * 1e-6)
    assert found == pytest.approx(seconds * 1e-6, abs=1e-12)


@pytest.mark.parametrize("imbalance", [1.0, 2.0])
@pytest.mark.parametrize("queueing", [0.0, 1.5])
@pytest.mark.parametrize("dram", [0.5, 4.0, 9.0])
@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("ahead", [0.0, 0.25])
def test_the_time_of_a_wave_without_barriers(
    imbalance: float, queueing: float, dram: float, share: float, ahead: float
) -> None:
    """In us: blocks of 3 us, DRAM for `dram`, and the root of the latency with queueing."""
    busy = {"dram": dram * 1e-6, "fp32": 1e-6}
    demand = ResourceDemand(busy, ahead, share, is_unsynchronised=True)
    rounds = BlockSchedule(DEVICE.sm_count, 1, BLOCK_S, imbalance, queueing * 1e-6)
    found = time_launch(DEVICE, rounds, demand)
    idle, queued = 3 * imbalance, queueing * imbalance
    latency = idle + queued
    if latency > dram:
        roots = np.roots([1, -idle, 0, -queued * dram**2])
        latency = max(root.real for root in roots if abs(root.imag) < 1e-9)

    def both(one: float, other: float, exponent: float) -> float:
        return (one**exponent + other**exponent) ** (1 / exponent)

    overlapped = max(
        both(dram, latency, LATENCY_OVERLAP_EXPONENT),
        both(dram, idle, UNSYNCHRONISED_OVERLAP_EXPONENT),
    )
    apart = dram + idle - overlapped
    exposed = (1 - ahead) * min(share * (apart + latency), apart)
    assert found.total_s - found.launch_s == pytest.approx((overlapped + exposed) * 1e-6)


@pytest.mark.parametrize("imbalance", [1.0, 2.0])
@pytest.mark.parametrize("ahead", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("dram", [0.5, 2.9, 9.0])
def test_the_time_of_a_wave_with_barriers(imbalance: float, ahead: float, dram: float) -> None:
    """In us: the more is loaded ahead, the more DRAM and blocks of 3 us overlap."""
    busy = {"dram": dram * 1e-6, "l2": 0.25e-6}
    rounds = BlockSchedule(DEVICE.sm_count, 1, BLOCK_S, imbalance)
    found = time_launch(DEVICE, rounds, ResourceDemand(busy, ahead))
    exponent = OVERLAP_EXPONENT / max(1 - ahead, OVERLAP_EXPONENT / MAX_OVERLAP_EXPONENT)
    body = (dram**exponent + (3 * imbalance) ** exponent) ** (1 / exponent)
    assert found.total_s - found.launch_s == pytest.approx(body * 1e-6)
    # Where DRAM takes longest it limits; else what is uneven is a tail.
    assert found.limiter == ("dram" if dram >= 3 * imbalance else None)
    tail = 3 * imbalance - max(3, dram) if imbalance > 1 and dram < 3 * imbalance else 0
    assert found.tail_s == pytest.approx(tail * 1e-6)
