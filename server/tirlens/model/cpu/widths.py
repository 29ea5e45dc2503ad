"""How many elements one instruction moves or computes, and at which of the core's rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tirlens.hardware.cpu_core import CpuCore
from tirlens.hardware.spec import Device

from .leaves import Leaf
from .nests import Nest


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
