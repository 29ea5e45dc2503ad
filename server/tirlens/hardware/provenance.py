"""How the numbers of a device are known, and what that says of the device."""

from __future__ import annotations

from tirlens.hardware.quantity import Provenance
from tirlens.hardware.spec import Device

_MEMORY = ("dram.sustained_fraction", "l2.bytes_per_s")


def provenance(device: Device, key: str) -> Provenance:
    """How the number `key` is known; without a source it is an estimate."""
    return device.provenance.get(key, "estimate")


def is_measured(device: Device) -> bool:
    """Whether the file has a measurement for any of the rates that the device sustains."""
    return any(
        known == "measured"
        for key, known in device.provenance.items()
        if key in _MEMORY or (key.startswith("peaks.") and key.endswith(".sustained_fraction"))
    )


def caveats(device: Device) -> tuple[str, ...]:
    """The caveats of every estimate for a device."""
    if device.kind == "cpu" or is_measured(device):
        return device.caveats
    return (
        *device.caveats,
        f"the rates that {device.id} sustains are taken from other devices: its bands are wider",
    )
