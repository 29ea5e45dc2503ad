"""apache-tvm's execution scopes: ``bx = T.cta_id([8])``, ``warp = T.warp_id([4])`` and the like.

They name indices of one and the same blocks and threads, so that several of them may overlap:
``T.warp_id([4])`` and ``T.thread_id([128])`` are two views of 128 threads, no 512 of them.  Where
they nest, each is a loop; else one loop runs over the threads (or blocks) and the others follow
from its index.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from ...facts import Expr, Let, Node, Span
from ..ir import dialect
from .bound_loops import bound_loop, product

Nodes = Tuple[Node, ...]
Sites = Tuple[Span, ...]

# ``ScopeIdDef.scope`` (``ScopeBinding`` in tvm/tirx/exec_scope.h).
CLUSTER, CTA, CTA_IN_CLUSTER = 0, 1, 2
WARPGROUP, WARP, WARP_IN_WARPGROUP, LANE, THREAD, THREAD_IN_WARPGROUP = 3, 4, 5, 6, 7, 8
CTA_IN_PAIR = 9

_LANES, _WARPS = 32, 4  # of a warp, of a warpgroup
_WITHIN = dialect.THREAD_TAGS  # the fastest index first
_NESTS = (
    (THREAD,),
    (WARP, LANE),
    (WARPGROUP, THREAD_IN_WARPGROUP),
    (WARPGROUP, WARP_IN_WARPGROUP, LANE),
    (LANE,),
    (THREAD_IN_WARPGROUP,),
    (WARP_IN_WARPGROUP, LANE),
)


class Index(NamedTuple):
    """One index: its variable, axis and extent (None: determined by the other indices)."""

    name: str
    scope: int
    axis: int
    extent: Optional[Expr]
    sites: Sites


class ExecScopes:
    """The exec-scope indices of a function, which are valid from their definitions on."""

    def __init__(self, unique: Callable[[str], str]) -> None:
        self._unique = unique
        self._indices: Dict[int, List[Index]] = {}
        self._thread = ""

    def open(self, index: Index) -> None:
        """Adds an index."""
        self._indices.setdefault(index.scope, []).append(index)

    def name(self, scope: int, axis: int) -> Optional[str]:
        """The variable of an index that is open already."""
        found = self._axes(scope).get(axis)
        return None if found is None else found.name

    def __bool__(self) -> bool:
        return bool(self._indices)

    def lane(self) -> Expr:
        """The index of a thread in its warp."""
        if LANE in self._indices:
            return self._indices[LANE][0].name
        return ("%", self.thread(), _LANES)

    def thread(self) -> str:
        """The index of a thread in its block."""
        found = self._indices.get(THREAD, [])
        if len(found) == 1:
            return found[0].name
        self._thread = self._thread or self._unique("thread")
        return self._thread

    def block_variables(self) -> Tuple[str, ...]:
        """The variables of the indices of blocks and clusters."""
        scopes = (CLUSTER, CTA, CTA_IN_CLUSTER, CTA_IN_PAIR)
        return tuple(one.name for scope in scopes for one in self._indices.get(scope, ()))

    def thread_variables(self) -> Tuple[str, ...]:
        """The variables that tell the threads of a block apart."""
        return () if self.threads() == 1 else (self.thread(),)

    def threads(self) -> Expr:
        """How many threads a block has."""
        sizes = {scope: self._size(scope) for scope in self._indices}
        lanes = sizes.get(LANE, _LANES)
        group = sizes.get(THREAD_IN_WARPGROUP) or product(
            sizes.get(WARP_IN_WARPGROUP, _WARPS), lanes
        )
        if THREAD in sizes:
            return sizes[THREAD]
        if WARP in sizes:
            return product(sizes[WARP], lanes)
        if WARPGROUP in sizes:
            return product(sizes[WARPGROUP], group)
        if THREAD_IN_WARPGROUP in sizes or WARP_IN_WARPGROUP in sizes:
            return group
        return sizes.get(LANE, 1)

    def cluster(self) -> Tuple[Expr, ...]:
        """The extents of a cluster of blocks, empty without clusters."""
        return tuple(_extent(one) for one in self._indices.get(CTA_IN_CLUSTER, ()))

    def grid(self) -> Tuple[Expr, ...]:
        """The extents of the grid in blocks."""
        known, clusters, parts = (self._axes(one) for one in (CTA, CLUSTER, CTA_IN_CLUSTER))
        extents: List[Expr] = []
        for axis in range(max(map(len, (known, clusters, parts)))):
            if axis in known and known[axis].extent is not None:
                extents.append(_extent(known[axis]))
            else:
                both = [_extent(one[axis]) for one in (clusters, parts) if axis in one]
                extents.append(product(both[0], both[-1] if len(both) > 1 else 1) if both else 1)
        return tuple(extents)

    def around(self, nodes: Nodes) -> Nodes:
        """The function's nodes inside the loops of its indices."""
        return self._blocks(self._threads(nodes))

    def _size(self, scope: int) -> Expr:
        total: Expr = 1
        for one in self._indices[scope]:
            total = product(total, _extent(one))
        return total

    def _axes(self, scope: int) -> Dict[int, Index]:
        return {one.axis: one for one in self._indices.get(scope, ())}

    def _threads(self, nodes: Nodes) -> Nodes:
        present = tuple(scope for scope in range(WARPGROUP, CTA_IN_PAIR) if scope in self._indices)
        if not present:
            return nodes
        # The first axis of a scope is its fastest one: ``x, y = T.thread_id([32, 4])``.
        inside = [one for scope in present for one in reversed(self._indices[scope])]
        if not self._thread and present in _NESTS and len(inside) <= len(_WITHIN):
            for tag, one in zip(_WITHIN, reversed(inside)):
                nodes = (bound_loop(one.name, tag, _extent(one), nodes, one.sites),)
            return nodes
        first = self._indices.get(THREAD, ())
        name = self._thread or (first[0].name if len(first) == 1 else self._unique("thread"))
        views: Dict[int, Expr] = {
            WARPGROUP: ("//", name, _WARPS * _LANES),
            WARP: ("//", name, _LANES),
            WARP_IN_WARPGROUP: ("%", ("//", name, _LANES), _WARPS),
            LANE: ("%", name, _LANES),
            THREAD: name,
            THREAD_IN_WARPGROUP: ("%", name, _WARPS * _LANES),
        }
        lets: List[Node] = []
        for scope in present:
            rest = views[scope]
            for one in self._indices[scope]:
                index = rest if len(self._indices[scope]) == 1 else ("%", rest, _extent(one))
                rest = ("//", rest, _extent(one))
                if one.name != name:
                    lets.append(Let(one.name, index, sites=one.sites))
        body = (*lets, *nodes)
        return (bound_loop(name, _WITHIN[0], self.threads(), body, inside[0].sites),)

    def _blocks(self, nodes: Nodes) -> Nodes:
        ctas, clusters, parts = (self._axes(one) for one in (CTA, CLUSTER, CTA_IN_CLUSTER))
        rank: Expr = 0
        loops: List[Tuple[str, Expr, Nodes, Sites]] = []
        for axis, extent in reversed(list(enumerate(self.grid()))):
            here = [one[axis] for one in (ctas, clusters, parts) if axis in one]
            name = here[0].name if axis in ctas or len(here) == 1 else self._unique("cta")
            size = _extent(parts[axis]) if axis in parts else 1
            lets: List[Node] = []
            if axis in clusters and clusters[axis].name != name:
                lets.append(
                    Let(clusters[axis].name, ("//", name, size), sites=clusters[axis].sites)
                )
            if axis in parts and parts[axis].name != name:
                lets.append(Let(parts[axis].name, ("%", name, size), sites=parts[axis].sites))
            if axis in parts:
                index: Expr = ("%", name, size)
                rank = index if rank == 0 else ("+", ("*", rank, size), index)
            loops.append((name, extent, tuple(lets), here[0].sites))
        for one in self._indices.get(CTA_IN_PAIR, ()):
            # Two neighbours by their number in the cluster, x fastest, are a pair (PTX ISA).
            nodes = (Let(one.name, ("%", rank, 2), sites=one.sites), *nodes)
        tags = reversed(dialect.BLOCK_TAGS[: len(loops)])
        for tag, (name, extent, before, sites) in zip(tags, loops):
            nodes = (bound_loop(name, tag, extent, (*before, *nodes), sites),)
        return nodes


def _extent(index: Index) -> Expr:
    if index.extent is not None:
        return index.extent
    usual = {WARP_IN_WARPGROUP: _WARPS, LANE: _LANES, THREAD_IN_WARPGROUP: _WARPS * _LANES}
    return usual.get(index.scope, 1)
