"""TVM's blocks (``T.sblock``): their axes, arrays, windows, annotations and initial statements."""

from __future__ import annotations

from typing import Any, Mapping

from ...facts import Branch, Expr
from ...ops import Region
from ...ops.build import plus, times
from ..ir import dialect
from ..locations.spans import Locator
from ..passes.storage_compaction import Storage
from ..reading.expression_cost import Readers
from ..state.arrays import Window
from ..symbolic import row_major
from ..symbolic.expression_text import text
from .builder import NodeBuilder, Nodes
from .thread_loops import ThreadLoops
from .traversal import Traversal

#: Threads of a T.Kernel that names none (tilelang ``cuda/pipeline.py``, MaterializeKernelLaunch).
_DEFAULT_THREADS = (128,)
_REDUCTION = 2  # IterVar.iter_type of a reduction axis


class Blocks:
    """Walks blocks with their declarations and annotations."""

    def __init__(
        self,
        walk: Traversal,
        readers: Readers,
        builder: NodeBuilder,
        threads: ThreadLoops,
        locator: Locator,
        storage: Mapping[str, Storage],
    ) -> None:
        self._walk = walk
        self._state = readers.state
        self._expressions = readers.expressions
        self._regions = readers.regions
        self._builder = builder
        self._threads = threads
        self._locator = locator
        #: The shapes and strides of arrays that the compiler compacts, by their names.
        self._storage = storage
        walk.handlers.update(
            SBlockRealize=self._realize,
            BlockRealize=self._realize,
            SBlock=self._block,
            Block=self._block,
        )

    def _realize(self, stmt: Any) -> Nodes:
        block = stmt.block
        for axis, value in zip(block.iter_vars, stmt.iter_values):
            self._state.names.define(axis.var, self._expressions.expr(value))
        # A condition on data is computed for each of its iterations.
        before = self._builder.evaluation(stmt.predicate, "condition")
        inner = self._block(block)
        predicate = self._expressions.expr(stmt.predicate)
        if predicate is True or predicate == 1:
            return (*before, *inner)
        label = "T.where({})".format(text(predicate))
        sites = self._state.position.sites
        return (*before, Branch(predicate, inner, kind="predicate", label=label, sites=sites))

    def _block(self, block: Any) -> Nodes:
        for buffer in block.alloc_buffers:
            self._expressions.declare(buffer, storage=self._storage.get(str(buffer.name)))
        for match in block.match_buffers:
            self._declare_window(match)
        annotations = dialect.annotations_of(block)
        declared: Any = getattr(block, "annotations", None) or {}
        self._declare_reducers(declared)
        self._declare_barriers(declared)
        self._state.arrays.mark_overlap(declared.get("tl.non_restrict_params", ()))
        bindings = self._state.bindings
        cluster = annotations.get("cluster_dims")
        if cluster is not None:
            bindings.cluster = tuple(int(extent) for extent in cluster)
        threads = annotations.get("tl.launch_threads")
        if threads is None and str(block.name_hint) == "tilelang_root" and bindings.has_grid:
            threads = _DEFAULT_THREADS
        if threads is not None:
            return self._threads.tile_launch(threads, block.body)
        return self._initial(block) + self._walk.nodes(block.body)

    def _initial(self, block: Any) -> Nodes:
        """``T.init``: the statements before the first iteration of the reduction axes."""
        if block.init is None:
            return ()
        first: Expr = True
        for axis in block.iter_vars:
            if int(axis.iter_type) == _REDUCTION:
                low = self._expressions.expr(axis.dom.min)
                test = ("==", self._state.names.value(axis.var), low)
                first = test if first is True else ("and", first, test)
        inner = self._walk.scope(block.init).nodes
        if first is True:
            return inner
        sites = self._locator.sites(block.init) or self._state.position.sites
        return (Branch(first, inner, kind="init", label="T.init()", sites=sites),)

    def _declare_window(self, match: Any) -> None:
        """A block's match_buffer: the same elements under other indices."""
        region = self._regions.region(match.source)
        if region is not None:
            self._bind_layout(match.buffer, region)
        known = self._expressions.declare(match.buffer)
        if region is None:
            return
        rank = len(match.buffer.shape)
        dims = [n for n, size in enumerate(region.extents) if size != 1]
        if len(region.extents) == rank:
            dims = list(range(rank))
        if len(dims) != rank:
            self._builder.caveat("match_buffer: a window of another rank; its reads are its own")
            return
        corners = tuple(
            (low, dims.index(n) if n in dims else None) for n, low in enumerate(region.indices)
        )
        source = region.buffer.id
        windows = self._state.arrays.windows
        if source in windows:
            # A window of a window: of the array that the outer one shows.
            source, outer = windows[source]
            corners = tuple(
                (low, None) if dim is None else (plus(low, corners[dim][0]), corners[dim][1])
                for low, dim in outer
            )
        windows[known] = Window(source, corners)

    def _bind_layout(self, window: Any, region: Region) -> None:
        """The variables in a window's shape, strides and offset: those of the region it shows.

        TVM's ``LowerMatchBuffer`` binds them so, from the last dimension on.
        """
        strides = row_major.strides(region.buffer)
        offset = region.buffer.element_offset
        for low, stride in zip(region.indices, strides):
            offset = plus(offset, times(low, stride))
        pairs = [(getattr(window, "elem_offset", None), offset)]
        pairs += zip(reversed(window.shape), reversed(region.extents))
        pairs += zip(reversed(window.strides or ()), reversed(strides))
        for symbol, value in pairs:
            if dialect.kind(symbol) in ("Var", "SizeVar"):
                self._state.names.define_unbound(symbol, value)

    def _declare_reducers(self, annotations: Any) -> None:
        """``T.alloc_reducer``: the operation of each reducer, which the block's annotation has."""
        arrays = self._state.arrays
        for key in ("reducer_info", "reducer_info_v2"):
            if key not in annotations:
                continue
            for data, about in annotations[key].items():
                owner = arrays.owner_of_data(data)
                if owner is not None:
                    arrays.reducers[owner] = str(about["op"])

    def _declare_barriers(self, annotations: Any) -> None:
        """``T.alloc_barrier``: the number of threads that arrive at each barrier."""
        if "barrier_init" not in annotations:
            return
        for data, arrivals in annotations["barrier_init"].items():
            owner = self._state.arrays.owner_of_data(data)
            for number, threads in enumerate(arrivals):
                if owner is not None:
                    expr = self._expressions.expr(threads)
                    self._state.barriers.set_arrivals(owner, number, expr)
