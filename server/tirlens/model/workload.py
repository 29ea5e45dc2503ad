"""What an analysis computes from facts and sizes alone, before a device is chosen.

It is the larger part of an analysis.  A what-if that changes the device, or only how loops run
(stages, rasterisation), reuses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tirlens_worker.facts import Buffer, KernelFacts

from .counting import KernelCounts, count_kernel
from .counting.count_transfer import transfer_counts
from .counting.kernel_counts import Counts
from .gpu.compiler import compile_statements
from .gpu.mapping import map_threads
from .gpu.memory.global_accesses import GlobalAccess, find_global_accesses
from .tree.compiled import Instructions
from .tree.context import WARP
from .tree.node import CostNode, leaves_of
from .tree.same_statements import have_same_statements, like_tree
from .tree.table import Table
from .tree.thread_mapping import Mapped


@dataclass(frozen=True)
class Workload:
    """The counts of a kernel and, on demand, what the stages derive from them without a device.

    Where the facts are a change of others, `base` is the workload of those; the tree and the flows
    are shared with it if the change does not concern them.
    """

    counted: KernelCounts
    base: Workload | None = field(default=None, repr=False, compare=False)
    warp_size: int = WARP

    def with_warps_of(self, threads: int) -> Workload:
        """The workload on a device with warps of so many `threads`."""
        if threads == self.warp_size:
            return self
        found = self._by_warp_size.get(threads)
        if found is None:
            base = self.base and self.base.with_warps_of(threads)
            found = self._by_warp_size[threads] = Workload(self.counted, base, threads)
        return found

    @cached_property
    def _by_warp_size(self) -> dict[int, Workload]:
        return {}

    @property
    def facts(self) -> KernelFacts:
        """The facts that were counted."""
        return self.counted.facts

    @property
    def counts(self) -> Counts:
        """The counts of every node, buffer and of the launch."""
        return self.counted.counts

    @cached_property
    def buffers(self) -> Mapping[str, Buffer]:
        """The kernel's arrays by their ids."""
        return {buffer.id: buffer for buffer in self.facts.buffers}

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """The number of blocks along each axis; one block where no grid is known."""
        return tuple(self.counts.launch.grid or (1,))

    @property
    def shapes(self) -> Mapping[str, Sequence[int]]:
        """The shapes of the arrays by id; empty where one is not known."""
        return {key: value.shape or () for key, value in self.counts.buffers.items()}

    @property
    def tree(self) -> tuple[CostNode, ...]:
        """The kernel as a tree of cost nodes."""
        return self._mapping[0]

    @property
    def mapped(self) -> Mapped:
        """The thread mappings of the statements."""
        return self._mapping[1]

    @cached_property
    def _mapping(self) -> tuple[tuple[CostNode, ...], Mapped]:
        base = self._shared_base
        if base is None:
            return map_threads(
                self.facts, self.counts, self.counted.bindings, self.buffers, self.warp_size
            )
        if base.facts.body is self.facts.body:
            return base.tree, base.mapped
        tree = like_tree(base.tree, self.counts, self.counted.bindings, self.warp_size)
        return tree, base.mapped

    @cached_property
    def instructions(self) -> Table[Instructions]:
        """The instructions of the statements, which are the same on all devices."""
        if self._shared_base is not None:
            return self._shared_base.instructions
        return compile_statements(self.tree, self.mapped, self.facts, self.buffers)

    @cached_property
    def global_accesses(self) -> Sequence[GlobalAccess]:
        """How the accesses to global memory proceed from block to block."""
        if self._shared_base is not None:
            return self._shared_base.global_accesses
        return find_global_accesses(leaves_of(self.tree), self.buffers, self.shapes, self.grid)

    @cached_property
    def _shared_base(self) -> Workload | None:
        base = self.base
        return (
            base
            if base is not None and have_same_statements(base.facts.body, self.facts.body)
            else None
        )

    @property
    def is_scheduled(self) -> bool:
        """Whether the kernel has thread bindings."""
        return bool(self.facts.launch.grid or self.facts.launch.threads)

    @property
    def needs(self) -> tuple[str, ...]:
        """The shape variables to bind before anything is known."""
        # A data-dependent let or loop can be bound too, but need not be.
        shapes = {variable.name for variable in self.facts.variables}
        return tuple(name for name in self.counts.needs if name in shapes)

    def for_facts(self, facts: KernelFacts, bindings: Mapping[str, int]) -> Workload | None:
        """The workload of changed facts, if the change concerns nothing that is counted."""
        counted = transfer_counts(self.counted, facts, bindings)
        if counted is None or counted is self.counted:
            return None if counted is None else self
        return Workload(counted, self, self.warp_size)


def count_workload(facts: KernelFacts, bindings: Mapping[str, int]) -> Workload:
    """The workload of `facts` with the sizes of `bindings`."""
    return Workload(count_kernel(facts, bindings))
