"""``devices``: the devices of the catalogue, or one of them with its rates and limits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tirlens.hardware import Device, catalogue, load
from tirlens.ide.device_list import compared_peak, device_groups
from tirlens.tools.answers import Page
from tirlens.tools.arguments import argument
from tirlens.tools.errors import ToolError
from tirlens.tools.workbench import Workbench, find_device


@dataclass(frozen=True)
class Devices(Page):
    """The request."""

    id: str | None = argument(
        "A device's id or another of its names (h100, sm_90): its rates and limits",
        None,
        example="h100-sxm",
    )
    match: str | None = argument(
        "Only devices whose id, name, vendor or arch contains this; * and ? match", None
    )


@dataclass(frozen=True)
class DeviceRow:
    """A device in short."""

    id: str
    name: str
    arch: str
    kind: str
    cores: int
    peak_flop_per_s: Mapping[str, float]
    dram_bytes_per_s: float
    l2_bytes: int | None = None
    clock_hz: float | None = None
    shared_bytes_per_sm: int | None = None
    registers_per_sm: int | None = None
    threads_per_sm: int | None = None


@dataclass(frozen=True)
class DeviceList:
    """The answer."""

    devices: tuple[DeviceRow, ...]
    total: int
    next_offset: int | None = None


async def devices(bench: Workbench, request: Devices) -> DeviceList:
    """List devices, or describe one."""
    if request.id is not None:
        if "/" in request.id or "\\" in request.id or request.id.endswith(".toml"):
            found = find_device(str(bench.folders.file(request.id, "id").path))
        else:
            found = find_device(request.id)
        return DeviceList((_whole(found),), 1)
    listed = await asyncio.to_thread(_all_in_order)
    pattern = f"*{request.match.lower()}*" if request.match else "*"
    matching = [one for one in listed if any(fnmatchcase(text, pattern) for text in _texts(one))]
    if not matching:
        raise ToolError(
            "no-device",
            f"No device matches {request.match!r:.100}. Send no match for all "
            f"{len(listed)} devices.",
            {"match": "h100"},
        )
    page = request.cut(matching)
    return DeviceList(tuple(map(_row, page.items)), page.total, page.next_offset)


def _all_in_order() -> list[Device]:
    groups = device_groups(map(load, catalogue()))
    return [device for _, group in groups for device, _ in group]


def _texts(device: Device) -> tuple[str, ...]:
    return tuple(
        text.lower() for text in (device.id, device.name, device.vendor, device.arch, device.kind)
    )


def _row(device: Device) -> DeviceRow:
    peak = compared_peak(device)
    return DeviceRow(
        device.id,
        device.name,
        device.arch,
        device.kind,
        device.sm_count,
        {peak[0]: peak[1]} if peak else {},
        device.dram.bytes_per_s,
    )


def _whole(device: Device) -> DeviceRow:
    limits = device.limits
    return DeviceRow(
        device.id,
        device.name,
        device.arch,
        device.kind,
        device.sm_count,
        {name: peak.flop_per_s for name, peak in device.peaks.items()},
        device.dram.bytes_per_s,
        device.l2.bytes,
        device.clock_hz,
        limits.shared_bytes_per_sm,
        limits.registers_per_sm,
        limits.threads_per_sm,
    )
