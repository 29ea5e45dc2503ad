"""Devices as data: the catalogue under ``data/`` and files that a user writes."""

from tirlens.hardware.catalogue import DEFAULT_DEVICE, catalogue, load
from tirlens.hardware.spec import Cache, Device, Limits, MemoryLevel, Peak
from tirlens.hardware.targets import DEFAULT_CPU, for_target
from tirlens.hardware.toml_file import DeviceError

__all__ = [
    "DEFAULT_CPU",
    "DEFAULT_DEVICE",
    "Cache",
    "Device",
    "DeviceError",
    "Limits",
    "MemoryLevel",
    "Peak",
    "catalogue",
    "for_target",
    "load",
]
