"""Predicates, branches and loop control: the instructions that they cost.

A comparison is one ISETP, which combines with the predicate of the previous one.  A compared value
is one more instruction where a rolled loop changes it (IADD3, IMAD and LOP3 take three operands);
in an unrolled loop it is a constant on the other side.  Loop-invariant predicates are hoisted, and
those that are uniform in a block run on the scalar unit or the uniform datapath.  nvcc 13.0 for
sm_80 needs four instructions for the predicate of an iteration of a padded convolution (IADD3,
LOP3, two ISETP; the row's are hoisted) of ten, two for ``t < s`` in a tree reduction (ISETP, SHF),
eighteen for ``t % (2 * s)``, and 554 ISETP for the predicates of 900 loads in an unrolled
convolution.

A short body is predicated without a branch: every warp issues it, also with no active lane.  nvcc
13.0 for sm_80 and sm_90 predicates up to 8 loads, stores and sums of shared memory, 8 stores with
their addresses and 7 FFMA, and branches at 10 and more (with BSSY, BRA and BSYNC); LLVM's AMDGPU
target branches above 12 (``amdgpu-skip-threshold``).

A rolled loop costs three instructions an iteration (IADD3, ISETP, BRA).  Short loops of constant
extent are unrolled fully, others by four, except loops with a barrier and an unknown trip count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tirlens_counting.expressions import (
    COMPARISONS,
    free_variables,
    operands,
    operators,
    simplify,
    walk,
)
from tirlens_counting.intervals import bounds
from tirlens_worker.facts import Barrier, Expr

from ...constants import constant
from ...tree.compiled import Instructions
from ...tree.context import LoopContext
from ...tree.node import BranchCost, CostNode, Leaf, LoopCost
from .address_arithmetic import ZERO_INSTRUCTIONS, multi_instruction_terms, term_instructions

COMPARISON_INSTRUCTIONS = constant(
    "COMPARISON_INSTRUCTIONS",
    1.0,
    kind="compiler",
    unit="instructions",
    meaning=(
        "Instructions of a comparison: one ISETP, which combines with the predicate of the "
        "previous one."
    ),
    source="nvcc 13.0 for sm_80 and sm_90",
)
COMPARED_VALUE_INSTRUCTIONS = constant(
    "COMPARED_VALUE_INSTRUCTIONS",
    1.0,
    kind="compiler",
    unit="instructions",
    meaning="Instructions of a compared value that a rolled loop changes.",
    source="nvcc 13.0 for sm_80: IADD3, IMAD and LOP3 take three operands",
)
BRANCH_INSTRUCTIONS = constant(
    "BRANCH_INSTRUCTIONS",
    3.0,
    kind="compiler",
    unit="instructions",
    meaning="Instructions of a branch.",
    source="nvcc 13.0 for sm_80 and sm_90: BSSY, BRA and BSYNC",
)
MAX_PREDICATED_INSTRUCTIONS = constant(
    "MAX_PREDICATED_INSTRUCTIONS",
    8.0,
    kind="compiler",
    unit="instructions",
    meaning="The longest body that is predicated without a branch.",
    source=(
        "nvcc 13.0 for sm_80 and sm_90 predicates up to 8 loads, stores and sums of shared "
        "memory, 8 stores with their addresses and 7 FFMA, and branches at 10 and more; "
        "LLVM's AMDGPU target branches above 12 (``amdgpu-skip-threshold``)"
    ),
    bounds=(8, 12),
)
LOOP_INSTRUCTIONS = constant(
    "LOOP_INSTRUCTIONS",
    3.0,
    kind="compiler",
    unit="instructions",
    meaning="Instructions of one iteration of a rolled loop.",
    source="nvcc 13.0: IADD3, ISETP, BRA",
)
MAX_FULL_UNROLL_ITERATIONS = constant(
    "MAX_FULL_UNROLL_ITERATIONS",
    64,
    kind="estimate",
    unit="iterations",
    meaning="Iterations of short loops with a constant extent that nvcc and LLVM unroll.",
    source="both limit the size of the body; this is for bodies of a few instructions",
)
PARTIAL_UNROLL_ITERATIONS = constant(
    "PARTIAL_UNROLL_ITERATIONS",
    4,
    kind="compiler",
    unit="iterations",
    meaning="Iterations that are unrolled of other loops.",
    source="nvcc 13.0, loops whose extent is known at run time",
)


@dataclass(frozen=True)
class ControlInstructions:
    """The instructions of a branch or loop, which its first statement has besides its own.

    Attributes
    ----------
    predicate
        Integer instructions for its predicate, 32 for each one of a warp.
    skipped
        Control instructions, and those of warps without an active lane.
    reaching_threads
        The threads of a block that reach a branch; 0 for a loop.
    """

    predicate: float
    skipped: float
    reaching_threads: int


def branch_instructions(
    branch: BranchCost, compiled: Sequence[Instructions]
) -> ControlInstructions | None:
    """The predicate and the skipped instructions of a branch; None where it has none.

    Parameters
    ----------
    branch
        The branch.
    compiled
        The instructions of the statements so far, by number: those of both sides are among them.

    Notes
    -----
    Tile statements are left out: which of their elements the compiler separates is not known.
    """
    leaves = branch.leaves()
    context, evaluations = branch.context, branch.count.executions or 0
    if not evaluations or not leaves or any(leaf.source.per != "thread" for leaf in leaves):
        return None
    taken = max(side.count.executions or 0 for side in branch.children)
    always = taken == evaluations and _depends_on_loops_only(
        context.resolve(branch.source.condition), context
    )
    issued = issued_lanes(branch, evaluations)
    predicates = 0.0
    if not always:
        predicates = issued * predicate_instructions(branch.source.condition, context)
    executions = [_statement_instructions(leaf, compiled[leaf.number]) for leaf in leaves]
    body = sum(executions)
    skipped = 0.0
    if taken and body <= MAX_PREDICATED_INSTRUCTIONS * taken:
        executed = sum(
            issued_lanes(leaf, each) for leaf, each in zip(leaves, executions, strict=True)
        )
        skipped = max(body / taken * issued - executed, 0.0)
    elif taken and context.sequential_iterations > 1:
        skipped = BRANCH_INSTRUCTIONS * issued
    return ControlInstructions(predicates, skipped, branch.threads)


def loop_instructions(node: LoopCost) -> ControlInstructions | None:
    """The loop control instructions of a loop; None where it has none."""
    loop, iterations = node.source, node.count.iterations or 0
    if loop.kind != "serial" or not iterations:
        return None
    constant = isinstance(loop.extent, int)
    if isinstance(loop.extent, int) and loop.extent <= MAX_FULL_UNROLL_ITERATIONS:
        return None
    leaves = node.leaves()
    if not leaves or any(leaf.source.per != "thread" for leaf in leaves):
        return None
    meets = any(isinstance(leaf.source, Barrier) for leaf in leaves)
    each = LOOP_INSTRUCTIONS / (1 if meets and not constant else PARTIAL_UNROLL_ITERATIONS)
    skipped = issued_lanes(node.children[0], each * iterations)
    return ControlInstructions(0.0, skipped, 0)


def load_predicate_instructions(leaf: Leaf) -> float:
    """Integer instructions of the predicates of a per-thread statement's loads.

    A register is set to zero before a predicated load.
    """
    count, context = leaf.count, leaf.context
    if leaf.source.per != "thread":
        return 0.0
    conditions = dict.fromkeys(
        entry.access.guard
        for entry in count.accesses
        if entry.access.guard is not None
        and entry.access.mode == "read"
        and entry.executions != count.executions
    )
    # The predicate of a load with a selected address is part of `address_arithmetic`.
    plain = (one for one in conditions if "select" not in operators(simplify(context.resolve(one))))
    each = sum(
        predicate_instructions(condition, context) + ZERO_INSTRUCTIONS for condition in plain
    )
    return each * issued_lanes(leaf, count.executions or 0)


def issued_lanes(node: CostNode, instructions: float) -> float:
    """The lanes of warps that issue `instructions` of the threads that execute a node."""
    return instructions * node.context.warp_size / node.lanes


def _statement_instructions(leaf: Leaf, compiled: Instructions) -> float:
    """Instructions of a statement over the launch, without addresses."""
    moved = sum(
        entry.elements / request.elements_per_thread
        for entry, request in zip(leaf.count.accesses, compiled.mapping.requests, strict=False)
        if request is not None and entry.elements
    )
    return moved + sum(compiled.operations.values())


def predicate_instructions(condition: Expr, context: LoopContext) -> float:
    """Mean integer instructions of one thread for one evaluation of a condition.

    Comparisons that are invariant in an enclosing loop are hoisted out of it.
    """
    iterations = context.sequential_trip_counts
    threads = frozenset(loop.var for loop in context.loops if loop.kind == "block")
    rolled = (
        frozenset(loop.var for loop in context.loops if loop.kind != "unroll") & iterations.keys()
    )
    costs: dict[Expr, float] = {}
    for part in walk(simplify(context.resolve(condition))):
        if not isinstance(part, tuple) or part[0] not in COMPARISONS:
            continue
        if not free_variables(part).isdisjoint(threads) and not _is_compile_time(part, context):
            costs[part] = COMPARISON_INSTRUCTIONS
            costs.update(_compared_values(part, rolled))
    predicates: list[float] = []
    for part, cost in costs.items():
        names = free_variables(part)
        if names.isdisjoint(iterations):
            continue
        for name, extent in iterations.items():
            if name not in names:
                cost /= extent
        predicates.append(cost)
    # The terms have no order; fsum makes the sum independent of it.
    return math.fsum(predicates)


def _compared_values(comparison: Expr, rolled: frozenset[str]) -> Iterator[tuple[Expr, float]]:
    assert isinstance(comparison, tuple)
    for side in operands(comparison):
        parts = multi_instruction_terms(side)
        for part in parts:
            yield part, term_instructions(part)
        if isinstance(side, tuple) and side not in parts and free_variables(side) & rolled:
            yield side, COMPARED_VALUE_INSTRUCTIONS


def _is_compile_time(comparison: Expr, context: LoopContext) -> bool:
    """Whether the loop bounds alone decide a comparison at compile time."""
    low, high = bounds(comparison, context.ranges)
    return low == high and _depends_on_loops_only(comparison, context)


def _depends_on_loops_only(condition: Expr, context: LoopContext) -> bool:
    """Whether a condition contains only loop variables."""
    return free_variables(condition) <= {loop.var for loop in context.loops}
