"""The ceilings of a device's roofline: the bandwidth of each memory level, the peak of each type.

S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52(4), 2009; of several memory levels,
A. Ilic, F. Pratas, L. Sousa, "Cache-aware Roofline Model", IEEE CAL 13(1), 2014.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tirlens.hardware.spec import Device

from ..roofline import peak

MemoryLevelName = Literal["dram", "l2", "shared"]


@dataclass(frozen=True)
class Bandwidth:
    """The peak rate of a memory level."""

    level: MemoryLevelName
    bytes_per_s: float


@dataclass(frozen=True)
class ComputePeak:
    """The peak rate of an arithmetic class; `is_used`: the kernel computes in it."""

    arithmetic_class: str
    flop_per_s: float
    is_used: bool


@dataclass(frozen=True)
class Ceilings:
    """The ceilings that a kernel is drawn under: bandwidths from the slowest, peaks from the
    fastest."""

    bandwidths: tuple[Bandwidth, ...]
    peaks: tuple[ComputePeak, ...]


def ceilings(device: Device, flop_by_class: Mapping[str, int]) -> Ceilings:
    """The bandwidths of a device, the peaks of a kernel's classes, and fp32 for comparison."""
    rates: list[tuple[MemoryLevelName, float]] = [
        ("dram", device.dram.bytes_per_s),
        ("l2", device.l2.bytes_per_s),
    ]
    if device.kind == "gpu":
        per_sm = device.shared_bytes_per_clk_per_sm * device.clock_hz
        rates.append(("shared", per_sm * device.sm_count))
    used = [name for name, flop in flop_by_class.items() if flop]
    reference = ["fp32"] if "fp32" in device.peaks else []
    peaks: dict[float, ComputePeak] = {}
    for name in [*used, *reference]:
        rate = peak(device, name).flop_per_s
        # Classes of one unit have one line.
        peaks.setdefault(rate, ComputePeak(name, rate, name in used))
    return Ceilings(
        tuple(Bandwidth(level, rate) for level, rate in rates if rate > 0),
        tuple(peaks[rate] for rate in sorted(peaks, reverse=True)),
    )
