"""The distinct bytes that accesses of one array touch together, which DRAM moves at the least."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...tree.context import dtype_bytes
from .flows import Flow


def least_bytes(group: Sequence[Flow], flows: Sequence[Flow], distinct: Mapping[str, int]) -> float:
    """Bytes that a group of accesses of one array moves at the least.

    They were grouped as touching the same bytes, but for those of which the place is data; where
    they are all that touches the array, they touch all of its distinct bytes, be it in parts.
    """
    least = max(flow.compulsory for flow in group)
    # An array in which not even one access has room has a size that is not known.
    room = group[0].array_bytes if group[0].array_bytes >= least else math.inf
    least = max(least, min(_in_pieces(group), room), min(_apart(group), room))
    if all(flow.wanders for flow in group):
        parts = sum(flow.compulsory for flow in group)
        least = max(least, min(parts, group[0].array_bytes))
    name = group[0].access.buffer
    if sum(flow.access.buffer == name for flow in flows) == len(group):
        return max(least, distinct.get(name, 0))
    return least


def _in_pieces(group: Sequence[Flow]) -> float:
    """Bytes of accesses of which a block's own lie behind each other in all blocks alike.

    They are halves of a row, say; 0 where they may meet those of other blocks.
    """
    stride = group[0].stride
    pieces: list[float] = []
    end = -math.inf
    places = [(_begin(flow), flow) for flow in group]
    for begin, flow in sorted(places, key=lambda place: (place[0], -place[1].block_bytes)):
        ends = begin + flow.block_bytes
        if math.isnan(begin) or flow.stride != stride or (stride and ends > stride):
            return 0.0
        if begin >= end:
            pieces.append(flow.compulsory)
        else:
            pieces[-1] = max(pieces[-1], flow.compulsory)
        end = max(end, ends)
    return sum(pieces)


def _begin(flow: Flow) -> float:
    """Where the first block begins, in bytes behind the stride of the blocks."""
    if flow.start is None or flow.stride is None or flow.behind or flow.wanders:
        return math.nan
    begin = flow.start * dtype_bytes(flow.buffer.dtype)
    return begin % flow.stride if flow.stride else begin


def _apart(group: Sequence[Flow]) -> float:
    """Bytes of accesses behind places that are loaded, in so many different places behind those.

    0 where no place is loaded, or it is not known how far behind one is.
    """
    places: dict[tuple[Any, ...], float] = {}
    for flow in group:
        if not flow.behind or flow.start is None:
            return 0.0
        place = (flow.start, *flow.behind)
        places[place] = max(places.get(place, 0.0), flow.compulsory)
    return sum(places.values())
