"""What bounds a kernel: one of the contract's words, its class, and a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tirlens.hardware.spec import Device

from ..constants import constant
from ..roofline import COMPUTE_UNITS, MEMORY_UNITS, SHARED_BY_SMS

SATURATED_FRACTION = constant(
    "SATURATED_FRACTION",
    0.60,
    kind="choice",
    unit="fraction of the kernel's time",
    meaning="A unit is busy from this share of the time.",
    source="Nsight Compute, speed-of-light rule",
)
BALANCED_DIFFERENCE = constant(
    "BALANCED_DIFFERENCE",
    0.10,
    kind="choice",
    unit="fraction of the kernel's time",
    meaning="Two units are balanced within this difference.",
    source="Nsight Compute, speed-of-light rule",
)
NEAR_LIMIT_FRACTION = constant(
    "NEAR_LIMIT_FRACTION",
    0.80,
    kind="choice",
    unit="fraction of the kernel's time",
    meaning="A unit is near its limit from this share of the time.",
    source="Nsight Compute, speed-of-light rule",
)
LAUNCH_BOUND_FRACTION = constant(
    "LAUNCH_BOUND_FRACTION",
    0.5,
    kind="choice",
    unit="fraction of the kernel's time",
    meaning="Share of the time from which the launch bounds a kernel.",
)
MIN_BLOCKS_PER_SM = constant(
    "MIN_BLOCKS_PER_SM",
    0.9,
    kind="choice",
    unit="blocks",
    meaning="Blocks per SM below which a launch has too few blocks.",
    source="a grid slightly smaller than the number of SMs is not too small",
)
TAIL_SHARE = constant(
    "TAIL_SHARE",
    0.25,
    kind="choice",
    unit="fraction of the kernel's time",
    meaning="Share of the time from which the last wave counts as a tail.",
)
_NAMES = {
    "tensor": "the tensor cores",
    "fp32": "the floating-point cores",
    "fp64": "the double-precision cores",
    "int": "integer instructions",
    "sfu": "special functions and conversions",
    "issue": "instruction issue",
    "shared": "shared memory",
    "l2": "the L2 cache",
    "atomics": "atomic operations",
    "dram": "DRAM",
}

# Units of a CPU core, and what the report says of a kernel that they keep busy.
_CPU_COMPUTE = frozenset(["fp32", "fp64", "int", "sfu", "issue"])
_CPU_REASONS: Mapping[str, str] = {
    "fp32": "floating-point instructions take",
    "fp64": "double-precision instructions take",
    "int": "integer instructions take",
    "sfu": "library function calls, one element at a time, take",
    "issue": "instruction issue and loop entry take",
    "latency": "a dependency chain takes",
    "l1": "loads and stores take",
    "l2": "lines from the L2 cache take",
    "l3": "lines from the last-level cache take",
    "dram": "lines from DRAM take",
    "tlb": "page walks take",
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
    *,
    uses_shared: bool = True,
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
    uses_shared
        Whether the kernel accesses shared memory. L1 and shared memory are one unit, which has the
        name of what is accessed.
    """
    names = _NAMES if uses_shared else _NAMES | {"shared": "the L1 cache"}
    ranked = sorted(utilisation.items(), key=lambda pair: -pair[1])
    first, used = ranked[0] if ranked else ("issue", 0.0)
    second, less = ranked[1] if len(ranked) > 1 else ("", 0.0)
    after = f"; next {names[second]} at {less:.0%}" if second else ""
    if launch_share > LAUNCH_BOUND_FRACTION:
        return KernelBound("launch", "latency", f"launch takes {launch_share:.0%} of the time")
    if blocks < MIN_BLOCKS_PER_SM * device.sm_count and used < SATURATED_FRACTION:
        return KernelBound(
            "parallelism",
            "latency",
            f"too few blocks: {blocks} for {device.sm_count} SMs",
        )
    waits = first in SHARED_BY_SMS and first != limiter and used < NEAR_LIMIT_FRACTION
    if waits and less >= SATURATED_FRACTION and second not in SHARED_BY_SMS:
        # A unit of the SM sets the time, not the busier memory.
        (first, used), (second, less), waits = (second, less), (first, used), False
        after = f"; {_busy_text(names[second])} {less:.0%}"
    if used >= SATURATED_FRACTION and not waits:
        kind = _bound_class(first)
        if second and abs(used - less) < BALANCED_DIFFERENCE and _bound_class(second) != kind:
            kind = "balanced"
        return KernelBound(first, kind, f"{_busy_text(names[first])} {used:.0%} of the time{after}")
    if tail_share > TAIL_SHARE:
        return KernelBound(
            "tail", "latency", f"the last wave leaves SMs idle for {tail_share:.0%} of the time"
        )
    return KernelBound(
        "latency",
        "latency",
        f"exposed latency: {_busy_text(names[first])} {used:.0%} of the time{after}",
    )


def _busy_text(unit: str) -> str:
    return f"{unit} {'are' if unit.endswith('s') else 'is'} busy"


def _bound_class(name: str) -> str:
    return "memory" if name in MEMORY_UNITS else "compute" if name in COMPUTE_UNITS else "latency"


def find_cpu_bound(
    device: Device, utilisation: Mapping[str, float], busy_cores: int, launch_share: float
) -> KernelBound:
    """The unit of a CPU core that bounds a kernel: the one that is busy longest.

    Parameters
    ----------
    device
        The device, a CPU.
    utilisation
        Each unit's busy time over the kernel's time.
    busy_cores
        The cores that the kernel's parallel loops keep busy.
    launch_share
        Time of the call over the kernel's time.
    """
    has_idle_cores = busy_cores != device.sm_count
    cores = f"; {busy_cores} of {device.sm_count} cores work" if has_idle_cores else ""
    if launch_share > LAUNCH_BOUND_FRACTION:
        return KernelBound("launch", "latency", f"the call takes {launch_share:.0%} of the time")
    ranked = sorted(utilisation.items(), key=lambda pair: -pair[1])
    if not ranked:
        return KernelBound("latency", "latency", f"no unit is busy{cores}")
    first, used = ranked[0]
    kind = "compute" if first in _CPU_COMPUTE else "latency" if first == "latency" else "memory"
    after = ""
    if len(ranked) > 1:
        second, less = ranked[1]
        after = f"; {_CPU_REASONS[second]} {min(less, 1.0):.0%}"
    reason = f"{_CPU_REASONS[first]} {min(used, 1.0):.0%} of the time{after}{cores}"
    return KernelBound(first, kind, reason)
