"""The tree of cost nodes: the mapping of each statement to threads, its FLOP and issued bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tirlens_counting.expressions import is_data_dependent
from tirlens_worker.facts import (
    Arith,
    Branch,
    Buffer,
    KernelFacts,
    Let,
    Loop,
    Statement,
    While,
)

from ...counting.kernel_counts import Counts, NodeCount
from ...counting.operation_classes import OperationTotals, sum_operations
from ...tree.context import (
    WARP,
    LoopContext,
    StoreLoops,
    body_context,
    find_store_loops,
    is_in_tile_loop,
    kernel_context,
)
from ...tree.node import (
    NO_ARITH,
    BranchCost,
    CostNode,
    Leaf,
    LoopCost,
    WhileCost,
    leaves_of,
)
from ...tree.table import Table
from ...tree.thread_mapping import Mapped, ThreadMapping, register_statement_key
from .active_threads import ThreadActivity, find_activity
from .memory_requests import MAX_INSTRUCTION_BYTES
from .thread_mapping import map_to_threads
from .tile_layouts import reduction_row_vectors
from .unrolled_loops import find_unrolled_loops
from .vectorization import plan_vector


def map_threads(
    facts: KernelFacts,
    counts: Counts,
    bindings: Mapping[str, int],
    buffers: Mapping[str, Buffer],
    warp_size: int = WARP,
) -> tuple[tuple[CostNode, ...], Mapped]:
    """The tree of a kernel, and the thread mapping of every statement.

    Parameters
    ----------
    facts, counts
        The kernel and its counts.
    bindings
        The values of the shape variables.
    buffers
        The arrays of the kernel by id.
    warp_size
        The threads of a warp.

    Returns
    -------
    The body of the kernel, and the mappings by statement.
    """
    matrix_tiles = _find_matrix_tiles(counts)
    accumulators = frozenset(
        name for name in matrix_tiles if buffers[name].scope == "local.fragment"
    )
    block = _Block(
        buffers,
        max(math.prod(counts.launch.threads or (1,)), 1),
        accumulators,
        matrix_tiles - accumulators,
        find_store_loops(facts.body),
        facts.framework,
        find_unrolled_loops(facts.body, buffers) if facts.launch.threads else frozenset(),
    )
    context = kernel_context(bindings, warp_size)
    nodes = _map_body(counts.root, context, block, find_activity(context, block.threads))
    mappings = Table(block.mappings)
    row_vectors = reduction_row_vectors(leaves_of(nodes), mappings, buffers)
    return nodes, Mapped(mappings, row_vectors, block.accumulators)


@dataclass(frozen=True)
class _Block:
    """What all statements of a block share, and the mappings of those that are mapped.

    `accumulators` are the tiles with a matrix instruction's layout, `operands` the other ones that
    products access, `store_loops` the loops around the stores to each array, `unrolled` the ids of
    the loops that the compiler unrolls.
    """

    buffers: Mapping[str, Buffer]
    threads: int
    accumulators: frozenset[str]
    operands: frozenset[str]
    store_loops: StoreLoops
    framework: str
    unrolled: frozenset[int]
    mappings: list[ThreadMapping] = field(default_factory=list[ThreadMapping])

    def map_to_threads(
        self,
        statement: Statement,
        context: LoopContext,
        activity: ThreadActivity,
        widest: int = MAX_INSTRUCTION_BYTES,
    ) -> ThreadMapping:
        """The mapping of a statement to the threads that execute it."""
        return map_to_threads(
            statement,
            context,
            self.buffers,
            activity.threads,
            self.accumulators,
            widest,
            self.store_loops,
            self.framework,
            self.operands,
            activity.lanes,
        )


def _find_matrix_tiles(counts: Counts) -> frozenset[str]:
    """The arrays that matrix instructions access."""
    return frozenset(
        entry.access.buffer
        for count in counts.statements()
        for entry in count.accesses
        if entry.access.route == "mma"
    )


def _map_body(
    counts: Sequence[NodeCount], context: LoopContext, block: _Block, activity: ThreadActivity
) -> tuple[CostNode, ...]:
    """The cost nodes of a body that the threads of `activity` execute."""
    nodes: list[CostNode] = []
    # Register-only statements by their operations: copies of unrolled code share their mapping.
    equal: dict[object, Leaf] = {}
    for count in counts:
        source = count.source
        if isinstance(source, Let):
            context = context.with_let(source)
            equal = {}
        elif isinstance(source, Statement):
            nodes.append(_map_statement(source, count, context, block, activity, equal))
        elif isinstance(source, Branch):
            sides = tuple(_map_sides(source, count.children, context, block))
            nodes.append(BranchCost(source, count, context, sides, *activity))
        else:
            if isinstance(source, Loop) and id(source) in block.unrolled:
                source = replace(source, kind="unroll")
            inside = body_context(source, count.trips, context)
            active = find_activity(inside, block.threads) if _changes_activity(source) else activity
            body = _map_body(count.children, inside, block, active)
            if isinstance(source, Loop):
                _unify_vectors(source, leaves_of(body), context, block)
                nodes.append(LoopCost(source, count, context, body, *activity))
            else:
                nodes.append(WhileCost(source, count, context, body, *activity))
    return tuple(nodes)


def _changes_activity(loop: Loop | While) -> bool:
    """Whether the threads that execute a loop's body may be others than those that reach it."""
    return isinstance(loop, Loop) and (
        loop.kind == "block" or not (isinstance(loop.start, int) and isinstance(loop.extent, int))
    )


def _map_sides(
    branch: Branch, counts: Sequence[NodeCount], context: LoopContext, block: _Block
) -> Iterator[CostNode]:
    """The cost nodes of both sides of a branch."""
    first = len(branch.then)
    for side, condition in (
        (counts[:first], branch.condition),
        (counts[first:], ("not", branch.condition)),
    ):
        if side:
            inside = context.under_condition(condition)
            yield from _map_body(side, inside, block, find_activity(inside, block.threads))


def _map_statement(
    statement: Statement,
    count: NodeCount,
    context: LoopContext,
    block: _Block,
    activity: ThreadActivity,
    equal: dict[object, Leaf],
) -> Leaf:
    """The cost node of a statement that the threads of `activity` execute.

    `equal` has earlier register-only statements of the same context, and receives this one.
    """
    number = len(block.mappings)
    key = register_statement_key(statement, block.buffers)
    if key is not None and key in equal:
        block.mappings.append(block.mappings[equal[key].number])
        return replace(equal[key], number=number, source=statement, count=count)
    block.mappings.append(block.map_to_threads(statement, context, activity))
    arith = NO_ARITH
    if count.arith:
        arith = sum_operations((entry.arith, entry.total) for entry in count.arith)
    flop, useful_flop, masked_flop = _count_flop(count, arith)
    read_bytes, write_bytes, shared_bytes = _count_bytes(count, block.buffers)
    node = Leaf(
        number=number,
        source=statement,
        count=count,
        context=context,
        arith=arith,
        flop=flop,
        useful_flop=useful_flop,
        masked_flop=masked_flop,
        read_bytes=read_bytes,
        write_bytes=write_bytes,
        shared_bytes=shared_bytes,
        threads=activity.threads,
        lanes=activity.lanes,
    )
    if key is not None:
        equal[key] = node
    return node


def _unify_vectors(loop: Loop, leaves: Sequence[Leaf], context: LoopContext, block: _Block) -> None:
    """Give all statements of a tile, the leaves of a loop's body, one vector length."""
    if is_in_tile_loop(context) or not leaves:
        return
    if loop.kind == "parallel":
        _unify_tile_vectors(leaves, block)
    elif loop.kind == "vectorized" and block.framework == "tilelang":
        _unify_planned_vectors(leaves, block)


def _unify_tile_vectors(leaves: Sequence[Leaf], block: _Block) -> None:
    """Give the statements of one tile loop one vector length."""
    mappings = [block.mappings[leaf.number] for leaf in leaves]
    widest = min(mapping.vector for mapping in mappings)
    # A data-dependent condition serialises the repeats only where loads precede it.
    serial = any(mapping.is_serial for mapping in mappings) and any(
        map(_has_unconditional_load, leaves)
    )
    for leaf in leaves:
        block.mappings[leaf.number] = _limit_vector(leaf, block, widest, serial)


def _unify_planned_vectors(leaves: Sequence[Leaf], block: _Block) -> None:
    """Give the statements of one vectorized loop the one vector length that tilelang plans."""
    widest = min(plan_vector(leaf.source, leaf.context, block.buffers) for leaf in leaves)
    for leaf in leaves:
        block.mappings[leaf.number] = _limit_vector(leaf, block, widest)


def _limit_vector(
    leaf: Leaf, block: _Block, widest: int, serial: bool | None = None
) -> ThreadMapping:
    mapping = block.mappings[leaf.number]
    if mapping.vector > widest:
        activity = ThreadActivity(leaf.threads, leaf.lanes)
        limited = block.map_to_threads(leaf.source, leaf.context, activity, widest)
        mapping = replace(limited, unlimited_vector=mapping.unlimited_vector or mapping.vector)
    if serial is not None and serial != mapping.is_serial:
        mapping = replace(mapping, is_serial=serial)
    return mapping


def _has_unconditional_load(leaf: Leaf) -> bool:
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
