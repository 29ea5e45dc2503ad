"""Footprints: the cache lines or pages that accesses touch while some of their loops run.

While the loops run, the digits of an address take several values each.  The bytes touched are a
contiguous run, repeated at larger strides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tirlens.hardware.cpu_core import CACHE_LINE_BYTES
from tirlens_counting.expressions import free_variables, is_data_dependent
from tirlens_counting.intervals import bounds
from tirlens_worker.facts import Expr

from ...tree.context import EnclosingLoop, LoopContext
from ..compiler.loop_nests import CompiledKernel, Nest
from ..compiler.statements import Address, NestStatement

# Equal for addresses that touch the same elements up to a constant.
Signature = tuple[object, ...]


@dataclass(frozen=True)
class AccessPattern:
    """A contiguous run of bytes, repeated at strides.

    Attributes
    ----------
    run_bytes
        Bytes of the run.
    copies
        Strides in bytes, each with the number of repetitions; the run is at every combination.
    line_bytes
        Bytes of a line: of a cache line, or of a page for a TLB.
    selections
        How many of the copies are at addresses that data select.
    """

    run_bytes: int
    copies: tuple[tuple[int, int], ...]
    line_bytes: int = CACHE_LINE_BYTES
    selections: int = 1

    @property
    def run_lines(self) -> float:
        """Lines of the run."""
        return max(self.run_bytes / self.line_bytes, 1.0)

    @property
    def lines(self) -> float:
        """Lines of all copies of the run."""
        return self.run_lines * math.prod(count for _, count in self.copies)

    def covers(self, offset_bytes: int) -> bool:
        """Whether a pattern shifted by `offset_bytes` touches mostly the same bytes."""
        for stride, count in sorted(self.copies, reverse=True):
            steps = round(offset_bytes / stride)
            if abs(steps) < count:
                offset_bytes -= steps * stride
        return abs(offset_bytes) < max(self.run_bytes, self.line_bytes)


def access_pattern(
    digits: Sequence[tuple[int, int]],
    access_bytes: int,
    line_bytes: int = CACHE_LINE_BYTES,
    selections: int = 1,
) -> AccessPattern:
    """The pattern of an access whose digits are given as (stride in bytes, number of values).

    Data select so many more addresses: each has lines of its own, in any of the sets.
    """
    run_bytes = access_bytes
    copies: list[tuple[int, int]] = []
    for stride, count in sorted((abs(stride), count) for stride, count in digits):
        if count <= 1 or not stride:
            continue
        if not copies and stride < run_bytes + line_bytes:
            run_bytes += stride * (count - 1)
        elif copies and stride == copies[-1][0]:
            copies[-1] = (stride, copies[-1][1] + count - 1)
        else:
            copies.append((stride, count))
    if selections > 1:
        copies.append(((run_bytes // line_bytes | 1) * line_bytes, selections))
    return AccessPattern(run_bytes, tuple(copies), line_bytes, selections)


def digit_values(
    digit: Expr, free: frozenset[str], context: LoopContext, extents: Mapping[str, int]
) -> int:
    """The number of values of a digit while the loops over `free` run."""
    if isinstance(digit, str):
        return extents.get(digit, 1) if digit in free else 1
    names = free_variables(digit) & free
    if not names:
        return 1
    most = math.prod(extents.get(name, 1) for name in names)
    if is_data_dependent(digit):
        return most
    ranges = {
        name: reach if name in free else (reach[0], reach[0])
        for name, reach in context.ranges.items()
    }
    low, high = bounds(digit, ranges)
    return min(most, int(high - low) + 1) if math.isfinite(high - low) else most


@dataclass(frozen=True)
class Stream:
    """The accesses of one statement at one address, by one core.

    Attributes
    ----------
    statement, address
        The statement and the address.
    loops
        The loops around the statement, from the outside in.
    extents
        Iterations of each loop that one core runs.
    signature
        Equal for streams that touch the same elements up to a constant.
    """

    statement: NestStatement
    address: Address
    loops: tuple[EnclosingLoop, ...]
    extents: Mapping[str, int]
    signature: Signature


class Footprints:
    """The lines of `line_bytes` that streams touch while the loops inside of a depth run."""

    def __init__(self, streams: Sequence[Stream], line_bytes: int = CACHE_LINE_BYTES) -> None:
        self.streams = streams
        self.line_bytes = line_bytes
        # Streams whose lines each core has for itself; all cores read the other lines.
        self.private = frozenset(
            stream.signature
            for stream in streams
            for loop in stream.loops
            if loop.kind == "parallel" and loop.var in stream.address.variables
        )
        self._patterns: dict[tuple[int, int], AccessPattern] = {}
        self._unions: dict[
            tuple[frozenset[int], int], dict[Signature, tuple[AccessPattern, float]]
        ] = {}

    def pattern(self, stream: Stream, depth: int) -> AccessPattern:
        """The pattern of a stream while the loops inside of the first `depth` run."""
        key = (id(stream), depth)
        if key not in self._patterns:
            free = frozenset(loop.var for loop in stream.loops[depth:])
            context = stream.statement.node.context
            digits: list[tuple[int, int]] = []
            selections = 1
            for digit, stride in stream.address.terms:
                count = digit_values(digit, free, context, stream.extents)
                if is_data_dependent(digit):
                    selections *= count
                else:
                    digits.append((stride, count))
            address_bytes = stream.address.access_bytes
            self._patterns[key] = access_pattern(digits, address_bytes, self.line_bytes, selections)
        return self._patterns[key]

    def union(
        self, streams: Sequence[Stream], depth: int
    ) -> Mapping[Signature, tuple[AccessPattern, float]]:
        """By signature: the pattern, and the number of its copies at distinct offsets."""
        key = (frozenset(map(id, streams)), depth)
        if key not in self._unions:
            groups: dict[Signature, list[Stream]] = {}
            for stream in streams:
                groups.setdefault(stream.signature, []).append(stream)
            self._unions[key] = {
                signature: self._union_of_group(group, depth) for signature, group in groups.items()
            }
        return self._unions[key]

    def _union_of_group(self, group: Sequence[Stream], depth: int) -> tuple[AccessPattern, float]:
        widest = max((self.pattern(s, depth) for s in group), key=lambda p: p.lines)
        array_bytes = group[0].address.array_bytes
        if widest.lines > array_bytes / self.line_bytes:
            # Two loops reach the same elements, as in the sweep of a triangle.
            widest = AccessPattern(array_bytes, (), self.line_bytes, widest.selections)
        distinct: list[int] = []
        for stream in group:
            offset = stream.address.offset_bytes
            if not any(widest.covers(offset - other) for other in distinct):
                distinct.append(offset)
        most = max(array_bytes / self.line_bytes, 1.0)
        return widest, min(len(distinct), max(most / max(widest.lines, 1e-9), 1.0))

    def lines(self, streams: Sequence[Stream], depth: int) -> dict[Signature, float]:
        """By signature: the lines that streams touch inside of `depth` loops."""
        out: dict[Signature, float] = {}
        by_signature = {stream.signature: stream for stream in streams}
        for signature, (pattern, copies) in self.union(streams, depth).items():
            array_bytes = by_signature[signature].address.array_bytes
            most = max(array_bytes / self.line_bytes, 1.0)
            touched = pattern.lines * copies
            if pattern.selections > 1:
                # Lines that are drawn at random, some of them more than once.
                drawn = self.pattern(by_signature[signature], depth).lines
                touched = -math.expm1(-drawn / most) * most
            out[signature] = min(touched, most)
        return out


def find_streams(kernel: CompiledKernel, cores: int, vector_bytes: int) -> list[Stream]:
    """The streams of one of `cores` cores, which runs its part of the parallel loops.

    A vector of `vector_bytes` is one access.  An array that is no parameter is only as large as the
    loops inside of its allocation need.
    """
    streams = (
        _stream(nest, statement, address, cores, vector_bytes)
        for nest in kernel.nests
        for statement in nest.statements
        for address in statement.addresses
    )
    return [
        _without_loops(stream, kernel.allocation_loops.get(stream.address.buffer, ()))
        for stream in streams
    ]


def _stream(
    nest: Nest, statement: NestStatement, address: Address, cores: int, vector_bytes: int
) -> Stream:
    loops = statement.node.context.loops
    extents = {
        loop.var: -(-loop.trip_count // cores) if loop.kind == "parallel" else loop.trip_count
        for loop in loops
    }
    lane = nest.loop.var if nest.is_vectorized and nest.loop else statement.lane_variable
    if lane is not None:
        elements = extents[lane]
        if lane != statement.lane_variable:
            elements = min(max(vector_bytes // address.access_bytes, 1), extents[lane])
        extents[lane] = -(-extents[lane] // elements)
        strides = dict(address.terms)
        if lane in strides:
            if abs(strides[lane]) <= CACHE_LINE_BYTES:
                address = _vector_address(address, lane, strides[lane], elements)
            else:
                extents[lane] *= elements
    return Stream(statement, address, loops, extents, signature_of(address, loops, extents))


def _vector_address(address: Address, lane: str, stride_bytes: int, elements: int) -> Address:
    """The address of vectors of `elements` that are `stride_bytes` apart."""
    return replace(
        address,
        access_bytes=address.access_bytes + abs(stride_bytes) * (elements - 1),
        terms=tuple(
            (digit, factor * elements if digit == lane else factor)
            for digit, factor in address.terms
        ),
    )


def _without_loops(stream: Stream, loops: Iterable[EnclosingLoop]) -> Stream:
    """The stream of an array that is reused in each iteration of `loops`."""
    names = frozenset(loop.var for loop in loops)
    if not names & stream.address.variables:
        return stream
    extents = {name: 1 if name in names else value for name, value in stream.extents.items()}
    signature = signature_of(stream.address, stream.loops, extents)
    return replace(stream, extents=extents, signature=signature)


def signature_of(
    address: Address, loops: Sequence[EnclosingLoop], extents: Mapping[str, int]
) -> Signature:
    """Equal for addresses that touch the same elements up to a constant.

    Elements that different data select are distinct.
    """
    depths = {loop.var: depth for depth, loop in enumerate(loops)}
    terms = (
        (stride, depths.get(str(digit), -1), extents.get(str(digit), 0))
        for digit, stride in address.terms
    )
    selected = frozenset(repr(digit) for digit, _ in address.terms if is_data_dependent(digit))
    return (address.buffer, tuple(sorted(terms)), selected)
