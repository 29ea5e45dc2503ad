"""Arrays of lengths, up to which loops run: taken to be as long as the arrays that are passed over.

``for k in range(lengths[i] // tile)`` of sequence i runs as far as `passing.passed` says.  The same
number decides elsewhere what is behind the end of the sequence, or old and not new: taken for one
and the same everywhere, it decides these too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from tirlens_counting.expressions import loads, simplify, substitute
from tirlens_counting.intervals import bounds
from tirlens_worker.facts import Buffer, Caveat, Expr, KernelFacts, Loop

from .data_trip_counts import TripEstimate, slope
from .facts_walk import replace_loads
from .scope import CountingScope

# No memory holds longer ones.
MAX_LENGTH = 1 << 40
_LENGTH_VARIABLE = "(a length)"


class LengthEstimate(NamedTuple):
    """What all elements of an array are taken for, and why."""

    array: str
    value: int
    reason: str


def estimate_length(
    loop: Loop,
    extent: Expr,
    once: TripEstimate,
    scope: CountingScope,
    buffers: Mapping[str, Buffer],
) -> LengthEstimate | None:
    """The greatest length with which a loop of `extent` turns no more than `once` tells.

    None where there is not just one element of an array of integers in the extent, or the loop
    does not grow with it.
    """
    found = set(loads(extent))
    if len(found) != 1:
        return None
    (load,) = found
    array = buffers[load[1]]
    if array.scope != "global" or len(array.shape) != 1 or not array.dtype.startswith("int"):
        return None
    named = replace_loads(extent, {array.id: (0, _LENGTH_VARIABLE)})
    growth = slope(simplify(named), _LENGTH_VARIABLE)
    if growth is None or growth <= 0:
        return None

    def most(value: int) -> float:
        return bounds(simplify(substitute(named, {_LENGTH_VARIABLE: value})), scope.domain.box)[1]

    if not most(0) <= once.trips < most(MAX_LENGTH):
        return None
    low, high = 0, MAX_LENGTH
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if most(middle) <= once.trips else (low, middle)
    how = f"taken to be {low}, with which {loop.var} passes over {once.buffer} once"
    return LengthEstimate(array.id, low, f"{array.name} is data: {how}")


def substitute_lengths(facts: KernelFacts, lengths: Mapping[str, LengthEstimate]) -> KernelFacts:
    """`facts` with a number for every element of these arrays, and a caveat for each array.

    Facts that have the numbers, as their caveats tell, are left alone.
    """
    told = {caveat.message for caveat in facts.caveats}
    if all(item.reason in told for item in lengths.values()):
        return facts
    values: dict[str, tuple[Expr, Expr]] = {name: (0, item.value) for name, item in lengths.items()}
    notes = tuple(Caveat(item.reason) for item in lengths.values())
    return replace(facts, body=replace_loads(facts.body, values), caveats=(*facts.caveats, *notes))
