"""Compulsory DRAM traffic: the bytes that accesses to an array move at least."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...tree.context import dtype_bytes
from .global_accesses import GlobalAccess


def min_dram_bytes(
    group: Sequence[GlobalAccess], entries: Sequence[GlobalAccess], distinct: Mapping[str, int]
) -> float:
    """The compulsory DRAM bytes of a group of the accesses that read, or write, one array.

    The accesses of a group touch about the same bytes, except those at data-dependent offsets.  If
    the group is all that touches the array, the array's exact footprint is a lower bound.
    """
    least = max(entry.compulsory_bytes for entry in group)
    # An array smaller than one of its accesses has a size that is not known.
    room = group[0].array_bytes if group[0].array_bytes >= least else math.inf
    least = max(least, min(_disjoint_bytes(group), room), min(_distinct_offset_bytes(group), room))
    if all(entry.has_data_offset for entry in group):
        parts = sum(entry.compulsory_bytes for entry in group)
        least = max(least, min(parts, group[0].array_bytes))
    name = group[0].access.buffer
    if sum(entry.access.buffer == name for entry in entries) == len(group):
        return max(least, distinct.get(name, 0))
    return least


def _disjoint_bytes(group: Sequence[GlobalAccess]) -> float:
    """The bytes of accesses that are disjoint within every block, such as halves of a row.

    0 where they may overlap with those of other blocks.
    """
    stride = group[0].block_stride_bytes
    pieces: list[float] = []
    end = -math.inf
    starts = [(_start_in_stride(entry), entry) for entry in group]
    for begin, entry in sorted(starts, key=lambda context: (context[0], -context[1].block_bytes)):
        ends = begin + entry.block_bytes
        if math.isnan(begin) or entry.block_stride_bytes != stride or (stride and ends > stride):
            return 0.0
        if begin >= end:
            pieces.append(entry.compulsory_bytes)
        else:
            pieces[-1] = max(pieces[-1], entry.compulsory_bytes)
        end = max(end, ends)
    return sum(pieces)


def _start_in_stride(entry: GlobalAccess) -> float:
    """The start of the first block's access in bytes, modulo the stride between blocks."""
    if (
        entry.start_elements is None
        or entry.block_stride_bytes is None
        or entry.offset_loads
        or entry.has_data_offset
    ):
        return math.nan
    begin = entry.start_elements * dtype_bytes(entry.buffer.dtype)
    return begin % entry.block_stride_bytes if entry.block_stride_bytes else begin


def _distinct_offset_bytes(group: Sequence[GlobalAccess]) -> float:
    """The bytes of accesses at different constant distances from offsets that are loaded.

    0 where an offset is not loaded, or a distance is not known.
    """
    starts: dict[tuple[Any, ...], float] = {}
    for entry in group:
        if not entry.offset_loads or entry.start_elements is None:
            return 0.0
        context = (entry.start_elements, *entry.offset_loads)
        starts[context] = max(starts.get(context, 0.0), entry.compulsory_bytes)
    return sum(starts.values())
