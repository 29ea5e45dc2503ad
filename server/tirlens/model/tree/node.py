"""A node of the kernel's tree with what it does: operations, bytes at each level, its place.

Items mirror the tree of counts (see `tree`).  Everything in one is a total over the whole launch.
They never change: a stage that finds out more of the leaves makes new ones (`with_leaves`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from tirlens_worker.facts import Statement

from ..counting.kernel_counts import NodeCount
from ..counting.operation_classes import OperationTotals
from .context import LoopContext
from .thread_mapping import ThreadMapping
from .traits import Registers, Traits, registers_of, traits_of

# Shared by all that compute nothing.
NO_ARITH = OperationTotals()
NO_INSTRUCTIONS: Mapping[tuple[str, str], float] = {}


@dataclass(frozen=True)
class Traffic:
    """The bytes that a leaf moves at each level of the memory of a device, over the whole launch.

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


@dataclass(frozen=True, eq=False)
class CostNode:
    """One node of the tree; `flop` and `global_bytes` are exact, or None where not known.

    `useful_flop` of `flop` contribute to the result, and masks hide `masked_flop`.

    `threads` is how many of a block's threads take part, `spread` how its accesses lie on them,
    `index_instructions` what one thread computes for the addresses of one execution.  Of the tile
    that a reduction adds up, each thread has `row_vector` neighbours of a row; 0 if none tells.

    Of a branch that the leaf is the first statement of, `reached_by` is how many of a block's
    threads come to it, `guard_instructions` what they compute over the launch to tell whether they
    take it, and `passed_instructions` what warps issue of it that do not, with all that only leads
    from place to place.

    What a device makes of a leaf comes later: what it has `moved`, how many `seconds` each unit of
    the whole device is busy with it, and the `spilled_share` of its arrays in registers that lies
    in local memory.
    """

    source: Any
    count: NodeCount
    context: LoopContext
    children: tuple[CostNode, ...] = ()
    arith: OperationTotals = NO_ARITH
    instructions: Mapping[tuple[str, str], float] = field(default_factory=lambda: NO_INSTRUCTIONS)
    has_slow_path: bool = False
    flop: int | None = 0
    useful_flop: int | None = 0
    masked_flop: int | None = 0
    read_bytes: int | None = 0
    write_bytes: int | None = 0
    shared_bytes: int = 0
    mapping: ThreadMapping | None = None
    threads: int = 1
    index_instructions: float = 0.0
    accumulators: frozenset[str] = frozenset()
    row_vector: int = 0
    reaching_threads: int = 0
    predicate_instructions: float = 0.0
    skipped_instructions: float = 0.0
    traffic: Traffic = NO_TRAFFIC
    busy_s: Mapping[str, float] = field(default_factory=dict[str, float])
    spilled_share: float = 0.0

    @property
    def global_bytes(self) -> int | None:
        """Bytes read from and written to global memory; None where not known."""
        if self.read_bytes is None or self.write_bytes is None:
            return None
        return self.read_bytes + self.write_bytes

    def leaves(self) -> tuple[CostNode, ...]:
        """The statements inside, in program order."""
        return (self,) if isinstance(self.source, Statement) else self._leaves

    def replace(self, **changed: Any) -> CostNode:
        """The same item with other fields; what was worked out of its node is kept.

        Nothing of that may depend on what changes: `traits` and `registers` are of statements.
        """
        item = object.__new__(CostNode)
        item.__dict__.update(self.__dict__, **changed)
        if "children" in changed:
            item.__dict__.pop("_leaves", None)
        return item

    @cached_property
    def _leaves(self) -> tuple[CostNode, ...]:
        if len(self.children) == 1:
            return self.children[0].leaves()
        return tuple(leaves_of(self.children))

    @cached_property
    def traits(self) -> tuple[Traits, Traits]:
        """What holds for every statement inside, and what for some of them: see `traits`."""
        return traits_of(self)

    @cached_property
    def registers(self) -> Registers:
        """What a statement reads and writes of registers and of tiles: see `traits`."""
        return registers_of(self)


def leaves_of(items: Iterable[CostNode]) -> list[CostNode]:
    """All statements of a body, in program order."""
    found: list[CostNode] = []
    for item in items:
        if isinstance(item.source, Statement):
            found.append(item)
        else:
            found += item.leaves()
    return found


def replace_leaves(items: Sequence[CostNode], leaves: Iterable[CostNode]) -> tuple[CostNode, ...]:
    """The body `items` with these `leaves`, as many as it has, in program order."""
    return tuple(_with_leaves(items, iter(leaves)))


def _with_leaves(items: Sequence[CostNode], leaves: Iterator[CostNode]) -> Iterator[CostNode]:
    for item in items:
        if isinstance(item.source, Statement):
            yield next(leaves)
        else:
            yield item.replace(children=tuple(_with_leaves(item.children, leaves)))


def known_sum(values: Sequence[int | None]) -> int | None:
    """The sum, unknown as soon as one of the values is."""
    return None if None in values else sum(cast("Sequence[int]", values))
