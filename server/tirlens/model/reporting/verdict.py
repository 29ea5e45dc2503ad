"""What bounds a kernel, in one of the contract's words and in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tirlens.hardware.spec import Device

from ..gpu.units import COMPUTE, MEMORY

# Nsight Compute's speed-of-light rule: a unit is busy from 60 % on and near its limit from 80 %,
# and two are balanced within 10 % of each other.
SATURATED = 0.60
BALANCED = 0.10
NEAR_LIMIT = 0.80
# What takes more than half of the time is what bounds a kernel.
LAUNCH_SHARE = 0.5
# With fewer blocks than so many for each SM, some SMs have none: a choice, so that a grid that just
# misses the number of SMs is no lack of parallelism.
FEW_BLOCKS_PER_SM = 0.9
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
class Verdict:
    """What limits a kernel, the class that this belongs to, and why, in words."""

    bound: str
    bound_class: str
    reason: str


def verdict(
    device: Device,
    utilisation: Mapping[str, float],
    blocks: int,
    launch_share: float,
    tail_share: float,
    limiter: str | None = None,
) -> Verdict:
    """Which unit or which lack of work bounds a kernel.

    `limiter` is the memory level that sets the time; where a block's own steps set it, DRAM and L2
    count only near their limit.
    """
    ranked = sorted(utilisation.items(), key=lambda pair: -pair[1])
    first, used = ranked[0] if ranked else ("issue", 0.0)
    second, less = ranked[1] if len(ranked) > 1 else ("", 0.0)
    after = f"; next {_NAMES[second]} at {less:.0%}" if second else ""
    if launch_share > LAUNCH_SHARE:
        return Verdict("launch", "latency", f"launch takes {launch_share:.0%} of the time")
    if blocks < FEW_BLOCKS_PER_SM * device.sm_count and used < SATURATED:
        return Verdict(
            "parallelism",
            "latency",
            f"{blocks} blocks leave {device.sm_count - blocks} of {device.sm_count} SMs idle",
        )
    waits = first in ("dram", "l2") and first != limiter and used < NEAR_LIMIT
    if waits and less >= SATURATED and second not in ("dram", "l2"):
        # A block's own unit sets the time, the busier memory does not.
        (first, used), (second, less), waits = (second, less), (first, used), False
        after = f"; next {_NAMES[second]} at {less:.0%}"
    if used >= SATURATED and not waits:
        kind = _class_of(first)
        if second and used - less < BALANCED and _class_of(second) != kind:
            kind = "balanced"
        return Verdict(first, kind, f"{_busy(first)} {used:.0%} of the time{after}")
    if tail_share > 0.25:
        return Verdict(
            "tail", "latency", f"SMs wait {tail_share:.0%} of the time for the last blocks"
        )
    return Verdict(
        "latency",
        "latency",
        f"each block waits for its own steps: {_busy(first)} {used:.0%} of the time{after}",
    )


def _busy(name: str) -> str:
    return f"{_NAMES[name]} {'are' if _NAMES[name].endswith('s') else 'is'} busy"


def _class_of(name: str) -> str:
    return "memory" if name in MEMORY else "compute" if name in COMPUTE else "latency"
