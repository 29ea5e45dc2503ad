"""Kernels with the same statements, whose costs are equal, in loops that run otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tirlens_worker.facts import Branch, Let, Loop, Node, While

from ..counting.kernel_counts import Counts, NodeCount
from .context import CONCURRENT_KINDS, GRID_KINDS, LoopContext, body_context, kernel_context
from .node import BranchCost, CostNode, LoopCost
from .trip_counts import branch_sides

# Kinds of loops whose iterations are not sequential in one thread.
_NOT_SEQUENTIAL_KINDS = GRID_KINDS | CONCURRENT_KINDS | {"unroll"}


def have_same_statements(nodes: Sequence[Node], others: Sequence[Node]) -> bool:
    """Whether two bodies with equal counts differ only in how sequential loops run.

    The costs of their statements are equal then; only their overlap may differ.
    """
    for node, other in zip(nodes, others, strict=True):
        if node is other:
            continue
        if isinstance(node, Loop) and isinstance(other, Loop):
            same_kind = node.kind == other.kind or {node.kind, other.kind}.isdisjoint(
                _NOT_SEQUENTIAL_KINDS
            )
            # Another axis of the threads takes other lanes.
            same_loop = same_kind and (node.var, node.tag) == (other.var, other.tag)
            inside = same_loop and have_same_statements(node.body, other.body)
        elif isinstance(node, Branch) and isinstance(other, Branch):
            inside = have_same_statements(node.then, other.then) and have_same_statements(
                node.orelse, other.orelse
            )
        elif isinstance(node, While) and isinstance(other, While):
            inside = have_same_statements(node.body, other.body)
        else:
            inside = False
        if not inside:
            return False
    return True


def like_tree(
    costs: Sequence[CostNode], counts: Counts, bindings: Mapping[str, int], warp_size: int
) -> tuple[CostNode, ...]:
    """The tree of a kernel that has the same statements as another one, with their numbers.

    Parameters
    ----------
    costs
        The tree of the other kernel.
    counts, bindings
        The counts of the kernel, and the values of its shape variables.
    warp_size
        The threads of a warp, those of the other kernel.
    """
    return _like_body(costs, counts.root, kernel_context(bindings, warp_size))


def _like_body(
    costs: Sequence[CostNode], counts: Sequence[NodeCount], context: LoopContext
) -> tuple[CostNode, ...]:
    nodes: list[CostNode] = []
    remaining = iter(costs)
    for count in counts:
        node = count.source
        if isinstance(node, Let):
            context = context.with_let(node)
            continue
        cost = next(remaining)
        if isinstance(node, Branch):
            assert isinstance(cost, BranchCost)
            first = len(node.then)
            then, orelse = branch_sides(cost)
            children = (
                *_like_body(then, count.children[:first], context.under_condition(node.condition)),
                *_like_body(
                    orelse, count.children[first:], context.under_condition(("not", node.condition))
                ),
            )
        else:
            if isinstance(node, Loop) and isinstance(cost, LoopCost):
                is_unrolled = cost.source.kind == "unroll"
                node = replace(node, kind="unroll") if is_unrolled else node
            inside = body_context(node, count.trips, context)
            children = _like_body(cost.children, count.children, inside)
        nodes.append(replace(cost, source=node, count=count, context=context, children=children))
    return tuple(nodes)
