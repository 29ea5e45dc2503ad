"""``tirlens devices``: the catalogue, and one device with the source of every number."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from tirlens import hardware
from tirlens.cli.errors import UsageError
from tirlens.cli.output import console, stream
from tirlens.hardware import Device, DeviceError
from tirlens.ide import labels

_MATRIX_TYPES = ("tensor.float16", "tensor.bfloat16", "tensor.int8", "tensor.float8")


def run(arguments: argparse.Namespace) -> int:
    """Print the catalogue or one device."""
    if arguments.id is None:
        found = [hardware.load(name) for name in hardware.catalogue()]
    else:
        try:
            found = [hardware.load(arguments.id)]
        except DeviceError as error:
            raise UsageError(str(error)) from error
    with stream(arguments.output) as file:
        if arguments.format == "json":
            made = [_plain(device) for device in found]
            json.dump(made[0] if arguments.id else made, file, indent=2, ensure_ascii=False)
            file.write("\n")
            return 0
        out = console(file, arguments.color)
        if arguments.id is None:
            out.print(_catalogue(found))
        else:
            out.print(Text(f"{found[0].name} ({found[0].id})", style="bold"))
            out.print(_one(found[0]))
    return 0


def _plain(device: Device) -> dict[str, Any]:
    return {**asdict(device), "features": sorted(device.features), "sources": dict(device.sources)}


def _catalogue(found: list[Device]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for name in ("id", "name", "arch"):
        table.add_column(name, no_wrap=True)
    for name in ("SMs", "fp32", "16-bit matrix", "DRAM", "L2", "shared per SM"):
        table.add_column(name, justify="right", no_wrap=True)
    for device in found:
        matrix = next((device.peaks[name] for name in _MATRIX_TYPES if name in device.peaks), None)
        fp32 = device.peaks.get("fp32")
        table.add_row(
            device.id,
            device.name,
            device.arch,
            str(device.sm_count),
            labels.rate(fp32.flop_per_s, "FLOP") if fp32 else "",
            labels.rate(matrix.flop_per_s, "FLOP") if matrix else "",
            labels.rate(device.dram.bytes_per_s, "B"),
            labels.bytes_(device.l2.bytes),
            labels.bytes_(device.limits.shared_bytes_per_sm),
        )
    return table


def _one(device: Device) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("figure", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("source", overflow="fold")
    for name, value in _figures(_plain(device), ""):
        table.add_row(name, _shown(value), _source(device, name))
    return table


def _figures(data: dict[str, Any], prefix: str) -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for name, value in data.items():
        if name in ("sources", "id", "name"):
            continue
        if isinstance(value, dict):
            out += _figures(value, f"{prefix}{name}.")  # pyright: ignore[reportUnknownArgumentType]
        else:
            out.append((prefix + name, value))
    return out


def _shown(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return ", ".join(value) if isinstance(value, (list, tuple)) else str(value)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, int):
        return str(value)
    return f"{value:.6g}"


def _source(device: Device, name: str) -> str:
    """The source of a figure, or of the group that it is in."""
    while name:
        if name in device.sources:
            return device.sources[name]
        name = name.rpartition(".")[0]
    return ""
