"""Counts that hold for other facts too: for the same kernel with loops that run differently.

What-ifs change the kind or the stages of a loop, or the order of blocks.  None of these is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tirlens_worker.facts import Branch, KernelFacts, Let, Loop, Node, Statement, While

from .data_extents import substitute_lengths
from .kernel_counts import KernelCounts, NodeCount


def transfer_counts(
    known: KernelCounts, facts: KernelFacts, bindings: Mapping[str, int]
) -> KernelCounts | None:
    """The counts of `facts` if they differ from `known` in nothing that is counted, else None."""
    if known.lengths:
        facts = substitute_lengths(facts, known.lengths)
    if known.facts is facts and known.bindings == bindings:
        return known
    if known.bindings != bindings or _counted_header(known.facts) != _counted_header(facts):
        return None
    if facts.body is known.facts.body:
        return replace(known, facts=facts)
    root = _transfer_nodes(known.counts.root, facts.body)
    if root is None:
        return None
    return replace(known, facts=facts, counts=replace(known.counts, root=root))


def _counted_header(facts: KernelFacts) -> tuple[object, ...]:
    """What is counted besides the body."""
    launch = facts.launch
    sizes = launch.grid, launch.threads, launch.cluster
    return facts.buffers, facts.variables, sizes, facts.caveats


def _transfer_nodes(
    counts: Sequence[NodeCount], nodes: Sequence[Node]
) -> tuple[NodeCount, ...] | None:
    """`counts` with the nodes `nodes`; None if these have other counts."""
    if len(counts) != len(nodes):
        return None
    matched: list[NodeCount] = []
    for count, node in zip(counts, nodes, strict=True):
        if count.source is node:
            matched.append(count)
            continue
        if _counted_fields(count.source) != _counted_fields(node):
            return None
        children = _transfer_nodes(count.children, _children(node))
        if children is None:
            return None
        matched.append(replace(count, source=node, children=children))
    return tuple(matched)


def _children(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Branch):
        return node.then + node.orelse
    return node.body if isinstance(node, (Loop, While)) else ()


def _counted_fields(node: Node) -> tuple[object, ...]:
    """The fields of a node that counting reads."""
    if isinstance(node, Loop):
        return Loop, node.kind == "block", node.var, node.start, node.extent, node.step, node.sites
    if isinstance(node, Branch):
        return Branch, node.condition, len(node.then), node.sites
    if isinstance(node, While):
        return While, node.condition, node.sites
    if isinstance(node, Let):
        return Let, node.var, node.value
    return Statement, node.per, node.arith, node.accesses, node.sites
