"""Vectors of every n-th element: LLVM's interleaved access groups.

A loop that LLVM vectorises loads or stores elements some places apart as whole vectors and shuffles
them; of stores all places in between must be written, by the loop's other statements or copies of
them (``llvm/lib/Analysis/VectorUtils.cpp``, ``InterleavedAccessInfo``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..tree.context import EnclosingLoop
from .address import Address
from .leaves import Leaf

# VectorUtils.cpp, max-interleave-group-factor.
LONGEST_GROUP = 8
# A shuffle across a vector, of which x86 cores have one unit (uops.info).
SHUFFLE_CLK = 1.0


def filled(address: Address, step: int, leaves: Sequence[Leaf]) -> float:
    """Of the places in the groups of `step` neighbours around an address the share that is moved.

    The loop's statements and their unrolled copies move them.
    """
    places: set[int] = set()
    for leaf in leaves:
        inside = {loop.var: loop.extent or 1 for loop in leaf.inner}
        for other in leaf.addresses:
            if (other.buffer, other.mode) != (address.buffer, address.mode):
                continue
            offsets = {other.constant - address.constant}
            rest = set(address.terms) ^ set(other.terms)
            for atom, stride in other.terms:
                if isinstance(atom, str) and atom in inside and stride < step * address.size:
                    rest.discard((atom, stride))
                    copies = range(inside[atom])
                    offsets = {offset + stride * copy for offset in offsets for copy in copies}
            rest = {term for term in rest if term[0] not in inside}
            if not rest:
                places |= {offset // address.size for offset in offsets}
    groups = 0
    until = -math.inf
    for place in sorted(places):
        if place >= until:
            groups, until = groups + 1, place + step
    return len(places) / (groups * step) if places else 1 / step


def grouped(address: Address, stride: int, leaves: Sequence[Leaf]) -> bool:
    """Whether elements `stride` bytes apart are moved in whole vectors."""
    step = abs(stride) // address.size
    if step <= 1:
        return True
    if step > LONGEST_GROUP:
        return False
    complete = filled(address, step, leaves) == 1
    return complete or (address.mode == "read" and step <= LONGEST_GROUP // 2)


def gaps(loop: EnclosingLoop, leaf: Leaf, leaves: Sequence[Leaf]) -> bool:
    """Whether a statement reads elements apart, in vectors of which some are not asked for."""
    ranges = leaf.item.context.ranges
    for read in leaf.reads:
        stride = read.stride(loop.var, ranges)
        step = abs(stride or 0) // read.size
        if step > 1 and grouped(read, step * read.size, leaves) and filled(read, step, leaves) < 1:
            return True
    return False


def group_clk(
    address: Address, step: int, leaves: Sequence[Leaf], clk: float, widest: float
) -> float:
    """The clocks of a vector of every `step`-th element, whose whole vectors take `clk` each.

    It is shuffled out of all vectors that hold it.  Where all places are moved, shuffles of two
    vectors at a time need a round for each power of two; the widest registers hold `widest` of the
    vectors.
    """
    share = filled(address, step, leaves)
    rounds = math.log2(step) / widest if share == 1 else step - 1
    moved = max(clk / share, SHUFFLE_CLK * rounds)
    return moved + (clk if address.mode != "read" else 0.0)
