"""The time of a kernel on a CPU, nest by nest: computing and waiting for cache lines overlap.

After the Execution-Cache-Memory model for several cores (Treibig, Hager, Wellein): each core needs
the longer of its own clocks and of those of its cache lines; the cores share the last cache's and
the memory's rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tirlens.hardware.cpu_core import CpuCore
from tirlens.hardware.spec import Device
from tirlens_worker.facts import Buffer

from ..dtypes import scalar_class
from ..tree.context import EnclosingLoop
from ..tree.kernel_time import KernelTime
from ..tree.node import CostNode, Traffic, leaves_of, replace_leaves
from ..tree.timed_node import TimedNode, timed_tree
from .compiler.loop_nests import Nest, Reader, common_loops, own_elements
from .compiler.statements import LINE_BYTES, PAGE_BYTES, Leaf
from .in_core.core_time import CoreTime, core_time
from .memory.layer_conditions import (
    Capacity,
    Footprints,
    Signature,
    Stream,
    lines_taken,
    signature_of,
    streams_of,
    tree,
)
from .memory.transfer_time import Taken, Waits, waits

# How far computing hides waiting for lines, 1 not at all, infinity entirely: looked at.
OVERLAP = 3.0


@dataclass(frozen=True)
class NestTime:
    """Clocks of a nest on the busiest core: computing, and waiting for lines and pages."""

    nest: Nest
    core: CoreTime
    waits: Waits

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The nest's statements."""
        return self.nest.leaves

    @property
    def clocks(self) -> float:
        """Clocks on the busiest core, with what overlaps of computing and waiting."""
        a, b = self.core.busy + self.core.entries, sum(self.waits.clocks.values())
        most = max(a, b)
        if not most:
            return self.core.chain
        both = most * ((a / most) ** OVERLAP + (b / most) ** OVERLAP) ** (1 / OVERLAP)
        # Results that wait for each other leave all units free to work ahead.
        return max(both, self.core.chain + self.core.entries)


@dataclass(frozen=True)
class CpuTime:
    """The kernel's nests in program order, the cores that work, and the time of the launch."""

    nests: tuple[NestTime, ...]
    cores: int
    launch_s: float


def cpu_time(
    items: Sequence[CostNode],
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Sequence[int]],
    device: Device,
) -> CpuTime:
    """The time of a kernel whose arrays are in the caches as its last run left them."""
    core = device.cpu
    assert core is not None
    common = common_loops(items, buffers)
    own = own_elements(items, buffers, common)
    nests = tuple(Reader(buffers, shapes, device.simd_bytes, core.vector_bytes, own).nests(items))
    parts = max((parallel_parts(nest) for nest in nests), default=1)
    cores = min(parts, device.sm_count)
    streams = compacted(streams_of(nests, max(cores, 1), core.vector_bytes), common)
    found = Footprints(streams)
    root = tree(streams)
    lines = {
        name: lines_taken(root, capacity, found) for name, capacity in levels(core, device, cores)
    }
    pages = lines_taken(root, Capacity.of_tlb(core.tlb_bytes), Footprints(streams, PAGE_BYTES))
    timed: list[NestTime] = []
    by_leaf: dict[int, list[Stream]] = {}
    executions: dict[Signature, int] = {}
    for stream in streams:
        by_leaf.setdefault(id(stream.leaf), []).append(stream)
        known = executions.get(stream.signature, 0)
        executions[stream.signature] = known + stream.leaf.executions
    taken = Taken(lines, pages, executions)
    for nest in nests:
        mine = [stream for leaf in nest.leaves for stream in by_leaf.get(id(leaf), ())]
        share = busiest(nest, device)
        busy = core_time(nest, device, share)
        runs = max((leaf.executions for leaf in nest.leaves), default=1) * share
        waiting = waits(nest, mine, taken, found, device, cores, busy.instructions / max(runs, 1))
        timed.append(NestTime(nest, busy, waiting))
    launch = core.call_s + device.launch_s * launches(nests)
    return CpuTime(tuple(timed), cores, launch)


def launches(nests: Iterable[Nest]) -> int:
    """How often a parallel loop begins, each time with a call that wakes the other cores."""
    begun: dict[tuple[EnclosingLoop, ...], int] = {}
    for nest in nests:
        loops = nest.outer + ((nest.loop,) if nest.loop else ())
        for depth, loop in enumerate(loops):
            if loop.kind == "parallel" and (loop.extent or 1) > 1:
                around = loops[:depth]
                begun[loops[: depth + 1]] = math.prod(other.extent or 1 for other in around)
                break
    return sum(begun.values())


def parallel_parts(nest: Nest) -> int:
    """Into how many parts a nest can go to the cores; 1 where no loop is parallel."""
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
        out.append(("dram", Capacity.of(third.bytes, third.ways, sharers=sharers)))
    return out


def compacted(
    streams: Sequence[Stream], common: Mapping[str, Sequence[EnclosingLoop]]
) -> list[Stream]:
    """An array of the kernel's own is only as large as the loops that fill and read it need.

    TVM allocates it inside the loops that all its uses have in `common`.
    """
    return [_without(stream, common.get(stream.address.buffer, ())) for stream in streams]


def _without(stream: Stream, loops: Iterable[EnclosingLoop]) -> Stream:
    names = frozenset(loop.var for loop in loops)
    if not names & stream.address.variables:
        return stream
    extents = {name: 1 if name in names else value for name, value in stream.extents.items()}
    return replace(
        stream, extents=extents, signature=signature_of(stream.address, stream.around, extents)
    )


@dataclass(frozen=True)
class CpuTimes:
    """Times of a CPU kernel.

    Attributes
    ----------
    nodes
        The kernel's tree.  Each statement has the time in seconds that it keeps each unit of the
        busiest core busy, and the bytes that all cores transfer from L2 or beyond.
    timed_tree
        The time in seconds by node.
    kernel_time
        The time of the kernel.
    busy_cores
        The cores that the kernel's parallel loops keep busy.
    """

    nodes: tuple[CostNode, ...]
    timed_tree: TimedNode
    kernel_time: KernelTime
    busy_cores: int


def time_kernel(
    nodes: Sequence[CostNode],
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Sequence[int]],
    device: Device,
) -> CpuTimes:
    """The time of each statement and of the kernel on a CPU.

    The kernel is assumed to run repeatedly, so that the caches hold what the last run left.

    Parameters
    ----------
    nodes
        The body of the kernel, counted.
    buffers, shapes
        The kernel's arrays and their shapes in elements, by name.
    device
        The device, a CPU.
    """
    found = cpu_time(nodes, buffers, shapes, device)
    seconds: dict[CostNode, float] = {}
    filled: dict[CostNode, CostNode] = {}
    for nest in found.nests:
        weights = {leaf.item: nest.core.by_leaf.get(id(leaf.item), 0.0) for leaf in nest.leaves}
        total = sum(weights.values())
        for leaf in nest.leaves:
            part = weights[leaf.item] / total if total else 1 / len(nest.leaves)
            item = filled[leaf.item] = _filled(leaf, nest, part, found.cores, device.clock_hz)
            seconds[item] = nest.clocks * part / device.clock_hz
    nodes = replace_leaves(nodes, [filled.get(leaf, leaf) for leaf in leaves_of(nodes)])
    by_node = timed_tree(nodes, lambda leaf: seconds.get(leaf, 0.0))
    time = KernelTime(found.launch_s, by_node.total_s, 0.0, None)
    return CpuTimes(nodes, by_node, time, found.cores)


def _filled(leaf: Leaf, nest: NestTime, part: float, cores: int, clock_hz: float) -> CostNode:
    item = leaf.item
    wide = any(scalar_class(entry.arith.dtype) == "fp64" for entry in item.count.arith)
    clocks = {
        ("fp64" if wide else "fp32") if leaf.floating else "int": nest.core.arithmetic,
        "latency": nest.core.chain,
        "sfu": nest.core.calls,
        "issue": nest.core.issue + nest.core.entries,
        "l1": nest.core.memory,
        **nest.waits.clocks,
    }
    lines = sum(nest.waits.lines.values()) * cores * part
    from_dram = nest.waits.lines.get("dram", 0.0) * cores * part
    share = nest.waits.written / max(sum(nest.waits.lines.values()), 1e-9)
    moved = Traffic(
        l2_read_bytes=lines * LINE_BYTES,
        l2_write_bytes=lines * share * LINE_BYTES,
        dram_read_bytes=from_dram * LINE_BYTES,
        dram_write_bytes=from_dram * share * LINE_BYTES,
    )
    seconds = {name: value * part / clock_hz for name, value in clocks.items() if value}
    return item.replace(traffic=moved, busy_s=seconds)
