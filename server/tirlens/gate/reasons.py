"""The figures of a kernel that differ between two versions of it: reasons for the growth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tirlens.ide import labels, launch
from tirlens.model.report import KernelReport
from tirlens_worker.facts import LoweredLaunch

Aspect = Literal["program", "threads", "copies", "products", "shared memory", "registers", "spills"]
"""What a framework and a compiler decide about a kernel."""

_FIGURES: tuple[tuple[str, Aspect | None, Callable[[KernelReport], object]], ...] = (
    ("bound", None, lambda k: k.bound),
    ("operations", "program", lambda k: labels.work(k.operations)),
    ("DRAM", None, lambda k: labels.bytes_(k.dram_bytes.total)),
    ("issued bytes", "program", lambda k: labels.bytes_(k.global_bytes.total)),
    ("grid", "program", lambda k: " x ".join(map(str, k.grid))),
    ("threads", "threads", lambda k: k.threads_per_block),
    ("shared memory", "shared memory", lambda k: labels.bytes_(k.shared_bytes_per_block)),
    ("registers", "registers", lambda k: k.registers_per_thread),
    ("spills", "spills", lambda k: labels.bytes_(k.spill_bytes)),
    ("blocks per SM", None, lambda k: k.occupancy and k.occupancy.blocks_per_sm),
    ("launch", None, lambda k: k.waves and launch.waves(k.waves)),
)
_ROUTES: tuple[tuple[Aspect, Callable[[LoweredLaunch], dict[str, str]]], ...] = (
    ("copies", launch.transfers_of_arrays),
    ("copies", launch.loading_warps),
    ("products", launch.product_instructions),
)
_UNKNOWN = labels.bytes_(None)


@dataclass(frozen=True)
class FigureChange:
    """A figure that differs, in words; `aspect` is what decides it, None for a consequence."""

    name: str
    before: str
    now: str
    aspect: Aspect | None = None

    @property
    def text(self) -> str:
        """``DRAM 1.2 GB -> 2.4 GB``."""
        return f"{self.name} {self.before} -> {self.now}"


class _Pair(NamedTuple):
    """A figure of both sides."""

    name: str
    aspect: Aspect | None
    before: object
    now: object


def figure_changes(before: KernelReport, now: KernelReport) -> list[FigureChange]:
    """The figures and the routes of lowered code that differ; what one side lacks is left out."""
    pairs = [_Pair(name, aspect, of(before), of(now)) for name, aspect, of in _FIGURES]
    return [
        FigureChange(pair.name, str(pair.before), str(pair.now), pair.aspect)
        for pair in (*pairs, *_route_pairs(before, now))
        if pair.before != pair.now and not {None, "", _UNKNOWN} & {pair.before, pair.now}
    ]


def reasons(before: KernelReport, now: KernelReport) -> list[str]:
    """``DRAM 1.2 GB -> 2.4 GB`` for each figure that differs."""
    return [change.text for change in figure_changes(before, now)]


def _route_pairs(before: KernelReport, now: KernelReport) -> Iterator[_Pair]:
    """How arrays are copied, by which warps, and the instructions of the products."""
    if before.lowered is None or now.lowered is None:
        return
    for aspect, of in _ROUTES:
        old, new = of(before.lowered), of(now.lowered)
        yield from (_Pair(name, aspect, old[name], new[name]) for name in old if name in new)
