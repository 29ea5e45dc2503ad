"""From the statements of a PrimFunc to the tree of facts.

One walk for all frameworks: `dialect` hides what differs between versions, `ops` accounts for tile
operations and intrinsics, `Reader` reads what stands inside a statement.  What is not
understood becomes a statement with a caveat; the walk never fails because of it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Dict, Tuple

from .. import ops
from ..facts import Call, Expr, Let, Loop, LoopKind, Store
from ..ops import Region
from . import dialect
from .conditions import where
from .data import holds_data
from .dependence import Dependence
from .leaving import Leaving
from .masks import kept
from .states import States
from .text import text
from .visitor import Nodes
from .writes import results

_KINDS: Dict[int, LoopKind] = {
    dialect.SERIAL: "serial",
    dialect.PARALLEL: "parallel",
    dialect.VECTORIZED: "vectorized",
    dialect.UNROLLED: "unroll",
}
_SPELLING: Dict[LoopKind, str] = {
    "pipelined": "T.Pipelined",
    "serial": "T.serial",
    "parallel": "T.parallel",
    "vectorized": "T.vectorized",
    "unroll": "T.unroll",
}
_LAUNCH_THREAD = re.compile(r"launch_thread_idx$")


class Walk(States):
    """Walks one function; `bindings` is complete when `function` has returned."""

    def _visit_For(self, stmt: Any) -> Nodes:  # noqa: N802
        form = int(stmt.kind)
        start, extent = self.reader.expr(stmt.min), self.reader.expr(stmt.extent)
        if form == dialect.THREAD_BINDING and stmt.thread_binding is not None:
            tag = str(stmt.thread_binding.thread_tag)
            return self._bound_loop(stmt.loop_var, tag, extent, stmt.body)
        before = self._reading(stmt.extent, "loop bound")
        annotations = dialect.annotations_of(stmt)
        kind: LoopKind = "pipelined" if "num_stages" in annotations else _KINDS.get(form, "serial")
        if kind == "serial" and "software_pipeline_stage" in annotations:
            kind = "pipelined"
        step = getattr(stmt, "step", None)
        step_expr: Expr = 1 if step is None else self.reader.expr(step)
        if step_expr != 1:
            extent = ("//", ("-", ("+", extent, step_expr), 1), step_expr)
        var = self.scope.define(stmt.loop_var)
        self.scope.ranges.add(var, start, extent, step_expr)
        outer = self._per
        if kind == "parallel" and self._tiles:
            self._per = "block"
        self.scope.loops.append((var, stmt.body))
        try:
            number: Expr = var if start == 0 else ("-", var, start)
            number = number if step_expr == 1 else ("//", number, step_expr)
            leaving = Leaving(stmt.body, var, start, step_expr)
            inner = self._repeated(stmt.body, number, extent, leaving)
        finally:
            self.scope.loops.pop()
            self._per = outer
        spelling = "T.Parallel" if kind == "parallel" and self._tiles else _SPELLING[kind]
        loop = Loop(
            kind=kind,
            var=var,
            start=start,
            extent=leaving.turns(extent),
            body=inner,
            step=step_expr,
            label="for {} in {}({})".format(stmt.loop_var.name, spelling, text(extent)),
            sites=self._here,
            annotations=annotations,
        )
        return (*before, loop)

    def _visit_BufferStore(self, stmt: Any) -> Nodes:  # noqa: N802
        buffer = self.reader.buffer(dialect.buffer_of(stmt))
        value = self.reader.expr(stmt.value)
        # A scalar that holds an index is a name for it, and costs a GPU no memory.
        if _is_scalar(buffer.shape) and buffer.scope.startswith("local"):
            target = self.reader.pointer(stmt.value)
            self.scope.forget(buffer.id)
            if target is not None:
                self.scope.pointers[buffer.id] = target
                return ()
            if buffer.dtype.startswith(("int", "uint", "bool")):
                if _is_index(value):
                    named = self._named(stmt)
                    self.scope.scalars[buffer.id] = value
                    return named
                if holds_data(value, self.scope.data):
                    self.scope.hold(buffer.id, value)
        # tilelang's compiler guards a store outside an array, with all that it stores.
        guard = self.reader.inside(stmt)
        arith, reads = self._cost(stmt.value, guard)
        for index in stmt.indices:
            more, loads = self._cost(index, guard, result=False)
            arith, reads = arith + more, reads + loads
        write = self.reader.access(stmt, "write", guard)
        if self._starts_copies and self._is_copy(stmt.value) and buffer.scope.startswith("shared"):
            reads = tuple(replace(access, route="async") for access in reads)
            write = replace(write, route="async")
        label = "{}[...] = ...".format(buffer.name)
        keeps = kept(stmt, self.reader)
        return self._statement(Store(label, arith, (*reads, write), self._per, kept=keeps))

    def _named(self, stmt: Any) -> Nodes:
        """The store of a name's value, which on a CPU is in memory."""
        if not self.reader.alone:
            return ()
        _, reads = self._cost(stmt.value)
        write = self.reader.access(stmt, "write")
        label = "{}[...] = ...".format(self.reader.buffer(dialect.buffer_of(stmt)).name)
        return self._statement(Store(label, (), (*reads, write), self._per))

    def _is_copy(self, value: Any) -> bool:
        """Whether a value is an element of global memory as it is."""
        loads = dialect.kind(value) == "BufferLoad"
        return loads and self.reader.buffer(dialect.buffer_of(value)).scope == "global"

    def _visit_Evaluate(self, stmt: Any) -> Nodes:  # noqa: N802
        call = stmt.value
        if dialect.kind(call) != "Call":
            return self._reading(call, "expression")
        if dialect.jump_of(stmt) is not None:
            return self._visit_Break(stmt)
        name = dialect.op_name(call)
        handler = ops.lookup(name)
        if handler is None:
            nodes = self._reading(call, name)
        else:
            self.reader.notes.clear()
            statement = handler(call, self.reader)
            self._take_notes()
            guard = self.reader.inside_call(call, None, alone=True)
            arith, accesses = where(guard, statement.arith), where(guard, statement.accesses)
            nodes = self._statement(replace(statement, arith=arith, accesses=accesses))
        self._forget(results(call))
        for name, value in self.reader.assigned.items():
            self.scope.hold(name, value)
        self.reader.assigned.clear()
        self.scope.pointers.update(self.reader.pointed)
        self.reader.pointed.clear()
        return nodes

    def _visit_TilePrimitiveCall(self, stmt: Any) -> Nodes:  # noqa: N802
        name = dialect.op_name(stmt)
        handler = ops.lookup(name)
        if handler is None:
            self._note("the cost of {!r} is not known; it is left out".format(name), name)
            return self._statement(Call(name, per="block"))
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
        target = self.reader.pointer(value)
        if target is not None:
            self.scope.pointers[dialect.key(stmt.var)] = target
            return ()
        nodes = self._reading(value, "let")
        meaning = self.reader.expr(value)
        if _is_index(meaning):
            self.scope.define(stmt.var, meaning)
            return nodes
        constant = self.reader.constant(value)
        if constant is not None:
            self.scope.constants[dialect.key(stmt.var)] = constant
        dtype = dialect.dtype_of(stmt.var)
        self.scope.over[dialect.key(stmt.var)] = Dependence(self.reader).of(value)
        if not dtype.startswith(("int", "uint", "bool")):
            self.scope.define(stmt.var, ("opaque", str(stmt.var.name)))
            return nodes
        name = self.scope.define(stmt.var)
        self.scope.computed.add(name)
        if holds_data(meaning, self.scope.data):
            self.scope.data.add(name)
        return (*nodes, Let(name, meaning, dtype, self._here))

    def _visit_LetStmt(self, stmt: Any) -> Nodes:  # noqa: N802
        return self._visit_Bind(stmt) + self.body(stmt.body)

    def _visit_AllocBuffer(self, stmt: Any) -> Nodes:  # noqa: N802
        self.add_buffer(stmt.buffer)
        return self.body(getattr(stmt, "body", None))

    def _visit_DeclBuffer(self, stmt: Any) -> Nodes:  # noqa: N802
        data = getattr(stmt, "data", None)
        owner = None if data is None else self.scope.owner_of_data(data)
        view = None if data is None or owner is not None else self.reader.pointer(data)
        if view is None:
            self.add_buffer(stmt.buffer, alias_of=owner)
        elif self._shows_all(stmt.buffer, view):
            self.scope.same(stmt.buffer, view.buffer.id)
        else:
            # Through another type's pointer: the memory is that of the array pointed at.
            source = view.buffer
            self.add_buffer(stmt.buffer, alias_of=source.alias_of or source.id, scope=source.scope)
        return self.body(getattr(stmt, "body", None))

    def _shows_all(self, buffer: Any, view: Region) -> bool:
        """Whether an array is the whole one that a pointer shows from its beginning on."""
        shape = tuple(self.reader.expr(size) for size in buffer.shape)
        begins = not any(index != 0 for index in view.indices)
        return begins and str(buffer.dtype) == view.buffer.dtype and shape == view.buffer.shape

    _visit_BufferRealize = _visit_AllocBuffer  # noqa: N815

    def _visit_Allocate(self, stmt: Any) -> Nodes:  # noqa: N802
        return self.body(stmt.body)

    def _visit_AssertStmt(self, stmt: Any) -> Nodes:  # noqa: N802
        return self.body(getattr(stmt, "body", None))


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
