"""The instructions of each statement: operations, addresses, predicates, loads and stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tirlens_counting.expressions import is_data_dependent
from tirlens_worker.facts import Barrier, Buffer, Expr, KernelFacts

from ...tree.context import StoreLoops, find_store_loops
from ...tree.node import BranchCost, CostNode, LoopCost, StatementCost
from ...tree.thread_mapping import memory_space, register_statement_key
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
    add_branch_instructions,
    add_loop_instructions,
    issued_lanes,
    load_predicate_instructions,
)

_NO_OPERATIONS = IssuedOperations({}, False)


def compile_statements(
    nodes: Sequence[CostNode], facts: KernelFacts, buffers: Mapping[str, Buffer]
) -> tuple[CostNode, ...]:
    """The tree of a kernel with the instructions of every statement.

    Parameters
    ----------
    nodes
        The body of the kernel with its thread mappings.
    facts
        The kernel, for its compiler options and the loops around its stores.
    buffers
        The arrays of the kernel by id.
    """
    kernel = _Kernel(buffers, facts.fast_math, find_store_loops(facts.body))
    return _compile_body(nodes, kernel, frozenset())


@dataclass(frozen=True)
class _Kernel:
    """What all statements of a kernel share; `store_loops` are the loops around its stores."""

    buffers: Mapping[str, Buffer]
    fast_math: bool
    store_loops: StoreLoops


def _compile_body(
    nodes: Sequence[CostNode], kernel: _Kernel, known: frozenset[Expr]
) -> tuple[CostNode, ...]:
    """The nodes of a body with their instructions.

    `known` are the address terms that enclosing bodies have computed.
    """
    compiled: list[CostNode] = []
    # Register-only statements of one context, by their operations: copies of unrolled code share
    # their instructions.
    equal: dict[object, StatementCost] = {}
    context = None
    for node in nodes:
        if node.context is not context:
            context, equal = node.context, {}
        if isinstance(node, StatementCost):
            new, known = _compile_statement(node, kernel, known, equal)
        elif isinstance(node, BranchCost):
            sides = [_compile_body(side, kernel, known) for side in branch_sides(node)]
            children = add_branch_instructions(
                (*sides[0], *sides[1]),
                node,
            )
            new = node.with_children(children)
        else:
            children = _compile_body(node.children, kernel, known)
            if isinstance(node, LoopCost):
                children = add_loop_instructions(children, node.source, node.count.iterations or 0)
            new = node.with_children(children)
        compiled.append(new)
    return tuple(compiled)


def _compile_statement(
    leaf: StatementCost, kernel: _Kernel, known: frozenset[Expr], equal: dict[object, StatementCost]
) -> tuple[StatementCost, frozenset[Expr]]:
    """A statement with its instructions, and the address terms that are computed after it."""
    key = register_statement_key(leaf.source, kernel.buffers)
    if key is not None and key in equal:
        like = equal[key]
        compiled = leaf.with_instructions(
            mapping=leaf.mapping,
            operations=like.instructions,
            has_slow_path=like.has_slow_path,
            index=like.index_instructions,
            predicate=like.predicate_instructions,
            skipped=like.skipped_instructions,
        )
        return compiled, known
    operations = _issue_operations(leaf, kernel)
    index, terms = _address_instructions(leaf, kernel, known)
    compiled = leaf.with_instructions(
        mapping=issue_requests(leaf, kernel.buffers, kernel.store_loops),
        operations=operations.instructions,
        has_slow_path=operations.has_slow_path,
        index=index,
        predicate=load_predicate_instructions(leaf),
        skipped=_barrier_instructions(leaf),
    )
    if key is not None:
        equal[key] = compiled
    return compiled, known | terms


def _issue_operations(leaf: StatementCost, kernel: _Kernel) -> IssuedOperations:
    """The instructions of a statement's operations."""
    if not leaf.count.arith:
        return _NO_OPERATIONS
    pairs = [(entry.arith, entry.total) for entry in leaf.count.arith]
    matrix = has_matrix_layout(leaf)
    shares = [
        issued_share(arith, leaf.context, leaf.mapping, leaf.threads, matrix)
        * packed_share(arith, leaf.mapping)
        for arith, _ in pairs
    ]
    return issue_operations(pairs, shares, kernel.fast_math)


def _address_instructions(
    leaf: StatementCost, kernel: _Kernel, known: frozenset[Expr]
) -> tuple[float, frozenset[Expr]]:
    """Integer instructions of a thread for its addresses, and the terms that they compute."""
    context, mapping = leaf.context, leaf.mapping
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


def _barrier_instructions(leaf: StatementCost) -> float:
    """Instructions of a barrier: one of each thread."""
    is_of_threads = isinstance(leaf.source, Barrier) and leaf.source.per == "thread"
    return issued_lanes(leaf, leaf.count.executions or 0) if is_of_threads else 0.0
