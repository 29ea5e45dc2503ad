"""Cache lines that one core takes from behind each of its caches.

The layer conditions of the Execution-Cache-Memory model (Stengel et al., ICS 2015), as a
recursion over the loops: while all that one iteration of a loop touches stays in a cache, the loop
takes each of its lines once; else every iteration takes its own again.  A cache is full when its
sets are: powers of two as strides use few of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tirlens_counting.expressions import is_data_dependent

from ...tree.context import EnclosingLoop
from ..compiler.loop_nests import Nest
from ..compiler.statements import (
    LINE_BYTES,
    PAGE_BYTES,
    Address,
    Leaf,
    Pattern,
    digit_values,
    pattern,
)

# How sharply reuse ends where the lines in between exceed the cache, (lines / capacity) ** this:
# looked at.
SHARPNESS = 6.0
# Of this many times the capacity, swept again and again, half is still there each time: of 1.0 with
# the least recently used line replaced, of 1.39 with any (of misses m then 1 - m = exp(-m * size)
# hit), and replacement is in between (Abel and Reineke, "nanoBench", ISPASS 2020; Vila et al.,
# "CacheQuery", PLDI 2020).
HALF_LEFT = 1.2

Signature = tuple[object, ...]


@dataclass(frozen=True)
class Capacity:
    """A cache as far as it decides what stays: `sets` x `ways` lines, used by `sharers` cores.

    Addresses a `period` apart share a set; 0 where all are spread over all sets.  A TLB is a cache
    whose lines are pages.
    """

    bytes: float
    sets: int
    ways: int
    period: int
    sharers: int = 1
    line: int = LINE_BYTES

    @staticmethod
    def of(size: float, ways: int, sharers: int = 1) -> Capacity:
        """A cache that is told sets apart by the bits of an address, of which a page fixes some.

        So is a shared cache: its slice is hashed, the set in it is not (Maurice et al., "Reverse
        Engineering Intel Last-Level Cache Complex Addressing", RAID 2015).
        """
        sets = max(int(size / ways / LINE_BYTES), 1)
        return Capacity(size, sets, ways, min(sets * LINE_BYTES, PAGE_BYTES), sharers)

    @staticmethod
    def of_tlb(size: float) -> Capacity:
        """A TLB that covers `size` bytes; Intel's and Arm's spread pages over their sets."""
        return Capacity(size, 1, max(int(size / PAGE_BYTES), 1), 0, line=PAGE_BYTES)

    def used(self, found: Pattern) -> float:
        """Sets that the lines of a pattern fall into."""
        return found.sets_used(self.sets, self.period)

    def taken(self, found: Pattern) -> float:
        """Bytes of the cache that a pattern makes unusable for others, in effect."""
        lines = found.lines
        if self.period:
            used = self.used(found)
            if used < self.sets and lines > used * self.ways / 2:
                return lines / used * self.sets * self.line
        return lines * self.line


@dataclass(frozen=True)
class Stream:
    """One address of one statement, with the loops around it from the outside in."""

    leaf: Leaf
    address: Address
    around: tuple[EnclosingLoop, ...]
    extents: Mapping[str, int]
    signature: Signature


class Footprints:
    """What streams touch while the loops from a depth on run, in lines of `line` bytes."""

    def __init__(self, streams: Sequence[Stream], line: int = LINE_BYTES) -> None:
        self.streams = streams
        self.line = line
        # What each core has for itself; the rest all of them read.
        self.private = frozenset(
            stream.signature
            for stream in streams
            for loop in stream.around
            if loop.kind == "parallel" and loop.var in stream.address.variables
        )
        self._patterns: dict[tuple[int, int], Pattern] = {}
        self._unions: dict[tuple[frozenset[int], int], dict[Signature, tuple[Pattern, float]]] = {}

    def pattern(self, stream: Stream, depth: int) -> Pattern:
        """What the loops of a stream inside of the first `depth` ones touch."""
        key = (id(stream), depth)
        if key not in self._patterns:
            free = frozenset(loop.var for loop in stream.around[depth:])
            digits = [
                (stride, digit_values(atom, free, stream.leaf.item.context, stream.extents))
                for atom, stride in stream.address.terms
            ]
            self._patterns[key] = pattern(digits, stream.address.size, self.line)
        return self._patterns[key]

    def union(
        self, streams: Sequence[Stream], depth: int
    ) -> Mapping[Signature, tuple[Pattern, float]]:
        """By signature: the pattern, and how many copies of it at offsets of their own."""
        key = (frozenset(map(id, streams)), depth)
        if key not in self._unions:
            groups: dict[Signature, list[Stream]] = {}
            for stream in streams:
                groups.setdefault(stream.signature, []).append(stream)
            self._unions[key] = {
                signature: self._group(group, depth) for signature, group in groups.items()
            }
        return self._unions[key]

    def _group(self, group: Sequence[Stream], depth: int) -> tuple[Pattern, float]:
        widest = max((self.pattern(s, depth) for s in group), key=lambda p: p.lines)
        array_bytes = group[0].address.array_bytes
        if widest.lines > array_bytes / self.line:
            # Two loops reach the same places, as in the sweeps of a triangle.
            widest = Pattern(array_bytes, (), self.line)
        apart: list[int] = []
        for stream in group:
            offset = stream.address.constant
            if not any(widest.covers(offset - other) for other in apart):
                apart.append(offset)
        most = max(array_bytes / self.line, 1.0)
        return widest, min(len(apart), max(most / max(widest.lines, 1e-9), 1.0))

    def lines(self, streams: Sequence[Stream], depth: int) -> dict[Signature, float]:
        """By signature: the lines that streams touch inside of `depth` loops."""
        out: dict[Signature, float] = {}
        by_signature = {stream.signature: stream for stream in streams}
        for signature, (found, copies) in self.union(streams, depth).items():
            most = max(by_signature[signature].address.array_bytes / self.line, 1.0)
            out[signature] = min(found.lines * copies, most)
        return out

    def taken(self, streams: Sequence[Stream], depth: int, cache: Capacity) -> float:
        """Lines of a `cache` that streams take inside of `depth` loops, its sharers' too."""
        return sum(
            cache.taken(found) * copies * (cache.sharers if signature in self.private else 1)
            for signature, (found, copies) in self.union(streams, depth).items()
        )


@dataclass(frozen=True)
class Node:
    """A loop at `depth` (None: the whole kernel) with the streams inside it."""

    loop: EnclosingLoop | None
    depth: int
    streams: tuple[Stream, ...]
    children: tuple[Node, ...]


def tree(streams: Sequence[Stream], depth: int = 0, loop: EnclosingLoop | None = None) -> Node:
    """Loops shared by streams become one node; order does not matter here."""
    groups: dict[EnclosingLoop, list[Stream]] = {}
    for stream in streams:
        if len(stream.around) > depth:
            groups.setdefault(stream.around[depth], []).append(stream)
    children = tuple(tree(group, depth + 1, around) for around, group in groups.items())
    return Node(loop, depth, tuple(streams), children)


def lines_taken(node: Node, cache: Capacity, found: Footprints) -> dict[Signature, float]:
    """Lines that a core takes from behind a cache when the kernel runs again and again.

    What several cores read is fetched by one of them.
    """
    once = _inside(node, cache, found)
    left = 1 - resident(found.taken(node.streams, 0, cache), cache)
    if sum(once.values()) * left < 1:
        # There is no part of a line.
        left = 0.0
    return {
        signature: lines * left / (1 if signature in found.private else cache.sharers)
        for signature, lines in once.items()
    }


def resident(taken: float, cache: Capacity) -> float:
    """The share of lines still there when so many bytes were touched in between."""
    return 1 / (1 + (taken / (HALF_LEFT * cache.bytes)) ** SHARPNESS)


def _inside(node: Node, cache: Capacity, found: Footprints) -> dict[Signature, float]:
    """Lines taken by one iteration of a node's loop."""
    total: dict[Signature, float] = {}
    here = [stream for stream in node.streams if len(stream.around) == node.depth]
    for signature, lines in found.lines(here, node.depth).items() if here else ():
        total[signature] = total.get(signature, 0.0) + lines
    for child in node.children:
        for signature, lines in _all(child, cache, found).items():
            total[signature] = total.get(signature, 0.0) + lines
    if len(node.children) + bool(here) > 1:
        kept = resident(found.taken(node.streams, node.depth, cache), cache)
        least = found.lines(node.streams, node.depth)
        for signature, lines in total.items():
            total[signature] = kept * min(least[signature], lines) + (1 - kept) * lines
    return total


def _all(node: Node, cache: Capacity, found: Footprints) -> dict[Signature, float]:
    """Lines taken by all iterations of a node's loop."""
    assert node.loop is not None
    depth = node.depth - 1
    trips = {stream.signature: stream.extents[node.loop.var] for stream in node.streams}
    kept = resident(found.taken(node.streams, node.depth, cache), cache)
    least = found.lines(node.streams, depth)
    inside = _inside(node, cache, found)
    return {
        signature: kept * min(least[signature], trips[signature] * lines)
        + (1 - kept) * trips[signature] * lines
        for signature, lines in inside.items()
    }


def streams_of(nests: Iterable[Nest], cores: int, vector_bytes: int) -> list[Stream]:
    """The streams of one core, which runs its part of the parallel loops.

    What a vector takes at once is one access.
    """
    out: list[Stream] = []
    for nest in nests:
        for leaf in nest.leaves:
            for address in leaf.addresses:
                out.append(_stream(nest, leaf, address, cores, vector_bytes))
    return out


def _stream(nest: Nest, leaf: Leaf, address: Address, cores: int, vector_bytes: int) -> Stream:
    around = leaf.item.context.loops
    extents = {
        loop.var: -(-(loop.extent or 1) // cores) if loop.kind == "parallel" else loop.extent or 1
        for loop in around
    }
    lane = nest.loop.var if nest.vectorised and nest.loop else leaf.lane_loop
    if lane is not None:
        taken = extents[lane] if lane == leaf.lane_loop else max(vector_bytes // address.size, 1)
        taken = min(taken, extents[lane])
        extents[lane] = -(-extents[lane] // taken)
        factors = dict(address.terms)
        if lane in factors:
            size = address.size + abs(factors[lane]) * (taken - 1)
            terms = tuple((a, f * taken if a == lane else f) for a, f in address.terms)
            if abs(factors[lane]) <= LINE_BYTES:
                address = replace(address, size=size, terms=terms)
            else:
                extents[lane] *= taken
    return Stream(leaf, address, around, extents, signature_of(address, around, extents))


def signature_of(
    address: Address, around: Sequence[EnclosingLoop], extents: Mapping[str, int]
) -> Signature:
    """Equal for addresses that run over the same places, up to a constant.

    Places that different data choose are different ones.
    """
    depths = {loop.var: depth for depth, loop in enumerate(around)}
    terms = (
        (stride, depths.get(str(atom), -1), extents.get(str(atom), 0))
        for atom, stride in address.terms
    )
    chosen = frozenset(repr(atom) for atom, _ in address.terms if is_data_dependent(atom))
    return (address.buffer, tuple(sorted(terms)), chosen)


__all__ = [
    "Capacity",
    "Footprints",
    "Node",
    "Stream",
    "lines_taken",
    "signature_of",
    "streams_of",
    "tree",
]
