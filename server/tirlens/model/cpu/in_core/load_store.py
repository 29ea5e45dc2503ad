"""Loads and stores: how many the compiler leaves, how wide, and what they take."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tirlens.hardware.spec import Device

from ..compiler.loop_nests import Nest
from ..compiler.statements import LINE_BYTES, Address, Leaf, inner
from ..compiler.vector_width import Width, odd, parts, rates_of
from ..compiler.vectorization import SHUFFLE_CLK, group_clk, grouped

# Values that the compiler keeps in registers over a loop that does not change them: x86-64 has
# sixteen vector registers before AVX-512.
HOISTED = 16
# Clocks of a single element, relative to a vector's: looked at.
SCALAR_LOAD = 0.8
SCALAR_STORE = 1.5
# Gathers and scatters take elements of as many bytes (AVX2: VPGATHERDD), or twice as many; others
# are put into vectors one by one.
SHORTEST_GATHERED = 4
# Clocks of each element that a gather takes of what was just scattered, from the cache: looked at.
SCATTERED = 2.5
# Taking an element out of a vector and putting it into another, two shuffles of which one in four
# is not needed.
SHUFFLES = 1.5 * SHUFFLE_CLK


@dataclass
class Ports:
    """Load and store instructions over a whole launch, and the clocks that they take.

    Those of vectors share the way to L1, of the shorter kind the part `sharing`; single elements
    leave the ports by themselves.
    """

    sharing: float
    moves: float = 0.0
    vector_load_clk: float = 0.0
    vector_store_clk: float = 0.0
    load_clk: float = 0.0
    store_clk: float = 0.0

    @property
    def clk(self) -> float:
        """Clocks in which the ports are busy."""
        less, more = sorted((self.vector_load_clk, self.vector_store_clk))
        return more + self.sharing * less + max(self.load_clk, self.store_clk)


def ports(leaf: Leaf, nest: Nest, width: Width, device: Device) -> Ports:
    """What the loads and stores of a leaf's executions in a nest ask of the ports."""
    core = device.cpu
    assert core is not None
    out = Ports(core.load_store_sharing)
    spilled = spills(leaf, nest, width, device) or through_memory(leaf, nest)
    for address in leaf.addresses:
        reads = address.mode == "read" or (address in leaf.reads and address not in leaf.writes)
        times = _times(address, leaf, nest, width, spilled)
        cost = _each_clk(address, leaf, nest, width, device, reads)
        out.moves += times * width.registers
        if width.elements > 1 and reads:
            out.vector_load_clk += times * cost
        elif width.elements > 1:
            out.vector_store_clk += times * cost
        elif reads:
            out.load_clk += times * SCALAR_LOAD * cost
        else:
            out.store_clk += times * SCALAR_STORE * cost
    taken_apart = odd(leaf, nest, device.simd_bytes, core.unrolled_instructions)
    out.moves += taken_apart
    out.vector_load_clk += taken_apart * SHUFFLES
    if spilled:
        store_clk = rates_of(width, core).store_clk
        out.vector_store_clk += taken_apart * SCALAR_STORE * store_clk
    return out


def _times(address: Address, leaf: Leaf, nest: Nest, width: Width, spilled: bool) -> float:
    """How often an address is loaded or stored."""
    times = leaf.turns(nest.loop, nest.vectorised) / width.elements
    writes = address.mode != "read"
    absent = [loop for loop in leaf.inner if loop.var not in address.variables]
    shared = math.prod(loop.extent or 1 for loop in absent)
    if nest.vectorised and nest.loop is not None:
        # Within a loop that it vectorises the compiler knows that arrays do not overlap, and loads
        # once what does not change.  Stores stay: those without effect are removed before that.
        if not writes and together(address, leaf, nest):
            times /= shared
        fixed = nest.loop.var not in address.variables
        if fixed and not under_mask(address, leaf, nest) and inner(leaf) / shared <= HOISTED:
            return times / max(nest.trips / width.elements, 1)
        return times
    if not writes and not spilled and leaf.accumulates(address):
        if nest.loop is None or nest.loop.var not in address.variables:
            # The sum is in a register from one iteration to the next, but stored in each.
            return 0.0
        # So it is from one unrolled statement to the next.
        times /= shared
    elif not spilled and leaf.writes and all(promoted(write, leaf, nest) for write in leaf.writes):
        # Nothing is stored in the loop that could change what its unrolled statements share.
        times /= nest.trips if writes else shared
    return times / shared if writes and overwritten(address, leaf, nest) else times


def _each_clk(
    address: Address, leaf: Leaf, nest: Nest, width: Width, device: Device, reads: bool
) -> float:
    """The clocks of one load, or store where it does not read."""
    core = device.cpu
    assert core is not None
    rates = rates_of(width, core)
    clk, apart_clk = (
        (rates.load_clk, core.gather_clk) if reads else (rates.store_clk, core.scatter_clk)
    )
    if under_mask(address, leaf, nest):
        return apart_clk
    lane = nest.loop.var if nest.vectorised and nest.loop else leaf.lane_loop
    stride = address.stride(lane, leaf.item.context.ranges) if lane else 0
    if width.elements <= 1 or stride == 0:
        return clk
    if stride == address.size:
        crossing = 1 + across(address, lane, width, leaf) * rates.again
        return clk * parts(int(width.elements), int(width.registers)) * crossing
    vectors = width.registers * (2 if width.wide else 1)
    if stride == -address.size:
        # Loaded as it lies and turned round, by one shuffle.
        return (clk + SHUFFLE_CLK) * width.registers
    if stride is not None and leaf.lanes > 1:
        # TVM takes a vector apart whose elements do not follow each other (``CodeGenLLVM``).
        return max(SHUFFLE_CLK, clk) * width.elements
    if stride is not None and grouped(address, stride, nest.leaves):
        step = abs(stride) // address.size
        widest = device.simd_bytes / core.vector_bytes
        return group_clk(address, step, nest.leaves, clk, widest) * vectors
    if address.size < SHORTEST_GATHERED:
        return max(SHUFFLES, clk) * width.elements
    # What was just scattered cannot be forwarded to a gather: it goes through the cache.
    scattered = address.mode == "read" and leaf.accumulates(address)
    return apart_clk * vectors + (SCATTERED * width.elements if scattered else 0.0)


def under_mask(address: Address, leaf: Leaf, nest: Nest) -> bool:
    """Whether one place is read in each iteration of a vectorised loop where a condition holds.

    It is not loaded outside, where the condition may not hold, but gathered under a mask (LLVM's
    ``LoopVectorize``: a uniform access that is predicated).
    """
    if not nest.vectorised or nest.loop is None or address.mode != "read":
        return False
    return nest.loop.var not in address.variables and leaf.chosen(nest.loop.var)


def together(address: Address, leaf: Leaf, nest: Nest) -> bool:
    """Whether the copies of a statement share one load in a loop that runs in vectors.

    A gather is a call that could read what a scatter before it has stored (LLVM's ``EarlyCSE``).
    """
    return not (apart(address, leaf, nest) and any(apart(w, leaf, nest) for w in leaf.writes))


def apart(address: Address, leaf: Leaf, nest: Nest) -> bool:
    """Whether the elements of a vector are gathered or scattered."""
    if nest.loop is None or nest.loop.var not in address.variables:
        return False
    stride = address.stride(nest.loop.var, leaf.item.context.ranges)
    return stride is None or not grouped(address, stride, nest.leaves)


def across(address: Address, lane: str | None, width: Width, leaf: Leaf) -> float:
    """The share of an address's vectors that stand across two lines, which are moved twice."""
    size = min(width.elements * address.size, LINE_BYTES)
    inside = frozenset(loop.var for loop in leaf.inner)
    unaligned = (
        address.constant % size
        or any(
            stride % size and atom != lane and (atom in inside or not isinstance(atom, str))
            for atom, stride in address.terms
        )
        or any(stride % size for atom, stride in address.terms if atom != lane)
    )
    return (size - address.size) / LINE_BYTES if unaligned else 0.0


def overwritten(address: Address, leaf: Leaf, nest: Nest) -> bool:
    """Whether only the last of a statement's unrolled stores is left.

    The compiler sees that nothing reads the others in between where all that is read are the
    kernel's own arrays; arguments could overlap.
    """
    if nest.loop is not None:
        return False
    return leaf.accumulates(address) and all(
        read.buffer == address.buffer or not leaf.is_parameter(read) for read in leaf.reads
    )


def promoted(address: Address, leaf: Leaf, nest: Nest) -> bool:
    """Whether a loop's sums are stored after it alone, being the kernel's own on the stack.

    Others could be among what the loop reads (LLVM's ``promoteLoopAccessesToScalars``).
    """
    return (
        nest.loop is not None
        and nest.loop.var not in address.variables
        and leaf.on_stack(address)
        and leaf.accumulates(address)
    )


def through_memory(leaf: Leaf, nest: Nest) -> bool:
    """Whether a sum is stored and loaded again in each iteration, instead of kept in a register.

    It is where the iteration stores to another array, which may be the same for all that the
    compiler knows.
    """
    if nest.loop is None or nest.vectorised:
        return False
    for write in leaf.writes:
        if leaf.on_stack(write) or not leaf.reads_back(write):
            continue
        again = {x.var for x in (nest.loop, *leaf.inner)} - write.variables
        if any(
            other_write.buffer != write.buffer
            and not other.on_stack(other_write)
            and any(x.var in again for x in other.item.context.loops)
            for other in nest.leaves
            for other_write in other.writes
        ):
            return True
    return False


def spills(leaf: Leaf, nest: Nest, width: Width, device: Device) -> bool:
    """Whether the sums of one iteration are more than the registers."""
    if nest.loop is None:
        return False
    for write in leaf.writes:
        if nest.loop.var in write.variables:
            continue
        held = [x for x in leaf.inner if x.var in write.variables and x.var != leaf.lane_loop]
        sums = math.prod(loop.extent or 1 for loop in held) * width.registers
        if sums > device.limits.registers_per_thread - 2:
            return True
    return False
