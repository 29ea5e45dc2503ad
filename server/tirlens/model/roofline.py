"""The roofline: peak and sustained rates of a device, and the time that no kernel goes below.

S. Williams, A. Waterman, D. Patterson, "Roofline: An Insightful Visual Performance Model", 2009.
"""

from __future__ import annotations

from collections.abc import Mapping

from tirlens.hardware.spec import Device, Peak

COMPUTE_UNITS = frozenset(["tensor", "fp32", "fp64", "int", "sfu", "issue"])
MEMORY_UNITS = frozenset(["shared", "l2", "dram", "atomics"])
# The units that all SMs share.
SHARED_BY_SMS = frozenset(["l2", "dram", "atomics"])

# The classes that compute a tensor-core type which a device lacks, in order of preference.
_WIDER: Mapping[str, tuple[str, ...]] = {
    "tensor.float4": ("tensor.float8", "tensor.float16"),
    "tensor.float6": ("tensor.float8", "tensor.float16"),
    "tensor.float8": ("tensor.float16",),
    # Only some devices accumulate in half precision at a rate of its own.
    "tensor.float16.float16": ("tensor.float16", "fp16"),
    "tensor.float8.float16": ("tensor.float8", "tensor.float16.float16", "tensor.float16"),
    "tensor.int4": ("tensor.int8", "tensor.float16"),
    "tensor.int8": ("tensor.float16", "int32"),
    "tensor.bfloat16": ("bf16",),
    "tensor.float16": ("fp16",),
    "tensor.float64": ("fp64",),
}


def peak(device: Device, name: str) -> Peak:
    """The peak rate of an arithmetic class.

    A tensor-core type that the device lacks is computed in the next wider type, then on the scalar
    cores.

    Raises
    ------
    ValueError
        The device has no rate for fp32.
    """
    for candidate in (name, *_WIDER.get(name, ()), "fp32"):
        found = device.peaks.get(candidate)
        if found is not None:
            return found
    raise ValueError(f"device {device.id} has no rate for fp32")


def sustained_flop_per_s(device: Device, name: str) -> float:
    """The FLOP per second of a class at the clocks of a loaded device."""
    found = peak(device, name)
    return found.flop_per_s * found.sustained_fraction


def roofline_seconds(
    device: Device, flop_by_class: Mapping[str, int], compulsory_bytes: float | None
) -> float:
    """The roofline time in seconds at datasheet rates; no kernel with this work is faster.

    Parameters
    ----------
    device
        The device.
    flop_by_class
        FLOP by arithmetic class.
    compulsory_bytes
        Distinct bytes that DRAM moves at least; None counts as 0.
    """
    compute = 0.0
    for name, flop in flop_by_class.items():
        compute = max(compute, flop / peak(device, name).flop_per_s)
    memory = (compulsory_bytes or 0.0) / device.dram.bytes_per_s
    return max(compute, memory)


def sustained_roofline_seconds(
    device: Device, flop_by_class: Mapping[str, int], compulsory_bytes: float | None
) -> float:
    """The roofline time in seconds at the rates that the best long-running kernels reach."""
    compute = (flop / sustained_flop_per_s(device, name) for name, flop in flop_by_class.items())
    rate = device.dram.bytes_per_s * device.dram.sustained_fraction
    return max((compulsory_bytes or 0.0) / rate, 0.0, *compute)


def dominant_class(device: Device, flop_by_class: Mapping[str, int]) -> str | None:
    """The class whose operations take the longest at peak rates; None without operations."""
    if not flop_by_class:
        return None
    return max(flop_by_class, key=lambda name: flop_by_class[name] / peak(device, name).flop_per_s)
