"""Rewrites that give a kernel more blocks: split-K, and blocks with fewer of the elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tirlens.advice import rewrite
from tirlens.model.counting.facts_walk import walk_nodes
from tirlens_counting.expressions import simplify, substitute
from tirlens_worker.facts import (
    Access,
    Annotate,
    Barrier,
    Branch,
    Copy,
    Evaluate,
    Expr,
    Fill,
    Gemm,
    KernelFacts,
    Let,
    Loop,
    Node,
    Statement,
    Store,
    While,
)

_AXES = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
_PART = "split_k"


def reduction(facts: KernelFacts) -> Loop | None:
    """The loop of a kernel that is one product and nothing else; None for any other kernel.

    Partial sums of a result can be added wherever nothing is done to it but to store it: the loop
    loads tiles and multiplies them onto what is there, and copies are all that follows.
    """
    products = [
        loop
        for loop, _ in rewrite.loops(facts)
        if loop.kind in ("pipelined", "serial")
        and any(isinstance(node, Gemm) for node in loop.body)
    ]
    if len(products) != 1 or not all(map(_adds, products[0].body)):
        return None
    (loop,) = products
    own = set(map(id, rewrite.statements_in(loop)))
    others = [one for one, _ in rewrite.statements(facts) if id(one) not in own]
    moves = all(isinstance(one, (Copy, Fill, Barrier, Annotate)) for one in others)
    whole = isinstance(loop.extent, int) and loop.start == 0 and loop.step == 1
    return loop if moves and whole else None


def _adds(node: Node) -> bool:
    """Whether a statement of the loop loads a tile, or adds a product to what is there."""
    if not isinstance(node, Statement):
        return False
    read = {access.buffer for access in node.accesses if access.mode == "read"}
    written = {access.buffer for access in node.accesses if access.mode != "read"}
    return isinstance(node, Copy) or (isinstance(node, Gemm) and bool(written) and written <= read)


def with_parts(facts: KernelFacts, loop: Loop, parts: int) -> KernelFacts | None:
    """`facts` with each result added up by `parts` blocks; None where the grid has no free axis."""
    axis = free_axis(facts)
    if axis is None or not isinstance(loop.extent, int) or loop.extent % parts:
        return None
    trips = loop.extent // parts
    shifted: dict[str, Expr] = {loop.var: ("+", loop.var, ("*", _PART, trips))}
    scopes = {buffer.id: buffer.scope for buffer in facts.buffers}
    own = set(map(id, rewrite.statements_in(loop)))

    def shift(access: Access) -> Access:
        indices = tuple(simplify(substitute(index, shifted)) for index in access.indices)
        return replace(access, indices=indices)

    def accumulate(access: Access) -> Access:
        shared = access.mode == "write" and scopes[access.buffer] == "global"
        return replace(access, mode="atomic") if shared else access

    def edit(node: Node) -> Node:
        if isinstance(node, Loop) and node.var == loop.var:
            return replace(node, extent=trips)
        if isinstance(node, Statement):
            change = shift if id(node) in own else accumulate
            return replace(node, accesses=tuple(map(change, node.accesses)))
        return node

    changed = rewrite.change(facts, edit)
    around = Loop("grid", _PART, 0, parts, _without_unit_axes(changed.body), tag=_AXES[axis])
    grid = (*facts.launch.grid, 1, 1, 1)[:3]
    extents = tuple(parts if position == axis else extent for position, extent in enumerate(grid))
    return replace(changed, body=(around,), launch=replace(facts.launch, grid=extents))


def with_smaller_blocks(facts: KernelFacts, parts: int, warp_size: int) -> KernelFacts | None:
    """`facts` with each block divided into `parts` blocks of fewer threads.

    None where the elements of a block are not independent (barriers, shared memory, tiles), where
    the threads of a part do not fill warps, or where the grid has no free axis.
    """
    threads = rewrite.thread_loop(facts)
    if threads is None or not isinstance(threads.extent, int) or not _is_independent(facts):
        return None
    axis = free_axis(facts)
    size = threads.extent // parts
    if axis is None or threads.extent % parts or size % warp_size:
        return None
    split = {threads.var: size} | _outermost_tiles(facts, parts)
    if any(length == 0 for length in split.values()):
        return None
    shifted: dict[str, Expr] = {
        name: ("+", name, ("*", _PART, length)) for name, length in split.items()
    }
    if any(set(split) & rewrite.names(node) for node in _other_nodes(facts)):
        return None

    def shift(access: Access) -> Access:
        indices = tuple(simplify(substitute(index, shifted)) for index in access.indices)
        guard = None if access.guard is None else simplify(substitute(access.guard, shifted))
        return replace(access, indices=indices, guard=guard)

    def edit(node: Node) -> Node:
        if isinstance(node, Loop) and node.var in split:
            return replace(node, extent=split[node.var])
        if isinstance(node, Branch):
            return replace(node, condition=simplify(substitute(node.condition, shifted)))
        if isinstance(node, Statement):
            return replace(node, accesses=tuple(map(shift, node.accesses)))
        return node

    changed = rewrite.change(facts, edit)
    around = Loop("grid", _PART, 0, parts, _without_unit_axes(changed.body), tag=_AXES[axis])
    grid = (*facts.launch.grid, 1, 1, 1)[:3]
    extents = tuple(parts if position == axis else extent for position, extent in enumerate(grid))
    launch = replace(facts.launch, grid=extents, threads=(size, *facts.launch.threads[1:]))
    return replace(changed, body=(around,), launch=launch)


def _is_independent(facts: KernelFacts) -> bool:
    """Whether no element of a block needs another one: per-thread or elementwise statements on
    global memory and on variables of single threads."""
    scopes = {buffer.id: buffer.scope for buffer in facts.buffers}
    for statement, path in rewrite.statements(facts):
        if not isinstance(statement, (Store, Evaluate)):
            return False
        if statement.per != "thread" and not any(loop.kind == "parallel" for loop in path):
            return False
        if any(scopes[access.buffer] not in ("global", "local") for access in statement.accesses):
            return False
    return True


def _outermost_tiles(facts: KernelFacts, parts: int) -> dict[str, int]:
    """The extent of a part for each outermost parallel loop; 0 where it is not divisible."""
    found: dict[str, int] = {}
    for loop, path in rewrite.loops(facts):
        if loop.kind == "parallel" and not any(outer.kind == "parallel" for outer in path):
            whole = isinstance(loop.extent, int) and loop.extent % parts == 0
            found[loop.var] = loop.extent // parts if whole and isinstance(loop.extent, int) else 0
    return found


def _other_nodes(facts: KernelFacts) -> Iterator[Node]:
    """The nodes whose expressions are not rewritten."""
    return (node for node in walk_nodes(facts.body) if isinstance(node, Let | Loop | While))


def free_axis(facts: KernelFacts) -> int | None:
    """An axis of the grid along which there is one block; the last one first."""
    grid = (*facts.launch.grid, 1, 1, 1)[:3]
    free = (place for place in (2, 1, 0) if grid[place] == 1)
    return next(free, None)


def written_axis(facts: KernelFacts) -> str | None:
    """The axis of the grid that the program names although there is one block along it."""
    found = (
        loop.tag for loop, _ in rewrite.loops(facts) if loop.kind == "grid" and loop.extent == 1
    )
    return next(found, None)


def _without_unit_axes(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """The nodes without loops over axes of the grid along which there is one block."""
    found: list[Node] = []
    for node in body:
        if isinstance(node, Loop) and node.kind == "grid":
            inner = _without_unit_axes(node.body)
            is_unit = node.extent == 1
            found.extend(
                (Let(node.var, node.start), *inner) if is_unit else (replace(node, body=inner),)
            )
        else:
            found.append(node)
    return tuple(found)
