"""Tiles that pass through shared memory, so that lanes take them along rows on both sides.

Source: NVIDIA, "An Efficient Matrix Transpose in CUDA C/C++" (M. Harris, 2013).
"""

from __future__ import annotations

from dataclasses import replace

from tirlens.advice import rewrite
from tirlens.advice.distant_accesses import DistantAccess
from tirlens.model.tree.context import THREADS
from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import (
    Access,
    Barrier,
    Branch,
    Buffer,
    Expr,
    KernelFacts,
    Loop,
    Node,
    Statement,
    Store,
    While,
)

_TILE = "staged_tile"


def reaches_along(index: Expr, distant: DistantAccess, facts: KernelFacts) -> bool:
    """Whether the elements that a block takes at once differ in `index`, along the array's rows.

    Then the block can access them along rows, though one warp of the program does not.
    """
    return bool(free_variables(index) & {loop.var for loop in _element_loops(distant, facts)})


def with_staging(
    facts: KernelFacts, changed: KernelFacts, distant: DistantAccess
) -> KernelFacts | None:
    """`facts` with the tiles of an access passed through shared memory.

    Parameters
    ----------
    facts
        The kernel as it is.
    changed
        The kernel with the array stored so that the lanes go along rows of it: the requests of
        a tile that is staged.
    distant
        The access.

    Returns
    -------
    The facts in which the array's elements also pass through an array of shared memory with a
    barrier; None where the statement has vectors, where it updates the array in place, or where the
    size of the tile is not known.
    """
    loops = _element_loops(distant, facts)
    extents = [loop.extent for loop in loops if isinstance(loop.extent, int)]
    if distant.access.mode == "atomic" or len(extents) != len(loops):
        return None
    indices: tuple[Expr, ...] = tuple(loop.var for loop in loops)
    scope = "shared.dyn" if facts.framework == "tilelang" else "shared"
    # One element more in each row: columns of the tile have no bank conflicts.
    shape = (*extents[:-1], extents[-1] + 1)
    buffer = distant.buffer
    tile = Buffer(_TILE, _TILE, buffer.dtype, shape, scope=scope)
    staged = _Staging(distant.statement.sites, buffer.id, indices)
    body = staged.body(changed.body)
    if body is None:
        return None
    return replace(changed, body=body, buffers=(*changed.buffers, tile))


def _element_loops(distant: DistantAccess, facts: KernelFacts) -> list[Loop]:
    """The loops that enumerate the elements that a block takes at once, the lanes' last."""
    found = [
        loop
        for loop, _ in rewrite.loops(facts)
        if (loop.var in distant.loops if distant.loops else loop.kind == "block")
    ]
    if not distant.loops:
        found.sort(key=lambda loop: -THREADS.index(loop.tag) if loop.tag in THREADS else 1)
    return found


class _Staging:
    """The replacement of an array's accesses at `sites` by those of a tile in shared memory."""

    def __init__(self, sites: tuple[object, ...], array: str, indices: tuple[Expr, ...]) -> None:
        self.sites, self.array, self.indices = sites, array, indices

    def body(self, nodes: tuple[Node, ...]) -> tuple[Node, ...] | None:
        """The nodes with the staged statements; None where one of them cannot be staged."""
        found: list[Node] = []
        for node in nodes:
            parts = self._node(node)
            if parts is None:
                return None
            found.extend(parts)
        return tuple(found)

    def _node(self, node: Node) -> tuple[Node, ...] | None:
        if isinstance(node, Statement):
            return self._statement(node)
        if isinstance(node, Loop | While):
            body = self.body(node.body)
            return None if body is None else (replace(node, body=body),)
        if isinstance(node, Branch):
            then, orelse = self.body(node.then), self.body(node.orelse)
            if then is None or orelse is None:
                return None
            return (replace(node, then=then, orelse=orelse),)
        return (node,)

    def _statement(self, node: Statement) -> tuple[Node, ...] | None:
        own = [access for access in node.accesses if access.buffer == self.array]
        if node.sites != self.sites or not own:
            return (node,)
        if len({access.mode for access in own}) > 1 or any(access.lanes != 1 for access in own):
            return None
        tile = Access(_TILE, own[0].mode, self.indices)
        rest = tuple(tile if access in own else access for access in node.accesses)
        using = replace(node, accesses=rest)
        barrier = (Barrier("sync", sites=node.sites),) if node.per == "thread" else ()
        if own[0].mode == "read":
            stores = (replace(tile, mode="write"),) * len(own)
            moving = Store("stage", accesses=(*own, *stores), per=node.per, sites=node.sites)
            return (moving, *barrier, using)
        read = replace(tile, mode="read")
        moving = Store("stage", accesses=(read, *own), per=node.per, sites=node.sites)
        return (using, *barrier, moving)
