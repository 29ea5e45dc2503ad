"""Build the tree of cost nodes from the tree of counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from tirlens_worker.facts import (
    Branch,
    Buffer,
    Expr,
    KernelFacts,
    Let,
    Loop,
    Node,
    Statement,
    While,
)

from ...counting.kernel_counts import Counts, NodeCount
from ...tree.context import (
    CONCURRENT_KINDS,
    GRID_KINDS,
    LoopContext,
    is_in_tile_loop,
    kernel_context,
)
from ...tree.node import CostNode, leaves_of, replace_leaves
from ..compiler.predication import add_branch_instructions, add_loop_instructions
from ..compiler.unrolled_load_reuse import find_store_loops
from .active_threads import count_active_threads
from .statement import BlockContext, build_statement, unify_planned_vectors, unify_tile_vectors
from .tile_layouts import set_row_vectors

# Kinds of loops whose iterations are not sequential in one thread.
_NOT_SEQUENTIAL_KINDS = GRID_KINDS | CONCURRENT_KINDS | {"unroll"}


def build_tree(
    facts: KernelFacts,
    counts: Counts,
    bindings: Mapping[str, int],
    buffers: Mapping[str, Buffer],
    like: Sequence[CostNode] | None = None,
) -> tuple[CostNode, ...]:
    """The tree of a kernel with the operations and issued bytes of every statement.

    `like` is the tree of a kernel with the same statements, whose costs are reused.
    """
    if like is not None:
        return _transfer_nodes(counts.root, kernel_context(bindings), like)
    block = BlockContext(
        buffers,
        max(math.prod(counts.launch.threads or (1,)), 1),
        frozenset(_find_accumulators(counts, buffers)),
        facts.fast_math,
        find_store_loops(facts.body),
        facts.framework,
    )
    costs = _build_nodes(counts.root, kernel_context(bindings), block, block.threads, frozenset())
    return set_row_vectors(costs, buffers)


def have_same_statements(nodes: Sequence[Node], others: Sequence[Node]) -> bool:
    """Whether two bodies with equal counts differ only in how sequential loops run.

    The costs of their statements are equal then; only their overlap may differ.
    """
    for node, other in zip(nodes, others, strict=True):
        if node is other:
            continue
        if isinstance(node, Loop) and isinstance(other, Loop):
            same = node.kind == other.kind or {node.kind, other.kind}.isdisjoint(
                _NOT_SEQUENTIAL_KINDS
            )
            inside = same and have_same_statements(node.body, other.body)
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


def _transfer_nodes(
    counts: Sequence[NodeCount], context: LoopContext, like: Sequence[CostNode]
) -> tuple[CostNode, ...]:
    """The cost nodes of a body, with the costs of another body that has the same statements."""
    costs: list[CostNode] = []
    old = iter(like)
    for count in counts:
        node = count.source
        if isinstance(node, Let):
            context = context.with_let(node)
            continue
        cost = next(old)
        if isinstance(node, Branch):
            first = len(node.then)
            own = sum(not isinstance(inside, Let) for inside in node.then)
            then, orelse = (
                context.under_condition(node.condition),
                context.under_condition(("not", node.condition)),
            )
            children = (
                *_transfer_nodes(count.children[:first], then, cost.children[:own]),
                *_transfer_nodes(count.children[first:], orelse, cost.children[own:]),
            )
        else:
            children = _transfer_nodes(count.children, _body_context(count, context), cost.children)
        costs.append(cost.replace(source=node, count=count, context=context, children=children))
    return tuple(costs)


def _body_context(count: NodeCount, context: LoopContext) -> LoopContext:
    """The context of the body of a loop or while loop."""
    node = count.source
    if isinstance(node, Loop):
        return context.in_loop(node, count.trips)
    if isinstance(node, While):
        return context.in_while(node.var or f"while {id(node)}", count.trips or 1)
    return context


def _find_accumulators(counts: Counts, buffers: Mapping[str, Buffer]) -> Iterator[str]:
    for count in counts.statements():
        for entry in count.accesses:
            access = entry.access
            if access.route == "mma" and buffers[access.buffer].scope == "local.fragment":
                yield access.buffer


def _build_nodes(
    counts: tuple[NodeCount, ...],
    context: LoopContext,
    block: BlockContext,
    threads: int,
    known: frozenset[Expr],
) -> tuple[CostNode, ...]:
    """The cost nodes of a body that `threads` of a block execute.

    `known` are the address terms that enclosing bodies have computed.
    """
    costs: list[CostNode] = []
    like: dict[object, CostNode] = {}
    for count in counts:
        node = count.source
        if isinstance(node, Let):
            context = context.with_let(node)
            like = {}
            continue
        if isinstance(node, Statement):
            cost, known = build_statement(count, context, block, threads, known, like)
        elif isinstance(node, Branch):
            sides = tuple(_build_sides(node, count.children, context, block, known))
            met = add_branch_instructions(
                sides, count.executions or 0, node.condition, context, threads
            )
            cost = CostNode(node, count, context, met)
        else:
            inside = _body_context(count, context)
            some = threads
            if isinstance(node, Loop) and node.kind == "block":
                some = count_active_threads(inside, block.threads)
            body = _build_nodes(count.children, inside, block, some, known)
            if isinstance(node, Loop):
                body = _finish_loop_body(node, count, body, context, block)
            cost = CostNode(node, count, context, body)
        costs.append(cost)
    return tuple(costs)


def _finish_loop_body(
    node: Loop,
    count: NodeCount,
    body: tuple[CostNode, ...],
    context: LoopContext,
    block: BlockContext,
) -> tuple[CostNode, ...]:
    """The cost nodes of a loop's body, with common vector lengths and loop instructions."""
    outermost_tile = not is_in_tile_loop(context)
    if node.kind == "parallel" and outermost_tile:
        return replace_leaves(body, unify_tile_vectors(leaves_of(body), block))
    if node.kind == "vectorized" and outermost_tile and block.framework == "tilelang":
        body = replace_leaves(body, unify_planned_vectors(leaves_of(body), block))
    return add_loop_instructions(body, node, count.iterations or 0)


def _build_sides(
    node: Branch,
    counts: tuple[NodeCount, ...],
    context: LoopContext,
    block: BlockContext,
    known: frozenset[Expr],
) -> Iterator[CostNode]:
    """The cost nodes of both sides of a branch."""
    first = len(node.then)
    for side, condition in (
        (counts[:first], node.condition),
        (counts[first:], ("not", node.condition)),
    ):
        if side:
            inside = context.under_condition(condition)
            threads = count_active_threads(inside, block.threads)
            yield from _build_nodes(side, inside, block, threads, known)
