"""The devices of the catalogue in an order in which a person looks for one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirlens.hardware import Device

# Vendors that kernels are written for most come first, then the others by name.
_VENDORS = ("NVIDIA", "AMD")
_KINDS = {"gpu": "GPU", "accelerator": "accelerator", "cpu": "CPU"}
# The class of arithmetic by which devices are compared, the first one that a device has.
_COMPARED = ("tensor.float16", "tensor.bfloat16", "fp16", "fp32")
Peak = tuple[str, float]


def core_name(device: Device) -> str:
    """What the vendor calls the units that `sm_count` counts."""
    return {"NVIDIA": "SMs", "AMD": "CUs"}.get(device.vendor, "cores")


def compared_peak(device: Device) -> Peak | None:
    """The name and rate in FLOP/s of the arithmetic by which a device is compared with others."""
    for name in _COMPARED:
        if name in device.peaks:
            return name.removeprefix("tensor."), device.peaks[name].flop_per_s
    return None


def device_groups(
    devices: Iterable[Device],
) -> list[tuple[str, list[tuple[Device, Peak | None]]]]:
    """Devices with their peaks by vendor, kind and architecture, the fastest groups first."""
    groups: dict[tuple[str, str, str], list[tuple[Device, Peak | None]]] = {}
    for device in devices:
        key = device.vendor, device.kind, device.arch
        groups.setdefault(key, []).append((device, compared_peak(device)))

    def speed(entry: tuple[Device, Peak | None]) -> tuple[float, float]:
        device, peak = entry
        return -(peak[1] if peak else 0.0), -device.dram.bytes_per_s

    def place(key: tuple[str, str, str]) -> tuple[int, int, str, tuple[float, float]]:
        vendor, kind, _ = key
        rank = _VENDORS.index(vendor) if vendor in _VENDORS else len(_VENDORS)
        return list(_KINDS).index(kind), rank, vendor, min(map(speed, groups[key]))

    return [
        (f"{vendor} {_KINDS[kind]}, {arch}", sorted(groups[vendor, kind, arch], key=speed))
        for vendor, kind, arch in sorted(groups, key=place)
    ]
