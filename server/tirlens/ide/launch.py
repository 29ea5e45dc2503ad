"""The launch of a kernel and the transfers of its arrays, each with the tier of its facts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tirlens.ide import labels

if TYPE_CHECKING:
    from tirlens.model.report import KernelReport, Occupancy, Waves
    from tirlens_worker.facts import Move

_VERBS = {"read": "read", "write": "written", "atomic": "updated atomically"}
_ROUTES = {"tma": "by TMA", "async": "by cp.async"}


def block(report: KernelReport) -> str:
    """``256 threads, 98.4 kB shared (lowered)``; without the figures that are not known.

    Threads that lowering adds, such as those of a producer, are distinguished from those in the
    source.
    """
    parts: list[str] = []
    if report.threads_per_block is not None:
        written = report.threads_written
        added = written not in (None, report.threads_per_block)
        parts.append(f"{report.threads_per_block} threads" + f" ({written} written)" * added)
    if report.shared_bytes_per_block is not None:
        parts.append(f"{labels.bytes_(report.shared_bytes_per_block)} shared")
    if report.compiled is not None:
        parts.append(f"{report.registers_per_thread} registers a thread")
    return f"{', '.join(parts)} ({report.launch_facts})" if parts else ""


def blocks_per_sm(occupancy: Occupancy) -> str:
    """``1 block per SM``, ``2 blocks per SM``."""
    count = occupancy.blocks_per_sm
    return f"{count} block{'s' * (count != 1)} per SM"


def wave_count(waves: Waves) -> int:
    """The waves of a launch, of which the last may be a part of one."""
    return max(math.ceil(waves.count), 1)


def last_wave(waves: Waves) -> str:
    """``the last 3% full``: the blocks of the last wave over those of a whole one."""
    filled = waves.count - (wave_count(waves) - 1)
    whole = "" if wave_count(waves) == 1 else "the last "
    return f"{whole}{labels.percent(filled)} full"


def waves(found: Waves) -> str:
    """``32 waves, the last 3% full``, ``1 wave, 24% full``."""
    return f"{labels.count(wave_count(found), 'wave')}, {last_wave(found)}"


def array_transfers(report: KernelReport) -> str:
    """``A, B read by TMA; C written 4 B at a time``; empty for a kernel that was not lowered."""
    if report.lowered is None:
        return ""
    groups: dict[str, list[str]] = {}
    for move in report.lowered.moves:
        groups.setdefault(_transfer_text(move), []).append(labels.ascii_(move.buffer))
    return "; ".join(f"{', '.join(names)} {manner}" for manner, names in groups.items())


def _transfer_text(move: Move) -> str:
    words = [_VERBS[move.mode]]
    if move.route in _ROUTES:
        words.append(_ROUTES[move.route])
    if move.widths_bytes:
        words.append(" and ".join(map(str, move.widths_bytes)) + " B at a time")
    return " ".join(words)
