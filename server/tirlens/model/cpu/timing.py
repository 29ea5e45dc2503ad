"""The time of a kernel on a CPU, nest by nest: computing and waiting for cache lines overlap.

After the Execution-Cache-Memory model for several cores (Treibig, Hager, Wellein): each core needs
the longer of its own clocks and of those of its cache lines; the cores share the last cache's and
the memory's rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tirlens.hardware.cpu_core import CpuCache, CpuCore
from tirlens.hardware.spec import Device
from tirlens_worker.facts import Buffer

from ..instructions.places import Around
from ..instructions.work import Item
from .address import LINE_BYTES, PAGE_BYTES
from .caches import (
    Capacity,
    Footprints,
    Signature,
    Stream,
    lines_taken,
    signature_of,
    streams_of,
    tree,
)
from .core import CoreTime, core_time
from .nests import Leaf, Nest, Reader

# A run of this many lines is found by the prefetchers.
PREFETCHED_LINES = 4
# Lines at the start of a run that come before the prefetchers have seen it.
FIRST_LINES = 2.0
# How far computing hides waiting for lines: 1 not at all, infinity entirely.
OVERLAP = 3.0


@dataclass(frozen=True)
class NestTime:
    """Clocks of a nest on the busiest core: computing, and its lines by the level they come from.

    `written` of all the `lines` go back to where they came from.
    """

    nest: Nest
    core: CoreTime
    levels: Mapping[str, float]
    lines: Mapping[str, float]
    written: float

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return self.nest.leaves

    @property
    def clocks(self) -> float:
        a, b = self.core.total, sum(self.levels.values())
        most = max(a, b)
        if not most:
            return 0.0
        return most * ((a / most) ** OVERLAP + (b / most) ** OVERLAP) ** (1 / OVERLAP)


@dataclass(frozen=True)
class CpuTime:
    """The kernel's nests in program order, the cores that work, and the time of the launch."""

    nests: tuple[NestTime, ...]
    cores: int
    launch_s: float


def cpu_time(
    items: Sequence[Item],
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Sequence[int]],
    device: Device,
) -> CpuTime:
    """The time of a kernel whose arrays are in the caches as its last run left them."""
    core = device.cpu
    assert core is not None
    nests = tuple(Reader(buffers, shapes).nests(items))
    parts = max((parallel_parts(nest) for nest in nests), default=1)
    cores = min(parts, device.sm_count)
    streams = compacted(streams_of(nests, max(cores, 1), core.vector_bytes), buffers)
    found = Footprints(streams)
    root = tree(streams)
    taken: dict[str, dict[Signature, float]] = {}
    capacities = levels(core, device, cores)
    for name, capacity in capacities:
        taken[name] = lines_taken(root, capacity, found)
    timed: list[NestTime] = []
    by_leaf: dict[int, list[Stream]] = {}
    executions: dict[Signature, int] = {}
    for stream in streams:
        by_leaf.setdefault(id(stream.leaf), []).append(stream)
        known = executions.get(stream.signature, 0)
        executions[stream.signature] = known + stream.leaf.executions
    for nest in nests:
        mine = [stream for leaf in nest.leaves for stream in by_leaf.get(id(leaf), ())]
        lines, clocks, written = waiting(nest, mine, executions, taken, found, device, cores)
        busy = core_time(nest, device, busiest(nest, device))
        timed.append(NestTime(nest, busy, clocks, lines, written))
    launch = core.call_s + (device.launch_s if parts > 1 else 0.0)
    return CpuTime(tuple(timed), cores, launch)


def parallel_parts(nest: Nest) -> int:
    loops = nest.outer + ((nest.loop,) if nest.loop else ())
    return max((loop.extent or 1 for loop in loops if loop.kind == "parallel"), default=1)


def busiest(nest: Nest, device: Device) -> float:
    """The share of a nest's executions that the busiest core has."""
    parts = parallel_parts(nest)
    cores = min(parts, device.sm_count)
    return math.ceil(parts / cores) / parts


def levels(core: CpuCore, device: Device, cores: int) -> list[tuple[str, Capacity]]:
    """Each cache with the name of the level behind it, when `cores` cores work."""
    out = [("l2", Capacity.of(device.l1_bytes_per_sm, core.l1_ways))]
    behind = "l3" if core.l3 else "dram"
    second = core.l2
    sharers = min(cores, second.cores)
    out.append((behind, Capacity.of(second.bytes, second.ways, sharers=sharers)))
    if core.l3:
        third = core.l3
        sharers = min(cores, third.cores)
        out.append(("dram", Capacity.of(third.bytes, third.ways, hashed=True, sharers=sharers)))
    return out


def waiting(
    nest: Nest,
    mine: Sequence[Stream],
    executions: Mapping[Signature, int],
    taken: Mapping[str, Mapping[Signature, float]],
    found: Footprints,
    device: Device,
    cores: int,
) -> tuple[dict[str, float], dict[str, float], float]:
    """Lines of a nest by the level that they come from, their clocks, and the written ones."""
    core = device.cpu
    assert core is not None
    written = 0.0
    clocks: dict[str, float] = {}
    lines: dict[str, float] = {}
    names = list(taken)
    own: dict[Signature, Stream] = {}
    together: dict[Signature, int] = {}
    for stream in mine:
        own[stream.signature] = stream
        known = together.get(stream.signature, 0)
        together[stream.signature] = known + stream.leaf.executions
    stored = {stream.signature for stream in mine if stream.address.mode != "read"}
    for signature, stream in own.items():
        share = together[signature] / max(executions[signature], 1)
        amounts = [taken[name].get(signature, 0.0) * share for name in names] + [0.0]
        run = found.pattern(stream, max(len(nest.outer) - 1, 0) if nest.loop else len(nest.outer))
        ahead = foreseen(stream, nest, found)
        for number, name in enumerate(names):
            # A line that a level has is not asked of the level behind.
            amount = max(amounts[number] - amounts[number + 1], 0.0)
            lines[name] = lines.get(name, 0.0) + amount
            written += amount if signature in stored else 0.0
            level: CpuCache | None = {"l2": core.l2, "l3": core.l3}.get(name)
            if level is None:
                together_clk = (
                    LINE_BYTES
                    * device.clock_hz
                    * cores
                    / (device.dram.bytes_per_s * device.dram.sustained_fraction)
                )
                near = max(core.dram_line_clk, together_clk)
                far = max(core.dram_scattered_line_clk, together_clk)
            else:
                near, far = level.line_clk, level.scattered_line_clk
            each = ahead * near + (1 - ahead) * far
            if name != "l2" and _pages(run) * PAGE_BYTES > core.tlb_bytes:
                each += (1 - ahead) * core.page_walk_clk
            clocks[name] = clocks.get(name, 0.0) + amount * each
    return lines, clocks, written


def foreseen(stream: Stream, nest: Nest, found: Footprints) -> float:
    """The share of lines that follow the one before, as far as the prefetchers see."""
    depth = len(nest.outer)
    pattern = found.pattern(stream, depth)
    while depth > 0 and not pattern.copies and pattern.run < PREFETCHED_LINES * LINE_BYTES:
        depth -= 1
        pattern = found.pattern(stream, depth)
    lines = max(pattern.run / LINE_BYTES, 1.0)
    return (lines - 1) / (lines - 1 + FIRST_LINES) if pattern.copies else 1.0


def _pages(pattern: object) -> float:
    run = getattr(pattern, "run", 0)
    copies = getattr(pattern, "copies", ())
    apart = math.prod(count for stride, count in copies if stride >= PAGE_BYTES)
    return apart * max(run / PAGE_BYTES, 1.0)


def compacted(streams: Sequence[Stream], buffers: Mapping[str, Buffer]) -> list[Stream]:
    """An array of the kernel's own is only as large as the loops that fill and read it need.

    TVM allocates it inside the loops that all its uses have in common.
    """
    common: dict[str, tuple[Around, ...]] = {}
    for stream in streams:
        name = stream.address.buffer
        if buffers[name].is_parameter:
            continue
        before = common.get(name, stream.around)
        same = 0
        for a, b in zip(before, stream.around, strict=False):
            if a != b:
                break
            same += 1
        common[name] = before[:same]
    return [_without(stream, common.get(stream.address.buffer, ())) for stream in streams]


def _without(stream: Stream, loops: Iterable[Around]) -> Stream:
    names = frozenset(loop.var for loop in loops)
    if not names & stream.address.variables:
        return stream
    extents = {name: 1 if name in names else value for name, value in stream.extents.items()}
    return replace(
        stream, extents=extents, signature=signature_of(stream.address, stream.around, extents)
    )
