"""Reasons for the growth of a kernel: the figures that differ."""

from __future__ import annotations

from collections.abc import Callable

from tirlens.ide import labels, launch
from tirlens.model.report import KernelReport

_FIGURES: tuple[tuple[str, Callable[[KernelReport], object]], ...] = (
    ("bound", lambda k: k.bound),
    ("operations", lambda k: labels.work(k.operations)),
    ("DRAM", lambda k: labels.bytes_(k.dram_bytes.total)),
    ("issued bytes", lambda k: labels.bytes_(k.global_bytes.total)),
    ("grid", lambda k: " x ".join(map(str, k.grid))),
    ("threads", lambda k: k.threads_per_block),
    ("shared memory", lambda k: labels.bytes_(k.shared_bytes_per_block)),
    ("blocks per SM", lambda k: k.occupancy and k.occupancy.blocks_per_sm),
    ("launch", lambda k: k.waves and launch.waves(k.waves)),
)


def reasons(before: KernelReport, now: KernelReport) -> list[str]:
    """``DRAM 1.2 GB -> 2.4 GB`` for each figure that differs."""
    out: list[str] = []
    for name, figure in _FIGURES:
        old, new = figure(before), figure(now)
        if old != new and None not in (old, new):
            out.append(f"{name} {old} -> {new}")
    return out
