"""Calls of operations and intrinsics as statements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, Iterator

from ... import ops
from ...facts import Access, Call, Evaluate, Expr, Statement
from ..ir import dialect
from ..ir.stores import results
from ..reading.expression_cost import Readers
from ..reading.guards import add_guard
from ..reading.handler_context import HandlerContext
from .branches import Branches
from .builder import NodeBuilder, Nodes
from .traversal import Traversal


class Calls:
    """Walks calls; the handlers of `ops` account for them."""

    def __init__(
        self,
        walk: Traversal,
        readers: Readers,
        context: HandlerContext,
        builder: NodeBuilder,
        branches: Branches,
    ) -> None:
        self._state = readers.state
        self._accesses = readers.accesses
        self._context = context
        self._builder = builder
        self._branches = branches
        walk.handlers.update(Evaluate=self._evaluate, TilePrimitiveCall=self._tile_primitive)

    def _evaluate(self, stmt: Any) -> Nodes:
        call = stmt.value
        if dialect.kind(call) != "Call":
            return self._builder.evaluation(call, "expression")
        if dialect.jump_of(stmt) is not None:
            return self._branches.jump(stmt)
        name = dialect.op_name(call)
        handler = ops.lookup(name)
        if handler is None:
            nodes = self._builder.evaluation(call, name)
        else:
            with self._state.caveats.collect(self._state.position.sites):
                statement = handler(call, self._context)
            guard = self._accesses.guard_of_call(call, None, alone=True)
            arith = add_guard(guard, statement.arith)
            accesses = add_guard(guard, statement.accesses)
            nodes = (
                *self._index_loads(statement),
                *self._builder.statement(replace(statement, arith=arith, accesses=accesses)),
            )
        self._state.forget(results(call))
        self._context.apply_assignments()
        return nodes

    def _tile_primitive(self, stmt: Any) -> Nodes:
        name = dialect.op_name(stmt)
        handler = ops.lookup(name)
        if handler is None:
            message = "the cost of {!r} is not known; it is left out".format(name)
            self._builder.caveat(message, name)
            return self._builder.statement(Call(name, per="block"))
        with self._state.caveats.collect(self._state.position.sites):
            statement = handler(stmt, self._context)
        return (*self._index_loads(statement), *self._builder.statement(statement))

    def _index_loads(self, statement: Statement) -> Nodes:
        """The loads of the indices of a tile operation's boxes: ``table[bx]``, once a block.

        An operation of single threads has them among its own accesses.
        """
        if statement.per == "thread":
            return ()
        loads: Dict[Access, None] = {}
        for access in statement.accesses:
            for index in access.indices:
                loads.update(dict.fromkeys(self._loads_in(index)))
        if not loads:
            return ()
        names = ", ".join(self._state.arrays.get(load.buffer).name for load in loads)
        return self._builder.statement(
            Evaluate("indices from {}".format(names), accesses=tuple(loads), per="block")
        )

    def _loads_in(self, index: Expr) -> Iterator[Access]:
        if not isinstance(index, tuple):
            return
        if index[0] == "load":
            buffer = self._state.arrays.get(index[1])
            if buffer.scope == "global":
                yield Access(buffer.id, "read", tuple(index[2:]))
        for operand in index[1:]:
            yield from self._loads_in(operand)
