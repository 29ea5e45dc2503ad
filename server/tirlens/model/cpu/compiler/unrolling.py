"""Full unrolling: short loops that LLVM unrolls before it vectorizes.

LLVM's ``LoopFullUnrollPass`` unrolls a loop of known trip count whose copies have fewer
instructions than a threshold.  Address computations count unless a load or store folds them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Loop

from ...constants import constant
from ...dtypes import is_float
from ...tree.node import BranchCost, CostNode, Leaf, LoopCost
from .statements import (
    Address,
    NestStatement,
    distinct_operations,
    is_predicated_by,
    operations_per_execution,
)

UNROLL_THRESHOLD_INSTRUCTIONS = constant(
    "UNROLL_THRESHOLD_INSTRUCTIONS",
    300,
    kind="compiler",
    unit="instructions",
    meaning="Instructions below which LLVM unrolls a loop in full.",
    source="llvm/lib/Transforms/Scalar/LoopUnrollPass.cpp, getUnrollThreshold at -O3",
)
BACKEDGE_INSTRUCTIONS = constant(
    "BACKEDGE_INSTRUCTIONS",
    2,
    kind="compiler",
    unit="instructions",
    meaning="Instructions of the backedge that do not multiply by the trip count.",
    source="llvm/lib/Transforms/Scalar/LoopUnrollPass.cpp, BEInsns",
)
LOOP_CONTROL_INSTRUCTIONS = constant(
    "LOOP_CONTROL_INSTRUCTIONS",
    2,
    kind="compiler",
    unit="instructions",
    meaning=(
        "Instructions per iteration of a loop: the increment of the induction variable and "
        "the branch. The comparison is among BACKEDGE_INSTRUCTIONS."
    ),
)
CONDITION_INSTRUCTIONS = constant(
    "CONDITION_INSTRUCTIONS",
    4,
    kind="compiler",
    unit="instructions",
    meaning=(
        "Instructions of a condition: what it compares, the comparison, the branch, and the "
        "branch after the statement. A condition on the counter alone is resolved in each "
        "copy; one that does not depend on it is hoisted."
    ),
    source="LLVM, LoopUnrollAnalyzer and SimpleLoopUnswitch",
)

# The addresses that a statement reads, and those that it writes.
Addresses = tuple[tuple[Address, ...], tuple[Address, ...]]


class FullUnrolling:
    """Decides which loops LLVM unrolls in full.

    Parameters
    ----------
    addresses
        The addresses that a statement reads and writes.
    register_bytes
        The width of the widest vector registers.
    """

    def __init__(self, addresses: Callable[[Leaf], Addresses], register_bytes: int) -> None:
        self._addresses = addresses
        self._register_bytes = register_bytes
        self._known: dict[tuple[int, str | None], float] = {}

    def is_unrolled(self, node: CostNode) -> bool:
        """Whether no loop of a node remains."""
        return self._instructions(node, None) < math.inf

    def _instructions(self, node: CostNode, loop: Loop | None) -> float:
        """Instructions of a node in `loop`; infinite unless all of its loops are unrolled."""
        key = (id(node), loop.var if loop else None)
        if key not in self._known:
            self._known[key] = self._count(node, loop)
        return self._known[key]

    def _count(self, node: CostNode, loop: Loop | None) -> float:
        if isinstance(node, Leaf):
            return self._count_statement(node, loop)
        if not isinstance(node, LoopCost):
            return sum(self._instructions(child, loop) for child in node.children)
        is_unroll_loop = node.source.kind == "unroll"
        is_vector = _is_explicit_vector(node)
        inner = loop if is_unroll_loop or is_vector else node.source
        body = sum(self._instructions(child, inner) for child in node.children)
        if is_vector:
            return body
        trip_count = node.count.trips
        if trip_count is None or node.source.kind == "parallel":
            return math.inf
        if is_unroll_loop:
            return trip_count * body
        total = trip_count * (body + LOOP_CONTROL_INSTRUCTIONS) + BACKEDGE_INSTRUCTIONS
        return total if total < UNROLL_THRESHOLD_INSTRUCTIONS else math.inf

    def _count_statement(self, node: Leaf, loop: Loop | None) -> float:
        reads, writes = self._addresses(node)
        loops = node.context.loops
        names = [other.var for other in loops]
        inner_loops = loops[names.index(loop.var) :] if loop is not None else loops
        statement = NestStatement(node, reads, writes, inner_loops)
        bits = statement.lanes * statement.element_bits
        registers = math.ceil(bits / 8 / self._register_bytes)
        total = registers * _contracted_operations(node)
        if loop is not None and any(
            loop.var in names and len(names) > 1
            for names in map(free_variables, node.context.conditions)
        ):
            total += CONDITION_INSTRUCTIONS
        accessed: list[Address] = []
        for address in statement.addresses:
            is_invariant = loop is not None and loop.var not in address.variables
            # The result of the previous iteration is in a register, and is stored only if another
            # statement may read it.
            is_update = address in reads and any(address.is_same_element(one) for one in writes)
            is_forwarded = is_update and address.mode == "read"
            if is_invariant and (is_forwarded or statement.is_on_stack(address)):
                continue
            accessed.append(address)
            lane = statement.lane_variable
            is_vector = lane is not None and lane in address.variables
            total += (registers if is_vector else 1) / _shared_copies(address, statement)
        return total + (_address_instructions(accessed, node, loop) if loop else 0)


def _is_explicit_vector(node: LoopCost) -> bool:
    """Whether a loop is an explicit vector; TVM makes a loop of one with a condition."""
    loop = node.source
    return loop.kind == "vectorized" and not any(
        is_predicated_by(leaf, loop.var) for leaf in node.leaves()
    )


def _shared_copies(address: Address, statement: NestStatement) -> int:
    """Copies of a statement that TVM unrolls and that share one load."""
    loops = (loop for loop in statement.inner_loops if loop.kind == "unroll")
    invariant = [loop.trip_count for loop in loops if loop.var not in address.variables]
    return math.prod(invariant) if address.mode == "read" else 1


def _contracted_operations(node: Leaf) -> float:
    """Operations of one execution of a statement, with ``a * b + c`` as one (``llvm.fmuladd``).

    A minimum or maximum is a comparison and a selection (``CodeGenLLVM``).
    """
    executions = max(node.count.executions or 1, 1)
    adds = multiplies = selections = 0.0
    for entry in node.count.arith:
        if entry.arith.op in ("min", "max") and not entry.arith.index:
            selections += distinct_operations(entry) / executions
        if is_float(entry.arith.dtype) and not entry.arith.index:
            adds += distinct_operations(entry) * (entry.arith.op in ("add", "sub")) / executions
            multiplies += distinct_operations(entry) * (entry.arith.op == "mul") / executions
    # A factor of several summands remains a product.
    contracted = adds if multiplies >= adds else max(multiplies - 1, 0.0)
    return operations_per_execution(node) + selections - contracted


def _address_instructions(accessed: Sequence[Address], node: Leaf, loop: Loop) -> int:
    """Instructions that compute addresses in each iteration.

    Each address that does not advance by one element takes one.  Loop-invariant additions are
    hoisted before the function is inlined and simplified again, unless several accesses use one of
    them, or use one with and without a constant offset.  The body of a parallel loop is not
    inlined.
    """
    users_by_terms: dict[object, set[tuple[str, int]]] = {}
    strided: set[object] = set()
    for address in accessed:
        if loop.var in address.variables:
            terms = tuple((digit, factor / address.access_bytes) for digit, factor in address.terms)
            users_by_terms.setdefault(terms, set()).add((address.buffer, address.offset_bytes))
            stride = address.stride_bytes(loop.var, node.context.ranges)
            if stride is None or abs(stride) != address.access_bytes:
                strided.add(terms)
    is_outlined = any(outer.kind == "parallel" for outer in node.context.loops)
    users = users_by_terms.values()
    if not is_outlined and all(len(one) == 1 for one in users):
        return len(strided)
    has_offsets = any(len({offset for _, offset in one}) > 1 for one in users)
    return len(strided) + max(len(users_by_terms), 1 + has_offsets)


def without_branches(nodes: Sequence[CostNode]) -> Iterator[CostNode]:
    """The nodes, with each branch replaced by its body."""
    for node in nodes:
        if isinstance(node, BranchCost):
            yield from without_branches(node.children)
        else:
            yield node
