"""``tirlens devices --detect``: the devices of this machine and their catalogue entries."""

from __future__ import annotations

import argparse
import os
import platform
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tirlens.cli.output import console, stream, write_json
from tirlens.file_reader import read_text
from tirlens.hardware import DEFAULT_DEVICE, Device, for_target
from tirlens.hardware.detect import Match, matches
from tirlens.ide import labels

_CPUINFO = Path("/proc/cpuinfo")


def execute(arguments: argparse.Namespace) -> int:
    """Print the GPUs and the CPU of this machine with their entries."""
    found = matches()
    cpu, cpu_device = _cpu()
    with stream(arguments.output) as file:
        if arguments.format == "json":
            table = {
                "gpus": [_plain(match) for match in found],
                "cpu": {"name": cpu, "device": cpu_device.id, "cores": os.cpu_count()},
                "default_device": _default(found),
            }
            write_json(file, table)
            return 0
        out = console(file, arguments.color)
        for match in found:
            _gpu(out, match)
        if not found:
            out.print("no GPU found: neither nvidia-smi nor rocm-smi reports one")
        out.print(Text(f"CPU: {cpu}, {os.cpu_count()} logical cores"))
        out.print(f"  {cpu_device.id} is the generic entry for it: its numbers are not this CPU's")
        out.print(
            f"estimates are for {_default(found)} unless a kernel or an option says otherwise"
        )
    return 0


def _default(found: tuple[Match, ...]) -> str:
    return next((match.device.id for match in found if match.device), DEFAULT_DEVICE)


def _gpu(out: Console, match: Match) -> None:
    gpu = match.gpu
    properties = [
        labels.bytes_(gpu.memory_bytes) if gpu.memory_bytes else "",
        f"up to {labels.quantity(gpu.max_clock_hz, 'Hz')}" if gpu.max_clock_hz else "",
        f"{gpu.power_limit_w:.4g} W" if gpu.power_limit_w else "",
        gpu.arch or "",
    ]
    out.print(Text(f"GPU: {', '.join([gpu.name, *filter(None, properties)])}", style="bold"))
    if match.device is None:
        out.print("  not in the catalogue, nor is its architecture; write a device file for it")
        return
    if match.exact:
        out.print(f"  {match.device.id} ({match.device.name})")
    for difference in match.differences:
        out.print(Text(f"  {difference}", style="yellow"))
    if match.differences:
        out.print(
            f'  a file with extends = "{match.device.id}" and your own numbers corrects it; '
            "tirlens calibrate measures them"
        )


def _plain(match: Match) -> dict[str, Any]:
    gpu = match.gpu
    return {
        "name": gpu.name,
        "vendor": gpu.vendor,
        "arch": gpu.arch,
        "memory_bytes": gpu.memory_bytes,
        "max_clock_hz": gpu.max_clock_hz,
        "power_limit_w": gpu.power_limit_w,
        "mig": list(gpu.mig),
        "device": match.device.id if match.device else None,
        "exact": match.exact,
        "differences": list(match.differences),
    }


def _cpu() -> tuple[str, Device]:
    """The name of this machine's CPU, and the generic entry that is nearest to it."""
    text = read_text(_CPUINFO, errors="replace") if _CPUINFO.is_file() else ""
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    values = {key.strip(): value.strip() for key, value in lines.items()}
    name = values.get("model name") or platform.processor() or platform.machine()
    features = [f"+{flag}" for flag in values.get("flags", "").split()]
    device = for_target({"kind": "llvm", "mattr": features, "mtriple": platform.machine().lower()})
    assert device is not None  # Every llvm target has a generic entry.
    return name, device
