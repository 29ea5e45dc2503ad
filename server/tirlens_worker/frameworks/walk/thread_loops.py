"""Loops over blocks and threads, and attributes of the launch."""

from __future__ import annotations

from typing import Any, Mapping

from ...facts import Expr, Let
from ..ir import dialect
from ..locations.spans import Locator
from ..reading.expressions import Expressions
from ..state.bound_loops import bound_loop
from ..state.exec_scopes import Index
from ..state.kernel_state import KernelState
from .builder import NodeBuilder, Nodes
from .implied_threads import add_implied_loops, thread_extents
from .traversal import Traversal


class ThreadLoops:
    """Walks bindings of indices to blocks and threads."""

    def __init__(
        self,
        walk: Traversal,
        state: KernelState,
        expressions: Expressions,
        builder: NodeBuilder,
        locator: Locator,
    ) -> None:
        self._walk = walk
        self._state = state
        self._expressions = expressions
        self._builder = builder
        self._locator = locator
        walk.handlers.update(AttrStmt=self._attribute, ScopeIdDefStmt=self._scope_indices)

    def bound_loop(self, var: Any, tag: str, extent: Expr, body: Any) -> Nodes:
        """A loop over blocks or threads; the same tag inside itself is the same index."""
        names, bindings = self._state.names, self._state.bindings
        active = bindings.index(tag)
        if active is not None:
            names.define(var, active)
            return self._walk.nodes(body)
        threads: Mapping[str, int] = {} if bindings.active else thread_extents(body)
        for thread_tag, size in threads.items():
            bindings.bind(thread_tag, size)
        name = names.define(var)
        self._state.ranges.add(name, 0, extent)
        bindings.bind(tag, extent)
        bindings.active[tag] = name
        try:
            inner = self._walk.scope(body).nodes
        finally:
            del bindings.active[tag]
        for axis, thread_tag in enumerate(dialect.THREAD_TAGS):
            if threads.get(thread_tag, 1) > 1 and thread_tag != tag:
                implied = bindings.thread_name(axis)
                self._state.ranges.add(implied, 0, threads[thread_tag])
                inner = add_implied_loops(inner, thread_tag, implied, threads[thread_tag])
        return (bound_loop(name, tag, extent, inner, self._state.position.sites),)

    def tile_launch(self, extents: Any, body: Any) -> Nodes:
        """tilelang's launch: ``extents`` threads run the block."""
        bindings = self._state.bindings
        sizes = [int(extent) for extent in extents] + [1] * (3 - len(extents))
        for tag, size in zip(dialect.THREAD_TAGS, sizes):
            bindings.bind(tag, size)
        for axis, size in enumerate(sizes):
            self._state.ranges.add(bindings.thread_name(axis), 0, size)
        bindings.is_tile_launch = True
        inner = self._walk.nodes(body)
        bindings.is_tile_launch = False
        sites = self._state.position.sites
        for axis, (tag, size) in enumerate(zip(dialect.THREAD_TAGS, sizes)):
            name = bindings.thread_name(axis)
            if size > 1 or axis == 0:
                inner = (bound_loop(name, tag, size, inner, sites),)
            else:
                inner = (Let(name, 0, sites=sites), *inner)
        return inner

    def _attribute(self, stmt: Any) -> Nodes:
        key = str(stmt.attr_key)
        position, bindings = self._state.position, self._state.bindings
        if key in ("thread_extent", "virtual_thread"):
            tag = str(stmt.node.thread_tag) if key == "thread_extent" else "vthread"
            tag = tag or str(stmt.node.var.name)
            if key == "thread_extent":
                position.sites = self._locator.launch(str(stmt.node.var.name), position.sites)
            extent = self._expressions.expr(stmt.value)
            return self.bound_loop(stmt.node.var, tag, extent, stmt.body)
        if key == "async_scope":
            outer, position.copies_are_async = position.copies_are_async, True
            try:
                return self._walk.nodes(stmt.body)
            finally:
                position.copies_are_async = outer
        if key == "reduce_scope":
            position.combiner = stmt.node
        if key == "cluster_dims":
            bindings.cluster = tuple(map(self._expressions.expr, stmt.value))
        if key == "tirx.dyn_smem_bytes":
            shared_bytes = self._expressions.literal(stmt.value)
            bindings.shared_bytes = shared_bytes if isinstance(shared_bytes, int) else None
        if key == "threadblock_swizzle_pattern" and not bindings.set_rasterisation(str(stmt.value)):
            self._builder.caveat("block rasterisation {} is not understood".format(stmt.value))
        return self._walk.nodes(stmt.body)

    def _scope_indices(self, stmt: Any) -> Nodes:
        """apache-tvm's exec scopes: indices of blocks and threads, for all that follows."""
        names, bindings = self._state.names, self._state.bindings
        definition = getattr(stmt, "def")
        extents = definition.extents
        scope = int(definition.scope)
        for axis, var in enumerate(definition.def_ids):
            known = bindings.scopes.name(scope, axis)
            if known is not None:
                names.define(var, known)
                continue
            extent = None if extents is None else self._expressions.expr(extents[axis])
            name = names.define(var)
            bindings.open_scope(Index(name, scope, axis, extent, self._state.position.sites))
        return ()
