"""Explicit vectors whose number of elements is no power of two, for which there is no register."""

from __future__ import annotations

import math

from .leaves import Leaf, inner, operations
from .nests import Nest
from .unrolling import ONCE, THRESHOLD

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
