"""What bounds a kernel: one of the contract's words, its class, and a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tirlens.hardware.spec import Device

from ..gpu.units import COMPUTE, MEMORY

# Nsight Compute's speed-of-light rule: a unit is busy from 60 %, near its limit from 80 %, and two
# units are balanced within 10 %.  Fractions of the kernel's time.
SATURATED_FRACTION = 0.60
BALANCED_DIFFERENCE = 0.10
NEAR_LIMIT_FRACTION = 0.80
# Fraction of the time from which the launch bounds a kernel.
LAUNCH_BOUND_FRACTION = 0.5
# Blocks per SM below which a launch has too few blocks.  A choice: a grid slightly smaller than the
# number of SMs is not too small.
MIN_BLOCKS_PER_SM = 0.9
_NAMES: Mapping[str, str] = {
    "tensor": "the tensor cores",
    "fp32": "the floating-point cores",
    "fp64": "the double-precision cores",
    "int": "integer instructions",
    "sfu": "special functions and conversions",
    "issue": "instruction issue",
    "shared": "shared memory",
    "l2": "the L2 cache",
    "dram": "DRAM",
}


@dataclass(frozen=True)
class KernelBound:
    """The bound of a kernel, its class, and the reason as a sentence."""

    bound: str
    bound_class: str
    reason: str


def find_bound(
    device: Device,
    utilisation: Mapping[str, float],
    blocks: int,
    launch_share: float,
    tail_share: float,
    limiter: str | None = None,
) -> KernelBound:
    """The unit, or the lack of work, that bounds a kernel.

    Parameters
    ----------
    device
        The device.
    utilisation
        Each unit's busy time over the kernel's time.
    blocks
        The blocks of the launch.
    launch_share, tail_share
        Launch cost and tail over the kernel's time.
    limiter
        The memory level that sets the time.  Where the blocks' own time sets it, DRAM and L2 count
        only near their limit.
    """
    ranked = sorted(utilisation.items(), key=lambda pair: -pair[1])
    first, used = ranked[0] if ranked else ("issue", 0.0)
    second, less = ranked[1] if len(ranked) > 1 else ("", 0.0)
    after = f"; next {_NAMES[second]} at {less:.0%}" if second else ""
    if launch_share > LAUNCH_BOUND_FRACTION:
        return KernelBound("launch", "latency", f"launch takes {launch_share:.0%} of the time")
    if blocks < MIN_BLOCKS_PER_SM * device.sm_count and used < SATURATED_FRACTION:
        return KernelBound(
            "parallelism",
            "latency",
            f"too few blocks: {blocks} for {device.sm_count} SMs",
        )
    waits = first in ("dram", "l2") and first != limiter and used < NEAR_LIMIT_FRACTION
    if waits and less >= SATURATED_FRACTION and second not in ("dram", "l2"):
        # A unit of the SM sets the time, not the busier memory.
        (first, used), (second, less), waits = (second, less), (first, used), False
        after = f"; next {_NAMES[second]} at {less:.0%}"
    if used >= SATURATED_FRACTION and not waits:
        kind = _bound_class(first)
        if second and used - less < BALANCED_DIFFERENCE and _bound_class(second) != kind:
            kind = "balanced"
        return KernelBound(first, kind, f"{_busy_text(first)} {used:.0%} of the time{after}")
    if tail_share > 0.25:
        return KernelBound(
            "tail", "latency", f"the last wave leaves SMs idle for {tail_share:.0%} of the time"
        )
    return KernelBound(
        "latency",
        "latency",
        f"exposed latency: {_busy_text(first)} {used:.0%} of the time{after}",
    )


def _busy_text(name: str) -> str:
    return f"{_NAMES[name]} {'are' if _NAMES[name].endswith('s') else 'is'} busy"


def _bound_class(name: str) -> str:
    return "memory" if name in MEMORY else "compute" if name in COMPUTE else "latency"
