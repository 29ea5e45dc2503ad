"""Address arithmetic: integer instructions besides the load or store itself.

Sums and products with constants are folded into the offset of the instruction or hoisted.  What
remains is arithmetic without an instruction of its own: a quotient or remainder by a constant is a
multiplication by its inverse, shifts and corrections (T. Granlund, P. Montgomery, "Division by
invariant integers using multiplication"), by a power of two a shift or mask, by a variable a call
of about 20 instructions.  Terms that depend on the block alone are computed once.  An index that is
split into rows and columns of its array is recombined.

A load with a selected address and a bounds predicate is not hoisted.  It compares, computes a
64-bit address under its predicate, and sets a zero where nothing is loaded (SASS of CUDA 13 for
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

from ...constants import constant
from ...tree.context import DIVISIONS, LoopContext

POWER_OF_TWO_DIVISION_INSTRUCTIONS = constant(
    "POWER_OF_TWO_DIVISION_INSTRUCTIONS",
    1.0,
    kind="compiler",
    unit="instructions",
    meaning="Integer instructions of a division or remainder by a power of two.",
    source="a shift or mask",
)
CONSTANT_DIVISION_INSTRUCTIONS = constant(
    "CONSTANT_DIVISION_INSTRUCTIONS",
    6.0,
    kind="compiler",
    unit="instructions",
    meaning="Integer instructions of a division or remainder by another constant.",
    source=(
        'T. Granlund, P. Montgomery, "Division by invariant integers using multiplication": a '
        "multiplication by the inverse, shifts and corrections"
    ),
)
VARIABLE_DIVISION_INSTRUCTIONS = constant(
    "VARIABLE_DIVISION_INSTRUCTIONS",
    20.0,
    kind="compiler",
    unit="instructions",
    meaning="Integer instructions of a division or remainder by a variable.",
    source="a call of about 20 instructions",
)
REMAINDER_INSTRUCTIONS = constant(
    "REMAINDER_INSTRUCTIONS",
    2.0,
    kind="compiler",
    unit="instructions",
    meaning="Integer instructions of a remainder whose quotient is known.",
    source="a product and a difference",
)
SELECT_INSTRUCTIONS = constant(
    "SELECT_INSTRUCTIONS",
    2.0,
    kind="compiler",
    unit="instructions",
    meaning="Instructions of a minimum, maximum or selection.",
    source="ISETP and SEL",
)
PREDICATED_ADDRESS_INSTRUCTIONS = constant(
    "PREDICATED_ADDRESS_INSTRUCTIONS",
    10.0,
    kind="compiler",
    unit="instructions",
    meaning="Instructions of the address of a predicated load.",
    source=(
        "SASS of CUDA 13 for tilelang's rotary embeddings on sm_90a: 28 instructions an "
        "element, of which 6 load, compute and store"
    ),
)
ZERO_INSTRUCTIONS = constant(
    "ZERO_INSTRUCTIONS",
    1.0,
    kind="compiler",
    unit="instructions",
    meaning="Instructions that set a zero where a predicated load loads nothing.",
    source="SASS of CUDA 13 for tilelang's rotary embeddings on sm_90a",
)
_MULTI_INSTRUCTION = DIVISIONS | {"select", "min", "max"}
# Simplification turns shifts and masks into divisions.
_MAY_BE_MULTI_INSTRUCTION = _MULTI_INSTRUCTION | {">>", "&"}


def address_terms(
    accesses: Iterable[Access], context: LoopContext, buffers: Mapping[str, Buffer]
) -> frozenset[Expr]:
    """The terms of the accesses' offsets that need instructions of their own."""
    return frozenset(
        part
        for access in accesses
        if _has_address_terms(access, context)
        for index in _flattened_indices(access, context, buffers[access.buffer])
        for part in multi_instruction_terms(index)
    )


def address_instructions(
    parts: Iterable[Expr],
    context: LoopContext,
    share_of: Callable[[frozenset[str]], float] = lambda _: 1.0,
) -> float:
    """Mean integer instructions of one thread for these terms in one execution.

    Loop-invariant terms are hoisted.  `share_of` gives the share of a thread's elements of a tile
    for which it computes a term that depends on some of the tile's variables.
    """
    parts = frozenset(parts)
    if not parts:
        return 0.0
    iterations = context.sequential_trip_counts
    tiles = frozenset(loop.var for loop in context.loops if loop.kind == "parallel")
    costs: list[float] = []
    for part in parts:
        names = free_variables(part)
        if names & tiles or any(name in iterations for name in names):
            cost = term_instructions(part)
            if isinstance(part, tuple) and part[0] == "%" and ("//", *part[1:]) in parts:
                cost = min(cost, REMAINDER_INSTRUCTIONS)
            turned = math.prod(extent for name, extent in iterations.items() if name not in names)
            costs.append(cost * share_of(names) / turned)
    # A set has no order; fsum makes the sum independent of it.
    return math.fsum(costs)


def selected_address_instructions(access: Access, context: LoopContext) -> float:
    """Integer instructions of one thread for a predicated load with a selected address."""
    if access.mode != "read" or access.guard is None:
        return 0.0
    guard = simplify(context.resolve(access.guard))
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


def _has_address_terms(access: Access, context: LoopContext) -> bool:
    return any(
        not operators(context.resolve(index)).isdisjoint(_MAY_BE_MULTI_INSTRUCTION)
        for index in access.indices
    )


def _flattened_indices(access: Access, context: LoopContext, buffer: Buffer) -> Iterator[Expr]:
    """The indices of an access, with the quotient and remainder of one index recombined."""
    parts = [context.resolve(index) for index in access.indices]
    for number, part in enumerate(parts):
        following = parts[number + 1] if number + 1 < len(parts) else None
        if isinstance(part, tuple) and _is_division_pair(part, following):
            size = simplify(context.resolve(buffer.shape[number + 1]))
            if simplify(part[2]) == size:
                parts[number + 1] = operands(part)[0]
                continue
        yield simplify(part)


def _is_division_pair(row: tuple[Any, ...], column: Expr | None) -> bool:
    """Whether two indices are the quotient and the remainder of one."""
    if not isinstance(column, tuple) or row[1:] != column[1:]:
        return False
    return (row[0], column[0]) == ("//", "%")


@lru_cache(maxsize=8192)
def multi_instruction_terms(expr: Expr) -> frozenset[Expr]:
    """The subexpressions without a single hardware instruction."""
    return frozenset(_find_terms(expr))


def _find_terms(expr: Expr) -> Iterator[Expr]:
    if not isinstance(expr, tuple):
        return
    if expr[0] in _MULTI_INSTRUCTION:
        yield expr
    for operand in operands(expr):
        yield from _find_terms(operand)


def term_instructions(expr: Expr) -> float:
    """Integer instructions of a quotient, remainder or selection."""
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
