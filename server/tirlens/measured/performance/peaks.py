"""What a device can reach for a measured operation, from the catalogue of devices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tirlens.hardware import Device, load
from tirlens.math_fidelity import fidelity_of
from tirlens.measured.performance.devices import catalogue_device
from tirlens.measured.records import MeasuredDevice, Operation

_DRAM_PERCENTAGE = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
# Instructions on double and half precision.
_NOT_FP32 = re.compile(r"_op_[dh](add|mul|fma)")


@dataclass(frozen=True, slots=True)
class Peaks:
    """The peak rates for an operation: None where that is not known."""

    dram_bytes_per_s: float | None = None
    flop_per_s: float | None = None


def device_of(measured: MeasuredDevice) -> Device | None:
    """The catalogue's entry of a device of a trace, None where it has none.

    The architecture alone identifies an accelerator; of GPUs, boards of one architecture differ.
    """
    found = catalogue_device(measured)
    device = None if found is None else load(found.id)
    if device is None or (measured.name is None and device.kind != "accelerator"):
        return None
    return device


def devices_by_name(devices: Iterable[MeasuredDevice]) -> Mapping[str | None, Device]:
    """The catalogue's entries of the devices of a trace, as operations name these."""
    found = {measured.device: device_of(measured) for measured in devices}
    return {name: device for name, device in found.items() if device is not None}


def peaks_of(operation: Operation, device: Device | None) -> Peaks:
    """The peaks of `device` for an operation.

    On Tensix cores the peak is that of the cores that the operation uses, at its math fidelity
    (tt-metal, tech_reports/GEMM_FLOPS); it is not known for an operation without either.  On a GPU
    it is that of fp32, where Nsight Compute has counted fp32 instructions and no others.  The peak
    of DRAM is also what Nsight Compute relates the throughput to.
    """
    if operation.kind == "host":
        return Peaks()
    if device is None:
        return Peaks(_counted_dram_bytes_per_s(operation))
    if "tensix" in device.features:
        flop_per_s = tensix_flop_per_s(operation, device)
    else:
        flop_per_s = _fp32_flop_per_s(operation, device)
    return Peaks(device.dram.bytes_per_s, flop_per_s)


def _counted_dram_bytes_per_s(operation: Operation) -> float | None:
    """The peak of DRAM of which Nsight Compute states the share that the kernel reaches."""
    percentage = operation.counters.get(_DRAM_PERCENTAGE)
    if not percentage or operation.dram_bytes is None or not operation.time_s:
        return None
    return operation.dram_bytes / operation.time_s / (percentage / 100)


def _fp32_flop_per_s(operation: Operation, device: Device) -> float | None:
    counted = operation.attributes.get("flop_counted", "")
    of_others = (value for name, value in operation.counters.items() if _NOT_FP32.search(name))
    if "fp32" not in counted or "tensor" in counted or any(of_others) or "fp32" not in device.peaks:
        return None
    return device.peaks["fp32"].flop_per_s


def tensix_flop_per_s(operation: Operation, device: Device) -> float | None:
    """The peak of the cores that an operation of TT-NN uses."""
    if operation.cores is None:
        return None
    try:
        fidelity = fidelity_of(operation.attributes.get("MATH FIDELITY", ""))
    except ValueError:
        return None
    peak = device.with_fidelity(fidelity).peaks["tensor.bfloat16"]
    return peak.flop_per_s / device.sm_count * operation.cores
