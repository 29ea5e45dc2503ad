"""Which innermost loops LLVM runs in vectors by itself: those whose iterations are independent."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tirlens_counting.expressions import free_variables, is_data_dependent
from tirlens_counting.intervals import bounds
from tirlens_worker.facts import Expr

from ...tree.context import EnclosingLoop
from .statements import Address, Leaf, operations

# llvm/lib/Target/X86/X86TargetTransformInfo.cpp, getGSVectorCost: beside a move for each element.
GATHER_OVERHEAD = 2
# LoopVectorize.cpp, vectorizer-min-trip-count: shorter loops are not worth comparisons before them.
TINY = 16


def vectorisable(loop: EnclosingLoop, leaves: Sequence[Leaf], vector_bytes: int) -> bool:
    """Whether the compiler runs several iterations of a loop at once by itself."""
    if loop.kind == "vectorized" and not any(leaf.chosen(loop.var) for leaf in leaves):
        return True
    if any(leaf.lanes > 1 or carried(loop, leaf) for leaf in leaves):
        return False
    if any(unbounded(loop, leaf) or several_sums(loop, leaf) for leaf in leaves):
        return False
    if any(handed_on(loop, leaf, leaves) for leaf in leaves):
        return False
    if (loop.extent or 1) < TINY and compared(leaves):
        return False
    if any(entangled(loop, leaf, leaves) or chosen_sum(loop, leaf) for leaf in leaves):
        return False
    scalar = vector = 0.0
    for leaf in leaves:
        elements = 8 * vector_bytes / leaf.bits
        compute = operations(leaf.item)
        scalar += elements * (len(leaf.addresses) + compute)
        vector += compute
        for address in leaf.addresses:
            stride = address.stride(loop.var, leaf.item.context.ranges)
            near = stride is not None and grouped(address, stride, leaves)
            vector += 1 if near else GATHER_OVERHEAD + elements
    return vector < scalar


def unbounded(loop: EnclosingLoop, leaf: Leaf) -> bool:
    """Whether the compiler cannot tell between which addresses a loop reads or writes an array.

    Data or a quotient tell the place, which is then no recurrence that adds a constant.  Without
    its bounds an array is not compared with those that are stored to, and each store may change
    what is read (LLVM's ``LoopAccessAnalysis``: "cannot identify array bounds").
    """
    return any(
        is_data_dependent(atom) or (atom != loop.var and loop.var in free_variables(atom))
        for address in leaf.addresses
        for atom, _ in address.terms
    )


def several_sums(loop: EnclosingLoop, leaf: Leaf) -> bool:
    """Whether an iteration adds to several places, each of which is stored every time.

    A sum of integers that is stored runs in vectors where it is the only one.
    """
    return any(
        write.stride(loop.var, leaf.item.context.ranges) == 0
        and leaf.reads_back(write)
        and any(x.var in write.variables and (x.extent or 1) > 1 for x in leaf.inner)
        for write in leaf.writes
    )


def handed_on(loop: EnclosingLoop, leaf: Leaf, leaves: Sequence[Leaf]) -> bool:
    """Whether a statement stores in one place what another of the iteration reads.

    Values that a TVMScript program names are such, in memory of scope ``local``.  The compiler
    keeps those on the stack in registers, and else does not vectorise (LLVM's
    ``LoopAccessAnalysis``: an unsafe dependence on a loop-invariant address).
    """
    return any(
        not write.variables & {loop.var, *(x.var for x in leaf.inner)}
        and not leaf.on_stack(write)
        and any(
            read.buffer == write.buffer
            for other in leaves
            if not any(again.buffer == write.buffer for again in other.writes)
            for read in other.reads
        )
        for write in leaf.writes
    )


def compared(leaves: Sequence[Leaf]) -> bool:
    """Whether a loop's arrays may be one for all the compiler knows, unless it compares them."""
    seen = {
        address.buffer
        for leaf in leaves
        for address in leaf.addresses
        if not leaf.on_stack(address)
    }
    stored = {write.buffer for leaf in leaves for write in leaf.writes if write.buffer in seen}
    return bool(stored) and len(seen) > 1


def entangled(loop: EnclosingLoop, leaf: Leaf, leaves: Sequence[Leaf]) -> bool:
    """Whether a statement stores to an array of which the loop touches other places in between."""
    return any(
        _between(write, other, loop, one)
        for write in leaf.writes
        for one in leaves
        for other in one.addresses
        if other.buffer == write.buffer and other.terms != write.terms
    )


def _between(write: Address, other: Address, loop: EnclosingLoop, leaf: Leaf) -> bool:
    """Whether two accesses of one array are among each other's places, for all the compiler knows.

    At different strides they have to lie apart whatever the loops around are at (LLVM's
    ``areAccessesCompletelyBeforeOrAfter``), which it does not see of rows of a matrix that a
    counter around tells both.  At the same stride it compares their places at run time, and goes on
    element by element where they are among each other (``MemoryDepChecker``).
    """
    ranges = leaf.item.context.ranges
    one, two = (address.stride(loop.var, ranges) for address in (write, other))
    places, others = dict(write.terms), dict(other.terms)
    offset: Expr = other.constant - write.constant
    for atom in dict.fromkeys((*places, *others)):
        if atom == loop.var:
            continue
        offset = ("+", offset, ("*", atom, others.get(atom, 0) - places.get(atom, 0)))
    low, high = bounds(offset, ranges)
    trips = (loop.extent or 1) - 1
    before, behind = abs(two or 0) * trips + other.size, abs(one or 0) * trips + write.size
    if one == two:
        return -before < low and high < behind
    rows = abs(one or 0) > write.size
    hidden = rows and any(
        factor == others.get(atom) and abs(factor) > write.size for atom, factor in places.items()
    )
    return hidden or (low < behind and high > -before)


def chosen_sum(loop: EnclosingLoop, leaf: Leaf) -> bool:
    """Whether data choose if an iteration stores to the place that the last one may have stored to.

    Such a store is left in its branch, and no branch in a loop that runs in vectors.
    """
    return any(map(is_data_dependent, leaf.item.context.conditions)) and any(
        loop.var not in write.variables for write in leaf.writes
    )


def distance(write: Address, read: Address, stride: int, trips: int) -> int:
    """Iterations until what is written is read, 0 if it is not within the loop."""
    steps, rest = divmod(write.constant - read.constant, stride)
    return steps if not rest and 0 < steps < trips else 0


def carried(loop: EnclosingLoop, leaf: Leaf) -> bool:
    """Whether an iteration of a loop needs what the one before it has stored."""
    for write in leaf.writes:
        stride = write.stride(loop.var, leaf.item.context.ranges)
        for read in leaf.reads:
            if read.buffer != write.buffer or read.terms != write.terms:
                continue
            if stride == 0 and leaf.floating:
                return True
            if stride and distance(write, read, stride, loop.extent or 1):
                return True
    return False


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
