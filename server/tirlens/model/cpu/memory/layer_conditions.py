"""Layer conditions: the cache lines and pages that one core misses in each cache and the TLB.

After the layer conditions of the Execution-Cache-Memory model (Stengel et al., ICS 2015), as a
recursion over the loops.  While all that one iteration of a loop touches stays in a cache, the loop
misses each of its lines once; otherwise every iteration misses its own again.  A cache is full when
its sets are: strides that are powers of two use few of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tirlens.hardware.cpu_core import CACHE_LINE_BYTES, PAGE_BYTES
from tirlens.hardware.spec import Device

from ...constants import constant
from ...tree.context import EnclosingLoop
from .footprints import AccessPattern, Footprints, Signature, Stream

LAYER_CONDITION_SHARPNESS = constant(
    "LAYER_CONDITION_SHARPNESS",
    6.0,
    kind="fitted",
    unit="dimensionless",
    meaning=(
        "Sharpness of the layer condition: the miss ratio depends on (bytes / capacity) to "
        "this power."
    ),
    source="hand-tuned",
    rows="CPU kernels (`tests/measured/cpu_kernels`)",
)
HALF_HIT_CAPACITIES = constant(
    "HALF_HIT_CAPACITIES",
    1.2,
    kind="estimate",
    unit="ratio",
    meaning="Footprint over capacity at which a repeated sweep hits half of its lines.",
    source=(
        "it is 1.0 with LRU replacement, and 1.39 with random replacement (1 - m = exp(-m * "
        'size) of misses m); caches are in between (Abel and Reineke, "nanoBench", ISPASS '
        '2020; Vila et al., "CacheQuery", PLDI 2020)'
    ),
    bounds=(1.0, 1.39),
)


@dataclass(frozen=True)
class CacheCapacity:
    """The capacity of a cache, or of a TLB, whose lines are pages.

    Attributes
    ----------
    bytes
        The size.
    sets, ways
        The number of sets, and the lines of each.
    period_bytes
        The distance of addresses that share a set; 0 if all addresses use all sets.
    sharers
        The cores that use the cache.
    line_bytes
        The size of a line.
    """

    bytes: float
    sets: int
    ways: int
    period_bytes: int
    sharers: int = 1
    line_bytes: int = CACHE_LINE_BYTES

    @staticmethod
    def of_cache(size_bytes: float, ways: int, sharers: int = 1) -> CacheCapacity:
        """A cache whose sets are selected by address bits, some of which a page fixes.

        So are those of a shared cache: its slice is hashed, the set in it is not (Maurice et al.,
        "Reverse Engineering Intel Last-Level Cache Complex Addressing", RAID 2015).
        """
        sets = max(int(size_bytes / ways / CACHE_LINE_BYTES), 1)
        period_bytes = min(sets * CACHE_LINE_BYTES, PAGE_BYTES)
        return CacheCapacity(size_bytes, sets, ways, period_bytes, sharers)

    @staticmethod
    def of_tlb(size_bytes: float) -> CacheCapacity:
        """A TLB that covers `size_bytes`; those of Intel and Arm spread pages over their sets."""
        pages = max(int(size_bytes / PAGE_BYTES), 1)
        return CacheCapacity(size_bytes, 1, pages, 0, line_bytes=PAGE_BYTES)

    def sets_used(self, pattern: AccessPattern) -> float:
        """Sets that the lines of a pattern are in."""
        used = pattern.run_lines
        for stride, count in pattern.copies:
            used *= min(count, self.period_bytes // math.gcd(stride, self.period_bytes))
        sets_per_line = self.sets * self.line_bytes / self.period_bytes
        return min(used, self.period_bytes / self.line_bytes) * sets_per_line

    def occupied_bytes(self, pattern: AccessPattern) -> float:
        """Bytes of the cache that a pattern uses up: of full sets, all in proportion."""
        lines = pattern.lines
        if self.period_bytes:
            used = self.sets_used(pattern)
            if used < self.sets and lines > used * self.ways / 2:
                return lines / used * self.sets * self.line_bytes
        return lines * self.line_bytes


def cache_levels(device: Device, cores: int) -> dict[str, CacheCapacity]:
    """Each cache by the name of the level beyond it, when `cores` cores work."""
    core = device.cpu
    assert core is not None
    l2_sharers = min(cores, core.l2.cores)
    out = {
        "l2": CacheCapacity.of_cache(device.l1_bytes_per_sm, core.l1_ways),
        "l3" if core.l3 else "dram": CacheCapacity.of_cache(
            core.l2.bytes, core.l2.ways, l2_sharers
        ),
    }
    if core.l3:
        l3_sharers = min(cores, core.l3.cores)
        out["dram"] = CacheCapacity.of_cache(core.l3.bytes, core.l3.ways, l3_sharers)
    return out


@dataclass(frozen=True)
class LoopNode:
    """A loop (None: the whole kernel) at `depth`, with the streams and loops inside."""

    loop: EnclosingLoop | None
    depth: int
    streams: tuple[Stream, ...]
    children: tuple[LoopNode, ...]


def loop_tree(
    streams: Sequence[Stream], depth: int = 0, loop: EnclosingLoop | None = None
) -> LoopNode:
    """The tree of the loops around streams."""
    groups: dict[EnclosingLoop, list[Stream]] = {}
    for stream in streams:
        if len(stream.loops) > depth:
            groups.setdefault(stream.loops[depth], []).append(stream)
    children = tuple(loop_tree(group, depth + 1, inner) for inner, group in groups.items())
    return LoopNode(loop, depth, tuple(streams), children)


def missed_lines(
    root: LoopNode, cache: CacheCapacity, footprints: Footprints
) -> dict[Signature, float]:
    """By signature: lines that a core misses in a cache in each of repeated runs of a kernel.

    One of the cores that share a cache fetches what several of them read.

    Parameters
    ----------
    root
        The kernel.
    cache
        The cache.
    footprints
        The lines that the kernel's streams touch.
    """
    once = _misses_in_iteration(root, cache, footprints)
    evicted = 1 - resident_fraction(_occupied_bytes(footprints, root.streams, 0, cache), cache)
    if sum(once.values()) * evicted < 1:
        # Less than one line.
        evicted = 0.0
    return {
        signature: lines * evicted / (1 if signature in footprints.private else cache.sharers)
        for signature, lines in once.items()
    }


def resident_fraction(occupied_bytes: float, cache: CacheCapacity) -> float:
    """The fraction of lines that are still in a cache after accesses to `occupied_bytes`."""
    capacity_bytes = HALF_HIT_CAPACITIES * cache.bytes
    return 1 / (1 + (occupied_bytes / capacity_bytes) ** LAYER_CONDITION_SHARPNESS)


def _occupied_bytes(
    footprints: Footprints, streams: Sequence[Stream], depth: int, cache: CacheCapacity
) -> float:
    """Bytes of a cache that streams of all its cores use up inside of `depth` loops."""
    return sum(
        cache.occupied_bytes(pattern)
        * copies
        * (cache.sharers if signature in footprints.private else 1)
        for signature, (pattern, copies) in footprints.union(streams, depth).items()
    )


def _misses_in_iteration(
    node: LoopNode, cache: CacheCapacity, footprints: Footprints
) -> dict[Signature, float]:
    """Lines that one iteration of a node's loop misses."""
    total: dict[Signature, float] = {}
    direct = [stream for stream in node.streams if len(stream.loops) == node.depth]
    for signature, lines in footprints.lines(direct, node.depth).items() if direct else ():
        total[signature] = total.get(signature, 0.0) + lines
    for child in node.children:
        for signature, lines in _misses_of_loop(child, cache, footprints).items():
            total[signature] = total.get(signature, 0.0) + lines
    if len(node.children) + bool(direct) > 1:
        occupied_bytes = _occupied_bytes(footprints, node.streams, node.depth, cache)
        resident = resident_fraction(occupied_bytes, cache)
        compulsory = footprints.lines(node.streams, node.depth)
        for signature, lines in total.items():
            least = min(compulsory[signature], lines)
            total[signature] = resident * least + (1 - resident) * lines
    return total


def _misses_of_loop(
    node: LoopNode, cache: CacheCapacity, footprints: Footprints
) -> dict[Signature, float]:
    """Lines that all iterations of a node's loop miss."""
    assert node.loop is not None
    trip_counts = {stream.signature: stream.extents[node.loop.var] for stream in node.streams}
    occupied_bytes = _occupied_bytes(footprints, node.streams, node.depth, cache)
    resident = resident_fraction(occupied_bytes, cache)
    compulsory = footprints.lines(node.streams, node.depth - 1)
    selections = _selections(footprints, node.streams, node.depth)
    selected = _selections(footprints, node.streams, node.depth - 1)
    missed: dict[Signature, float] = {}
    for signature, lines in _misses_in_iteration(node, cache, footprints).items():
        every = trip_counts[signature] * lines
        kept = resident
        if selected[signature] > selections[signature]:
            # What data select comes back after any distance: it hits the part that a cache holds.
            held = cache.bytes / max(compulsory[signature] * cache.line_bytes, 1e-9)
            kept *= min(held, 1.0)
        missed[signature] = kept * min(compulsory[signature], every) + (1 - kept) * every
    return missed


def _selections(
    footprints: Footprints, streams: Sequence[Stream], depth: int
) -> dict[Signature, int]:
    """By signature: the addresses that data select inside of `depth` loops."""
    union = footprints.union(streams, depth)
    return {signature: pattern.selections for signature, (pattern, _) in union.items()}
