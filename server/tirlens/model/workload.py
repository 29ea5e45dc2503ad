"""What of an analysis depends on the facts and their bindings alone, and on no device.

It is the larger part of an analysis.  A what-if that changes the device, or no more of the source
than how loops run (stages, rasterisation), has the same counts and need not count again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tirlens_worker.facts import Branch, Buffer, KernelFacts, Let, Loop, Node, Statement, While

from .counting.counts_data import Counts, NodeCount
from .counting.footprint import Footprint, compulsory_footprint
from .counting.kernel_counter import KernelCounter
from .counting.sequence_lengths import LengthEstimate, substitute_lengths
from .counting.symbolic import formulas
from .gpu.mapping.tree import alike, build
from .gpu.memory.flows import Flows, flows
from .tree.node import CostNode, leaves_of


@dataclass(frozen=True)
class Workload:
    """The counts of `facts`, the distinct bytes that they touch (None: not known), formulas.

    Where the facts are a change of others, `like` are the counts of those.  In the facts that were
    counted stands a number for each element of the arrays of `lengths`.
    """

    facts: KernelFacts
    bindings: Mapping[str, int]
    counts: Counts
    touched: Footprint | None
    formula: Mapping[str, str]
    base: Workload | None = field(default=None, repr=False, compare=False)
    lengths: Mapping[str, LengthEstimate] = field(
        default_factory=dict[str, LengthEstimate], repr=False
    )

    @cached_property
    def buffers(self) -> Mapping[str, Buffer]:
        """The kernel's arrays by their ids."""
        return {buffer.id: buffer for buffer in self.facts.buffers}

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """The blocks along each axis; one block where nothing says more."""
        return tuple(self.counts.launch.grid or (1,))

    @property
    def shapes(self) -> Mapping[str, Sequence[int]]:
        """The sizes of the arrays, none where they are not known."""
        return {key: value.shape or () for key, value in self.counts.buffers.items()}

    @cached_property
    def tree(self) -> tuple[CostNode, ...]:
        """The tree of what the statements do, on any device."""
        like = self._shared_base
        if like is None:
            return build(self.facts, self.counts, self.bindings, self.buffers)
        if like.facts.body is self.facts.body:
            return like.tree
        return build(self.facts, self.counts, self.bindings, self.buffers, like.tree)

    @cached_property
    def flows(self) -> Flows:
        """The accesses to global memory of the leaves of `items`."""
        if self._shared_base is not None:
            return self._shared_base.flows
        return flows(leaves_of(self.tree), self.buffers, self.shapes, self.grid)

    @cached_property
    def _shared_base(self) -> Workload | None:
        like = self.base
        return like if like is not None and alike(like.facts.body, self.facts.body) else None

    @property
    def needs(self) -> tuple[str, ...]:
        """The shape variables without which nothing is known."""
        # A let or a loop that depends on data can be bound too, but is not asked for.
        shapes = {variable.name for variable in self.facts.variables}
        return tuple(name for name in self.counts.needs if name in shapes)

    def for_facts(self, facts: KernelFacts, bindings: Mapping[str, int]) -> Workload | None:
        """The same for other facts, where these differ in nothing that is counted; else None."""
        if self.lengths:
            facts = substitute_lengths(facts, self.lengths)
        if self.facts is facts and self.bindings == bindings:
            return self
        if self.bindings != bindings or _counted_header(self.facts) != _counted_header(facts):
            return None
        if facts.body is self.facts.body:
            return replace(self, facts=facts, base=self)
        root = _transfer_counts(self.counts.root, facts.body)
        if root is None:
            return None
        return replace(self, facts=facts, counts=replace(self.counts, root=root), base=self)


def count_workload(facts: KernelFacts, bindings: Mapping[str, int]) -> Workload:
    """Count `facts` with every size that `bindings` gives."""
    walker = KernelCounter(facts, bindings)
    counts = walker.counts()
    lengths = walker.lengths
    if lengths:
        facts = substitute_lengths(facts, lengths)
        walker = KernelCounter(facts, bindings)
        counts = walker.counts()
    touched = compulsory_footprint(walker, counts)
    return Workload(facts, bindings, counts, touched, formulas(facts), lengths=lengths)


def _counted_header(facts: KernelFacts) -> tuple[object, ...]:
    """What is counted beside the body."""
    launch = facts.launch
    sizes = launch.grid, launch.threads, launch.cluster
    return facts.buffers, facts.variables, sizes, facts.caveats


def _transfer_counts(
    counts: Sequence[NodeCount], nodes: Sequence[Node]
) -> tuple[NodeCount, ...] | None:
    """`counts` on `nodes` for the nodes that they are of; None if these count otherwise."""
    if len(counts) != len(nodes):
        return None
    matched: list[NodeCount] = []
    for count, node in zip(counts, nodes, strict=True):
        if count.source is node:
            matched.append(count)
            continue
        if _counted_fields(count.source) != _counted_fields(node):
            return None
        children = _transfer_counts(count.children, _children(node))
        if children is None:
            return None
        matched.append(replace(count, source=node, children=children))
    return tuple(matched)


def _children(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Branch):
        return node.then + node.orelse
    return node.body if isinstance(node, (Loop, While)) else ()


def _counted_fields(node: Node) -> tuple[object, ...]:
    """What counting reads of a node itself."""
    if isinstance(node, Loop):
        return Loop, node.kind == "block", node.var, node.start, node.extent, node.step, node.sites
    if isinstance(node, Branch):
        return Branch, node.condition, len(node.then), node.sites
    if isinstance(node, While):
        return While, node.condition, node.sites
    if isinstance(node, Let):
        return Let, node.var, node.value
    return Statement, node.per, node.arith, node.accesses, node.sites
