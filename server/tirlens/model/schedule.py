"""From the time of a block to the time of the kernel: rounds of blocks, tail, memory, launch.

The busiest SM gets ceil(blocks / SMs) blocks and runs as many at a time as fit.  A round of c
blocks takes the longer of c times an SM's busy time per block and the time of one block alone.
DRAM and L2 serve all SMs and bound the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tirlens.hardware.spec import Device

# Starting a block on an SM and draining its stores, when nothing else hides it: fitted on kernels
# whose blocks do little (one or four elements a thread) in the fitted half.
BLOCK_START_S = 0.3e-6

# 1 would be no overlap at all, infinity perfect overlap.  Element-wise kernels with about equal
# arithmetic and traffic take a quarter longer than either alone.
OVERLAP = 3.0


@dataclass(frozen=True)
class KernelTime:
    """The parts of a kernel's time; `limiter` is the shared memory level that bounds it, if any."""

    launch_s: float
    body_s: float
    tail_s: float
    limiter: str | None

    @property
    def total_s(self) -> float:
        return self.launch_s + self.body_s + self.tail_s


def kernel_time(
    device: Device,
    blocks: int,
    blocks_per_sm: int,
    alone_s: float,
    busy: Mapping[str, float],
) -> KernelTime:
    """The time of a kernel from one block's time `alone_s` and the device's `busy` seconds.

    `tail_s` is what the quantisation into whole blocks per SM costs over an even spread.
    """
    sms = device.sm_count
    alone_s += BLOCK_START_S
    inside = max(
        (seconds for name, seconds in busy.items() if name not in ("dram", "l2")), default=0.0
    )
    per_block = inside * sms / blocks
    busiest = -(-blocks // sms)
    rounds = _rounds(busiest, blocks_per_sm, per_block, alone_s)
    even = _rounds(blocks / sms, blocks_per_sm, per_block, alone_s)
    limiter, shared = max(
        ((name, busy.get(name, 0.0)) for name in ("dram", "l2")), key=lambda pair: pair[1]
    )
    # A cold start: the first bytes take a latency that nothing hides.
    # Blocks load, compute and store in turn, so that units of equal load do not overlap fully.
    shared = (shared**OVERLAP + inside**OVERLAP) ** (1 / OVERLAP) if shared else 0.0
    shared += device.dram.latency_s if shared else 0.0
    if shared >= rounds:
        return KernelTime(device.launch_s, shared, 0.0, limiter)
    tail = max(0.0, rounds - max(even, shared)) if busiest > 1 else 0.0
    return KernelTime(device.launch_s, rounds - tail, tail, None)


def _rounds(blocks: float, at_once: int, per_block: float, alone_s: float) -> float:
    """Time for an SM to run `blocks` blocks, `at_once` at a time."""
    if blocks <= at_once:
        return max(blocks * per_block, alone_s)
    full, rest = divmod(blocks, at_once)
    seconds = full * max(at_once * per_block, alone_s)
    if rest:
        seconds += max(rest * per_block, alone_s if float(blocks).is_integer() else 0.0)
    return seconds
