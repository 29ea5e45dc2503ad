"""The launch of a kernel and the transfers of its arrays, each with the tier of its facts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tirlens.ide import labels

if TYPE_CHECKING:
    from tirlens.model.report import KernelReport, Occupancy, Waves
    from tirlens_worker.facts import LoweredLaunch, Move

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


def transfers_of_arrays(lowered: LoweredLaunch) -> dict[str, str]:
    """``read by TMA``, ``written 4 B at a time`` by the name of the array."""
    found: dict[str, list[str]] = {}
    for move in lowered.moves:
        found.setdefault(labels.ascii_(move.buffer), []).append(_transfer_text(move))
    return {name: ", ".join(manners) for name, manners in found.items()}


def loading_warps(lowered: LoweredLaunch) -> dict[str, str]:
    """``a producer's warps`` or ``the warps that compute`` for the load of each array."""
    loads = lowered.routes.loads if lowered.routes is not None else ()
    found: dict[str, set[bool]] = {}
    for load in loads:
        found.setdefault(f"load of {labels.ascii_(load.buffer)}", set()).add(load.by_producer)
    words = {True: "a producer's warps", False: "the warps that compute"}
    return {
        name: " and ".join(words[is_producers] for is_producers in sorted(kinds, reverse=True))
        for name, kinds in found.items()
    }


def product_instructions(lowered: LoweredLaunch) -> dict[str, str]:
    """``wgmma``, ``mma`` for the products that add to each array, by its name."""
    products = lowered.routes.products if lowered.routes is not None else ()
    if not products:
        family = lowered.matrix_instruction
        return {"products": family} if family is not None else {}
    found: dict[str, set[str]] = {}
    for product in products:
        name = f"product of {labels.ascii_(product.accumulator)}"
        found.setdefault(name, set()).add(product.instruction)
    return {name: " and ".join(sorted(kinds)) for name, kinds in found.items()}


def _transfer_text(move: Move) -> str:
    words = [_VERBS[move.mode]]
    if move.route in _ROUTES:
        words.append(_ROUTES[move.route])
    if move.widths_bytes:
        words.append(" and ".join(map(str, move.widths_bytes)) + " B at a time")
    return " ".join(words)
