"""The catalogue's entries of the devices that traces name."""

from __future__ import annotations

from dataclasses import dataclass

from tirlens.hardware import DeviceError, load
from tirlens.hardware.detect import FoundGpu, identify
from tirlens.measured.records import MeasuredDevice


@dataclass(frozen=True)
class CatalogueDevice:
    """The entry for a device of a trace; `note` says how it differs, empty where it is exact."""

    id: str
    note: str = ""


def catalogue_device(device: MeasuredDevice) -> CatalogueDevice | None:
    """The entry of a device by its name, else by its architecture; None where there is none."""
    if not device.name and not device.architecture:
        return None
    found = identify(FoundGpu(device.name or "", "", _architecture(device.architecture)))
    if found.device is not None:
        note = (
            "" if found.exact else f"{device.name or device.architecture}: {found.differences[0]}"
        )
        return CatalogueDevice(found.device.id, note)
    try:
        return CatalogueDevice(load(device.name or "").id)
    except DeviceError:
        return None


def _architecture(text: str | None) -> str | None:
    """``sm_90`` of ``sm_90``, ``sm_90a``, ``9.0`` and ``90``; another architecture as it is."""
    if not text:
        return None
    digits = text.removeprefix("sm_").rstrip("af").replace(".", "")
    return f"sm_{digits}" if digits.isdigit() else text
