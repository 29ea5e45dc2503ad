"""From the statements of a PrimFunc to the tree of facts.

One walk for all frameworks: `dialect` hides what differs between versions, `ops` accounts for tile
operations and intrinsics, `Reader` reads what stands inside a statement.  What is not
understood becomes a statement with a caveat; the walk never fails because of it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Callable, List, Tuple

from .. import ops
from ..facts import Branch, Expr, Let, Loop, Node, Span, Statement, While
from . import dialect
from .cost import Reader
from .launch import Bindings, bound_loop
from .scope import Scope
from .text import text

Sites = Tuple[Span, ...]
Nodes = Tuple[Node, ...]

_KINDS = {
    dialect.SERIAL: "serial",
    dialect.PARALLEL: "parallel",
    dialect.VECTORIZED: "vectorized",
    dialect.UNROLLED: "unroll",
}
_SPELLING = {
    "pipelined": "T.Pipelined",
    "serial": "T.serial",
    "parallel": "T.parallel",
    "vectorized": "T.vectorized",
    "unroll": "T.unroll",
}
_REDUCTION = 2  # IterVar.iter_type of a reduction axis
_LAUNCH_THREAD = re.compile(r"launch_thread_idx$")


class Walk:
    """Walks one function; `bindings` is complete when `function` has returned."""

    def __init__(
        self,
        scope: Scope,
        sites_of: Callable[[Any], Sites],
        line_of: Callable[[Span], str],
        tiles: bool,
    ) -> None:
        self.scope = scope
        self.reader = Reader(scope, self.add_buffer)
        self.bindings = Bindings()
        self._sites_of = sites_of
        self._line_of = line_of
        self._tiles = tiles
        self._here: Sites = ()
        self._per = "thread"

    # -- buffers --------------------------------------------------------------------------------

    def add_buffer(self, buffer: Any, parameter: bool = False) -> str:
        expr = self.reader.expr
        offset = getattr(buffer, "elem_offset", None)
        return self.scope.add_buffer(
            buffer,
            tuple(expr(size) for size in buffer.shape),
            tuple(expr(stride) for stride in (buffer.strides or ())),
            # The offset of a parameter is the caller's affair; a view's says where it begins.
            0 if offset is None or parameter or dialect.kind(offset) == "Var" else expr(offset),
            parameter=parameter,
            span=self._here[0] if self._here else None,
        )

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
        self.scope.windows[known] = (region.buffer.id, corners)

    # -- statements -----------------------------------------------------------------------------

    def function(self, stmt: Any) -> Nodes:
        """The tree of a function's whole body."""
        return self.bindings.close_scopes(self.body(stmt))

    def body(self, stmt: Any) -> Nodes:
        """The nodes that `stmt` stands for."""
        if stmt is None:
            return ()
        kind = dialect.kind(stmt)
        handler = getattr(self, "_visit_" + kind, None)
        outer = self._here
        self._here = self._sites_of(stmt) or outer
        try:
            if handler is None:
                return self._unknown(kind, stmt)
            return tuple(handler(stmt))
        except Exception as error:
            # One statement of an unforeseen form must not cost the user the whole kernel.
            self._note("{} is left out: {}: {}".format(kind, type(error).__name__, error))
            return ()
        finally:
            self._here = outer

    def _forget_stored(self, stmt: Any) -> None:
        """A scalar that the body of a loop changes is not known inside it, nor behind it."""
        for buffer in dialect.stored_buffers(stmt):
            known = self.scope.buffer_id(buffer)
            if known is not None:
                self.scope.scalars.pop(known, None)

    def _scoped(self, stmt: Any) -> Nodes:
        """The body of a loop or branch: what it learns of scalars does not hold behind it."""
        before = dict(self.scope.scalars)
        nodes = self.body(stmt)
        self.scope.scalars = {
            name: value for name, value in before.items() if self.scope.scalars.get(name) == value
        }
        return nodes

    def _unknown(self, kind: str, stmt: Any) -> Nodes:
        inner = getattr(stmt, "body", None)
        if inner is not None:
            return self.body(inner)
        self._note("{} is not understood and is left out".format(kind))
        return ()

    def _visit_SeqStmt(self, stmt: Any) -> Nodes:  # noqa: N802 - named after the IR's class
        nodes: List[Node] = []
        for part in stmt.seq:
            nodes += self.body(part)
        return tuple(nodes)

    def _visit_For(self, stmt: Any) -> Nodes:  # noqa: N802
        number = int(stmt.kind)
        start, extent = self.reader.expr(stmt.min), self.reader.expr(stmt.extent)
        if number == dialect.THREAD_BINDING and stmt.thread_binding is not None:
            tag = str(stmt.thread_binding.thread_tag)
            return self._bound_loop(stmt.loop_var, tag, extent, stmt.body)
        before = self._reading(stmt.extent, "loop bound")
        annotations = dialect.annotations_of(stmt)
        kind = "pipelined" if "num_stages" in annotations else _KINDS.get(number, "serial")
        if kind == "serial" and "software_pipeline_stage" in annotations:
            kind = "pipelined"
        step = getattr(stmt, "step", None)
        step_expr: Expr = 1 if step is None else self.reader.expr(step)
        if step_expr != 1:
            extent = ("//", ("-", ("+", extent, step_expr), 1), step_expr)
        var = self.scope.define(stmt.loop_var)
        outer = self._per
        if kind == "parallel" and self._tiles:
            self._per = "block"
        try:
            self._forget_stored(stmt.body)
            inner = self._scoped(stmt.body)
        finally:
            self._per = outer
        spelling = "T.Parallel" if kind == "parallel" and self._tiles else _SPELLING[kind]
        loop = Loop(
            kind=kind,
            var=var,
            start=start,
            extent=extent,
            body=inner,
            step=step_expr,
            label="for {} in {}({})".format(stmt.loop_var.name, spelling, text(extent)),
            sites=self._here,
            annotations=annotations,
        )
        return (*before, loop)

    def _bound_loop(self, var: Any, tag: str, extent: Expr, stmt: Any) -> Nodes:
        """A loop over blocks or threads; the same tag inside itself is the same index."""
        active = self.bindings.active.get(tag)
        if active is not None:
            self.scope.define(var, active)
            return self.body(stmt)
        name = self.scope.define(var)
        self.bindings.bind(tag, extent)
        self.reader.threads = self.bindings.threads_per_block()
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
            return self._bound_loop(stmt.node.var, tag, self.reader.expr(stmt.value), stmt.body)
        if key == "threadblock_swizzle_pattern" and not self.bindings.rasterise(str(stmt.value)):
            self._note("block rasterisation {} is not understood".format(stmt.value))
        return self.body(stmt.body)

    def _visit_SBlockRealize(self, stmt: Any) -> Nodes:  # noqa: N802
        block = stmt.block
        for axis, value in zip(block.iter_vars, stmt.iter_values):
            self.scope.define(axis.var, self.reader.expr(value))
        inner = self._block(block)
        predicate = self.reader.expr(stmt.predicate)
        if predicate is True or predicate == 1:
            return inner
        label = "T.where({})".format(text(predicate))
        return (Branch(predicate, inner, kind="predicate", label=label, sites=self._here),)

    _visit_BlockRealize = _visit_SBlockRealize  # noqa: N815

    def _visit_SBlock(self, stmt: Any) -> Nodes:  # noqa: N802
        return self._block(stmt)

    _visit_Block = _visit_SBlock  # noqa: N815

    def _block(self, block: Any) -> Nodes:
        for buffer in block.alloc_buffers:
            self.add_buffer(buffer)
        for match in block.match_buffers:
            self._add_window(match)
        annotations = dialect.annotations_of(block)
        threads = annotations.get("tl.launch_threads")
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
                sites = self._sites_of(block.init) or self._here
                init = (Branch(first, inner, kind="init", label="T.init()", sites=sites),)
        return init + self.body(block.body)

    def _tile_threads(self, extents: Any, stmt: Any) -> Nodes:
        """tilelang's launch: the block is run by ``extents`` threads."""
        sizes = [int(extent) for extent in extents] + [1] * (3 - len(extents))
        for tag, size in zip(dialect.THREAD_TAGS, sizes):
            self.bindings.bind(tag, size)
        self.reader.threads = self.bindings.threads_per_block()
        inner = self.body(stmt)
        for axis, (tag, size) in enumerate(zip(dialect.THREAD_TAGS, sizes)):
            name = self.bindings.thread_names.get(axis) or self.scope.unique("t" + "xyz"[axis])
            if size > 1 or axis == 0:
                inner = (bound_loop(name, tag, size, inner, self._here),)
            else:
                inner = (Let(name, 0, sites=self._here), *inner)
        return inner

    def _visit_ScopeIdDefStmt(self, stmt: Any) -> Nodes:  # noqa: N802
        """apache-tvm's exec scopes: indices of blocks and threads, for all that follows."""
        definition = getattr(stmt, "def")
        extents = definition.extents
        for axis, var in enumerate(definition.def_ids):
            extent: Expr = 1 if extents is None else self.reader.expr(extents[axis])
            if extents is None:
                self._note("{}: its extent is inferred later".format(var.name))
            self.bindings.open_scope(self.scope.define(var), int(definition.scope), axis, extent)
        return ()

    def _visit_IfThenElse(self, stmt: Any) -> Nodes:  # noqa: N802
        before = self._reading(stmt.condition, "condition")
        condition = self.reader.expr(stmt.condition)
        return (
            *before,
            Branch(
                condition,
                self._scoped(stmt.then_case),
                self._scoped(stmt.else_case) if stmt.else_case is not None else (),
                label="if {}".format(text(condition)),
                sites=self._here,
            ),
        )

    def _visit_While(self, stmt: Any) -> Nodes:  # noqa: N802
        self._forget_stored(stmt.body)
        condition = self.reader.expr(stmt.condition)
        inner = self._reading(stmt.condition, "condition") + self._scoped(stmt.body)
        return (While(condition, inner, label="while", sites=self._here),)

    def _visit_BufferStore(self, stmt: Any) -> Nodes:  # noqa: N802
        buffer = self.reader.buffer(dialect.buffer_of(stmt))
        value = self.reader.expr(stmt.value)
        # A scalar that holds an index is a name for it, and costs no memory.
        if _is_scalar(buffer.shape) and buffer.scope.startswith("local"):
            if _is_index(value) and buffer.dtype.startswith(("int", "uint", "bool")):
                self.scope.scalars[buffer.id] = value
                return ()
            self.scope.scalars.pop(buffer.id, None)
        arith, reads = self._cost(stmt.value)
        for index in stmt.indices:
            more, loads = self._cost(index)
            arith, reads = arith + more, reads + loads
        write = self.reader.access(stmt, "write")
        label = "{}[...] = ...".format(buffer.name)
        return self._statement(Statement("store", label, arith, (*reads, write), self._per))

    def _visit_Evaluate(self, stmt: Any) -> Nodes:  # noqa: N802
        call = stmt.value
        if dialect.kind(call) != "Call":
            return self._reading(call, "expression")
        name = dialect.op_name(call)
        handler = ops.lookup(name)
        if handler is None:
            return self._reading(call, name)
        self.reader.notes.clear()
        statement = handler(call, self.reader)
        self._take_notes()
        return self._statement(statement)

    def _visit_TilePrimitiveCall(self, stmt: Any) -> Nodes:  # noqa: N802
        name = dialect.op_name(stmt)
        handler = ops.lookup(name)
        if handler is None:
            self._note("{}: its cost is not known and is left out".format(name))
            return self._statement(Statement("call", name, per="block"))
        self.reader.notes.clear()
        statement = handler(stmt, self.reader)
        self._take_notes()
        return self._statement(statement)

    def _visit_Bind(self, stmt: Any) -> Nodes:  # noqa: N802
        value = stmt.value
        call = dialect.op_name(value) if dialect.kind(value) == "Call" else ""
        if _LAUNCH_THREAD.search(call):
            axis = self.reader.literal(value.args[0])
            self.bindings.thread_names[int(axis or 0)] = self.scope.define(stmt.var)
            return ()
        nodes = self._reading(value, "let")
        meaning = self.reader.expr(value)
        if _is_index(meaning):
            self.scope.define(stmt.var, meaning)
            return nodes
        dtype = dialect.dtype_of(stmt.var)
        if not dtype.startswith(("int", "uint", "bool")):
            self.scope.define(stmt.var, ("opaque", str(stmt.var.name)))
            return nodes
        return (*nodes, Let(self.scope.define(stmt.var), meaning, dtype, self._here))

    def _visit_LetStmt(self, stmt: Any) -> Nodes:  # noqa: N802
        return self._visit_Bind(stmt) + self.body(stmt.body)

    def _visit_AllocBuffer(self, stmt: Any) -> Nodes:  # noqa: N802
        self.add_buffer(stmt.buffer)
        return self.body(getattr(stmt, "body", None))

    _visit_DeclBuffer = _visit_AllocBuffer  # noqa: N815
    _visit_BufferRealize = _visit_AllocBuffer  # noqa: N815

    def _visit_Allocate(self, stmt: Any) -> Nodes:  # noqa: N802
        return self.body(stmt.body)

    def _visit_AssertStmt(self, stmt: Any) -> Nodes:  # noqa: N802
        return self.body(getattr(stmt, "body", None))

    def _visit_Break(self, stmt: Any) -> Nodes:  # noqa: N802
        self._note("a jump leaves an iteration early: counts are upper bounds")
        return ()

    _visit_Continue = _visit_Break  # noqa: N815

    # -- helpers --------------------------------------------------------------------------------

    def _cost(self, node: Any) -> Any:
        self.reader.notes.clear()
        cost = self.reader.cost(node)
        self._take_notes()
        return cost

    def _reading(self, node: Any, what: str) -> Nodes:
        """What it costs to evaluate `node` for its own sake: nothing, or a statement."""
        arith, reads = self._cost(node)
        if not arith and not reads:
            return ()
        return self._statement(Statement("let", what, arith, reads, self._per))

    def _statement(self, statement: Statement) -> Nodes:
        label = statement.label
        if statement.op in ("store", "let") and self._here:
            label = self._line_of(self._here[0]) or label
        # A call in a parallel tile loop runs once for each element, not once in each thread.
        per = self._per if statement.per == "thread" else statement.per
        return (replace(statement, label=label, sites=self._here, per=per),)

    def _note(self, message: str) -> None:
        self.scope.note(message, self._here)

    def _take_notes(self) -> None:
        for message in self.reader.notes:
            self._note(message)
        self.reader.notes.clear()


def _is_scalar(shape: Tuple[Expr, ...]) -> bool:
    return all(size == 1 for size in shape)


def _is_index(value: Expr, depth: int = 0) -> bool:
    """Whether `value` is known from loop variables and sizes alone, and is short."""
    if isinstance(value, (int, str)):
        return True
    if isinstance(value, float) or depth > 12:
        return False
    return value[0] not in ("load", "opaque", "cast", "/") and all(
        _is_index(part, depth + 1) for part in value[1:]
    )
