"""How far a predicted time may be off, from what is uncertain in it.

Uncertainties are of the logarithm of the time; four measured kernels of five are to stay within.
They are independent and add as squares:

* the rate of the unit that is busiest, by where the device file has it from; that of arithmetic
  moves with the clock that power leaves (the device's `band`);
* instructions, where it is their number that takes the time: addresses, conversions and guards are
  what the compiler makes of them, while products and sums are counted;
* what is read again: DRAM traffic lies between the distinct bytes and all that L2 is asked for;
* waits, which is all the time in which the busiest unit has nothing to do, spilling included;
* the launch.

The figures are those of the fitted half of ``tests/measured``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tirlens.hardware.provenance import hearsay
from tirlens.hardware.spec import Device

from ..report import KernelReport

# Of a rate that was measured on the device, and of one that was not, by what its source says.
MEASURED = 0.08
_HEARSAY: Mapping[str, float] = {"as": 0.12, "scaled": 0.2, "estimate": 0.25, "disputed": 0.7}
# Of the device's `band`: matrix products are long, and the power they take was measured.
TENSOR_SHARE, CORE_SHARE = 0.45, 0.7
# Of the number of instructions, and the units whose time is theirs.
COMPILED = 0.25
_BY_INSTRUCTIONS = frozenset({"int", "issue"})
# Waits are known within a factor of two, a launch within one of 1.65.
WAITS, LAUNCH = 0.7, 0.5
# Of the range that the traffic to DRAM can lie in, where the estimate is in the middle of it.
REREAD = 0.6


@dataclass(frozen=True)
class Traffic:
    """Bytes to and from DRAM as estimated, the least they can be, and the most."""

    dram_bytes: float
    least_bytes: float
    most_bytes: float


def traffic_of(report: KernelReport) -> Traffic | None:
    """How much DRAM traffic a kernel has, at least has, and has if no cache keeps anything."""
    moved, least, issued = report.dram_bytes.total, report.compulsory_bytes, report.global_bytes
    if moved is None or least is None or issued.total is None:
        return None
    return Traffic(moved, least, issued.total)


def uncertainties(
    device: Device,
    utilisation: Mapping[str, float],
    launch_share: float,
    traffic: Traffic | None,
) -> dict[str, float]:
    """The parts of a GPU kernel's uncertainty by name: rate, instructions, reuse, waits, launch.

    `utilisation` is each unit's busy share of the time, `launch_share` that of the launch;
    `traffic` is None where it is not known.
    """
    unit, used = max(utilisation.items(), key=lambda pair: pair[1], default=("", 0.0))
    used = min(used, 1.0)
    return {
        "rate": used * _of_rate(device, unit),
        "instructions": used * COMPILED if unit in _BY_INSTRUCTIONS else 0.0,
        "reuse": utilisation.get("dram", 0.0) * _of_reuse(traffic),
        "waits": WAITS * max(1 - used - launch_share, 0.0),
        "launch": LAUNCH * launch_share,
    }


def band_s(seconds: float, parts: Mapping[str, float]) -> tuple[float, float]:
    """The time band of a kernel, in seconds."""
    width = math.exp(math.hypot(*parts.values()))
    return seconds / width, seconds * width


def _of_rate(device: Device, unit: str) -> float:
    if unit == "dram":
        return _by_source(device, "dram.sustained_fraction")
    if unit == "l2":
        return max(_by_source(device, "l2.bytes_per_s"), CORE_SHARE * device.band)
    if unit == "tensor":
        # All matrix types of a device share the source of their sustained rate.
        name = next((name for name in device.peaks if name.startswith("tensor.")), "fp32")
        share = TENSOR_SHARE
    else:
        name, share = "fp32", CORE_SHARE
    known = hearsay(device, f"peaks.{name}.sustained_fraction") is None
    return share * device.band if known else max(share * device.band, _HEARSAY["estimate"])


def _by_source(device: Device, key: str) -> float:
    word = hearsay(device, key)
    return MEASURED if word is None else _HEARSAY[word]


def _of_reuse(traffic: Traffic | None) -> float:
    if traffic is None or not traffic.dram_bytes:
        return 0.0
    above = max(traffic.dram_bytes - traffic.least_bytes, 0.0)
    below = max(traffic.most_bytes - traffic.dram_bytes, 0.0)
    return REREAD * math.sqrt(above * below) / traffic.dram_bytes
