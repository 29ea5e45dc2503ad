"""A statement's cost node: its thread mapping, instructions, FLOP and issued bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tirlens_counting.expressions import is_data_dependent
from tirlens_worker.facts import Access, Arith, Barrier, Buffer, Expr, Statement

from ...counting.kernel_counts import NodeCount
from ...counting.operation_classes import OperationTotals, sum_operations
from ...tree.context import LoopContext, StoreLoops
from ...tree.node import NO_ARITH, CostNode
from ...tree.thread_mapping import ThreadMapping, memory_space
from ..compiler.address_arithmetic import (
    address_instructions,
    address_terms,
    selected_address_instructions,
)
from ..compiler.instruction_costs import IssuedOperations, issue_operations
from ..compiler.loop_invariants import address_share, issued_share, packed_share
from ..compiler.predication import load_predicate_instructions
from .explicit_vectors import plan_vector
from .thread_mapping import map_to_threads
from .vectorization import MAX_VECTOR_BYTES


@dataclass(frozen=True)
class BlockContext:
    """What all statements of a block share.

    `accumulators` are the tiles with a matrix instruction's layout, `store_loops` the loops around
    the stores to each array.
    """

    buffers: Mapping[str, Buffer]
    threads: int
    accumulators: frozenset[str]
    fast_math: bool
    store_loops: StoreLoops
    framework: str

    def map_to_threads(
        self, node: Statement, context: LoopContext, threads: int, widest: int = MAX_VECTOR_BYTES
    ) -> ThreadMapping:
        """The mapping of a statement to the `threads` that execute it."""
        return map_to_threads(
            node,
            context,
            self.buffers,
            threads,
            self.accumulators,
            widest,
            self.store_loops,
            self.framework,
        )


def build_statement(
    count: NodeCount,
    context: LoopContext,
    block: BlockContext,
    threads: int,
    known: frozenset[Expr],
    like: dict[object, CostNode],
) -> tuple[CostNode, frozenset[Expr]]:
    """The cost node of a statement, and the address terms that are computed after it.

    Parameters
    ----------
    count, place
        The counts and the loop context of the statement.
    block
        What all statements of the block share.
    threads
        The active threads.
    known
        Address terms that earlier statements have computed.
    like
        Register-only statements of the same context, by their operations: copies of unrolled code
        share their costs.
    """
    node: Any = count.source
    key = _register_key(node, block.buffers)
    if key is not None and key in like:
        return replace(like[key], source=node, count=count), known
    lanes = block.map_to_threads(node, context, threads)
    memory = [access for access in node.accesses if memory_space(access, block.buffers) is not None]
    index, parts = _address_instructions(memory, context, block, threads, lanes, known)
    arith = (
        sum_operations((entry.arith, entry.total) for entry in count.arith)
        if count.arith
        else NO_ARITH
    )
    issued = _issued_operations(count, context, lanes, threads, block)
    flop, useful_flop, masked_flop = _count_flop(count, arith)
    read_bytes, write_bytes, shared_bytes = _count_bytes(count, block.buffers)
    cost = CostNode(
        node,
        count,
        context,
        (),
        arith,
        issued.instructions,
        issued.has_slow_path,
        flop,
        useful_flop,
        masked_flop,
        read_bytes,
        write_bytes,
        shared_bytes,
        lanes,
        threads,
        index,
        block.accumulators,
        predicate_instructions=load_predicate_instructions(count, context),
        skipped_instructions=_barrier_instructions(count),
    )
    if key is not None:
        like[key] = cost
    return cost, known | parts


def _barrier_instructions(count: NodeCount) -> float:
    """Instructions of a barrier: one of each thread."""
    node: Any = count.source
    is_of_threads = isinstance(node, Barrier) and node.per == "thread"
    return float(count.executions or 0) if is_of_threads else 0.0


def _address_instructions(
    memory: Sequence[Access],
    context: LoopContext,
    block: BlockContext,
    threads: int,
    lanes: ThreadMapping | None,
    known: frozenset[Expr],
) -> tuple[float, frozenset[Expr]]:
    """Integer instructions of a thread for its addresses, and the terms that they compute."""
    parts = address_terms(memory, context, block.buffers)
    instructions = 0.0
    if parts:
        # Common subexpressions of a body are computed once, except loads.
        instructions = address_instructions(
            parts - known, context, lambda names: address_share(names, context, lanes, threads)
        )
    instructions += sum(selected_address_instructions(access, context) for access in memory)
    return instructions, frozenset(part for part in parts if not is_data_dependent(part))


def _count_flop(
    count: NodeCount, arith: OperationTotals
) -> tuple[int | None, int | None, int | None]:
    """FLOP of a statement: all, those that contribute, and those that a mask discards."""
    pairs = [(entry.arith, entry.total) for entry in count.arith]
    flop = None if _has_unknown_count(pairs) else arith.flop
    if all(entry.useful == entry.total and entry.masked == 0 for entry in count.arith):
        return flop, flop, 0
    useful = [(entry.arith, entry.useful) for entry in count.arith]
    masked = [(entry.arith, entry.masked) for entry in count.arith]
    return flop, _sum_flop(useful), _sum_flop(masked)


def _register_key(node: Statement, buffers: Mapping[str, Buffer]) -> object:
    """A key for per-thread statements with equal costs that access only registers; else None."""
    if node.per != "thread":
        return None
    for access in node.accesses:
        own = buffers[access.buffer].scope in ("local", "local.var")
        if not own or access.guard is not None:
            return None
    return node.arith, len(node.accesses)


def unify_tile_vectors(leaves: Sequence[CostNode], block: BlockContext) -> list[CostNode]:
    """The statements of one tile loop, with one vector length for all."""
    spreads = [leaf.mapping for leaf in leaves if leaf.mapping is not None]
    widest = min((one.vector for one in spreads), default=1)
    # A data-dependent condition serialises the repeats only where loads precede it.
    serial = any(one.is_serial for one in spreads) and any(map(_has_unconditional_load, leaves))
    return [_limit_vector(leaf, block, widest, serial) for leaf in leaves]


def unify_planned_vectors(leaves: Sequence[CostNode], block: BlockContext) -> list[CostNode]:
    """The statements of one vectorized loop, for which tilelang plans one vector length."""
    widest = min(
        (plan_vector(leaf.source, leaf.context, block.buffers) for leaf in leaves), default=1
    )
    return [_limit_vector(leaf, block, widest) for leaf in leaves]


def _limit_vector(
    leaf: CostNode, block: BlockContext, widest: int, serial: bool | None = None
) -> CostNode:
    one, threads = leaf.mapping, leaf.threads
    if one is not None and one.vector > widest:
        one = block.map_to_threads(leaf.source, leaf.context, threads, widest)
    if one is not None and serial is not None:
        one = replace(one, is_serial=serial)
    issued = _issued_operations(leaf.count, leaf.context, one, threads, block)
    return leaf.replace(
        mapping=one, instructions=issued.instructions, has_slow_path=issued.has_slow_path
    )


def _has_unconditional_load(leaf: CostNode) -> bool:
    """Whether a statement loads from global memory without a data-dependent condition."""
    return any(
        entry.access.mode == "read"
        and entry.buffer.scope == "global"
        and not (
            entry.access.guard is not None
            and is_data_dependent(leaf.context.resolve(entry.access.guard))
        )
        for entry in leaf.count.accesses
    )


def _issued_operations(
    count: NodeCount,
    context: LoopContext,
    lanes: ThreadMapping | None,
    threads: int,
    block: BlockContext,
) -> IssuedOperations:
    """The instructions that the compiler issues for a statement's operations."""
    if not count.arith:
        return IssuedOperations({}, False)
    pairs = [(entry.arith, entry.total) for entry in count.arith]
    if lanes is None:
        return issue_operations(pairs, fast_math=block.fast_math)
    node: Any = count.source
    matrix = any(access.buffer in block.accumulators for access in node.accesses)
    shares = [
        issued_share(arith, context, lanes, threads, matrix) * packed_share(arith, lanes)
        for arith, _ in pairs
    ]
    return issue_operations(pairs, shares, block.fast_math)


def _has_unknown_count(pairs: Sequence[tuple[Arith, int | None]]) -> bool:
    return any(number is None and not arith.index for arith, number in pairs)


def _sum_flop(pairs: Sequence[tuple[Arith, int | None]]) -> int | None:
    return None if _has_unknown_count(pairs) else sum_operations(pairs).flop


def _count_bytes(
    count: NodeCount, buffers: Mapping[str, Buffer]
) -> tuple[int | None, int | None, int]:
    """Bytes read and written of global memory (None: not known), and bytes of shared memory."""
    read: int | None = 0
    write: int | None = 0
    shared = 0
    for entry in count.accesses:
        access, number = entry.access, entry.bytes
        scope = buffers[access.buffer].scope if access.buffer in buffers else "global"
        if scope == "global":
            if access.mode != "write":
                read = None if read is None or number is None else read + number
            if access.mode != "read":
                write = None if write is None or number is None else write + number
        elif number is not None and scope.startswith("shared"):
            shared += number
    return read, write, shared
