"""What a statement issues: operations, addresses, accesses on the lanes of a warp, and bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tirlens_counting.expressions import is_data_dependent
from tirlens_worker.facts import Access, Arith, Barrier, Buffer, Expr, Statement

from ...counting.kernel_counts import NodeCount
from ...counting.operation_classes import ArithTotals, totals
from ...tree.context import LoopContext, StoreLoops
from ...tree.node import NO_ARITH, CostNode
from ..compiler.address_arithmetic import (
    address_instructions,
    address_terms,
    selected_address_instructions,
)
from ..compiler.loop_invariants import address_share, issued_share, packed_share
from ..compiler.predication import load_predicate_instructions
from .explicit_vectors import plan_vector
from .thread_mapping import ThreadMapping, map_to_threads, memory_space
from .vectorization import MAX_VECTOR_BYTES


@dataclass(frozen=True)
class BlockContext:
    """What all statements of a block share: arrays, threads, tiles that matrices set, compiler.

    `written` are the loops around what writes to each array.
    """

    buffers: Mapping[str, Buffer]
    threads: int
    accumulators: frozenset[str]
    fast_math: bool
    store_loops: StoreLoops
    framework: str

    def map_to_threads(
        self, node: Statement, place: LoopContext, threads: int, widest: int = MAX_VECTOR_BYTES
    ) -> ThreadMapping:
        """How a statement's accesses lie on the `threads` that get to it."""
        return map_to_threads(
            node,
            place,
            self.buffers,
            threads,
            self.accumulators,
            widest,
            self.store_loops,
            self.framework,
        )


def build_statement(
    count: NodeCount,
    place: LoopContext,
    block: BlockContext,
    threads: int,
    known: frozenset[Expr],
    like: dict[object, CostNode],
) -> tuple[CostNode, frozenset[Expr]]:
    """What a statement does that so many `threads` get to, and what is known of addresses then.

    `known` are the parts of addresses that are known before it.  `like` are leaves of the same
    place that touch no memory.  What is computed alike from other registers, as copies of unrolled
    code are, is taken over from them.
    """
    node: Any = count.source
    key = _register_key(node, block.buffers)
    if key is not None and key in like:
        return replace(like[key], source=node, count=count), known
    lanes = block.map_to_threads(node, place, threads)
    memory = [access for access in node.accesses if memory_space(access, block.buffers) is not None]
    index, parts = _address_instructions(memory, place, block, threads, lanes, known)
    arith = _issued_operations(count, place, lanes, threads, block)
    flop, useful_flop, masked_flop = _count_flop(count, arith)
    read_bytes, write_bytes, shared_bytes = _count_bytes(count, block.buffers)
    item = CostNode(
        node,
        count,
        place,
        (),
        arith,
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
        predicate_instructions=load_predicate_instructions(count, place),
        skipped_instructions=_barrier_instructions(count),
    )
    if key is not None:
        like[key] = item
    return item, known | parts


def _barrier_instructions(count: NodeCount) -> float:
    """A barrier is one instruction of each warp."""
    node: Any = count.source
    is_of_threads = isinstance(node, Barrier) and node.per == "thread"
    return float(count.executions or 0) if is_of_threads else 0.0


def _address_instructions(
    memory: Sequence[Access],
    place: LoopContext,
    block: BlockContext,
    threads: int,
    lanes: ThreadMapping | None,
    known: frozenset[Expr],
) -> tuple[float, frozenset[Expr]]:
    """What a thread computes for the addresses of accesses to memory, and which parts of them."""
    parts = address_terms(memory, place, block.buffers)
    instructions = 0.0
    if parts:
        # The compiler computes once what is the same in all of a body, but for loads.
        instructions = address_instructions(
            parts - known, place, lambda names: address_share(names, place, lanes, threads)
        )
    instructions += sum(selected_address_instructions(access, place) for access in memory)
    return instructions, frozenset(part for part in parts if not is_data_dependent(part))


def _count_flop(count: NodeCount, arith: ArithTotals) -> tuple[int | None, int | None, int | None]:
    """The operations of a statement: all, those that contribute, and those behind masks."""
    pairs = [(entry.arith, entry.total) for entry in count.arith]
    flop = None if _has_unknown_count(pairs) else arith.flop
    if all(entry.useful == entry.total and entry.masked == 0 for entry in count.arith):
        return flop, flop, 0
    useful = [(entry.arith, entry.useful) for entry in count.arith]
    masked = [(entry.arith, entry.masked) for entry in count.arith]
    return flop, _sum_flop(useful), _sum_flop(masked)


def _register_key(node: Statement, buffers: Mapping[str, Buffer]) -> object:
    """What is the same for leaves of one place that compute alike; None for any other.

    Each thread executes them by itself, and all that they touch are its own registers.
    """
    if node.per != "thread":
        return None
    for access in node.accesses:
        own = buffers[access.buffer].scope in ("local", "local.var")
        if not own or access.guard is not None:
            return None
    return node.arith, len(node.accesses)


def unify_tile_vectors(leaves: Sequence[CostNode], block: BlockContext) -> list[CostNode]:
    """The statements of one tile loop, which are spread over the threads alike."""
    spreads = [leaf.mapping for leaf in leaves if leaf.mapping is not None]
    widest = min((one.vector for one in spreads), default=1)
    # A condition on data keeps loads apart only where it waits for loads.
    serial = any(one.is_serial for one in spreads) and any(map(_has_unconditional_load, leaves))
    return [_limit_vector(leaf, block, widest, serial) for leaf in leaves]


def unify_planned_vectors(leaves: Sequence[CostNode], block: BlockContext) -> list[CostNode]:
    """The statements of one vectorized loop, of which tilelang makes vectors of one length."""
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
    return leaf.replace(
        mapping=one, arith=_issued_operations(leaf.count, leaf.context, one, threads, block)
    )


def _has_unconditional_load(leaf: CostNode) -> bool:
    """Whether a statement loads from global memory without a condition on data."""
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
    place: LoopContext,
    lanes: ThreadMapping | None,
    threads: int,
    block: BlockContext,
) -> ArithTotals:
    """A leaf's operations, with the instructions that a compiler makes of them."""
    if not count.arith:
        return NO_ARITH
    pairs = [(entry.arith, entry.total) for entry in count.arith]
    if lanes is None:
        return totals(pairs, fast_math=block.fast_math)
    node: Any = count.source
    matrix = any(access.buffer in block.accumulators for access in node.accesses)
    shares = [
        issued_share(arith, place, lanes, threads, matrix) * packed_share(arith, lanes)
        for arith, _ in pairs
    ]
    return totals(pairs, shares, block.fast_math)


def _has_unknown_count(pairs: Sequence[tuple[Arith, int | None]]) -> bool:
    return any(number is None and not arith.index for arith, number in pairs)


def _sum_flop(pairs: Sequence[tuple[Arith, int | None]]) -> int | None:
    return None if _has_unknown_count(pairs) else totals(pairs).flop


def _count_bytes(
    count: NodeCount, buffers: Mapping[str, Buffer]
) -> tuple[int | None, int | None, int]:
    """What a statement reads and writes of global memory, None where not known, and of shared."""
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
