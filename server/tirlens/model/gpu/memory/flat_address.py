"""Sectors that an access touches for the bytes that it asks for, from the flat address.

The flat address of an access is a sum of terms, each a stride times a loop variable or a quotient
or remainder of some.  Terms whose strides leave less than a sector between two accesses make a run
of sectors; those with larger strides repeat it.  Only the flat address decides, so that an array of
one dimension and the same array of several have equal sectors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tirlens_counting.expressions import (
    UnknownValueError,
    free_variables,
    is_data_dependent,
    linear,
    simplify,
)
from tirlens_counting.intervals import Interval, bounds
from tirlens_worker.facts import Access, Buffer, Expr

from ...tree.context import LoopContext, dtype_bytes


@dataclass(frozen=True)
class AddressTerm:
    """A part of a flat address: an expression times a stride.

    Attributes
    ----------
    stride_bytes
        The bytes between two neighbouring values, not negative.
    value
        The expression, of the loop variables in `variables`; None for the elements of a box.
    box_extent
        The elements of the box along this stride.
    is_data
        Whether the content of an array selects the value.
    """

    stride_bytes: int
    value: Expr | None
    variables: frozenset[str] = frozenset()
    box_extent: int = 1
    is_data: bool = False

    def count_values(self, ranges: Mapping[str, Interval]) -> float:
        """The number of values while loop variables run over `ranges`."""
        if self.value is None:
            return self.box_extent
        reached = {name: ranges.get(name, (0, 0)) for name in self.variables}
        most = math.prod(high - low + 1 for low, high in reached.values())
        if self.is_data or isinstance(self.value, str):
            return most
        low, high = bounds(self.value, reached)
        return min(most, high - low + 1) if math.isfinite(high - low) else most


@dataclass(frozen=True)
class TouchedBytes:
    """Bytes of the elements that an access touches, and of their sectors.

    `selections` is the number of addresses that data select.
    """

    element_bytes: float
    sector_bytes: float
    selections: float

    @property
    def density(self) -> float:
        """Bytes of sectors over bytes of elements, at least 1."""
        return max(self.sector_bytes / self.element_bytes, 1.0)


@dataclass(frozen=True)
class FlatAddress:
    """The flat address of an access.

    Attributes
    ----------
    terms
        The terms that move it.
    start_bytes
        Its constant part.
    width_bytes, used_fraction
        The bytes at one address from the first to the last one, and the fraction of them that is
        accessed, here or by neighbours (`join_neighbours`).
    """

    terms: tuple[AddressTerm, ...]
    start_bytes: int
    width_bytes: float
    used_fraction: float = 1.0

    @property
    def selection_stride_bytes(self) -> int:
        """The bytes between two addresses that data may select; 0 where data select none."""
        return min((term.stride_bytes for term in self.terms if term.is_data), default=0)

    def touched_bytes(self, ranges: Mapping[str, Interval], sector_bytes: int) -> TouchedBytes:
        """What the access touches while loop variables run over `ranges`; others are fixed."""
        counts: dict[int, float] = {}
        selections = 1.0
        for term in self.terms:
            count = term.count_values(ranges)
            if term.is_data:
                selections *= count
            elif count > 1:
                # Sums of two variables with the same stride overlap.
                counts[term.stride_bytes] = counts.get(term.stride_bytes, 1) + count - 1
        span = self.width_bytes
        touched = span * self.used_fraction
        copies = 1.0
        in_run: set[int] = set()
        for stride, count in sorted(counts.items()):
            if copies > 1 or stride >= span + sector_bytes:
                copies *= count
                continue
            in_run.add(stride)
            reach = stride * (count - 1)
            touched = span + reach if stride <= touched else touched * count
            span += reach
        number = copies * selections
        others = (term.stride_bytes for term in self.terms if term.stride_bytes not in in_run)
        # A run starts at any multiple of `step` bytes behind the first start in a sector.
        step = math.gcd(sector_bytes, *others)
        starts = range(self.start_bytes % step, sector_bytes, step)
        sectors = sum(math.ceil((start + span) / sector_bytes) for start in starts) / len(starts)
        return TouchedBytes(touched * number, sectors * sector_bytes * number, selections)


def join_neighbours(addresses: Sequence[FlatAddress], sector_bytes: int) -> list[FlatAddress]:
    """Addresses with equal terms and widths, each as wide as the neighbours in its sectors.

    Fields of a record, and the parts of a vector that several statements load, come in one sector.
    """
    width = addresses[0].width_bytes
    runs: list[list[int]] = []
    for start in sorted({address.start_bytes for address in addresses}):
        if runs and start - (runs[-1][-1] + width) < sector_bytes:
            runs[-1].append(start)
        else:
            runs.append([start])
    joined: dict[int, FlatAddress] = {}
    for run in runs:
        span = run[-1] - run[0] + width
        used = min(len(run) * width / span, 1.0)
        whole = replace(addresses[0], start_bytes=run[0], width_bytes=span, used_fraction=used)
        joined |= dict.fromkeys(run, whole)
    return [joined[address.start_bytes] for address in addresses]


def flat_address(
    access: Access, indices: Sequence[Expr], buffer: Buffer, context: LoopContext
) -> FlatAddress | None:
    """The flat address of an access with resolved `indices`; None where strides are not known."""
    strides = _element_strides(buffer, context)
    if strides is None or len(strides) != len(indices):
        return None
    size = dtype_bytes(buffer.dtype)
    flat: Expr = 0
    for stride, index in zip(strides, indices, strict=True):
        flat = ("+", flat, ("*", index, stride))
    moved, constant = linear(simplify(flat))
    terms = [
        AddressTerm(
            round(abs(factor) * size), value, free_variables(value), 1, is_data_dependent(value)
        )
        for value, factor in moved.items()
    ]
    for stride, extent in zip(strides, access.extents, strict=False):
        high = bounds(context.resolve(extent), context.ranges)[1]
        if math.isfinite(high) and high > 1:
            terms.append(AddressTerm(round(stride * size), None, box_extent=int(high)))
    return FlatAddress(tuple(terms), round(constant * size), size * max(access.lanes, 1))


def _element_strides(buffer: Buffer, context: LoopContext) -> list[int] | None:
    """The strides of an array in elements, row-major where it has none of its own."""
    try:
        if buffer.strides:
            return [int(context.first_value(stride)) for stride in buffer.strides]
        found = [1]
        for size in reversed(buffer.shape[1:]):
            found.append(found[-1] * int(context.first_value(size)))
    except (UnknownValueError, ValueError, ZeroDivisionError, TypeError):
        return None
    return found[::-1] if buffer.shape else []
