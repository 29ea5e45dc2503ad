"""The device of an architecture object, such as ``tilelang.carver.arch.CUDA``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tirlens.hardware.board_names import describe_other_board
from tirlens.hardware.detect import FoundGpu, identify
from tirlens.hardware.spec import Device
from tirlens.hardware.toml_file import DeviceError

# tilelang gives every device these MB/s: "find some way to get the real bandwidth"
# (tilelang/carver/arch/cuda.py).
_PLACEHOLDER_BANDWIDTH = (750, 12080)


def from_architecture(architecture: Any) -> Device:
    """The catalogue's device of an architecture object, with the numbers of the object.

    Parameters
    ----------
    architecture
        Any object with ``compute_capability`` (``"9.0"``, ``"90"``, ``(9, 0)``) and, optionally,
        ``name``, ``compute_max_core`` (SMs), ``l2_cache_size_bytes`` and ``bandwidth`` (the second
        element is that of DRAM in MB/s), as in tilelang's `TileDevice`.  ``smem_cap`` is not used:
        it is the shared memory of a block without opt-in.

    Returns
    -------
    The device.  Arithmetic peaks are scaled by the number of SMs.  Caveats say which figures are
    the object's own, and that the catalogue lacks the board.

    Raises
    ------
    DeviceError
        No device of the catalogue has this compute capability.
    """
    capability = architecture.compute_capability
    arch = "sm_" + _capability_text(capability).replace(".", "")
    name = str(getattr(architecture, "name", ""))
    match = identify(FoundGpu(name, "NVIDIA", arch))
    device = match.device
    if device is None:
        raise DeviceError(f"no device of the catalogue has compute capability {capability}")
    if not match.exact:
        board = name or "the board of the architecture object"
        own = "; figures of the object take precedence"
        notes = (describe_other_board(board, device) + own,)
    else:
        notes = tuple(f"{name}: {text}" for text in match.differences)
    device = replace(device, caveats=(*device.caveats, *notes))
    for attribute, (read, change) in _OVERRIDES.items():
        value = read(getattr(architecture, attribute, None))
        if value is not None:
            changed = change(device, value)
            if changed != device:
                note = f"{attribute} is that of the architecture object: {value:g}"
                device = replace(changed, caveats=(*device.caveats, note))
    return device


def _positive(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and value > 0 else None


def _dram_bytes_per_s(value: Any) -> float | None:
    if not isinstance(value, (tuple, list)) or len(value) != 2:  # pyright: ignore[reportUnknownArgumentType]
        return None
    if tuple(value) == _PLACEHOLDER_BANDWIDTH:  # pyright: ignore[reportUnknownArgumentType]
        return None
    megabytes_per_s = _positive(value[1])
    return None if megabytes_per_s is None else megabytes_per_s * 1e6


def _with_sm_count(device: Device, value: float) -> Device:
    return device if value == device.sm_count else device.with_sm_count(round(value))


def _with_l2_bytes(device: Device, value: float) -> Device:
    return replace(device, l2=replace(device.l2, bytes=round(value)))


def _with_dram_rate(device: Device, value: float) -> Device:
    return replace(device, dram=replace(device.dram, bytes_per_s=value))


_Override = tuple[Callable[[Any], "float | None"], Callable[[Device, float], Device]]
_OVERRIDES: Mapping[str, _Override] = {
    "compute_max_core": (_positive, _with_sm_count),
    "l2_cache_size_bytes": (_positive, _with_l2_bytes),
    "bandwidth": (_dram_bytes_per_s, _with_dram_rate),
}


def _capability_text(capability: Any) -> str:
    """``9.0`` for ``(9, 0)``, ``90``, ``"90"``, ``"sm_90a"`` and ``9.0``."""
    if isinstance(capability, (tuple, list)):
        return ".".join(map(str, capability))  # pyright: ignore[reportUnknownArgumentType]
    digits = str(capability).removeprefix("sm_").rstrip("af")
    return digits if "." in digits else f"{digits[:-1]}.{digits[-1:]}"
