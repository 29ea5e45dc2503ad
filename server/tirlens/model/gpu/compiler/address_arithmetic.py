"""Instructions that addresses cost beside the load or store itself.

Sums and products with constants go into the offset of the instruction or out of the loop.  What
stays is the arithmetic that the hardware has no instruction for: a quotient or remainder by a
constant is a multiplication by its inverse, shifts and corrections (T. Granlund, P. Montgomery,
"Division by invariant integers using multiplication"), by a power of two a shift or mask, by a
variable a call of some 20 instructions.  What depends on the block alone is computed once.  An
index that is split into the rows and columns of its array is put together again.

A load whose place is chosen, and guarded against the ends of its array, is one under a predicate:
all those of a thread follow each other.  Each compares, adds up its own address of 64 bits, of
which nothing goes out of the branch, and puts zero where nothing is loaded (SASS of CUDA 13 for
tilelang's rotary embeddings on sm_90a: 28 instructions an element, of which 6 load, compute and
store; the address takes SHF, LOP3 and two IMAD.WIDE for its terms, and SEL, IADD3 and LEA for both
halves).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from tirlens_counting.expressions import (
    COMPARISONS,
    free_variables,
    operands,
    operators,
    simplify,
    walk,
)
from tirlens_worker.facts import Access, Buffer, Expr

from ...tree.context import DIVISIONS, LoopContext

# Integer instructions of one thread, as told above: of a quotient or remainder by what,
POWER_OF_TWO_DIVISION_INSTRUCTIONS = 1.0
CONSTANT_DIVISION_INSTRUCTIONS = 6.0
VARIABLE_DIVISION_INSTRUCTIONS = 20.0
# of a remainder whose quotient is known, a product and a difference,
REMAINDER_INSTRUCTIONS = 2.0
# of the smaller, the larger or the chosen one of two, ISETP and SEL,
SELECT_INSTRUCTIONS = 2.0
# and of a load under a predicate: its address and the zero where nothing is loaded.
PREDICATED_ADDRESS_INSTRUCTIONS = 10.0
ZERO_INSTRUCTIONS = 1.0
_MULTI_INSTRUCTION = DIVISIONS | {"select", "min", "max"}
# Shifts and masks are divisions once they are simplified.
_MAY_BE_MULTI_INSTRUCTION = _MULTI_INSTRUCTION | {">>", "&"}


def address_terms(
    accesses: Iterable[Access], place: LoopContext, buffers: Mapping[str, Buffer]
) -> frozenset[Expr]:
    """The parts of these accesses' offsets that take instructions of their own."""
    return frozenset(
        part
        for access in accesses
        if _has_address_terms(access, place)
        for index in _flattened_indices(access, place, buffers[access.buffer])
        for part in multi_instruction_terms(index)
    )


def address_instructions(
    parts: Iterable[Expr],
    place: LoopContext,
    share_of: Callable[[frozenset[str]], float] = lambda _: 1.0,
) -> float:
    """Integer instructions of one thread for one execution of all these parts, on average.

    What does not change with a loop goes out of it.  `share_of` tells how many of its elements of
    a tile a thread computes a part for that depends on some of the tile's variables.
    """
    parts = frozenset(parts)
    if not parts:
        return 0.0
    turns = place.sequential_trip_counts
    tiles = frozenset(loop.var for loop in place.loops if loop.kind == "parallel")
    costs: list[float] = []
    for part in parts:
        names = free_variables(part)
        if names & tiles or any(name in turns for name in names):
            cost = term_instructions(part)
            if isinstance(part, tuple) and part[0] == "%" and ("//", *part[1:]) in parts:
                cost = min(cost, REMAINDER_INSTRUCTIONS)
            turned = math.prod(extent for name, extent in turns.items() if name not in names)
            costs.append(cost * share_of(names) / turned)
    # A set has no order, which must not show in the last digit.
    return math.fsum(costs)


def selected_address_instructions(access: Access, place: LoopContext) -> float:
    """Integer instructions of one thread for each load whose place is chosen under a guard."""
    if access.mode != "read" or access.guard is None:
        return 0.0
    guard = simplify(place.resolve(access.guard))
    if "select" not in operators(guard):
        return 0.0
    return (
        sum(map(_select_instructions, walk(guard)))
        + PREDICATED_ADDRESS_INSTRUCTIONS
        + ZERO_INSTRUCTIONS
    )


def _select_instructions(part: Expr) -> float:
    if not isinstance(part, tuple):
        return 0.0
    return 1.0 if part[0] in COMPARISONS else SELECT_INSTRUCTIONS if part[0] == "select" else 0.0


def _has_address_terms(access: Access, place: LoopContext) -> bool:
    return any(
        not operators(place.resolve(index)).isdisjoint(_MAY_BE_MULTI_INSTRUCTION)
        for index in access.indices
    )


def _flattened_indices(access: Access, place: LoopContext, buffer: Buffer) -> Iterator[Expr]:
    """The indices of an access, those that are quotient and remainder of one index as that."""
    parts = [place.resolve(index) for index in access.indices]
    for number, part in enumerate(parts):
        following = parts[number + 1] if number + 1 < len(parts) else None
        if isinstance(part, tuple) and _is_division_pair(part, following):
            size = simplify(place.resolve(buffer.shape[number + 1]))
            if simplify(part[2]) == size:
                parts[number + 1] = operands(part)[0]
                continue
        yield simplify(part)


def _is_division_pair(row: tuple[Any, ...], column: Expr | None) -> bool:
    """Whether two indices are one that is divided, and what is left of it."""
    if not isinstance(column, tuple) or row[1:] != column[1:]:
        return False
    return (row[0], column[0]) == ("//", "%")


@lru_cache(maxsize=8192)
def multi_instruction_terms(expr: Expr) -> frozenset[Expr]:
    """The parts of an expression that the hardware has no single instruction for."""
    return frozenset(_find_terms(expr))


def _find_terms(expr: Expr) -> Iterator[Expr]:
    if not isinstance(expr, tuple):
        return
    if expr[0] in _MULTI_INSTRUCTION:
        yield expr
    for operand in operands(expr):
        yield from _find_terms(operand)


def term_instructions(expr: Expr) -> float:
    """Integer instructions of a quotient, remainder or choice."""
    assert isinstance(expr, tuple)
    if expr[0] not in DIVISIONS:
        return SELECT_INSTRUCTIONS
    divisor = expr[2]
    if not isinstance(divisor, int):
        return VARIABLE_DIVISION_INSTRUCTIONS
    return (
        POWER_OF_TWO_DIVISION_INSTRUCTIONS
        if divisor > 0 and divisor & (divisor - 1) == 0
        else CONSTANT_DIVISION_INSTRUCTIONS
    )
