"""The devices of this machine, and the catalogue entry of each.

The drivers' tools (``nvidia-smi``, ``rocm-smi``, ``sysctl``) report the name, the memory, the clock
and the power limit, but neither the SM count nor any rate.  The other numbers are those of the
catalogue, and differences from the entry are reported.
"""

from __future__ import annotations

import functools
import json
import platform
import re
import shutil
import subprocess
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from tirlens.hardware.board_names import board_of, memory_in_name
from tirlens.hardware.catalogue import for_architecture
from tirlens.hardware.spec import Device

MIB = 1 << 20
TIMEOUT_S = 3.0
# Data sheets give GB, drivers GiB less the reserved memory.
MEMORY_TOLERANCE = 0.12
CLOCK_TOLERANCE = 0.03
POWER_TOLERANCE = 0.03
_NVIDIA_FIELDS = (
    "name",
    "compute_cap",
    "memory.total",
    "clocks.max.sm",
    "power.limit",
)
_OLD_NVIDIA_FIELDS = ("name", "memory.total", "clocks.max.sm", "power.limit")


@dataclass(frozen=True)
class FoundGpu:
    """A GPU as its driver describes it; None is what the driver does not report.

    `mig` are the profiles (``1g.10gb``) of the parts of a partitioned NVIDIA GPU.
    """

    name: str
    vendor: str
    arch: str | None = None
    memory_bytes: int | None = None
    max_clock_hz: float | None = None
    power_limit_w: float | None = None
    mig: tuple[str, ...] = ()


@dataclass(frozen=True)
class Match:
    """The catalogue's entry for a GPU.

    `device` is None for an unknown architecture; `exact` is False when only the architecture is
    known.  `differences` describe where the GPU differs from the entry's numbers.
    """

    gpu: FoundGpu
    device: Device | None
    exact: bool
    differences: tuple[str, ...] = ()


def matches() -> tuple[Match, ...]:
    """All GPUs of this machine with their entries, in the order of the drivers."""
    return tuple(identify(gpu) for gpu in gpus())


_detection_lock = threading.Lock()


def machine_device() -> Device | None:
    """The entry of this machine's first GPU, None without one; detected once in a process.

    Differences between the GPU and the entry are among the device's caveats.  A query of a driver
    takes up to a second; a caller that cannot wait calls this on another thread beforehand.
    Concurrent callers wait for the same query.
    """
    with _detection_lock:
        return _first_device()


def forget() -> None:
    """Detect the machine's GPU again at the next call of `machine_device`."""
    _first_device.cache_clear()


@functools.cache
def _first_device() -> Device | None:
    for match in matches():
        if match.device is not None:
            notes = (f"{match.gpu.name} of this machine: {text}" for text in match.differences)
            return replace(match.device, caveats=(*match.device.caveats, *notes))
    return None


def gpus() -> tuple[FoundGpu, ...]:
    """The GPUs that the drivers of this machine report."""
    if platform.system() == "Darwin":
        return parse_apple(_tool_output("sysctl", "-n", "machdep.cpu.brand_string"))
    nvidia: tuple[FoundGpu, ...] = ()
    for fields in (_NVIDIA_FIELDS, _OLD_NVIDIA_FIELDS):
        query = f"--query-gpu={','.join(fields)}"
        text = _tool_output("nvidia-smi", query, "--format=csv,noheader,nounits")
        nvidia = parse_nvidia(text, fields)
        if nvidia:
            nvidia = with_mig(nvidia, _tool_output("nvidia-smi", "-L"))
            break
        if text is None:
            break
    wanted = ("--showproductname", "--showmeminfo", "vram", "--json")
    return nvidia + parse_rocm(_tool_output("rocm-smi", *wanted))


def driver_version(vendor: str) -> str | None:
    """The version of the driver of a vendor's GPUs, None if its tool reports none."""
    if vendor == "NVIDIA":
        query = ("--query-gpu=driver_version", "--format=csv,noheader")
        return parse_nvidia_driver(_tool_output("nvidia-smi", *query))
    return parse_rocm_driver(_tool_output("rocm-smi", "--showdriverversion", "--json"))


def parse_nvidia_driver(text: str | None) -> str | None:
    """The version in the first line of ``nvidia-smi``, which is a sentence where it fails."""
    first = next(iter((text or "").split("\n")), "").strip()
    return first if re.fullmatch(r"[\d.]+", first) else None


def parse_rocm_driver(text: str | None) -> str | None:
    """The version in the JSON of ``rocm-smi``."""
    found = re.search(r'"Driver version"\s*:\s*"([^"]+)"', text or "", re.IGNORECASE)
    return found[1] if found else None


def _tool_output(command: str, *arguments: str) -> str | None:
    """The output of a tool, also when it fails; None when there is no such tool or it hangs."""
    path = shutil.which(command)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def parse_nvidia(text: str | None, fields: Sequence[str] = _NVIDIA_FIELDS) -> tuple[FoundGpu, ...]:
    """The GPUs in the CSV of ``nvidia-smi --query-gpu``; lines that are no row are passed over.

    A driver that does not know a field or is not running prints a sentence instead, and
    ``[N/A]`` or ``[Not Supported]`` for a field that a board does not report.
    """
    found: list[FoundGpu] = []
    for line in (text or "").splitlines():
        values = [value.strip() for value in line.split(",")]
        if len(values) != len(fields) or not values[0]:
            continue
        row = dict(zip(fields, values, strict=True))
        capability = row.get("compute_cap", "")
        memory_mib = _number(row["memory.total"])
        clock_mhz = _number(row["clocks.max.sm"])
        found.append(
            FoundGpu(
                name=row["name"],
                vendor="NVIDIA",
                arch=f"sm_{capability.replace('.', '')}" if _number(capability) else None,
                memory_bytes=round(memory_mib * MIB) if memory_mib else None,
                max_clock_hz=clock_mhz * 1e6 if clock_mhz else None,
                power_limit_w=_number(row["power.limit"]),
            )
        )
    return tuple(found)


def with_mig(found: Sequence[FoundGpu], listing: str | None) -> tuple[FoundGpu, ...]:
    """The GPUs with the parts that ``nvidia-smi -L`` lists under each."""
    parts: list[list[str]] = []
    for line in (listing or "").splitlines():
        if re.match(r"GPU \d+:", line):
            parts.append([])
        elif parts and (profile := re.match(r"\s+MIG (\S+)\s+Device", line)):
            parts[-1].append(profile.group(1))
    if len(parts) != len(found):
        return tuple(found)
    return tuple(replace(gpu, mig=tuple(mig)) for gpu, mig in zip(found, parts, strict=True))


def parse_rocm(text: str | None) -> tuple[FoundGpu, ...]:
    """The GPUs in the JSON of ``rocm-smi``, whose keys differ in case between versions."""
    start = (text or "").find("{")
    if text is None or start < 0:
        return ()
    try:
        table: Any = json.loads(text[start:])
    except ValueError:
        return ()
    found: list[FoundGpu] = []
    for card, values in cast("dict[str, Any]", table).items():
        if not card.startswith("card") or not isinstance(values, dict):
            continue
        row = {str(k).lower(): str(v) for k, v in cast("dict[Any, Any]", values).items()}
        name = next((row[key] for key in ("card series", "device name") if key in row), None)
        if name is None:
            continue
        memory = _number(row.get("vram total memory (b)", ""))
        arch = row.get("gfx version")
        found.append(FoundGpu(name, "AMD", arch, round(memory) if memory else None))
    return tuple(found)


def parse_apple(text: str | None) -> tuple[FoundGpu, ...]:
    """The GPU of an Apple chip, by the chip's name (``Apple M2 Max``)."""
    name = (text or "").strip()
    return (FoundGpu(name, "Apple"),) if name.startswith("Apple M") else ()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def identify(gpu: FoundGpu) -> Match:
    """The entry of the model in a GPU's name, else the nearest of its architecture, else none."""
    memory_bytes = gpu.memory_bytes or memory_in_name(gpu.name)
    board = board_of(gpu.name, memory_bytes)
    if board is not None:
        device, exact = board.device, board.is_exact
    else:
        device, exact = for_architecture(gpu.arch) if gpu.arch else None, False
    if device is None:
        return Match(gpu, None, False)
    notes = [] if exact else [f"not in the catalogue: {device.id} is only the nearest entry"]
    found = replace(gpu, memory_bytes=memory_bytes)
    return Match(gpu, device, exact, (*notes, *_differences(found, device)))


def _differences(gpu: FoundGpu, device: Device) -> Iterable[str]:
    memory, clock, power = gpu.memory_bytes, gpu.max_clock_hz, gpu.power_limit_w
    if memory and abs(memory / device.dram.bytes - 1) > MEMORY_TOLERANCE:
        yield (
            f"memory: {memory / 1e9:.4g} GB here, {device.dram.bytes / 1e9:.4g} GB in the entry; "
            "another size often has another rate"
        )
    rated = max(device.clock_hz, *(peak.clock_hz or 0.0 for peak in device.peaks.values()))
    if clock and abs(clock / rated - 1) > CLOCK_TOLERANCE:
        yield f"clock: up to {clock / 1e6:.0f} MHz here, rated at {rated / 1e6:.0f} MHz"
    if power and device.tdp_w and power < device.tdp_w * (1 - POWER_TOLERANCE):
        yield (
            f"power: limited to {power:.4g} W of {device.tdp_w:.4g} W, so that long matrix "
            "products run at lower clocks than the sustained rates assume"
        )
    if gpu.mig:
        yield (
            f"MIG: split into {', '.join(gpu.mig)}; a part has its share of the SMs, L2 and "
            "memory rate, and the entry is of the whole GPU"
        )
