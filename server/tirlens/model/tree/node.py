"""The tree of cost nodes: the loops, branches and statements of a kernel, as counted.

The tree mirrors the tree of counts.  All quantities are totals over the whole launch.  No stage
changes it: what a stage finds of the statements is a `Table` of its own, by their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from tirlens_worker.facts import Branch, Loop, Statement, While

from ..counting.kernel_counts import NodeCount
from ..counting.operation_classes import OperationTotals
from .context import WARP, LoopContext
from .traits import Registers, Traits, body_traits, registers_of, statement_traits

# Shared by all that compute nothing.
NO_ARITH = OperationTotals()


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

    def leaves(self) -> tuple[Leaf, ...]:
        """The statements inside, in program order."""
        return self._leaves

    @cached_property
    def _leaves(self) -> tuple[Leaf, ...]:
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Leaf(CostNode):
    """A statement with its operations and bytes, over the whole launch.

    Attributes
    ----------
    number
        Its number in the tree, in program order: its row in the tables of the stages.
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
    """

    number: int
    source: Statement
    arith: OperationTotals
    flop: int | None
    useful_flop: int | None
    masked_flop: int | None
    read_bytes: int | None
    write_bytes: int | None
    shared_bytes: int

    @property
    def global_bytes(self) -> int | None:
        """Bytes read from and written to global memory; None where not known."""
        if self.read_bytes is None or self.write_bytes is None:
            return None
        return self.read_bytes + self.write_bytes

    def leaves(self) -> tuple[Leaf, ...]:
        """The statement itself."""
        return (self,)

    @cached_property
    def traits(self) -> tuple[Traits, Traits]:
        """What holds for the statement, twice: see `traits`."""
        found = statement_traits(self)
        return found, found

    @cached_property
    def registers(self) -> Registers:
        """The registers and tiles that the statement reads and writes: see `traits`."""
        return registers_of(self)


def leaves_of(nodes: Iterable[CostNode]) -> list[Leaf]:
    """All statements of a body, in program order."""
    found: list[Leaf] = []
    for node in nodes:
        if isinstance(node, Leaf):
            found.append(node)
        else:
            found += node.leaves()
    return found


def known_sum(values: Sequence[int | None]) -> int | None:
    """The sum, unknown as soon as one of the values is."""
    return None if None in values else sum(cast("Sequence[int]", values))
