"""Loop vectorization: the innermost loops that LLVM vectorizes, and interleaved access groups.

LLVM's ``LoopVectorize`` vectorizes a loop whose iterations are independent
(``LoopAccessAnalysis``) if vectors cost less.  It loads or stores elements at a small stride as
whole vectors and shuffles them.  A store needs every element in between to be written, by other
statements of the loop or their unrolled copies (``llvm/lib/Analysis/VectorUtils.cpp``,
``InterleavedAccessInfo``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tirlens_counting.expressions import free_variables, is_data_dependent
from tirlens_counting.intervals import bounds
from tirlens_worker.facts import Expr

from ...constants import constant
from ...tree.context import EnclosingLoop
from .statements import Address, NestStatement, operations_per_execution

GATHER_OVERHEAD_COST = constant(
    "GATHER_OVERHEAD_COST",
    2,
    kind="compiler",
    unit="LLVM cost units",
    meaning="Cost of a gather besides a move for each element.",
    source="llvm/lib/Target/X86/X86TargetTransformInfo.cpp, getGSVectorCost",
)
MIN_CHECKED_TRIP_COUNT = constant(
    "MIN_CHECKED_TRIP_COUNT",
    16,
    kind="compiler",
    unit="iterations",
    meaning=(
        "Iterations below which a loop is not vectorized if its arrays must be checked for "
        "overlap at run time."
    ),
    source="llvm LoopVectorize.cpp, vectorizer-min-trip-count",
)
MAX_INTERLEAVE_FACTOR = constant(
    "MAX_INTERLEAVE_FACTOR",
    8,
    kind="compiler",
    unit="elements",
    meaning="Largest stride of an interleaved access group.",
    source="llvm VectorUtils.cpp, max-interleave-group-factor",
)


def is_vectorizable(
    loop: EnclosingLoop, statements: Sequence[NestStatement], vector_bytes: int
) -> bool:
    """Whether the compiler vectorizes an innermost loop, with vectors of `vector_bytes`."""
    if loop.kind == "vectorized" and not any(s.is_predicated_by(loop.var) for s in statements):
        return True
    if any(
        s.lanes > 1 or has_recurrence(loop, s, statements[:number])
        for number, s in enumerate(statements)
    ):
        return False
    if any(has_unknown_bounds(loop, s) or updates_several_sums(loop, s) for s in statements):
        return False
    if any(passes_value_through_memory(loop, s, statements) for s in statements):
        return False
    if loop.trip_count < MIN_CHECKED_TRIP_COUNT and needs_overlap_checks(statements):
        return False
    if any(may_overlap(loop, s, statements) or is_conditional_sum(loop, s) for s in statements):
        return False
    scalar_cost = vector_cost = 0.0
    for statement in statements:
        elements = 8 * vector_bytes / statement.element_bits
        compute = operations_per_execution(statement.node)
        scalar_cost += elements * (len(statement.addresses) + compute)
        vector_cost += compute
        for address in statement.addresses:
            stride = statement.stride_bytes(address, loop.var)
            is_vector_access = stride is not None and is_interleaved(address, stride, statements)
            vector_cost += 1 if is_vector_access else GATHER_OVERHEAD_COST + elements
    return vector_cost < scalar_cost


def has_recurrence(
    loop: EnclosingLoop, statement: NestStatement, earlier: Sequence[NestStatement] = ()
) -> bool:
    """Whether `statement`, or one of the `earlier` ones, needs what it stored an iteration before.

    A sum of integers does not count, as its order does not matter.
    """
    for write in statement.writes:
        stride = statement.stride_bytes(write, loop.var)
        if stride == 0 and statement.is_floating_point and statement.reads_back(write):
            return True
        if stride and any(
            read.has_same_strides(write)
            and dependence_distance(write, read, stride, loop.trip_count)
            for one in (*earlier, statement)
            for read in one.reads
        ):
            return True
    return False


def dependence_distance(write: Address, read: Address, stride_bytes: int, trip_count: int) -> int:
    """Iterations from a write to a read of the same element; 0 if the loop ends before."""
    steps, rest = divmod(write.offset_bytes - read.offset_bytes, stride_bytes)
    return steps if not rest and 0 < steps < trip_count else 0


def has_unknown_bounds(loop: EnclosingLoop, statement: NestStatement) -> bool:
    """Whether the compiler cannot bound the addresses that a statement accesses in a loop.

    This is so where an address depends on data, or on a quotient of the loop's variable, and thus
    is no add recurrence.  Without bounds the compiler cannot check an array for overlap with those
    that are stored to (LLVM's ``LoopAccessAnalysis``: "cannot identify array bounds").
    """
    return any(
        is_data_dependent(digit) or (digit != loop.var and loop.var in free_variables(digit))
        for address in statement.addresses
        for digit, _ in address.terms
    )


def updates_several_sums(loop: EnclosingLoop, statement: NestStatement) -> bool:
    """Whether an iteration adds to several elements, each of which is stored in each iteration.

    The compiler vectorizes a sum of integers that is stored if it is the only one.
    """
    return any(
        statement.stride_bytes(write, loop.var) == 0
        and statement.reads_back(write)
        and any(x.var in write.variables and x.trip_count > 1 for x in statement.inner_loops)
        for write in statement.writes
    )


def passes_value_through_memory(
    loop: EnclosingLoop, statement: NestStatement, statements: Sequence[NestStatement]
) -> bool:
    """Whether a statement stores to an invariant address what another statement reads.

    Named values of a TVMScript program are of this kind, in memory of scope ``local``.  The
    compiler promotes them to registers if they are on the stack, and otherwise does not vectorize
    (LLVM's ``LoopAccessAnalysis``: an unsafe dependence on a loop-invariant address).
    """
    return any(
        not write.variables & {loop.var, *(x.var for x in statement.inner_loops)}
        and not statement.is_on_stack(write)
        and any(
            read.buffer == write.buffer
            for other in statements
            if not any(stored.buffer == write.buffer for stored in other.writes)
            for read in other.reads
        )
        for write in statement.writes
    )


def needs_overlap_checks(statements: Sequence[NestStatement]) -> bool:
    """Whether the arrays of a loop must be checked for overlap at run time."""
    accessed = {
        address.buffer
        for statement in statements
        for address in statement.addresses
        if not statement.is_on_stack(address)
    }
    has_store = any(
        write.buffer in accessed for statement in statements for write in statement.writes
    )
    return has_store and len(accessed) > 1


def may_overlap(
    loop: EnclosingLoop, statement: NestStatement, statements: Sequence[NestStatement]
) -> bool:
    """Whether a statement stores to an array that the loop accesses with other strides nearby."""
    return any(
        _may_interleave(write, other, loop, one)
        for write in statement.writes
        for one in statements
        for other in one.addresses
        if other.buffer == write.buffer and other.terms != write.terms
    )


def _may_interleave(
    write: Address, other: Address, loop: EnclosingLoop, statement: NestStatement
) -> bool:
    """Whether the address ranges of two accesses of one array may overlap in a loop.

    With different strides the compiler needs proof that one range lies before the other for all
    values of the outer loops (LLVM's ``areAccessesCompletelyBeforeOrAfter``).  It does not find the
    proof for rows of a matrix whose numbers depend on one outer variable.  With equal strides it
    compares the ranges at run time and runs the scalar loop if they overlap (``MemoryDepChecker``).
    """
    ranges = statement.node.context.ranges
    write_stride, other_stride = (one.stride_bytes(loop.var, ranges) for one in (write, other))
    write_terms, other_terms = dict(write.terms), dict(other.terms)
    offset: Expr = other.offset_bytes - write.offset_bytes
    for digit in dict.fromkeys((*write_terms, *other_terms)):
        if digit == loop.var:
            continue
        difference = other_terms.get(digit, 0) - write_terms.get(digit, 0)
        offset = ("+", offset, ("*", digit, difference))
    low, high = bounds(offset, ranges)
    last = loop.trip_count - 1
    other_reach = abs(other_stride or 0) * last + other.access_bytes
    write_reach = abs(write_stride or 0) * last + write.access_bytes
    if write_stride == other_stride:
        return -other_reach < low and high < write_reach
    lacks_proof = abs(write_stride or 0) > write.access_bytes and any(
        factor == other_terms.get(digit) and abs(factor) > write.access_bytes
        for digit, factor in write_terms.items()
    )
    return lacks_proof or (low < write_reach and high > -other_reach)


def is_conditional_sum(loop: EnclosingLoop, statement: NestStatement) -> bool:
    """Whether a data-dependent condition guards a store to a loop-invariant address.

    The compiler keeps such a store in its branch, and does not vectorize a loop with a branch.
    """
    return any(map(is_data_dependent, statement.node.context.conditions)) and any(
        loop.var not in write.variables for write in statement.writes
    )


def is_interleaved(
    address: Address, stride_bytes: int, statements: Sequence[NestStatement]
) -> bool:
    """Whether a vectorized loop accesses elements at a stride as whole vectors."""
    step = abs(stride_bytes) // address.access_bytes
    if step <= 1:
        return True
    if step > MAX_INTERLEAVE_FACTOR:
        return False
    has_no_gaps = group_fill(address, step, statements) == 1
    return has_no_gaps or (address.mode == "read" and step <= MAX_INTERLEAVE_FACTOR // 2)


def has_gaps(
    loop: EnclosingLoop, statement: NestStatement, statements: Sequence[NestStatement]
) -> bool:
    """Whether a statement reads an interleaved group of which some elements are not needed."""
    for read in statement.reads:
        step = abs(statement.stride_bytes(read, loop.var) or 0) // read.access_bytes
        if (
            step > 1
            and is_interleaved(read, step * read.access_bytes, statements)
            and group_fill(read, step, statements) < 1
        ):
            return True
    return False


def group_fill(address: Address, step: int, statements: Sequence[NestStatement]) -> float:
    """The fraction of the elements in the groups around an address that the loop accesses.

    A group has `step` neighbours.  The loop's statements and their unrolled copies access them.
    """
    elements: set[int] = set()
    for statement in statements:
        extents = {loop.var: loop.trip_count for loop in statement.inner_loops}
        for other in statement.addresses:
            if (other.buffer, other.mode) != (address.buffer, address.mode):
                continue
            offsets = {other.offset_bytes - address.offset_bytes}
            rest = set(address.terms) ^ set(other.terms)
            for digit, stride in other.terms:
                if (
                    isinstance(digit, str)
                    and digit in extents
                    and stride < step * address.access_bytes
                ):
                    rest.discard((digit, stride))
                    copies = range(extents[digit])
                    offsets = {offset + stride * copy for offset in offsets for copy in copies}
            rest = {term for term in rest if term[0] not in extents}
            if not rest:
                elements |= {offset // address.access_bytes for offset in offsets}
    groups = 0
    end = -math.inf
    for element in sorted(elements):
        if element >= end:
            groups, end = groups + 1, element + step
    return len(elements) / (groups * step) if elements else 1 / step
