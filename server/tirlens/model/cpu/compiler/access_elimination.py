"""Access elimination: the loads and stores that remain after hoisting and register promotion."""

from __future__ import annotations

import math

from tirlens.hardware.spec import Device

from ...constants import constant
from .loop_nests import Nest
from .statements import Address, NestStatement
from .vector_width import VectorWidth
from .vectorization import is_interleaved

HOISTED_VALUES = constant(
    "HOISTED_VALUES",
    16,
    kind="isa",
    unit="registers",
    meaning="Loop-invariant values that the compiler holds in registers.",
    source="x86-64 has sixteen vector registers before AVX-512",
)
OPERAND_REGISTERS = constant(
    "OPERAND_REGISTERS",
    2,
    kind="estimate",
    unit="registers",
    meaning="Vector registers that hold operands and not sums.",
)


def remaining_accesses(
    address: Address, statement: NestStatement, nest: Nest, width: VectorWidth, is_spilled: bool
) -> float:
    """Loads or stores of an address over the whole launch, in vectors of `width`.

    `is_spilled` is true if the statement's sums are in memory, not in registers.
    """
    accesses = statement.issued_executions(nest.loop, nest.is_vectorized) / width.elements
    is_write = address.mode != "read"
    # The lanes of an explicit vector are one access already.
    copies = math.prod(
        loop.trip_count
        for loop in statement.inner_loops
        if loop not in statement.vector_loops and loop.var not in address.variables
    )
    if nest.is_vectorized and nest.loop is not None:
        # In a loop that it vectorizes the compiler knows that arrays do not overlap, and hoists
        # invariant loads.  Stores remain: redundant ones are eliminated earlier.
        if not is_write and shares_load(address, statement, nest):
            accesses /= copies
        is_invariant = nest.loop.var not in address.variables
        values = statement.executions_per_iteration / copies
        if (
            is_invariant
            and not is_masked_gather(address, statement, nest)
            and values <= HOISTED_VALUES
        ):
            return accesses * width.elements / nest.trip_count
        return accesses
    if not is_write and not is_spilled and statement.accumulates(address):
        if nest.loop is None or nest.loop.var not in address.variables:
            # The sum stays in a register between iterations, but each iteration stores it.
            return 0.0
        # The sum stays in a register between the unrolled copies.
        accesses /= copies
    elif (
        not is_spilled
        and statement.writes
        and all(is_promoted(write, statement, nest) for write in statement.writes)
    ):
        # No store of the loop can change what the unrolled copies share.
        accesses /= nest.trip_count if is_write else copies
    return accesses / copies if is_write and is_overwritten(address, statement, nest) else accesses


def is_masked_gather(address: Address, statement: NestStatement, nest: Nest) -> bool:
    """Whether a vectorized loop reads an invariant address under a condition on its variable.

    The load is not hoisted, because the condition may not hold, but becomes a masked gather
    (LLVM's ``LoopVectorize``: a uniform access that is predicated).
    """
    if not nest.is_vectorized or address.mode != "read":
        return False
    assert nest.loop is not None
    return nest.loop.var not in address.variables and statement.is_predicated_by(nest.loop.var)


def shares_load(address: Address, statement: NestStatement, nest: Nest) -> bool:
    """Whether the unrolled copies of a statement share one load in a vectorized loop.

    A gather is a call that may read what an earlier scatter has stored (LLVM's ``EarlyCSE``).
    """
    return not (
        is_gathered(address, statement, nest)
        and any(is_gathered(write, statement, nest) for write in statement.writes)
    )


def is_gathered(address: Address, statement: NestStatement, nest: Nest) -> bool:
    """Whether a vectorized loop gathers or scatters the elements of an address."""
    if nest.loop is None or nest.loop.var not in address.variables:
        return False
    stride = statement.stride_bytes(address, nest.loop.var)
    return stride is None or not is_interleaved(address, stride, nest.statements)


def is_overwritten(address: Address, statement: NestStatement, nest: Nest) -> bool:
    """Whether only the last store of a statement's unrolled copies remains.

    The compiler eliminates the others if all that the statement reads is in arrays that are no
    parameters; parameters may overlap.
    """
    if nest.loop is not None:
        return False
    return statement.accumulates(address) and all(
        read.buffer == address.buffer or not statement.is_parameter(read)
        for read in statement.reads
    )


def is_promoted(address: Address, statement: NestStatement, nest: Nest) -> bool:
    """Whether a loop's sums stay in registers and are stored after the loop.

    They do if they are on the stack.  Other arrays may overlap with what the loop reads (LLVM's
    ``promoteLoopAccessesToScalars``).
    """
    return (
        nest.loop is not None
        and nest.loop.var not in address.variables
        and statement.is_on_stack(address)
        and statement.accumulates(address)
    )


def is_sum_in_memory(statement: NestStatement, nest: Nest) -> bool:
    """Whether each iteration stores a sum and loads it again.

    It does if the iteration also stores to another array that may overlap with the sum.
    """
    if nest.loop is None or nest.is_vectorized:
        return False
    for write in statement.writes:
        if statement.is_on_stack(write) or not statement.reads_back(write):
            continue
        loops = (nest.loop, *statement.inner_loops)
        repeating = {loop.var for loop in loops} - write.variables
        if any(
            other_write.buffer != write.buffer
            and not other.is_on_stack(other_write)
            and any(loop.var in repeating for loop in other.node.context.loops)
            for other in nest.statements
            for other_write in other.writes
        ):
            return True
    return False


def is_spilled(statement: NestStatement, nest: Nest, width: VectorWidth, device: Device) -> bool:
    """Whether the sums of one iteration need more registers than the core has."""
    if nest.loop is None:
        return False
    for write in statement.writes:
        if nest.loop.var in write.variables:
            continue
        sums = math.prod(
            loop.trip_count
            for loop in statement.inner_loops
            if loop.var in write.variables and loop.var != statement.lane_variable
        )
        if sums * width.registers > device.limits.registers_per_thread - OPERAND_REGISTERS:
            return True
    return False
