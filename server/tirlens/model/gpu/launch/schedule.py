"""From the time of a block to the time of the kernel: rounds of blocks, tail, memory, launch.

The busiest SM gets ceil(blocks / SMs) blocks and runs as many at a time as fit.  A round of c
blocks takes the longer of c times an SM's busy time per block and the time of one block alone.
DRAM and L2 serve all SMs and bound the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tirlens.hardware.spec import Device

from ...tree.node import CostNode

# Starting a block on an SM and draining its stores, when nothing else hides it: 0.22 to 0.27 us
# from one block of 64 threads that store a value each to the next, on V100, A40, A100, L40, H100
# and H200 (gpu-benches, gpu-stream: init with two blocks an SM).
BLOCK_START_S = 0.25e-6

# Of the latencies under load, which device files have, those of an idle memory: half as long on
# V100, A100, H100 and MI210 (gpu-benches, gpu-latency).  A block that reads takes as much longer
# than one that stores where an SM has few warps: 0.43 us on an A100, 0.33 on an H200.
IDLE_LATENCY = 0.5

# How blocks' own time and the memory they share add up: 1 is no overlap, infinity perfect overlap.
# The stream kernel at 25 and 50 % occupancy of an H100 reaches 35 and 63 % of the bandwidth, which
# is bandwidth x / (1 + x^p)^(1/p) of the bytes in flight x with p = 2.5 (gpu-benches, gpu-stream).
OVERLAP = 2.5
MEMORY_OF_ALL = frozenset({"dram", "l2", "l2 again"})
# Traffic that a pipeline starts ahead hides behind the computation but for its start and end.
MOST_OVERLAP = 10.0
# Warps that never wait for each other drift apart, and fill the units of their SM and the queues of
# DRAM at the same time: torch's elementwise kernels take the longer of the two.
DRIFTED_OVERLAP = 6.0
# The same of their waits, in which the queues of DRAM are already: copies whose blocks wait 0.9 of
# what DRAM needs take 1.05 of it (gpu-benches, gpu-stream on an A100).
WAITS_OVERLAP = 8.0
# Steps of Newton's method to the time of a kernel whose loads queue; eight leave less than 0.01 %.
NEWTON_STEPS = 8
# Statements that make no warp wait for another one, as long as they touch no shared memory.
_WAITLESS = frozenset({"store", "let", "call", "load", "copy", "fill", "annotate"})


@dataclass(frozen=True)
class KernelTime:
    """The parts of a kernel's time; `limiter` is the shared memory level that bounds it, if any."""

    launch_s: float
    body_s: float
    tail_s: float
    limiter: str | None

    @property
    def total_s(self) -> float:
        """Launch, body and tail in seconds."""
        return self.launch_s + self.body_s + self.tail_s


def as_loaded(device: Device, moved_bytes: float | None) -> Device:
    """The device with the latencies that its memory has under a kernel's traffic."""
    share = loaded_share(device, moved_bytes)
    return device if share == 1.0 else _with_latency(device, share)


def loaded_share(device: Device, moved_bytes: float | None, warps: float = 0.0) -> float:
    """Of the latencies under load, the share that loads of so much at a time wait for.

    What moves less than DRAM brings in one latency leaves its queues empty for the rest of it, and
    fewer `warps` than the SMs have room for leave those before it empty.  Both ends are measured:
    one warp waits for the idle latency, SMs that are full of warps for that under load.
    """
    in_flight = device.dram.bytes_per_s * device.dram.sustained_fraction * device.dram.latency_s
    if moved_bytes is None or moved_bytes >= in_flight:
        return 1.0
    room = device.sm_count * device.limits.threads_per_sm / device.limits.warp_size
    return IDLE_LATENCY + (1 - IDLE_LATENCY) * min(max(moved_bytes / in_flight, warps / room), 1.0)


def as_idle(device: Device) -> Device:
    """The device with the latencies that its memory has when nothing else moves."""
    return _with_latency(device, IDLE_LATENCY)


def as_saturated(device: Device) -> Device:
    """The device with the latencies that its memory has when DRAM is busy all the time."""
    if device.dram.saturated_latency_s is None:
        return device
    return _with_latency(device, device.dram.saturated_latency_s / device.dram.latency_s)


def _with_latency(device: Device, share: float) -> Device:
    dram = replace(device.dram, latency_s=device.dram.latency_s * share)
    return replace(device, dram=dram, l2=replace(device.l2, latency_s=device.l2.latency_s * share))


def drifts_apart(leaves: Iterable[CostNode]) -> bool:
    """Whether each warp goes through a kernel by itself, without a barrier.

    Who writes code of single threads says where they wait; what shares memory otherwise waits.
    """
    return all(
        leaf.source.op in _WAITLESS and (not leaf.shared_bytes or leaf.source.per == "thread")
        for leaf in leaves
    )


@dataclass(frozen=True)
class Rounds:
    """The blocks of a launch, of which each SM runs `blocks_per_sm` at a time.

    `alone_s` is the time of a block that has its SM to itself, `stretch` how much longer the rounds
    of unequal blocks take than those of equal ones.  Where warps drift apart, `alone_s` is that of
    an idle memory, and `queued_s` how much longer a block takes when DRAM is busy all the time.
    """

    blocks: int
    blocks_per_sm: int
    alone_s: float
    stretch: float = 1.0
    queued_s: float = 0.0

    def seconds(self, blocks: float, per_block_s: float, alone_s: float) -> float:
        """Time for an SM to run `blocks` equal blocks that keep it busy for `per_block_s` each."""
        return _rounds(blocks, self.blocks_per_sm, per_block_s, alone_s + BLOCK_START_S)


@dataclass(frozen=True)
class Demand:
    """What a launch asks of the device: seconds for which it keeps each unit busy.

    Of `busy_s`, ``l2 again`` is what L2 serves beyond the bytes that go to DRAM.  `ahead` is the
    share of the traffic that pipelined loops start ahead of its use, `at_once` the share that a
    block starts in one go.  Where all blocks run at the same time, they load such data together,
    then compute, then store: nothing overlaps.  `drifts` tells that no warp waits for another one.
    """

    busy_s: Mapping[str, float]
    ahead: float = 0.0
    at_once: float = 0.0
    drifts: bool = False


def kernel_time(device: Device, rounds: Rounds, demand: Demand) -> KernelTime:
    """The time of a kernel from that of one block and that for which units are busy.

    `tail_s` is what the quantisation into whole blocks per SM costs over an even spread.
    """
    sms = device.sm_count
    # A launch is measured as what the smallest kernel takes, its block's start and load included.
    smallest_s = BLOCK_START_S + device.l2.latency_s * IDLE_LATENCY
    launch_s = max(device.launch_s - smallest_s, 0.0)
    inside_s = max(
        (seconds for name, seconds in demand.busy_s.items() if name not in MEMORY_OF_ALL),
        default=0.0,
    )
    per_block_s = inside_s * sms / rounds.blocks
    busiest = -(-rounds.blocks // sms)
    busiest_s = rounds.seconds(busiest, per_block_s, rounds.alone_s) * rounds.stretch
    even_s = rounds.seconds(rounds.blocks / sms, per_block_s, rounds.alone_s)
    limiter, shared_s = max(
        ((name, demand.busy_s.get(name, 0.0)) for name in ("dram", "l2")), key=lambda pair: pair[1]
    )
    # The rate of DRAM holds for what passes L2 once; what L2 serves beyond that comes on top.
    again_s = demand.busy_s.get("l2 again", 0.0) if limiter == "dram" else 0.0
    together = demand.at_once / max(rounds.blocks / (sms * rounds.blocks_per_sm), 1.0)
    if demand.drifts:
        shared_s = _overlapped(shared_s, again_s, DRIFTED_OVERLAP)
        waits_s = rounds.seconds(busiest, 0.0, rounds.alone_s) * rounds.stretch
        alone_s = rounds.alone_s + rounds.queued_s
        queues_s = rounds.seconds(busiest, 0.0, alone_s) * rounds.stretch - waits_s
        waits_s = _queued(shared_s, waits_s, queues_s)
        exposed = 1 - demand.ahead
        body_s = _drifting(shared_s, busiest_s, waits_s, together, exposed)
    else:
        overlap = OVERLAP ** (1 - together)
        overlap /= max(1 - demand.ahead, overlap / MOST_OVERLAP)
        shared_s = _overlapped(shared_s, again_s, overlap)
        body_s = _overlapped(shared_s, busiest_s, overlap)
    if shared_s >= busiest_s:
        return KernelTime(launch_s, body_s, 0.0, limiter)
    uneven = busiest > 1 or rounds.stretch > 1
    tail_s = max(0.0, busiest_s - max(even_s, shared_s)) if uneven else 0.0
    return KernelTime(launch_s, body_s - tail_s, tail_s, None)


def _drifting(
    shared_s: float, busiest_s: float, waits_s: float, together: float, exposed: float
) -> float:
    """The time of blocks whose warps drift apart, so that memory works while others compute."""
    drifted_s = max(
        _overlapped(shared_s, waits_s, WAITS_OVERLAP),
        _overlapped(shared_s, busiest_s, DRIFTED_OVERLAP),
    )
    # The first wave's blocks have not drifted yet, and beside the last wave's nothing runs.
    apart_s = max(shared_s + busiest_s - drifted_s, 0.0)
    return drifted_s + exposed * min(together * (apart_s + waits_s), apart_s)


def _queued(shared: float, waits: float, queues: float) -> float:
    """The time of `waits` and of `queues`, which are those of DRAM that is busy all the time.

    A load queues as the square of the share of the time that DRAM is busy.
    """
    if waits + queues <= shared or not queues:
        return waits + queues
    # Both are above the root, where the cubic is convex.
    seconds = waits + min(queues, (queues * shared**2) ** (1 / 3))
    for _ in range(NEWTON_STEPS):
        # The root of t^3 - waits t^2 - queues shared^2.
        value = (seconds - waits) * seconds**2 - queues * shared**2
        seconds -= value / (3 * seconds**2 - 2 * waits * seconds)
    return seconds


def _overlapped(first: float, second: float, power: float) -> float:
    """The time of two things that overlap as well as `power` tells."""
    return (first**power + second**power) ** (1 / power)


def _rounds(blocks: float, at_once: int, per_block: float, alone_s: float) -> float:
    """Time for an SM to run `blocks` blocks, `at_once` at a time."""
    if blocks <= at_once:
        return max(blocks * per_block, alone_s)
    full, rest = divmod(blocks, at_once)
    seconds = full * max(at_once * per_block, alone_s)
    if rest:
        # A number that is not whole is an even spread, whose last round is as small as its share.
        last_s = alone_s if float(blocks).is_integer() else alone_s * rest / at_once
        seconds += max(rest * per_block, last_s)
    return seconds
