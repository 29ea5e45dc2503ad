"""The instructions of each statement: operations, addresses, predicates, loads and stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tirlens_counting.expressions import is_data_dependent
from tirlens_worker.facts import Barrier, Buffer, Expr, KernelFacts

from ...tree.compiled import Instructions
from ...tree.context import StoreLoops, find_store_loops
from ...tree.node import BranchCost, CostNode, Leaf, LoopCost
from ...tree.table import Table
from ...tree.thread_mapping import Mapped, memory_space, register_statement_key
from ...tree.trip_counts import branch_sides
from .address_arithmetic import (
    address_instructions,
    address_terms,
    selected_address_instructions,
)
from .instruction_costs import IssuedOperations, issue_operations
from .loop_invariants import address_share, issued_share, packed_share
from .memory_instructions import has_matrix_layout, issue_requests
from .predication import (
    ControlInstructions,
    branch_instructions,
    issued_lanes,
    load_predicate_instructions,
    loop_instructions,
)

_NO_OPERATIONS = IssuedOperations({}, False)


def compile_statements(
    nodes: Sequence[CostNode], mapped: Mapped, facts: KernelFacts, buffers: Mapping[str, Buffer]
) -> Table[Instructions]:
    """The instructions of every statement of a kernel, which are the same on all devices.

    Parameters
    ----------
    nodes
        The body of the kernel.
    mapped
        Its thread mappings.
    facts
        The kernel, for its compiler options and the loops around its stores.
    buffers
        The arrays of the kernel by id.
    """
    kernel = _Kernel(buffers, mapped, facts.fast_math, find_store_loops(facts.body))
    _compile_body(nodes, kernel, frozenset())
    return Table(kernel.rows)


@dataclass(frozen=True)
class _Kernel:
    """What all statements of a kernel share, and the instructions of those that are compiled.

    `store_loops` are the loops around its stores.
    """

    buffers: Mapping[str, Buffer]
    mapped: Mapped
    fast_math: bool
    store_loops: StoreLoops
    rows: list[Instructions] = field(default_factory=list[Instructions])


def _compile_body(nodes: Sequence[CostNode], kernel: _Kernel, known: frozenset[Expr]) -> None:
    """Append the instructions of the statements of a body to the rows of the kernel.

    `known` are the address terms that enclosing bodies have computed.
    """
    # Register-only statements of one context, by their operations: copies of unrolled code share
    # their instructions.
    equal: dict[object, Instructions] = {}
    context = None
    for node in nodes:
        if node.context is not context:
            context, equal = node.context, {}
        if isinstance(node, Leaf):
            known = _compile_statement(node, kernel, known, equal)
        elif isinstance(node, BranchCost):
            for side in branch_sides(node):
                _compile_body(side, kernel, known)
            _add_control(node, branch_instructions(node, kernel.rows), kernel)
        else:
            _compile_body(node.children, kernel, known)
            if isinstance(node, LoopCost):
                _add_control(node, loop_instructions(node), kernel)


def _add_control(node: CostNode, control: ControlInstructions | None, kernel: _Kernel) -> None:
    """Add control instructions to those of the first statement inside a node."""
    if control is None:
        return
    number = node.leaves()[0].number
    row = kernel.rows[number]
    kernel.rows[number] = replace(
        row,
        predicate=row.predicate + control.predicate,
        skipped=row.skipped + control.skipped,
        reaching_threads=max(row.reaching_threads, control.reaching_threads),
    )


def _compile_statement(
    leaf: Leaf, kernel: _Kernel, known: frozenset[Expr], equal: dict[object, Instructions]
) -> frozenset[Expr]:
    """Append a statement's instructions; the address terms that are computed after it."""
    key = register_statement_key(leaf.source, kernel.buffers)
    mapping = kernel.mapped.mappings[leaf]
    if key is not None and key in equal:
        kernel.rows.append(replace(equal[key], mapping=mapping))
        return known
    operations = _issue_operations(leaf, kernel)
    index, terms = _address_instructions(leaf, kernel, known)
    row = Instructions(
        mapping=issue_requests(leaf, kernel.mapped, kernel.buffers, kernel.store_loops),
        operations=operations.instructions,
        has_slow_path=operations.has_slow_path,
        index=index,
        predicate=load_predicate_instructions(leaf),
        skipped=_barrier_instructions(leaf),
        reaching_threads=0,
        product_waits=1.0,
    )
    kernel.rows.append(row)
    if key is not None:
        equal[key] = row
    return known | terms


def _issue_operations(leaf: Leaf, kernel: _Kernel) -> IssuedOperations:
    """The instructions of a statement's operations."""
    if not leaf.count.arith:
        return _NO_OPERATIONS
    pairs = [(entry.arith, entry.total) for entry in leaf.count.arith]
    matrix = has_matrix_layout(leaf, kernel.mapped.accumulators)
    mapping = kernel.mapped.mappings[leaf]
    shares = [
        issued_share(arith, leaf.context, mapping, leaf.threads, matrix)
        * packed_share(arith, mapping)
        for arith, _ in pairs
    ]
    return issue_operations(pairs, shares, kernel.fast_math)


def _address_instructions(
    leaf: Leaf, kernel: _Kernel, known: frozenset[Expr]
) -> tuple[float, frozenset[Expr]]:
    """Integer instructions of a thread for its addresses, and the terms that they compute."""
    context, mapping = leaf.context, kernel.mapped.mappings[leaf]
    memory = [
        access
        for access in leaf.source.accesses
        if memory_space(access, kernel.buffers) is not None
    ]
    terms = address_terms(memory, context, kernel.buffers)
    instructions = 0.0
    if terms:
        # A thread computes addresses for each vector of the statement alone: another statement of
        # the loop that limits the vector splits accesses of one address, with constant offsets.
        vector = mapping.unlimited_vector or mapping.vector
        # Common subexpressions of a body are computed once, except loads.
        instructions = address_instructions(
            terms - known,
            context,
            lambda names: address_share(names, context, vector, leaf.threads),
        )
    instructions += sum(selected_address_instructions(access, context) for access in memory)
    return instructions, frozenset(term for term in terms if not is_data_dependent(term))


def _barrier_instructions(leaf: Leaf) -> float:
    """Instructions of a barrier: one of each thread."""
    is_of_threads = isinstance(leaf.source, Barrier) and leaf.source.per == "thread"
    return issued_lanes(leaf, leaf.count.executions or 0) if is_of_threads else 0.0
