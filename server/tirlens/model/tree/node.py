"""The tree of cost nodes: operations, bytes at each level and instructions of each statement.

The tree mirrors the tree of counts.  All quantities are totals over the whole launch.  Nodes are
immutable: a stage that adds quantities returns a tree with new statements (`replace_leaves`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar, cast

from tirlens_worker.facts import Branch, Loop, Statement, While

from ..counting.kernel_counts import NodeCount
from ..counting.operation_classes import OperationTotals
from .context import WARP, LoopContext
from .route import NO_ROUTE, Route
from .thread_mapping import NO_MAPPING, ThreadMapping
from .traits import Registers, Traits, body_traits, registers_of, statement_traits

# Shared by all that compute nothing.
NO_ARITH = OperationTotals()


@dataclass(frozen=True)
class Traffic:
    """The bytes that a statement moves at each level of a device's memory, over the launch.

    Several blocks may wait for one fetch of the same bytes from DRAM: `dram_requested_bytes` counts
    them once for each waiting block.  `sectors_per_request` is the bytes of touched sectors over
    the requested bytes of a warp; None without a request.
    """

    l2_read_bytes: float = 0.0
    l2_write_bytes: float = 0.0
    dram_read_bytes: float = 0.0
    dram_write_bytes: float = 0.0
    dram_requested_bytes: float = 0.0
    sectors_per_request: float | None = None

    @property
    def l2_bytes(self) -> float:
        """Bytes between L2 and the SMs, both ways."""
        return self.l2_read_bytes + self.l2_write_bytes

    @property
    def dram_bytes(self) -> float:
        """Bytes between DRAM and L2, both ways."""
        return self.dram_read_bytes + self.dram_write_bytes


NO_TRAFFIC = Traffic()


@dataclass(frozen=True)
class AtomicDemand:
    """The atomic updates of a statement that L2 executes, over the launch.

    Attributes
    ----------
    updates
        The updates of elements.
    passes
        The passes of the slices of L2, each of which updates the words of one sector once.
    line_passes
        Those of the busiest line, which one slice executes one after the other.
    is_expected
        Whether the addresses depend on data, and are taken to be spread at random over the array.
    """

    updates: float = 0.0
    passes: float = 0.0
    line_passes: float = 0.0
    is_expected: bool = False

    def plus(self, other: AtomicDemand) -> AtomicDemand:
        """The demand of two accesses."""
        return AtomicDemand(
            self.updates + other.updates,
            self.passes + other.passes,
            max(self.line_passes, other.line_passes),
            self.is_expected or other.is_expected,
        )


NO_ATOMICS = AtomicDemand()


@dataclass(frozen=True, eq=False)
class CostNode:
    """A node of the kernel's tree: a loop, a branch or a statement.

    Attributes
    ----------
    source
        The node of the facts.
    count
        How often it is executed, over the launch.
    context
        The loops and conditions around it.
    children
        The nodes inside; of a branch those of both sides (see `branch_sides`).
    threads
        The threads of a block that execute it, over the blocks and iterations in which some do.
    lanes
        The active lanes of a warp that executes it, on average.
    """

    source: Loop | Branch | While | Statement
    count: NodeCount
    context: LoopContext
    children: tuple[CostNode, ...] = ()
    threads: int = 1
    lanes: float = WARP

    def leaves(self) -> tuple[StatementCost, ...]:
        """The statements inside, in program order."""
        return self._leaves

    def with_children(self, children: tuple[CostNode, ...]) -> CostNode:
        """The node with another body."""
        node = _copy_with(self, children=children)
        node.__dict__.pop("_leaves", None)
        return node

    def transfer(
        self,
        source: Loop | Branch | While | Statement,
        count: NodeCount,
        context: LoopContext,
        children: tuple[CostNode, ...],
    ) -> CostNode:
        """The node with the costs of this one for an equal node of another kernel."""
        node = _copy_with(self, source=source, count=count, context=context, children=children)
        node.__dict__.pop("_leaves", None)
        return node

    @cached_property
    def _leaves(self) -> tuple[StatementCost, ...]:
        if len(self.children) == 1:
            return self.children[0].leaves()
        return tuple(leaves_of(self.children))

    @cached_property
    def traits(self) -> tuple[Traits, Traits]:
        """The traits of every statement inside, and those of at least one."""
        return body_traits(self.children)


@dataclass(frozen=True, eq=False)
class LoopCost(CostNode):
    """A loop with its body."""

    source: Loop


@dataclass(frozen=True, eq=False)
class BranchCost(CostNode):
    """A branch with the nodes of both sides (see `branch_sides`)."""

    source: Branch


@dataclass(frozen=True, eq=False)
class WhileCost(CostNode):
    """A loop that runs until its condition no longer holds."""

    source: While


@dataclass(frozen=True, eq=False)
class StatementCost(CostNode):
    """A statement with its operations, bytes and instructions, over the whole launch.

    Attributes
    ----------
    source
        The statement.
    arith
        Operations by class.
    flop, useful_flop, masked_flop
        FLOP of the statement, those that contribute to the result, and those whose result a mask
        discards; None where not known.
    read_bytes, write_bytes
        Bytes read from and written to global memory, as issued; None where not known.
    shared_bytes
        Bytes read from and written to shared memory.
    mapping
        The mapping of its accesses to threads.
    route
        What it becomes on the device.
    accumulators
        The tiles of the kernel with the layout of a matrix instruction's result.
    row_vector
        Consecutive elements of a row that a thread holds of the tile that a reduction reads; 0
        where not known.
    instructions
        Instructions of threads for its operations, by unit and class of type.
    has_slow_path
        Whether an operation branches to a slow path for rare values.
    index_instructions
        Integer instructions of one thread for the addresses of one execution.
    predicate_instructions
        Integer instructions for the predicates of its loads, and of the branch that it is the first
        statement of: 32 for each one of a warp.
    skipped_instructions
        Control instructions, 32 for each one of a warp: loop control, barriers, branches, and those
        of warps without an active lane.
    reaching_threads
        The threads of a block that reach the branch that it is the first statement of.
    traffic
        The bytes that it moves on a device.
    atomics
        Its atomic updates of global memory.
    busy_s
        How long each unit of the whole device is busy with it.
    spilled_share
        The share of its register arrays that is in local memory.
    spilled_bytes
        The bytes that its threads store to local memory; L1 writes them through to L2.
    """

    source: Statement
    arith: OperationTotals = NO_ARITH
    flop: int | None = 0
    useful_flop: int | None = 0
    masked_flop: int | None = 0
    read_bytes: int | None = 0
    write_bytes: int | None = 0
    shared_bytes: int = 0
    mapping: ThreadMapping = NO_MAPPING
    route: Route = NO_ROUTE
    accumulators: frozenset[str] = frozenset()
    row_vector: int = 0
    instructions: Mapping[tuple[str, str], float] = field(
        default_factory=dict[tuple[str, str], float]
    )
    has_slow_path: bool = False
    index_instructions: float = 0.0
    predicate_instructions: float = 0.0
    skipped_instructions: float = 0.0
    reaching_threads: int = 0
    traffic: Traffic = NO_TRAFFIC
    atomics: AtomicDemand = NO_ATOMICS
    busy_s: Mapping[str, float] = field(default_factory=dict[str, float])
    spilled_share: float = 0.0
    spilled_bytes: float = 0.0

    @property
    def global_bytes(self) -> int | None:
        """Bytes read from and written to global memory; None where not known."""
        if self.read_bytes is None or self.write_bytes is None:
            return None
        return self.read_bytes + self.write_bytes

    @property
    def l2_bytes(self) -> float:
        """Bytes between the SMs and L2: of its arrays in global memory, and of spills."""
        return self.traffic.l2_bytes + self.spilled_bytes

    def leaves(self) -> tuple[StatementCost, ...]:
        """The statement itself."""
        return (self,)

    def with_mapping(self, mapping: ThreadMapping) -> StatementCost:
        """The statement with another thread mapping."""
        return _copy_with(self, mapping=mapping)

    def with_route(self, route: Route) -> StatementCost:
        """The statement with what it becomes on the device."""
        return _copy_with(self, route=route)

    def with_row_vector(self, row_vector: int) -> StatementCost:
        """The statement with the row vector of its reduction."""
        return _copy_with(self, row_vector=row_vector)

    def with_instructions(
        self,
        *,
        mapping: ThreadMapping,
        operations: Mapping[tuple[str, str], float],
        has_slow_path: bool,
        index: float,
        predicate: float,
        skipped: float,
    ) -> StatementCost:
        """The statement with its instructions, and those that remain of its accesses."""
        return _copy_with(
            self,
            mapping=mapping,
            instructions=operations,
            has_slow_path=has_slow_path,
            index_instructions=index,
            predicate_instructions=predicate,
            skipped_instructions=skipped,
        )

    def add_control_instructions(
        self, *, predicate: float = 0.0, skipped: float = 0.0, reaching_threads: int = 0
    ) -> StatementCost:
        """The statement with the instructions of a branch or loop that it is the first one of."""
        return _copy_with(
            self,
            predicate_instructions=self.predicate_instructions + predicate,
            skipped_instructions=self.skipped_instructions + skipped,
            reaching_threads=max(self.reaching_threads, reaching_threads),
        )

    def with_traffic(self, traffic: Traffic) -> StatementCost:
        """The statement with the bytes that it moves."""
        return _copy_with(self, traffic=traffic)

    def with_atomics(self, atomics: AtomicDemand) -> StatementCost:
        """The statement with its atomic updates of global memory."""
        return _copy_with(self, atomics=atomics)

    def with_busy_s(self, busy_s: Mapping[str, float]) -> StatementCost:
        """The statement with the busy time of each unit."""
        return _copy_with(self, busy_s=busy_s)

    def with_spills(self, spilled_share: float, spilled_bytes: float) -> StatementCost:
        """The statement with the share of its register arrays that is in local memory, and the
        bytes that it stores there."""
        return _copy_with(self, spilled_share=spilled_share, spilled_bytes=spilled_bytes)

    @cached_property
    def traits(self) -> tuple[Traits, Traits]:
        """What holds for the statement, twice: see `traits`."""
        found = statement_traits(self)
        return found, found

    @cached_property
    def registers(self) -> Registers:
        """The registers and tiles that the statement reads and writes: see `traits`."""
        return registers_of(self)


_Node = TypeVar("_Node", bound=CostNode)


def _copy_with(node: _Node, **changed: object) -> _Node:
    """The node with other fields; what is cached of it is kept.

    `traits` and `registers`, which are cached, depend on `source` and `count` alone.
    """
    copy = object.__new__(type(node))
    copy.__dict__.update(node.__dict__, **changed)
    return copy


def leaves_of(nodes: Iterable[CostNode]) -> list[StatementCost]:
    """All statements of a body, in program order."""
    found: list[StatementCost] = []
    for node in nodes:
        if isinstance(node, StatementCost):
            found.append(node)
        else:
            found += node.leaves()
    return found


def replace_leaves(
    nodes: Sequence[CostNode], leaves: Iterable[StatementCost]
) -> tuple[CostNode, ...]:
    """The body `nodes` with these `leaves`, as many as it has, in program order."""
    return tuple(_with_leaves(nodes, iter(leaves)))


def _with_leaves(nodes: Sequence[CostNode], leaves: Iterator[StatementCost]) -> Iterator[CostNode]:
    for node in nodes:
        if isinstance(node, StatementCost):
            yield next(leaves)
        else:
            yield node.with_children(tuple(_with_leaves(node.children, leaves)))


def known_sum(values: Sequence[int | None]) -> int | None:
    """The sum, unknown as soon as one of the values is."""
    return None if None in values else sum(cast("Sequence[int]", values))
