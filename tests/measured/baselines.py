"""What else one could predict with: rooflines, and tilelang's own analyzer.

The rooflines know the operation's ideal work, not the kernel: the datasheet's rates as they are, or
with two numbers calibrated, the shares of the memory's and of the arithmetic's rate that kernels
reach, plus 2 us a launch.  The two are fitted on the fitted half of the device's rows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from measured.tables import Measurement
from tirlens.hardware import Device

LAUNCH_S = 2e-6
# A unit that the ideal work alone keeps busy for this share of the measured time is what bounds it.
KNOWN_BUSY = 0.8
# Nearest to the usual 0.86 first: it stays where no row tells.
_SHARES = sorted((share / 50 for share in range(10, 51)), key=lambda share: abs(share - 0.86))


@dataclass(frozen=True)
class Shares:
    """The calibrated roofline's two numbers, of the datasheet's rates."""

    memory: float
    arithmetic: float


def datasheet_s(item: Measurement, device: Device) -> float | None:
    """The datasheet roofline's time, None where the ideal work is not known."""
    parts = _parts(item, device)
    return None if parts is None else max(parts) + item.harness_s


def calibrated_s(item: Measurement, device: Device, shares: Shares) -> float | None:
    parts = _parts(item, device)
    if parts is None:
        return None
    arithmetic_s, memory_s = parts
    own_s = max(arithmetic_s / shares.arithmetic, memory_s / shares.memory)
    return own_s + LAUNCH_S + item.harness_s


def calibrate(items: Iterable[Measurement], device: Device) -> Shares | None:
    """The two shares with the least median |ln(predicted / measured)|; None without any rows.

    The median and not the mean: kernels far above any roofline would pull the shares down for all.
    """
    known = [
        (*parts, item.measured_s, item.harness_s)
        for item in items
        if (parts := _parts(item, device)) is not None
    ]
    if not known:
        return None
    work_s, memory_s, measured_s, harness_s = np.array(known).T

    def loss(shares: Shares) -> float:
        own_s = np.maximum(work_s / shares.arithmetic, memory_s / shares.memory)
        return float(np.median(np.abs(np.log((own_s + LAUNCH_S + harness_s) / measured_s))))

    return min((Shares(m, a) for m in _SHARES for a in _SHARES), key=loss)


def known_class(item: Measurement, device: Device) -> str | None:
    """What bounds a kernel by its measured time alone: ``memory``, ``compute`` or None.

    Its ideal work must keep DRAM, or the arithmetic of its class, busy nearly all of the time; for
    DRAM's part the arrays are larger than what L2 could keep from one run to the next.  Of most
    kernels neither can be said, as the ideal work leaves out what the kernel does beside it.
    """
    parts = _parts(item, device)
    if parts is None or item.bytes is None:
        return None
    arithmetic_s, memory_s = parts
    own_s = item.measured_s - item.harness_s
    memory = memory_s / device.dram.sustained_fraction / own_s
    arithmetic = arithmetic_s / device.peaks[item.peak].sustained_fraction / own_s
    if memory > KNOWN_BUSY > arithmetic and item.bytes > 2 * device.l2.bytes:
        return "memory"
    return "compute" if arithmetic > KNOWN_BUSY > memory else None


def _parts(item: Measurement, device: Device) -> tuple[float, float] | None:
    if item.flop is None or item.bytes is None or item.peak not in device.peaks:
        return None
    return item.flop / device.peaks[item.peak].flop_per_s, item.bytes / device.dram.bytes_per_s


def analyzer(path: Path) -> dict[tuple[str, int], float]:
    """Seconds that ``tilelang.tools.Analyzer`` gives, by table and row; it is silent on the rest.

    It gives 0 where it counts nothing and less where its 32-bit counters overflow.
    """
    with path.open(encoding="utf-8") as file:
        return {
            (row["table"], int(row["row"])): float(row["time_s"])
            for row in csv.DictReader(file)
            if row["time_s"] and float(row["time_s"]) > 0
        }
