"""Devices as data: the catalogue under ``data/`` and files that a user writes."""

from tirlens.hardware.catalogue import DEFAULT_DEVICE, catalogue, for_target, load
from tirlens.hardware.spec import Device, Limits, MemoryLevel, Peak
from tirlens.hardware.toml_file import DeviceError

__all__ = [
    "DEFAULT_DEVICE",
    "Device",
    "DeviceError",
    "Limits",
    "MemoryLevel",
    "Peak",
    "catalogue",
    "for_target",
    "load",
]
