"""The provenance of a number of a device file, as its source begins.

``estimate``, ``scaled`` (from another device), ``as`` (another device's own number) and
``disputed`` (measurements disagree) say that a number was not simply measured; every other source
is of a measurement, or of a data sheet where the number is one of a data sheet.
"""

from __future__ import annotations

from tirlens.hardware.spec import Device

UNMEASURED_KINDS = ("estimate", "scaled", "as", "disputed")
_MEMORY = ("dram.sustained_fraction", "l2.bytes_per_s")


def unmeasured_kind(device: Device, key: str) -> str | None:
    """The element of `UNMEASURED_KINDS` that describes the number `key`; None if measured.

    A number without a source is an estimate.
    """
    source = device.sources.get(key)
    if source is None or source.endswith("without a source"):
        return "estimate"
    words = source.replace(":", " ").split()
    return words[0] if words[0] in UNMEASURED_KINDS else None


def is_measured(device: Device) -> bool:
    """Whether the file has a measurement for any of the rates that the device sustains."""
    return any(
        unmeasured_kind(device, key) is None
        for key in device.sources
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
