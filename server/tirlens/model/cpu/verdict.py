"""What bounds a kernel on a CPU, in one word and in a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from tirlens.hardware.spec import Device

from ..reporting.bound import LAUNCH_BOUND_FRACTION, KernelBound

_COMPUTE = frozenset(["fp32", "fp64", "int", "sfu", "issue"])
_REASONS: Mapping[str, str] = {
    "fp32": "floating-point instructions take",
    "fp64": "double-precision instructions take",
    "int": "integer instructions take",
    "sfu": "calls of library functions, one element at a time, take",
    "issue": "issuing instructions and entering loops takes",
    "latency": "a chain of results that wait for each other takes",
    "l1": "loads and stores take",
    "l2": "lines from the L2 cache take",
    "l3": "lines from the last cache take",
    "dram": "lines from DRAM take",
    "tlb": "page walks take",
}


def verdict(
    device: Device, utilisation: Mapping[str, float], cores: int, launch_share: float
) -> KernelBound:
    """The unit of a core that is busy longest, of `cores` cores that work."""
    idle = device.sm_count - cores
    alone = f"; {cores} of {device.sm_count} cores work" if idle else ""
    if launch_share > LAUNCH_BOUND_FRACTION:
        return KernelBound("launch", "latency", f"the call takes {launch_share:.0%} of the time")
    ranked = sorted(utilisation.items(), key=lambda pair: -pair[1])
    if not ranked:
        return KernelBound("latency", "latency", f"nothing but loops{alone}")
    first, used = ranked[0]
    kind = "compute" if first in _COMPUTE else "latency" if first == "latency" else "memory"
    after = ""
    if len(ranked) > 1:
        second, less = ranked[1]
        after = f"; {_REASONS[second]} {min(less, 1.0):.0%}"
    reason = f"{_REASONS[first]} {min(used, 1.0):.0%} of the time{after}{alone}"
    return KernelBound(first, kind, reason)
