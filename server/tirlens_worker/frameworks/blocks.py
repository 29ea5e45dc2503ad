"""How a function is spread over blocks, threads and TVM's blocks: loops that no one writes."""

from __future__ import annotations

from typing import Any

from ..facts import Branch, Expr, Let
from ..ops.build import plus
from . import dialect
from .bound import bound_loop
from .exec_scopes import Index
from .text import text
from .visitor import Nodes, Visitor

#: Threads of a T.Kernel that names none (tilelang ``cuda/pipeline.py``, MaterializeKernelLaunch).
_DEFAULT_THREADS = (128,)
_REDUCTION = 2  # IterVar.iter_type of a reduction axis


class Blocks(Visitor):
    """Bindings to blocks and threads, and ``T.sblock`` with what belongs to it."""

    def _add_window(self, match: Any) -> None:
        """A block's match_buffer: the same elements under other indices."""
        region = self.reader.region(match.source)
        known = self.add_buffer(match.buffer)
        if region is None:
            return
        rank = len(match.buffer.shape)
        dims = [n for n, size in enumerate(region.extents) if size != 1]
        if len(region.extents) == rank:
            dims = list(range(rank))
        if len(dims) != rank:
            self._note("match_buffer: a window of another rank; its reads are its own")
            return
        corners = tuple(
            (low, dims.index(n) if n in dims else None) for n, low in enumerate(region.indices)
        )
        source = region.buffer.id
        if source in self.scope.windows:
            # A window of a window: of the array that the outer one shows.
            source, outer = self.scope.windows[source]
            corners = tuple(
                (low, None) if dim is None else (plus(low, corners[dim][0]), corners[dim][1])
                for low, dim in outer
            )
        self.scope.windows[known] = (source, corners)

    def _bound_loop(self, var: Any, tag: str, extent: Expr, stmt: Any) -> Nodes:
        """A loop over blocks or threads; the same tag inside itself is the same index."""
        active = self.bindings.index(tag)
        if active is not None:
            self.scope.define(var, active)
            return self.body(stmt)
        name = self.scope.define(var)
        self.scope.ranges.add(name, 0, extent)
        self.bindings.bind(tag, extent)
        self.bindings.active[tag] = name
        try:
            inner = self._scoped(stmt)
        finally:
            del self.bindings.active[tag]
        return (bound_loop(name, tag, extent, inner, self._here),)

    def _visit_AttrStmt(self, stmt: Any) -> Nodes:  # noqa: N802
        key = str(stmt.attr_key)
        if key in ("thread_extent", "virtual_thread"):
            tag = str(stmt.node.thread_tag) if key == "thread_extent" else "vthread"
            tag = tag or str(stmt.node.var.name)
            if key == "thread_extent":
                self._here = self._locator.launch(str(stmt.node.var.name), self._here)
            return self._bound_loop(stmt.node.var, tag, self.reader.expr(stmt.value), stmt.body)
        if key == "async_scope":
            outer, self._starts_copies = self._starts_copies, True
            try:
                return self.body(stmt.body)
            finally:
                self._starts_copies = outer
        if key == "reduce_scope":
            self.reader.combiner = stmt.node
        if key == "tirx.dyn_smem_bytes":
            asked = self.reader.literal(stmt.value)
            self.bindings.shared_bytes = asked if isinstance(asked, int) else None
        if key == "threadblock_swizzle_pattern" and not self.bindings.rasterise(str(stmt.value)):
            self._note("block rasterisation {} is not understood".format(stmt.value))
        return self.body(stmt.body)

    def _visit_SBlockRealize(self, stmt: Any) -> Nodes:  # noqa: N802
        block = stmt.block
        for axis, value in zip(block.iter_vars, stmt.iter_values):
            self.scope.define(axis.var, self.reader.expr(value))
        # A condition on data is computed for each of its iterations.
        before = self._reading(stmt.predicate, "condition")
        inner = self._block(block)
        predicate = self.reader.expr(stmt.predicate)
        if predicate is True or predicate == 1:
            return (*before, *inner)
        label = "T.where({})".format(text(predicate))
        branch = Branch(predicate, inner, kind="predicate", label=label, sites=self._here)
        return (*before, branch)

    _visit_BlockRealize = _visit_SBlockRealize  # noqa: N815

    def _visit_SBlock(self, stmt: Any) -> Nodes:  # noqa: N802
        return self._block(stmt)

    _visit_Block = _visit_SBlock  # noqa: N815

    def _block(self, block: Any) -> Nodes:
        for buffer in block.alloc_buffers:
            self.add_buffer(buffer, storage=self._storage.get(str(buffer.name)))
        for match in block.match_buffers:
            self._add_window(match)
        annotations = dialect.annotations_of(block)
        declared: Any = getattr(block, "annotations", None) or {}
        self._declare_reducers(declared)
        self._declare_barriers(declared)
        self.scope.may_overlap(declared.get("tl.non_restrict_params", ()))
        cluster = annotations.get("cluster_dims")
        if cluster is not None:
            self.bindings.cluster = tuple(int(extent) for extent in cluster)
        threads = annotations.get("tl.launch_threads")
        if threads is None and str(block.name_hint) == "tilelang_root" and self.bindings.has_grid:
            threads = _DEFAULT_THREADS
        if threads is not None:
            return self._tile_threads(threads, block.body)
        init: Nodes = ()
        if block.init is not None:
            first: Expr = True
            for axis in block.iter_vars:
                if int(axis.iter_type) == _REDUCTION:
                    low = self.reader.expr(axis.dom.min)
                    test = ("==", self.scope.value(axis.var), low)
                    first = test if first is True else ("and", first, test)
            inner = self._scoped(block.init)
            if first is True:
                init = inner
            else:
                sites = self._locator.sites(block.init) or self._here
                init = (Branch(first, inner, kind="init", label="T.init()", sites=sites),)
        return init + self.body(block.body)

    def _declare_reducers(self, annotations: Any) -> None:
        """``T.alloc_reducer``: what each reducer combines by, as its block's annotation says."""
        for key in ("reducer_info", "reducer_info_v2"):
            if key not in annotations:
                continue
            for data, about in annotations[key].items():
                owner = self.scope.owner_of_data(data)
                if owner is not None:
                    self.scope.reducers[owner] = str(about["op"])

    def _declare_barriers(self, annotations: Any) -> None:
        """``T.alloc_barrier``: how many threads have to arrive at each."""
        if "barrier_init" not in annotations:
            return
        for data, arrivals in annotations["barrier_init"].items():
            owner = self.scope.owner_of_data(data)
            for number, threads in enumerate(arrivals):
                if owner is not None:
                    self.scope.barriers.counts(owner, number, self.reader.expr(threads))

    def _tile_threads(self, extents: Any, stmt: Any) -> Nodes:
        """tilelang's launch: the block is run by ``extents`` threads."""
        sizes = [int(extent) for extent in extents] + [1] * (3 - len(extents))
        for tag, size in zip(dialect.THREAD_TAGS, sizes):
            self.bindings.bind(tag, size)
        for axis, size in enumerate(sizes):
            self.scope.ranges.add(self.bindings.thread_name(axis), 0, size)
        self.bindings.launched = True
        inner = self.body(stmt)
        self.bindings.launched = False
        for axis, (tag, size) in enumerate(zip(dialect.THREAD_TAGS, sizes)):
            name = self.bindings.thread_name(axis)
            if size > 1 or axis == 0:
                inner = (bound_loop(name, tag, size, inner, self._here),)
            else:
                inner = (Let(name, 0, sites=self._here), *inner)
        return inner

    def _visit_ScopeIdDefStmt(self, stmt: Any) -> Nodes:  # noqa: N802
        """apache-tvm's exec scopes: indices of blocks and threads, for all that follows."""
        definition = getattr(stmt, "def")
        extents = definition.extents
        scope = int(definition.scope)
        for axis, var in enumerate(definition.def_ids):
            known = self.bindings.scopes.name(scope, axis)
            if known is not None:
                self.scope.define(var, known)
                continue
            extent = None if extents is None else self.reader.expr(extents[axis])
            name = self.scope.define(var)
            self.bindings.open_scope(Index(name, scope, axis, extent, self._here))
        return ()
