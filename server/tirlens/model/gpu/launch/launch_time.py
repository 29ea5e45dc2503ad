"""The time of a kernel from the time of a block: waves, tail, overlap with memory, launch cost.

The busiest SM runs ceil(blocks / SMs) blocks, as many at a time as fit.  A wave of c blocks takes
the longer of c times a block's busy time on its SM and the time of one block alone.  DRAM and L2
serve all SMs; their time overlaps with that of the SMs as a p-norm, ``(a^p + b^p)^(1/p)``, where
p = 1 is no overlap and p = infinity is perfect overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Annotate, Call, Copy, Evaluate, Fill, Load, Store

from ...constants import constant
from ...tree.kernel_time import KernelTime
from ...tree.node import Leaf
from ..units import DEVICE_WIDE_UNITS

BLOCK_START_S = constant(
    "BLOCK_START_S",
    0.25e-6,
    kind="measured",
    unit="s",
    meaning="Time from the start of a block on an SM until its stores are drained.",
    source=(
        "the time between blocks of 64 threads that store one value each, two blocks an SM, "
        "on V100, A40, A100, L40, H100 and H200 (gpu-benches, gpu-stream, init)"
    ),
    bounds=(2.2e-07, 2.7e-07),
)
SMALLEST_LOAD_S = constant(
    "SMALLEST_LOAD_S",
    0.15e-6,
    kind="measured",
    unit="s",
    meaning=(
        "Latency of the load in the smallest kernel, whose time is the measured launch cost of a "
        "device."
    ),
    source=(
        "idle L2 latencies: V100 156, A100 150, H100 151, MI210 148, L40 111 ns (gpu-benches, "
        "gpu-latency)"
    ),
    bounds=(0.11e-6, 0.16e-6),
)
OVERLAP_EXPONENT = constant(
    "OVERLAP_EXPONENT",
    2.5,
    kind="fitted",
    unit="dimensionless",
    meaning="Overlap exponent of a block's own time and the time of DRAM and L2.",
    source=(
        "a stream kernel at 25 and 50 % occupancy of an H100 reaches 35 and 63 % of the "
        "bandwidth: x / (1 + x^p)^(1/p) of the bytes in flight x (gpu-benches, gpu-stream)"
    ),
    rows="gpu-stream on an H100 (`tests/measured/streams.csv`)",
)
MAX_OVERLAP_EXPONENT = constant(
    "MAX_OVERLAP_EXPONENT",
    10.0,
    kind="estimate",
    unit="dimensionless",
    meaning=(
        "Largest overlap exponent, for traffic that a software pipeline prefetches: only its "
        "start and end are exposed."
    ),
)
UNSYNCHRONISED_OVERLAP_EXPONENT = constant(
    "UNSYNCHRONISED_OVERLAP_EXPONENT",
    6.0,
    kind="fitted",
    unit="dimensionless",
    meaning=(
        "Overlap exponent of compute and DRAM time for kernels without barriers, where the "
        "loads of one warp overlap with the arithmetic of another."
    ),
    source="torch's elementwise kernels (NeuSight)",
    rows="torch's elementwise kernels (NeuSight, `tests/measured/public.csv`)",
)
LATENCY_OVERLAP_EXPONENT = constant(
    "LATENCY_OVERLAP_EXPONENT",
    8.0,
    kind="fitted",
    unit="dimensionless",
    meaning=(
        "Overlap exponent of DRAM time and exposed latency for kernels without barriers; the "
        "latency includes queueing."
    ),
    source=(
        "copies whose blocks wait 0.9 of the DRAM time take 1.05 of it (gpu-benches, "
        "gpu-stream, A100)"
    ),
    rows="gpu-stream on an A100 (`tests/measured/streams.csv`)",
)
IN_STEP_SHARE = constant(
    "IN_STEP_SHARE",
    0.5,
    kind="fitted",
    unit="fraction",
    meaning=(
        "The share of their busy time in which blocks of an SM that load at the same time do not "
        "overlap: their data arrive together, and the latencies of one are those of the others."
    ),
    source=(
        "reductions of 16 MiB in one wave of four blocks an SM, which wait for all of their data "
        "and then reduce them (TileOPs, H200): 0 is a sixth too fast, 1 a thirtieth too slow"
    ),
    bounds=(0.0, 1.0),
    rows="TileOPs' reductions (`tests/measured/h200_tileops.csv`)",
)
# Newton steps to the time of a kernel whose loads queue; eight leave an error below 0.01 %.
MAX_NEWTON_STEPS = 8
# Statements that synchronise no warps unless they access shared memory.
_UNSYNCHRONISED = (Store, Evaluate, Call, Load, Copy, Fill, Annotate)


def are_warps_unsynchronised(leaves: Iterable[Leaf]) -> bool:
    """Whether no warp of a kernel waits for another one.

    A per-thread kernel synchronises only at its explicit barriers.  A tile kernel synchronises
    after every shared-memory access.
    """
    return all(
        isinstance(leaf.source, _UNSYNCHRONISED)
        and (not leaf.shared_bytes or leaf.source.per == "thread")
        for leaf in leaves
    )


@dataclass(frozen=True)
class BlockSchedule:
    """The blocks of a launch on the SMs.

    Attributes
    ----------
    blocks, blocks_per_sm
        Blocks of the launch, and blocks that are resident on one SM.
    block_s
        The time of a block that has its SM to itself; of a kernel with unsynchronised warps, with
        an idle memory.
    imbalance
        The time of unequal blocks over that of as many equal ones.
    queueing_s
        The additional time of a block while DRAM is always busy; only with unsynchronised warps.
    """

    blocks: int
    blocks_per_sm: int
    block_s: float
    imbalance: float = 1.0
    queueing_s: float = 0.0

    def sm_time_s(self, blocks: float, per_block_s: float, alone_s: float) -> float:
        """The time of one SM for `blocks` equal blocks that keep it busy for `per_block_s` each."""
        return _waves_time_s(blocks, self.blocks_per_sm, per_block_s, alone_s + BLOCK_START_S)

    def in_step_s(self, blocks: float, per_block_s: float) -> float:
        """What the first wave of `blocks` blocks takes longer where none overlaps another."""
        others_s = max(min(blocks, self.blocks_per_sm) - 1, 0) * per_block_s
        alone_s = max(self.block_s + BLOCK_START_S, per_block_s)
        return alone_s + others_s - max(others_s + per_block_s, alone_s)


@dataclass(frozen=True)
class ResourceDemand:
    """The load of a launch on the units of the device.

    Attributes
    ----------
    busy_s
        Busy time of each unit; ``l2 again`` is the time of L2 hits.
    prefetched_fraction
        The fraction of the traffic that software pipelines load ahead of its use.
    simultaneous_fraction
        The fraction of the traffic that a block requests at one time.  Blocks of one wave load
        such data at the same time, then compute, then store, without overlap.
    is_unsynchronised
        Whether no warp waits for another one.
    """

    busy_s: Mapping[str, float]
    prefetched_fraction: float = 0.0
    simultaneous_fraction: float = 0.0
    is_unsynchronised: bool = False


def time_launch(device: Device, schedule: BlockSchedule, demand: ResourceDemand) -> KernelTime:
    """The time of a kernel.

    Parameters
    ----------
    device
        The device.
    schedule
        The blocks, the time of one block, and its distribution over the SMs.
    demand
        The busy time of each unit over the whole launch.

    Returns
    -------
    The time in seconds.  `KernelTime.tail_s` is the cost of whole blocks per SM over an even
    distribution of the work.
    """
    sms = device.sm_count
    # The measured launch cost is the time of the smallest kernel, with its block start and load.
    launch_s = max(device.launch_s - BLOCK_START_S - SMALLEST_LOAD_S, 0.0)
    sm_busy_s = max(
        (seconds for name, seconds in demand.busy_s.items() if name not in DEVICE_WIDE_UNITS),
        default=0.0,
    )
    per_block_s = sm_busy_s * sms / schedule.blocks
    busiest_blocks = -(-schedule.blocks // sms)
    busiest_s = (
        schedule.sm_time_s(busiest_blocks, per_block_s, schedule.block_s) * schedule.imbalance
    )
    even_s = schedule.sm_time_s(schedule.blocks / sms, per_block_s, schedule.block_s)
    simultaneous = demand.simultaneous_fraction / max(
        schedule.blocks / (sms * schedule.blocks_per_sm), 1.0
    )
    if demand.is_unsynchronised:
        limiter, memory_s = _memory_time_s(demand, UNSYNCHRONISED_OVERLAP_EXPONENT)
        latency_s = schedule.sm_time_s(busiest_blocks, 0.0, schedule.block_s) * schedule.imbalance
        alone_s = schedule.block_s + schedule.queueing_s
        queueing_s = (
            schedule.sm_time_s(busiest_blocks, 0.0, alone_s) * schedule.imbalance - latency_s
        )
        latency_s = _queueing_time_s(memory_s, latency_s, queueing_s)
        exposed = 1 - demand.prefetched_fraction
        body_s = _unsynchronised_time_s(memory_s, busiest_s, latency_s, simultaneous, exposed)
    else:
        overlap = OVERLAP_EXPONENT ** (1 - simultaneous)
        overlap /= max(1 - demand.prefetched_fraction, overlap / MAX_OVERLAP_EXPONENT)
        limiter, memory_s = _memory_time_s(demand, overlap)
        in_step = simultaneous * IN_STEP_SHARE
        busiest_s += in_step * schedule.in_step_s(busiest_blocks, per_block_s)
        even_s += in_step * schedule.in_step_s(schedule.blocks / sms, per_block_s)
        body_s = _overlapped_time_s(memory_s, busiest_s, overlap)
    if memory_s >= busiest_s:
        return KernelTime(launch_s, body_s, 0.0, limiter)
    uneven = busiest_blocks > 1 or schedule.imbalance > 1
    tail_s = max(0.0, busiest_s - max(even_s, memory_s)) if uneven else 0.0
    return KernelTime(launch_s, body_s - tail_s, tail_s, None)


def _memory_time_s(demand: ResourceDemand, overlap: float) -> tuple[str, float]:
    """The memory, or the atomic operations in L2, that take longest, and their time in seconds.

    The DRAM rate holds for data that passes L2 once; the time of L2 hits is additional.
    """
    dram_s, l2_s = demand.busy_s.get("dram", 0.0), demand.busy_s.get("l2", 0.0)
    both_s = _overlapped_time_s(dram_s, demand.busy_s.get("l2 again", 0.0), overlap)
    atomics_s = demand.busy_s.get("atomics", 0.0)
    if atomics_s > max(l2_s, both_s):
        return "atomics", atomics_s
    return "dram" if dram_s >= l2_s else "l2", max(l2_s, both_s)


def _unsynchronised_time_s(
    memory_s: float, busiest_s: float, latency_s: float, simultaneous: float, exposed: float
) -> float:
    """The time of blocks in which one warp's loads overlap with another's arithmetic."""
    overlapped_s = max(
        _overlapped_time_s(memory_s, latency_s, LATENCY_OVERLAP_EXPONENT),
        _overlapped_time_s(memory_s, busiest_s, UNSYNCHRONISED_OVERLAP_EXPONENT),
    )
    # The blocks of the first wave start in step, and nothing overlaps with the last wave.
    unoverlapped_s = max(memory_s + busiest_s - overlapped_s, 0.0)
    return overlapped_s + exposed * min(simultaneous * (unoverlapped_s + latency_s), unoverlapped_s)


def _queueing_time_s(memory_s: float, latency_s: float, queueing_s: float) -> float:
    """Exposed latency plus queueing time in seconds.

    Queueing grows with the square of DRAM's busy fraction: the time t satisfies
    ``t = latency_s + queueing_s (memory_s / t)^2``, where `queueing_s` is the queueing time of a
    DRAM that is always busy and `memory_s` is its busy time.
    """
    if latency_s + queueing_s <= memory_s or not queueing_s:
        return latency_s + queueing_s
    # Both starting values are above the root, where the cubic is convex.
    seconds = latency_s + min(queueing_s, (queueing_s * memory_s**2) ** (1 / 3))
    for _ in range(MAX_NEWTON_STEPS):
        # The root of t^3 - latency t^2 - queueing memory^2.
        value = (seconds - latency_s) * seconds**2 - queueing_s * memory_s**2
        seconds -= value / (3 * seconds**2 - 2 * latency_s * seconds)
    return seconds


def _overlapped_time_s(first: float, second: float, exponent: float) -> float:
    """The time of two overlapping activities: their p-norm with the exponent `exponent`."""
    return (first**exponent + second**exponent) ** (1 / exponent)


def _waves_time_s(blocks: float, resident_blocks: int, busy_s: float, alone_s: float) -> float:
    """The time of one SM for `blocks` blocks, `resident_blocks` at a time, in seconds."""
    if blocks <= resident_blocks:
        return max(blocks * busy_s, alone_s)
    full, rest = divmod(blocks, resident_blocks)
    seconds = full * max(resident_blocks * busy_s, alone_s)
    if rest:
        # A fractional number is an even distribution, with a proportionally shorter last wave.
        last_s = alone_s if float(blocks).is_integer() else alone_s * rest / resident_blocks
        seconds += max(rest * busy_s, last_s)
    return seconds
