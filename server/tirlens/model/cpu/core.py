"""How long one core computes, with all data in L1: ports, chains of dependent results, calls.

After the in-core part of the Execution-Cache-Memory model (Stengel, Treibig, Hager, Wellein:
"Quantifying Performance Bottlenecks of Stencil Computations Using the ECM Model", ICS 2015): each
kind of instruction has a throughput, and a chain of dependent ones a latency that overlaps with
what the reorder buffer holds beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tirlens.hardware.spec import Device

from ..classes import FLOAT_OPS, FREE_OPS, INTEGER_OPS, is_float
from .address import LINE_BYTES, Address
from .nests import Leaf, Nest, distance

# A call of a function of the C library, over one of expf; measured with glibc 2.36 on x86.
CALLS: Mapping[str, float] = {
    "exp": 1.0,
    "exp2": 1.0,
    "log": 1.0,
    "log2": 1.0,
    "sin": 1.5,
    "cos": 1.5,
    "tan": 2.5,
    "tanh": 2.3,
    "sigmoid": 1.0,
    "erf": 2.0,
    "pow": 2.5,
    "log1p": 2.0,
    "log10": 1.5,
    "exp10": 1.5,
}
OTHER_CALL = 1.5
VECTOR_OPS = FLOAT_OPS | FREE_OPS | INTEGER_OPS | {"mma"}
# Divisions and square roots in an operation, which one unit computes slowly.
DIVISIONS: Mapping[str, float] = {
    "div": 1.0,
    "mod": 1.0,
    "sqrt": 1.2,
    "rsqrt": 2.2,
    "rcp": 1.0,
    "sigmoid": 1.0,
}
FREE = frozenset({"neg", "abs", "logic"})
# Values that the compiler keeps in registers over a loop that does not change them.
HOISTED = 16
# Clocks of a single element, relative to a vector's.
SCALAR_DIVIDE = 0.6
SCALAR_LOAD = 0.8
SCALAR_STORE = 1.5
# Entering a loop, and one that runs in vectors.
ENTRY_CLK = 4.0
VECTOR_ENTRY_CLK = 1.0


@dataclass
class CoreTime:
    """Clocks of one nest over all its executions, by what is busy, and its instructions."""

    arithmetic: float = 0.0
    memory: float = 0.0
    issue: float = 0.0
    chain: float = 0.0
    calls: float = 0.0
    entries: float = 0.0
    instructions: float = 0.0
    by_leaf: dict[int, float] = field(default_factory=dict[int, float])

    @property
    def total(self) -> float:
        busy = max(self.arithmetic, self.memory, self.issue, self.chain)
        return busy + self.calls + self.entries


@dataclass(frozen=True)
class Width:
    """How a statement's executions are grouped: `elements` an instruction, `registers` each."""

    elements: float
    registers: float
    wide: bool


def core_time(nest: Nest, device: Device, share: float) -> CoreTime:
    """The time of a nest on one core that has `share` of its executions."""
    core = device.cpu
    assert core is not None
    out = CoreTime()
    instructions = runs = chain = 0.0
    for leaf in nest.leaves:
        width = width_of(leaf, nest, device)
        ports = _ports(leaf, nest, width, device)
        vectors, divisions, calls = _arithmetic(leaf)
        count = leaf.executions * share
        steps = count / width.elements
        compute = core.wide_arithmetic_clk if width.wide else core.arithmetic_clk
        arithmetic = steps * width.registers * vectors * compute
        each = core.divide_clk * (2 if width.wide else 1) * width.registers
        arithmetic += steps * divisions * (each if width.elements > 1 else SCALAR_DIVIDE * each)
        # The operations of one statement mostly wait for each other, in the scheduler.
        waiting = vectors * core.latency_clk * vectors / core.scheduler
        arithmetic = max(arithmetic, steps * width.registers * waiting)
        memory = ports.clk * share
        moved = ports.moves * share + steps * width.registers * (vectors + divisions)
        called = count * calls * core.call_clk
        out.memory += memory
        out.arithmetic += arithmetic
        out.calls += called
        instructions += moved
        out.by_leaf[id(leaf.item)] = max(memory, arithmetic) + called
        inner = _inner(leaf) * (width.elements if nest.vectorised else 1)
        runs = max(runs, count / max(inner, 1))
        chain = max(chain, _chain(leaf, nest) * core.latency_clk)
    out.instructions = instructions
    out.issue = instructions / device.issue_per_clk_per_sm
    if chain and runs:
        out.chain = chain * runs / _overlap(nest, instructions / runs, core.window)
    _entries(out, nest, share, device)
    return out


@dataclass
class Ports:
    """Load and store instructions over a whole launch, and the clocks that they take."""

    moves: float = 0.0
    vector_clk: float = 0.0
    load_clk: float = 0.0
    store_clk: float = 0.0

    @property
    def clk(self) -> float:
        # Single elements leave the ports by themselves; vectors share the width of L1.
        return self.vector_clk + max(self.load_clk, self.store_clk)


def _ports(leaf: Leaf, nest: Nest, width: Width, device: Device) -> Ports:
    core = device.cpu
    assert core is not None
    load, store = (
        (core.wide_load_clk, core.wide_store_clk) if width.wide else (core.load_clk, core.store_clk)
    )
    out = Ports()
    spilled = spills(leaf, nest, width, device)
    for address in leaf.addresses:
        reads = address.mode == "read" or (address in leaf.reads and address not in leaf.writes)
        clk, apart = (load, core.gather_clk) if reads else (store, core.scatter_clk)
        times, cost = _moves(address, leaf, nest, width, clk, apart, spilled, core.forward_clk)
        out.moves += times * width.registers
        if width.elements > 1:
            out.vector_clk += times * cost
        elif reads:
            out.load_clk += times * SCALAR_LOAD * cost
        else:
            out.store_clk += times * SCALAR_STORE * cost
    return out


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


def kept_around(address: Address, nest: Nest, width: Width) -> bool:
    """Whether a loop is so short that its sums stay in registers while the loop around it runs."""
    if nest.loop is None or not nest.outer or nest.outer[-1].var in address.variables:
        return False
    if dict(address.terms).get(nest.loop.var) != address.size:
        return False
    return nest.trips <= HOISTED * width.elements


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


def width_of(leaf: Leaf, nest: Nest, device: Device) -> Width:
    """Explicit vectors, those of the compiler, or one element at a time."""
    core = device.cpu
    assert core is not None
    size = leaf.bits / 8
    if leaf.lanes > 1:
        taken = leaf.lanes * size
        if taken > core.vector_bytes:
            return Width(
                leaf.lanes,
                math.ceil(taken / device.simd_bytes),
                device.simd_bytes > core.vector_bytes,
            )
        return Width(leaf.lanes, 1, False)
    if nest.vectorised:
        return Width(max(core.vector_bytes / size, 1), 1, False)
    return Width(1, 1, False)


def _inner(leaf: Leaf) -> int:
    """Executions of a statement in one iteration of its nest's loop."""
    return math.prod(loop.extent or 1 for loop in leaf.inner)


def _moves(
    address: Address,
    leaf: Leaf,
    nest: Nest,
    width: Width,
    clk: float,
    apart_clk: float,
    spilled: bool,
    forward_clk: float,
) -> tuple[float, float]:
    """How often an address is loaded or stored, and the clocks of each."""
    ranges = leaf.item.place.ranges
    times = leaf.executions / width.elements
    writes = address.mode != "read"
    lane = nest.loop.var if nest.vectorised and nest.loop else leaf.lane_loop
    if nest.vectorised and nest.loop is not None:
        # Within a loop that it vectorises the compiler knows that arrays do not overlap, and loads
        # once what does not change.  Stores stay: those without effect are removed before that.
        absent = [loop for loop in leaf.inner if loop.var not in address.variables]
        if not writes:
            times /= math.prod(loop.extent or 1 for loop in absent)
        if not writes and leaf.accumulates(address) and kept_around(address, nest, width):
            return 0.0, clk
        if nest.loop.var not in address.variables:
            held = _inner(leaf) / math.prod(loop.extent or 1 for loop in absent)
            if held > HOISTED:
                return times, clk
            return times / max(nest.trips / width.elements, 1), clk
    elif (
        not writes
        and not spilled
        and leaf.accumulates(address)
        and (nest.loop is None or nest.loop.var not in address.variables)
    ):
        # The sum is in a register from one iteration to the next, but stored in each.
        return 0.0, clk
    if writes and overwritten(address, leaf, nest):
        absent = [loop for loop in leaf.inner if loop.var not in address.variables]
        times /= math.prod(loop.extent or 1 for loop in absent)
    stride = address.stride(lane, ranges) if lane else 0
    if width.elements <= 1 or stride == 0:
        return times, clk
    if stride == address.size:
        crossing = 1 + across(address, lane, width, leaf)
        return times, clk * width.registers * crossing
    vectors = width.registers * (2 if width.wide else 1)
    if stride is not None and 0 < stride <= 4 * address.size:
        return times, clk * vectors * (2 * stride / address.size)
    # What was just scattered cannot be forwarded to a gather: it goes through the cache.
    again = not writes and leaf.accumulates(address)
    return times, apart_clk * vectors + (0.5 * forward_clk * width.elements if again else 0.0)


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


def _arithmetic(leaf: Leaf) -> tuple[float, float, float]:
    """Operations per execution: simple ones, divisions, and calls of library functions."""
    executions = max(leaf.executions, 1)
    simple = divisions = calls = 0.0
    adds = multiplies = 0.0
    for entry in leaf.item.count.arith:
        arith = entry.arith
        if arith.index or entry.total is None or arith.op.startswith("unknown:"):
            continue
        each = entry.total / executions
        name = arith.op.removeprefix("fast_")
        divisions += each * DIVISIONS.get(name, 0.0) if is_float(arith.dtype) else 0.0
        if name in CALLS:
            calls += each * CALLS[name]
        elif is_float(arith.dtype) and name not in VECTOR_OPS and name not in DIVISIONS:
            calls += each * OTHER_CALL
        elif name in ("add", "sub") and is_float(arith.dtype):
            adds += each
        elif name == "mul" and is_float(arith.dtype):
            multiplies += each
        elif name not in DIVISIONS or not is_float(arith.dtype):
            simple += 0.0 if name in FREE else each * (3 if name in ("div", "mod") else 1)
    # The compiler contracts a * b + c.
    return simple + max(adds, multiplies), divisions, calls


def _chain(leaf: Leaf, nest: Nest) -> float:
    """Results that wait for each other in one iteration of a nest's loop."""
    ranges = leaf.item.place.ranges
    longest = 0.0
    for write in leaf.writes:
        for read in leaf.reads:
            if read.buffer != write.buffer or read.terms != write.terms:
                continue
            absent = [loop for loop in leaf.inner if loop.var not in write.variables]
            length = math.prod(loop.extent or 1 for loop in absent)
            over = nest.loop is not None and write.stride(nest.loop.var, ranges) == 0
            trips = nest.trips
            stride = write.stride(nest.loop.var, ranges) if nest.loop else 0
            again = bool(stride) and distance(write, read, stride or 1, trips) > 0
            if again or (read.constant == write.constant and (over or length > 1)):
                longest = max(longest, float(length))
    return longest


def _overlap(nest: Nest, instructions: float, window: int) -> float:
    """How many chains run at once: those of the iterations or entries that the window holds."""
    if nest.vectorised or nest.loop is None:
        return max(1.0, window / max(instructions, 1.0))
    return max(1.0, window / max(instructions * nest.trips * _continued(nest), 1.0))


def _continued(nest: Nest) -> int:
    """How many entries of a nest's loop add to the same sum, one after the other."""
    sums = [write for leaf in nest.leaves for write in leaf.writes if leaf.reads_back(write)]
    entries = 1
    for loop in reversed(nest.outer):
        if any(loop.var in write.variables for write in sums):
            break
        entries *= loop.extent or 1
    return entries if sums else 1


def _entries(out: CoreTime, nest: Nest, share: float, device: Device) -> None:
    """What it takes to enter the nest's loop: set-up, and the iterations left of vectors."""
    if nest.loop is None or not nest.leaves:
        return
    core = device.cpu
    assert core is not None
    leaf = max(nest.leaves, key=lambda leaf: leaf.executions)
    entries = leaf.executions * share / max(_inner(leaf) * nest.trips, 1)
    each = ENTRY_CLK
    if nest.vectorised:
        lanes = width_of(leaf, nest, device).elements
        left = nest.trips % max(lanes, 1)
        each = VECTOR_ENTRY_CLK + left * max(core.load_clk, core.store_clk) * 2
    out.entries += entries * each
