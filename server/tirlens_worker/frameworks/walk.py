"""From the statements of a PrimFunc to the tree of facts.

One walk for all frameworks: `dialect` hides what differs between versions, `ops` accounts for tile
operations and intrinsics, `Reader` reads what stands inside a statement.  What is not
understood becomes a statement with a caveat; the walk never fails because of it.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, List, Sequence, Tuple

from .. import ops
from ..facts import Branch, Expr, Let, Loop, Node, Statement, While
from . import dialect
from .blocks import Blocks
from .text import text
from .visitor import Nodes

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
_LAUNCH_THREAD = re.compile(r"launch_thread_idx$")


class Walk(Blocks):
    """Walks one function; `bindings` is complete when `function` has returned."""

    def _visit_SeqStmt(self, stmt: Any) -> Nodes:  # noqa: N802 - named after the IR's class
        return self._sequence(list(stmt.seq))

    def _sequence(self, parts: Sequence[Any]) -> Nodes:
        nodes: List[Node] = []
        for position, part in enumerate(parts):
            rest = parts[position + 1 :]
            if rest and self._skips(part):
                return (*nodes, *self.body(part, partial(self._visit_IfThenElse, rest=rest)))
            nodes += self.body(part)
        return tuple(nodes)

    def _skips(self, stmt: Any) -> bool:
        """Whether `stmt` is ``if c: ...; continue``: all behind it in the loop is its ``else``.

        So is a ``return`` that stands in no loop.
        """
        if dialect.kind(stmt) != "IfThenElse" or stmt.else_case is not None or self._branches:
            return False
        last = dialect.last_of(stmt.then_case)
        jump = dialect.jump_of(last)
        known = jump == "continue" or (jump == "return" and not self._loops)
        if known:
            self._settled.add(dialect.key(last))
        return known

    def _repeated(self, stmt: Any) -> Nodes:
        """The body of a loop whose iterations follow each other."""
        self._forget_stored(stmt)
        branches, self._branches = self._branches, 0
        self._loops += 1
        try:
            return self._scoped(stmt)
        finally:
            self._branches = branches
            self._loops -= 1

    def _conditional(self, stmt: Any) -> Nodes:
        self._branches += 1
        try:
            return self._scoped(stmt)
        finally:
            self._branches -= 1

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
            inner = self._repeated(stmt.body)
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

    def _visit_IfThenElse(self, stmt: Any, rest: Sequence[Any] = ()) -> Nodes:  # noqa: N802
        before = self._reading(stmt.condition, "condition")
        condition = self.reader.expr(stmt.condition)
        then = self._conditional(stmt.then_case)
        orelse = self._sequence(rest) if rest else self._conditional(stmt.else_case)
        label = "if {}".format(text(condition))
        return (*before, Branch(condition, then, orelse, label=label, sites=self._here))

    def _visit_While(self, stmt: Any) -> Nodes:  # noqa: N802
        self._forget_stored(stmt.body)
        condition = self.reader.expr(stmt.condition)
        inner = self._reading(stmt.condition, "condition") + self._repeated(stmt.body)
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
        if dialect.jump_of(stmt) is not None:
            return self._visit_Break(stmt)
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
        value = getattr(stmt, "value", None)
        nodes = () if value is None else self._reading(value, "return")
        at_the_end = dialect.jump_of(stmt) == "return" and not self._loops and not self._branches
        if not at_the_end and dialect.key(stmt) not in self._settled:
            self._note("a jump leaves an iteration early: counts are upper bounds")
        return nodes

    _visit_Continue = _visit_Break  # noqa: N815
    _visit_Return = _visit_Break  # noqa: N815


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
