"""How many elements one instruction moves or computes, and at which of the core's rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tirlens.hardware.cpu_core import CpuCore
from tirlens.hardware.spec import Device

from .loop_nests import Nest
from .statements import Leaf, inner, operations
from .unrolling import ONCE, THRESHOLD


@dataclass(frozen=True)
class Width:
    """How a statement's executions are grouped: `elements` an instruction, `registers` each.

    ``narrow`` instructions are single elements and vectors of half the compiler's ``vector``, or
    less; ``wide`` ones take the widest registers where the compiler does not by itself.
    """

    elements: float
    registers: float
    kind: Literal["narrow", "vector", "wide"]

    @property
    def wide(self) -> bool:
        """Whether it takes registers that the compiler does not by itself."""
        return self.kind == "wide"


SINGLE = Width(1, 1, "narrow")


@dataclass(frozen=True)
class Rates:
    """Clocks of one instruction of a width, when only those of its kind are executed.

    A load or store across two lines takes `again` of its time more: where units are narrower than
    the vector only one of its parts lies across.
    """

    load_clk: float
    store_clk: float
    arithmetic_clk: float
    again: float = 1.0


def width_of(leaf: Leaf, nest: Nest, device: Device) -> Width:
    """Explicit vectors, those of the compiler, or one element at a time."""
    core = device.cpu
    assert core is not None
    size = leaf.bits / 8
    if leaf.lanes > 1:
        taken = leaf.lanes * size
        if taken <= core.vector_bytes:
            return Width(leaf.lanes, 1, "narrow" if taken <= core.vector_bytes / 2 else "vector")
        registers = math.ceil(taken / device.simd_bytes)
        return Width(
            leaf.lanes, registers, "wide" if device.simd_bytes > core.vector_bytes else "vector"
        )
    filled = _filled(leaf)
    if filled > 1 and not nest.vectorised:
        return of_loop(max(core.vector_bytes / size, 1), filled, in_a_row=False)
    if nest.vectorised:
        return of_loop(max(core.vector_bytes / size, 1), nest.trips, nest.in_a_row)
    return SINGLE


def _filled(leaf: Leaf) -> int:
    """How many places in a row the unrolled copies of a statement fill with a constant, at least 1.

    LLVM makes one ``memset`` of those with 0 (``LoopIdiomRecognize``), and joins the stores of
    others (``SLPVectorizer``).
    """
    if leaf.reads or leaf.item.count.arith or not leaf.inner:
        return 1
    last = leaf.inner[-1]
    rows = (write.stride(last.var, leaf.item.context.ranges) == write.size for write in leaf.writes)
    return (last.extent or 1) if all(rows) else 1


def of_loop(elements: float, trips: int, in_a_row: bool) -> Width:
    """What the compiler takes for a loop: a power of two of its iterations, up to `elements`.

    It counts a vector of what lies `in_a_row` as much as an iteration that is left, and of equals
    takes the longer (LLVM's ``LoopVectorize``, ``isMoreProfitable`` with a known trip count).
    """
    fitting = min(int(math.log2(max(elements, 1))), max(trips, 1).bit_length() - 1)
    several = [2**power for power in range(fitting, 0, -1)]
    if in_a_row:
        several.sort(key=lambda size: trips // size + trips % size)
    best = several[0] if several else 1
    return Width(best, 1, "narrow" if best <= elements / 2 else "vector")


def rates_of(width: Width, core: CpuCore) -> Rates:
    """What instructions of a width take on a core."""
    if width.kind == "wide":
        return Rates(core.wide_load_clk, core.wide_store_clk, core.wide_arithmetic_clk)
    if width.kind == "narrow":
        return Rates(core.narrow_load_clk, core.narrow_store_clk, core.narrow_arithmetic_clk)
    again = core.narrow_load_clk / core.load_clk
    return Rates(core.load_clk, core.store_clk, core.arithmetic_clk, again)


# Instructions for each element of a vector that is taken apart and put together, by LLVM's count:
# looked at.
TAKEN_APART = 1.5


def parts(elements: int, registers: int) -> int:
    """Loads or stores of a vector that is in `registers`.

    What is left of whole ones is moved in powers of two (LLVM's ``GenWidenVectorLoads``), which
    shuffles join meanwhile.
    """
    size = 2 ** math.ceil(math.log2(elements / registers))
    rest = elements % size
    return registers - 1 + bin(rest).count("1") if rest else registers


def odd(leaf: Leaf, nest: Nest, register_bytes: int, unrolled_instructions: int) -> float:
    """Elements of explicit vectors that go one by one from an iteration to the next.

    Sums that a loop carries are so where their number is no power of two, for there is no such
    register (LLVM's ``TargetLowering::getVectorTypeBreakdown``).
    """
    if (
        nest.loop is None
        or not leaf.lanes & (leaf.lanes - 1)
        or unrolled_late(nest, register_bytes)
    ):
        return 0.0
    carried = [write for write in leaf.writes if leaf.reads_back(write)]
    if not any(nest.loop.var not in write.variables for write in carried):
        return 0.0
    again = math.prod(
        loop.extent or 1
        for loop in leaf.inner
        if not any(loop.var in write.variables for write in carried)
    )
    return leaf.executions / again / _repeated(nest, unrolled_instructions)


def _repeated(nest: Nest, unrolled_instructions: int) -> int:
    """How many iterations LLVM makes one of, between which nothing is taken apart.

    They are a divisor of all (``computeUnrollCount`` in LoopUnrollPass.cpp).
    """
    body = TAKEN_APART * sum(inner(other) for other in nest.leaves)
    most = max(min(int(unrolled_instructions / body), nest.trips), 1)
    return next(count for count in range(most, 0, -1) if not nest.trips % count)


def unrolled_late(nest: Nest, register_bytes: int) -> bool:
    """Whether LLVM unrolls a loop of explicit vectors after all, so that nothing is carried on.

    It asks again behind the vectoriser, when nothing is left of the loop's addresses but a counter.
    """
    inside = sum(
        inner(leaf) / leaf.lanes * _instructions(leaf, register_bytes) for leaf in nest.leaves
    )
    return nest.trips * (inside + 1) + ONCE < THRESHOLD


def _instructions(leaf: Leaf, register_bytes: int) -> float:
    """Instructions of one execution of a statement with all its lanes.

    Vectors are as long as the next power of two; elements apart are loaded and put in one by one.
    """
    registers = math.ceil(2 ** math.ceil(math.log2(leaf.lanes)) * leaf.bits / 8 / register_bytes)
    lane = leaf.lane_loop
    strides = [
        read.stride(lane, leaf.item.context.ranges) if lane else 0
        for read in leaf.reads
        if not leaf.accumulates(read)
    ]
    near = (0, leaf.bits // 8)
    loads = sum(registers if stride in near else 2 * leaf.lanes for stride in strides)
    return registers * operations(leaf.item) + loads
