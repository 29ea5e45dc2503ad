"""Instructions of branches: what tells whether a thread does something, and what it passes over.

A comparison is one ISETP, which takes the predicate of the one before it along, and what is
compared is one instruction where a loop that stays a loop changes it: IADD3, IMAD and LOP3 take
three operands.  In an unrolled loop it is a constant that moves to the other side.  What no loop
changes is known before them, in a predicate, and what all threads of a block tell alike is left to
the scalar unit or the uniform datapath.  nvcc 13.0 for sm_80 makes of a turn of a convolution with
borders ten instructions, of which four are of its guard (IADD3, LOP3, two ISETP; those of the row
stand outside), of ``t < s`` in a tree two (ISETP, SHF), of ``t % (2 * s)`` eighteen, and 554 ISETP
of the guards of 900 loads in an unrolled convolution.

Around a short body there is no branch: all warps issue it under the predicate, those too of which
no lane does anything.  nvcc 13.0 for sm_80 and sm_90 does so up to 8 loads, stores and sums of
shared memory, 8 stores with their addresses and 7 FFMA, and branches at 10 and more (BSSY, BRA and
BSYNC beside them); LLVM's AMDGPU target jumps over more than 12 (``amdgpu-skip-threshold``).

A loop that stays one takes three instructions a turn (IADD3, ISETP, BRA).  Short ones of constant
extent are unrolled whole and others four at a time, but for those with a barrier of which the
number of turns is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tirlens_counting.expressions import (
    COMPARISONS,
    free_variables,
    operands,
    operators,
    simplify,
    walk,
)
from tirlens_counting.intervals import bounds
from tirlens_worker.facts import Barrier, Expr, Loop, Statement

from ...counting.kernel_counts import NodeCount
from ...tree.context import LoopContext
from ...tree.node import CostNode, leaves_of
from .address_arithmetic import ZERO_INSTRUCTIONS, multi_instruction_terms, term_instructions

# Instructions of one thread, as told above: of each comparison, each value that is compared, each
# branch, the longest body without one, and each turn of a loop.
COMPARISON_INSTRUCTIONS = 1.0
COMPARED_VALUE_INSTRUCTIONS = 1.0
BRANCH_INSTRUCTIONS = 3.0
MAX_PREDICATED_INSTRUCTIONS = 8.0
LOOP_INSTRUCTIONS = 3.0
# Turns that nvcc and LLVM make one, of a short loop of constant extent and of others.  Both go by
# the size of the body; 64 is an estimate for bodies of a few instructions, four what nvcc 13.0
# makes of loops whose extent is known at run time.
MAX_FULL_UNROLL_ITERATIONS = 64
PARTIAL_UNROLL_ITERATIONS = 4


def add_branch_instructions(
    sides: tuple[CostNode, ...], evaluations: int, condition: Expr, place: LoopContext, threads: int
) -> tuple[CostNode, ...]:
    """The sides of a branch with what it takes that threads come to so many times.

    Its first statement has that.  `place` is that of the branch, which `threads` of a block come
    to.  Statements of tiles are left out: which of their elements a compiler tells apart is not
    known.
    """
    leaves = leaves_of(sides)
    if not evaluations or not leaves or any(leaf.source.per != "thread" for leaf in leaves):
        return sides
    taken = max(side.count.executions or 0 for side in sides)
    always = taken == evaluations and _depends_on_loops_only(place.resolve(condition), place)
    told = 0.0 if always else evaluations * predicate_instructions(condition, place)
    body = sum(map(_statement_instructions, leaves))
    passed = 0.0
    if taken and body <= MAX_PREDICATED_INSTRUCTIONS * taken:
        passed = body / taken * max(evaluations - taken, 0)
    elif taken and place.sequential_iterations > 1:
        passed = BRANCH_INSTRUCTIONS * evaluations
    return _change_first_statement(
        sides,
        lambda leaf: leaf.replace(
            reaching_threads=max(leaf.reaching_threads, threads),
            predicate_instructions=leaf.predicate_instructions + told,
            skipped_instructions=leaf.skipped_instructions + passed,
        ),
    )


def add_loop_instructions(
    body: tuple[CostNode, ...], loop: Loop, turns: int
) -> tuple[CostNode, ...]:
    """The body of a loop with what its turns take if it stays one, at its first statement."""
    if loop.kind != "serial" or not turns:
        return body
    constant = isinstance(loop.extent, int)
    if isinstance(loop.extent, int) and loop.extent <= MAX_FULL_UNROLL_ITERATIONS:
        return body
    leaves = leaves_of(body)
    if not leaves or any(leaf.source.per != "thread" for leaf in leaves):
        return body
    meets = any(isinstance(leaf.source, Barrier) for leaf in leaves)
    each = LOOP_INSTRUCTIONS / (1 if meets and not constant else PARTIAL_UNROLL_ITERATIONS)
    return _change_first_statement(
        body,
        lambda leaf: leaf.replace(skipped_instructions=leaf.skipped_instructions + each * turns),
    )


def load_predicate_instructions(count: NodeCount, place: LoopContext) -> float:
    """Integer instructions of the conditions under which a thread's statement loads at all.

    Where it does not, its register is zero beforehand.
    """
    node: Any = count.source
    if node.per != "thread":
        return 0.0
    conditions = dict.fromkeys(
        entry.access.guard
        for entry in count.accesses
        if entry.access.guard is not None
        and entry.access.mode == "read"
        and entry.executions != count.executions
    )
    # A load whose place is chosen has its condition in that (`addressing`).
    plain = (one for one in conditions if "select" not in operators(simplify(place.resolve(one))))
    each = sum(predicate_instructions(condition, place) + ZERO_INSTRUCTIONS for condition in plain)
    return each * (count.executions or 0)


def _change_first_statement(
    items: Sequence[CostNode], change: Callable[[CostNode], CostNode]
) -> tuple[CostNode, ...]:
    """A body with its first statement changed."""
    for number, item in enumerate(items):
        if not item.leaves():
            continue
        statement = isinstance(item.source, Statement)
        new = (
            change(item)
            if statement
            else item.replace(children=_change_first_statement(item.children, change))
        )
        return (*items[:number], new, *items[number + 1 :])
    return tuple(items)


def _statement_instructions(leaf: CostNode) -> float:
    """What threads issue for a statement, over the launch, but for addresses."""
    requests = leaf.mapping.requests if leaf.mapping is not None else ()
    moved = sum(
        entry.elements / request.elements_per_thread
        for entry, request in zip(leaf.count.accesses, requests, strict=False)
        if request is not None and entry.elements
    )
    return moved + sum(leaf.arith.instructions.values())


def predicate_instructions(condition: Expr, place: LoopContext) -> float:
    """Integer instructions of one thread for telling once whether a condition holds, on average.

    `place` is where it is told: what a loop around does not change goes out of it.
    """
    turns = place.sequential_trip_counts
    threads = frozenset(loop.var for loop in place.loops if loop.kind == "block")
    rolled = frozenset(loop.var for loop in place.loops if loop.kind != "unroll") & turns.keys()
    costs: dict[Expr, float] = {}
    for part in walk(simplify(place.resolve(condition))):
        if not isinstance(part, tuple) or part[0] not in COMPARISONS:
            continue
        if not free_variables(part).isdisjoint(threads) and not _is_compile_time(part, place):
            costs[part] = COMPARISON_INSTRUCTIONS
            costs.update(_compared_values(part, rolled))
    told: list[float] = []
    for part, cost in costs.items():
        names = free_variables(part)
        if names.isdisjoint(turns):
            continue
        for name, extent in turns.items():
            if name not in names:
                cost /= extent
        told.append(cost)
    # Parts come in no order, which must not show in the last digit.
    return math.fsum(told)


def _compared_values(comparison: Expr, rolled: frozenset[str]) -> Iterator[tuple[Expr, float]]:
    assert isinstance(comparison, tuple)
    for side in operands(comparison):
        parts = multi_instruction_terms(side)
        for part in parts:
            yield part, term_instructions(part)
        if isinstance(side, tuple) and side not in parts and free_variables(side) & rolled:
            yield side, COMPARED_VALUE_INSTRUCTIONS


def _is_compile_time(comparison: Expr, place: LoopContext) -> bool:
    """Whether the compiler knows the result, from the loops around alone."""
    low, high = bounds(comparison, place.ranges)
    return low == high and _depends_on_loops_only(comparison, place)


def _depends_on_loops_only(condition: Expr, place: LoopContext) -> bool:
    """Whether nothing but loops takes part in a condition: what always holds then is no code."""
    return free_variables(condition) <= {loop.var for loop in place.loops}
