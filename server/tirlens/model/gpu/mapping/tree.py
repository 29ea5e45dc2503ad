"""From the tree of counts to that of items: what each statement does, at its place."""

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

# How these loops run decides what a thread does, and how often.
_NOT_SEQUENTIAL_KINDS = GRID_KINDS | CONCURRENT_KINDS | {"unroll"}


def build_tree(
    facts: KernelFacts,
    counts: Counts,
    bindings: Mapping[str, int],
    buffers: Mapping[str, Buffer],
    like: Sequence[CostNode] | None = None,
) -> tuple[CostNode, ...]:
    """The tree of a kernel with operations and issued bytes of every leaf.

    `like` is that of a kernel which is `alike`: what its leaves do is taken over.
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
    items = _build_nodes(counts.root, kernel_context(bindings), block, block.threads, frozenset())
    return set_row_vectors(items, buffers)


def have_same_statements(nodes: Sequence[Node], others: Sequence[Node]) -> bool:
    """Whether two bodies that are counted alike differ in no more than how loops take their turns.

    What their statements do is the same then; only what runs beside what may differ.
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
    counts: Sequence[NodeCount], place: LoopContext, like: Sequence[CostNode]
) -> tuple[CostNode, ...]:
    """The items of a body that has those of another one, which is alike, with its own loops."""
    items: list[CostNode] = []
    old = iter(like)
    for count in counts:
        node = count.source
        if isinstance(node, Let):
            place = place.with_let(node)
            continue
        item = next(old)
        if isinstance(node, Branch):
            first = len(node.then)
            own = sum(not isinstance(inside, Let) for inside in node.then)
            then, orelse = (
                place.under_condition(node.condition),
                place.under_condition(("not", node.condition)),
            )
            children = (
                *_transfer_nodes(count.children[:first], then, item.children[:own]),
                *_transfer_nodes(count.children[first:], orelse, item.children[own:]),
            )
        else:
            children = _transfer_nodes(count.children, _body_context(count, place), item.children)
        items.append(item.replace(source=node, count=count, context=place, children=children))
    return tuple(items)


def _body_context(count: NodeCount, place: LoopContext) -> LoopContext:
    """The place in the body of a loop, or of what repeats until something happens."""
    node = count.source
    if isinstance(node, Loop):
        return place.in_loop(node, count.trips)
    if isinstance(node, While):
        return place.in_while(node.var or f"while {id(node)}", count.trips or 1)
    return place


def _find_accumulators(counts: Counts, buffers: Mapping[str, Buffer]) -> Iterator[str]:
    for count in counts.statements():
        for entry in count.accesses:
            access = entry.access
            if access.route == "mma" and buffers[access.buffer].scope == "local.fragment":
                yield access.buffer


def _build_nodes(
    counts: tuple[NodeCount, ...],
    place: LoopContext,
    block: BlockContext,
    threads: int,
    known: frozenset[Expr],
) -> tuple[CostNode, ...]:
    """The items of a body that so many `threads` of the block get to.

    `known` are parts of addresses that were computed on the way to it.
    """
    items: list[CostNode] = []
    like: dict[object, CostNode] = {}
    for count in counts:
        node = count.source
        if isinstance(node, Let):
            place = place.with_let(node)
            like = {}
            continue
        if isinstance(node, Statement):
            item, known = build_statement(count, place, block, threads, known, like)
        elif isinstance(node, Branch):
            sides = tuple(_build_sides(node, count.children, place, block, known))
            met = add_branch_instructions(
                sides, count.executions or 0, node.condition, place, threads
            )
            item = CostNode(node, count, place, met)
        else:
            inside = _body_context(count, place)
            some = threads
            if isinstance(node, Loop) and node.kind == "block":
                some = count_active_threads(inside, block.threads)
            body = _build_nodes(count.children, inside, block, some, known)
            if isinstance(node, Loop):
                body = _finish_loop_body(node, count, body, place, block)
            item = CostNode(node, count, place, body)
        items.append(item)
    return tuple(items)


def _finish_loop_body(
    node: Loop,
    count: NodeCount,
    body: tuple[CostNode, ...],
    place: LoopContext,
    block: BlockContext,
) -> tuple[CostNode, ...]:
    """The items of a loop's body, whose statements some loops have agree on how they lie."""
    outermost_tile = not is_in_tile_loop(place)
    if node.kind == "parallel" and outermost_tile:
        return replace_leaves(body, unify_tile_vectors(leaves_of(body), block))
    if node.kind == "vectorized" and outermost_tile and block.framework == "tilelang":
        body = replace_leaves(body, unify_planned_vectors(leaves_of(body), block))
    return add_loop_instructions(body, node, count.iterations or 0)


def _build_sides(
    node: Branch,
    counts: tuple[NodeCount, ...],
    place: LoopContext,
    block: BlockContext,
    known: frozenset[Expr],
) -> Iterator[CostNode]:
    """The items of both sides of a branch."""
    first = len(node.then)
    for side, condition in (
        (counts[:first], node.condition),
        (counts[first:], ("not", node.condition)),
    ):
        if side:
            inside = place.under_condition(condition)
            threads = count_active_threads(inside, block.threads)
            yield from _build_nodes(side, inside, block, threads, known)
