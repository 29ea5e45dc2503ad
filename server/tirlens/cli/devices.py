"""``tirlens devices``: the catalogue, one device with its sources, or what this machine has."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from rich import box
from rich.table import Table

from tirlens import hardware
from tirlens.cli import detection, device_page
from tirlens.cli.columns import fitting_columns
from tirlens.cli.errors import UsageError
from tirlens.cli.output import console, stream, write_json
from tirlens.hardware import Device, DeviceError
from tirlens.ide import labels

_MATRIX_TYPES = ("tensor.float16", "tensor.bfloat16", "tensor.int8", "tensor.float8")
_TEXTS = ("id", "name", "arch")
# What is left out where a line has no room for it, in this order.
_LEAST_IMPORTANT = ("name", "arch", "shared per SM", "L2", "fp32")


def execute(arguments: argparse.Namespace) -> int:
    """Print the catalogue, one device, or the devices of this machine."""
    if arguments.detect:
        if arguments.id is not None:
            raise UsageError("--detect looks for this machine's devices and takes no ID")
        return detection.execute(arguments)
    if arguments.id is None:
        found = [hardware.load(name) for name in hardware.catalogue()]
    else:
        try:
            found = [hardware.load(arguments.id)]
        except DeviceError as error:
            raise UsageError(str(error)) from error
    with stream(arguments.output) as file:
        if arguments.format == "json":
            made = [plain(device) for device in found]
            write_json(file, made[0] if arguments.id else made)
            return 0
        out = console(file, arguments.color)
        if arguments.id is None:
            out.print(_catalogue(found, out.width))
        else:
            device_page.show(out, found[0])
    return 0


def plain(device: Device) -> dict[str, Any]:
    """A device as values for JSON, with the source of each number."""
    return {**asdict(device), "features": sorted(device.features), "sources": dict(device.sources)}


def _catalogue(found: list[Device], room: int) -> Table:
    """The catalogue in `room` characters a line: ids and as many numbers as there is room for."""
    rows = [_cells(device) for device in found]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    # The table has one more space between columns.
    names = fitting_columns(list(rows[0]), rows, room - len(rows[0]), _LEAST_IMPORTANT)
    for name in names:
        table.add_column(name, justify="left" if name in _TEXTS else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(row[name] for name in names))
    return table


def _cells(device: Device) -> dict[str, str]:
    matrix = next((device.peaks[name] for name in _MATRIX_TYPES if name in device.peaks), None)
    fp32 = device.peaks.get("fp32")
    return {
        "id": device.id,
        "name": device.name,
        "arch": device.arch,
        "SMs": str(device.sm_count),
        "fp32": labels.rate(fp32.flop_per_s, "FLOP") if fp32 else "",
        "16-bit matrix": labels.rate(matrix.flop_per_s, "FLOP") if matrix else "",
        "DRAM": labels.rate(device.dram.bytes_per_s, "B"),
        "L2": labels.bytes_(device.l2.bytes),
        "shared per SM": labels.bytes_(device.limits.shared_bytes_per_sm),
    }
