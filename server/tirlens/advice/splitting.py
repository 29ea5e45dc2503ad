"""Split-K: the rewrite of a matrix product whose reduction is split among blocks."""

from __future__ import annotations

from dataclasses import replace

from tirlens.advice import rewrite
from tirlens_counting.expressions import simplify, substitute
from tirlens_worker.facts import (
    Access,
    Annotate,
    Barrier,
    Copy,
    Expr,
    Fill,
    Gemm,
    KernelFacts,
    Loop,
    Node,
    Statement,
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
    grid = (*facts.launch.grid, 1, 1, 1)[:3]
    free = [axis for axis, extent in enumerate(grid) if extent == 1]
    used = {node.tag for node, _ in rewrite.loops(facts)}
    free = [axis for axis in free if _AXES[axis] not in used]
    if not free or not isinstance(loop.extent, int) or loop.extent % parts:
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
    around = Loop("grid", _PART, 0, parts, changed.body, tag=_AXES[free[0]])
    extents = tuple(parts if axis == free[0] else extent for axis, extent in enumerate(grid))
    return replace(changed, body=(around,), launch=replace(facts.launch, grid=extents))
