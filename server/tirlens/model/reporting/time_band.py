"""The uncertainty of a predicted time: a band that contains four of five measured times.

Each part is an uncertainty of the logarithm of the time.  The parts are independent and add as
squares:

* rate: the sustained rate of the busiest unit, by the provenance of its number; arithmetic rates
  depend on the clock under the power limit (`Device.band`);
* instructions: the number of instructions the compiler emits for addresses, conversions and
  predicates, where instruction issue is the busiest unit;
* reuse: DRAM traffic is between the distinct bytes and the issued bytes;
* waits: the time in which the busiest unit is idle, spilling included;
* launch: the launch cost.

The constants are fitted to the fitted half of ``tests/measured``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tirlens.hardware.provenance import provenance
from tirlens.hardware.spec import Device

from ..constants import constant
from ..report import MemoryTraffic

MEASURED_RATE_UNCERTAINTY = constant(
    "MEASURED_RATE_UNCERTAINTY",
    0.08,
    kind="fitted",
    unit="of the logarithm",
    meaning="Uncertainty of a rate that was measured on the device.",
    source="fitted: the band contains four of five measured times",
    rows="the fitted half of `tests/measured`",
)
UNMEASURED_RATE_UNCERTAINTY: Mapping[str, float] = constant(
    "UNMEASURED_RATE_UNCERTAINTY",
    {
        "as": 0.12,
        "scaled": 0.2,
        "estimate": 0.25,
        "disputed": 0.7,
    },
    kind="fitted",
    unit="of the logarithm",
    meaning="Uncertainty of other rates by their provenance.",
    source="fitted: the band contains four of five measured times",
    rows="the fitted half of `tests/measured`",
)
TENSOR_BAND_FRACTION = constant(
    "TENSOR_BAND_FRACTION",
    0.45,
    kind="fitted",
    unit="fraction",
    meaning="Fraction of `Device.band` for matrix products, whose power was measured.",
    source="fitted: the band contains four of five measured times",
    rows="the fitted half of `tests/measured`",
)
CORE_BAND_FRACTION = constant(
    "CORE_BAND_FRACTION",
    0.7,
    kind="fitted",
    unit="fraction",
    meaning="Fraction of `Device.band` for other arithmetic.",
    source="fitted: the band contains four of five measured times",
    rows="the fitted half of `tests/measured`",
)
INSTRUCTION_COUNT_UNCERTAINTY = constant(
    "INSTRUCTION_COUNT_UNCERTAINTY",
    0.25,
    kind="fitted",
    unit="of the logarithm",
    meaning="Uncertainty of the number of instructions.",
    source="fitted: the band contains four of five measured times",
    rows="the fitted half of `tests/measured`",
)
_INSTRUCTION_UNITS = frozenset({"int", "issue"})
LATENCY_UNCERTAINTY = constant(
    "LATENCY_UNCERTAINTY",
    0.7,
    kind="fitted",
    unit="of the logarithm",
    meaning="Uncertainty of exposed latency (a factor of 2).",
    source="fitted: the band contains four of five measured times",
    rows="the fitted half of `tests/measured`",
)
LAUNCH_UNCERTAINTY = constant(
    "LAUNCH_UNCERTAINTY",
    0.5,
    kind="fitted",
    unit="of the logarithm",
    meaning="Uncertainty of the launch cost (a factor of 1.65).",
    source="fitted: the band contains four of five measured times",
    rows="the fitted half of `tests/measured`",
)
REUSE_UNCERTAINTY_FRACTION = constant(
    "REUSE_UNCERTAINTY_FRACTION",
    0.6,
    kind="fitted",
    unit="fraction",
    meaning="Uncertainty of DRAM traffic over the geometric mean of its distances to its bounds.",
    source="fitted: the band contains four of five measured times",
    rows="the fitted half of `tests/measured`",
)


@dataclass(frozen=True)
class DramTrafficRange:
    """Estimated DRAM bytes, and their lower and upper bound."""

    dram_bytes: float
    least_bytes: float
    most_bytes: float


def dram_traffic_range(traffic: MemoryTraffic) -> DramTrafficRange | None:
    """DRAM bytes of a kernel: estimate, compulsory bytes, and issued bytes."""
    moved, least, issued = traffic.dram_bytes.total, traffic.compulsory_bytes, traffic.global_bytes
    if moved is None or least is None or issued.total is None:
        return None
    return DramTrafficRange(moved, least, issued.total)


def uncertainties(
    device: Device,
    utilisation: Mapping[str, float],
    launch_share: float,
    traffic: DramTrafficRange | None,
) -> dict[str, float]:
    """The parts of a GPU kernel's uncertainty: rate, instructions, reuse, waits, launch.

    Parameters
    ----------
    device
        The device, for the provenance of its rates.
    utilisation
        Each unit's busy time over the kernel's time.
    launch_share
        The launch cost over the kernel's time.
    traffic
        The DRAM traffic with its bounds; None where it is not known.
    """
    unit, used = max(utilisation.items(), key=lambda pair: pair[1], default=("", 0.0))
    used = min(used, 1.0)
    return {
        "rate": used * _rate_uncertainty(device, unit),
        "instructions": used * INSTRUCTION_COUNT_UNCERTAINTY if unit in _INSTRUCTION_UNITS else 0.0,
        "reuse": utilisation.get("dram", 0.0) * _reuse_uncertainty(traffic),
        "waits": LATENCY_UNCERTAINTY * max(1 - used - launch_share, 0.0),
        "launch": LAUNCH_UNCERTAINTY * launch_share,
    }


def band_s(seconds: float, parts: Mapping[str, float]) -> tuple[float, float]:
    """The time band of a kernel in seconds, with the same factor to both sides."""
    width = math.exp(math.hypot(*parts.values()))
    return seconds / width, seconds * width


def _rate_uncertainty(device: Device, unit: str) -> float:
    if unit == "dram":
        return _source_uncertainty(device, "dram.sustained_fraction")
    if unit in ("l2", "atomics"):
        return max(_source_uncertainty(device, "l2.bytes_per_s"), CORE_BAND_FRACTION * device.band)
    if unit == "tensor":
        # All matrix types of a device share the source of their sustained rate.
        name = next((name for name in device.peaks if name.startswith("tensor.")), "fp32")
        share = TENSOR_BAND_FRACTION
    else:
        name, share = "fp32", CORE_BAND_FRACTION
    if provenance(device, f"peaks.{name}.sustained_fraction") == "measured":
        return share * device.band
    return max(share * device.band, UNMEASURED_RATE_UNCERTAINTY["estimate"])


def _source_uncertainty(device: Device, key: str) -> float:
    known = provenance(device, key)
    return UNMEASURED_RATE_UNCERTAINTY.get(known, MEASURED_RATE_UNCERTAINTY)


def _reuse_uncertainty(traffic: DramTrafficRange | None) -> float:
    if traffic is None or not traffic.dram_bytes:
        return 0.0
    above = max(traffic.dram_bytes - traffic.least_bytes, 0.0)
    below = max(traffic.most_bytes - traffic.dram_bytes, 0.0)
    return REUSE_UNCERTAINTY_FRACTION * math.sqrt(above * below) / traffic.dram_bytes
