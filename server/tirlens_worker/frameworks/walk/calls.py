"""Calls of operations and intrinsics as statements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ... import ops
from ...facts import Call, Evaluate, Statement
from ..ir import dialect
from ..ir.stores import results
from ..reading.expression_cost import Cost, Readers
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
                statement, operands = self._context.call(call, handler)
            guard = self._accesses.guard_of_call(call, None, alone=True)
            nodes = self._nodes(
                replace(
                    statement,
                    arith=add_guard(guard, statement.arith),
                    accesses=add_guard(guard, statement.accesses),
                ),
                Cost(add_guard(guard, operands.arith), add_guard(guard, operands.accesses)),
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
            statement, operands = self._context.call(stmt, handler)
        return self._nodes(statement, operands)

    def _nodes(self, statement: Statement, operands: Cost) -> Nodes:
        """A statement with the evaluation of its operands.

        A thread that executes it alone does both.  Threads that execute it together evaluate the
        operands once, loads that several operands have in common too (``table[bx]``).
        """
        if statement.per == "thread":
            arith = operands.arith + statement.arith
            accesses = operands.accesses + statement.accesses
            return self._builder.statement(replace(statement, arith=arith, accesses=accesses))
        loads = tuple(dict.fromkeys(operands.accesses))
        if not loads:
            return self._builder.statement(statement)
        names = (self._state.arrays.get(load.buffer).name for load in loads)
        purpose = "indices from {}".format(", ".join(dict.fromkeys(names)))
        evaluation = Evaluate(purpose, accesses=loads, per=statement.per)
        return (*self._builder.statement(evaluation), *self._builder.statement(statement))
