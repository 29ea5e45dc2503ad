"""The binding of loops to blocks and threads, and the launch that follows from it."""

from __future__ import annotations

import re
from typing import Callable, Dict, Optional, Tuple

from ...facts import Expr, Launch, Node
from ..ir import dialect
from .bound_loops import product
from .exec_scopes import ExecScopes, Index

#: ``("rasterization2DRow", 10)`` of T.use_swizzle (tilelang/language/annotations.py).
_PANEL = re.compile(r"(Row|Column)\D+(\d+)")


class ThreadBindings:
    """The extents of block and thread indices by tag, and the variables that hold them."""

    def __init__(self, unique: Callable[[str], str]) -> None:
        #: The variables of the loops over indices that enclose the walk, by tag.
        self.active: Dict[str, str] = {}
        #: The variables of tilelang's thread indices, by axis.
        self.thread_names: Dict[int, str] = {}
        #: Whether a tilelang launch encloses the walk: a binding of a thread is then no loop.
        self.is_tile_launch = False
        #: The extents of a cluster in blocks.
        self.cluster: Tuple[Expr, ...] = ()
        #: The dynamic shared memory in bytes that the source states.
        self.shared_bytes: Optional[int] = None
        self.scopes = ExecScopes(unique)
        self._unique = unique
        self._extents: Dict[str, Expr] = {}
        self._panel: Tuple[Optional[int], str] = (None, "row")

    def bind(self, tag: str, extent: Expr) -> None:
        """Record the `extent` of `tag`; of several loops over one tag, the largest is used."""
        self._extents[tag] = _larger(self._extents.get(tag), extent)

    def index(self, tag: str) -> Optional[str]:
        """The variable of an index that an enclosing loop or launch binds; None without one."""
        if self.is_tile_launch and tag in dialect.THREAD_TAGS:
            return self.thread_name(dialect.THREAD_TAGS.index(tag))
        return self.active.get(tag)

    @property
    def has_grid(self) -> bool:
        """Whether a block index is bound so far: this is code of a GPU."""
        return any(tag in self._extents for tag in dialect.BLOCK_TAGS)

    def set_rasterisation(self, pattern: str) -> bool:
        """Note the order in which blocks run; whether `pattern` is understood."""
        found = _PANEL.search(pattern)
        if found is not None:
            self._panel = (int(found.group(2)), found.group(1).lower())
        return found is not None

    def open_scope(self, index: Index) -> None:
        """Add an exec-scope index, which holds for all of the function that follows."""
        self.scopes.open(index)

    def add_scope_loops(self, nodes: Tuple[Node, ...]) -> Tuple[Node, ...]:
        """The function's nodes inside the loops of its exec-scope indices."""
        if not self.scopes:
            return nodes
        for tag, extent in zip(dialect.BLOCK_TAGS, self.scopes.grid()):
            self.bind(tag, extent)
        self.cluster = self.scopes.cluster() or self.cluster
        threads = self.scopes.threads()
        if threads != 1:
            self.bind(dialect.THREAD_TAGS[0], threads)
        return self.scopes.around(nodes)

    def rank_in_cluster(self) -> Expr:
        """The number of a block in its cluster, x fastest (PTX's ``%cluster_ctarank``)."""
        rank: Expr = 0
        for tag, size in reversed(list(zip(dialect.BLOCK_TAGS, self.cluster))):
            if size == 1 or tag not in self.active:
                continue
            index: Expr = ("%", self.active[tag], size)
            rank = index if rank == 0 else ("+", ("*", rank, size), index)
        return rank

    def lane(self) -> Expr:
        """The index of a thread in its warp."""
        return self.scopes.lane() if self.scopes else ("%", self.thread(), 32)

    def thread(self) -> Expr:
        """The index of a thread in its block."""
        if self.scopes:
            return self.scopes.thread()
        index: Expr = 0
        for axis, tag in reversed(list(enumerate(dialect.THREAD_TAGS))):
            size = self._extents.get(tag, 1)
            if size == 1 and axis:
                continue
            name = self.active.get(tag) or self.thread_name(axis)
            index = name if index == 0 else ("+", ("*", index, size), name)
        return index

    def thread_name(self, axis: int) -> str:
        """The variable of tilelang's thread index along an axis."""
        if axis not in self.thread_names:
            self.thread_names[axis] = self._unique("t" + "xyz"[axis])
        return self.thread_names[axis]

    def extent(self, tag: str) -> Expr:
        """The extent of an index so far; 1 where it is not bound."""
        return self._extents.get(tag, 1)

    def block_variables(self) -> Tuple[str, ...]:
        """The variables of the block indices that enclose the walk."""
        bound = tuple(self.active[tag] for tag in dialect.BLOCK_TAGS if tag in self.active)
        return bound + self.scopes.block_variables()

    def thread_variables(self) -> Tuple[str, ...]:
        """The variables of the thread indices that enclose the walk."""
        if self.scopes:
            return self.scopes.thread_variables()
        bound = (tag for tag in dialect.THREAD_TAGS if self._extents.get(tag, 1) != 1)
        return tuple(name for name in map(self.index, bound) if name is not None)

    def threads_per_block(self) -> Expr:
        """The number of threads of a block, by its bindings or by its execution scopes."""
        total: Expr = 1
        for tag in dialect.THREAD_TAGS:
            total = product(total, self._extents.get(tag, 1))
        return self.scopes.threads() if self.scopes else total

    def launch(self) -> Launch:
        """The launch by the bindings so far; complete at the end of the walk."""
        grid, threads = self._axes(dialect.BLOCK_TAGS), self._axes(dialect.THREAD_TAGS)
        if threads and not grid:
            grid = (1, 1, 1)
        if grid and not threads:
            threads = (1, 1, 1)
        panel, order = self._panel
        return Launch(
            grid=grid,
            threads=threads,
            cluster=self.cluster,
            panel=panel,
            panel_order=order,
            shared_bytes=self.shared_bytes,
        )

    def _axes(self, tags: Tuple[str, ...]) -> Tuple[Expr, ...]:
        if not any(tag in self._extents for tag in tags):
            return ()
        return tuple(self._extents.get(tag, 1) for tag in tags)


def _larger(left: Optional[Expr], right: Expr) -> Expr:
    if left is None or left == right:
        return right
    if isinstance(left, int) and isinstance(right, int):
        return max(left, right)
    return ("max", left, right)
