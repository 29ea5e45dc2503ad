"""Stores, and bindings of names to values."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Tuple

from ...facts import Expr, Let, Store
from ..ir import dialect
from ..reading.dependence import Dependence
from ..reading.expression_cost import Readers
from .builder import NodeBuilder, Nodes
from .score_masks import kept_elements
from .traversal import Traversal

_LAUNCH_THREAD = re.compile(r"launch_thread_idx$")
_MAX_DEPTH = 12


class Assignments:
    """Walks stores and bindings of names."""

    def __init__(self, walk: Traversal, readers: Readers, builder: NodeBuilder) -> None:
        self._walk = walk
        self._state = readers.state
        self._expressions = readers.expressions
        self._regions = readers.regions
        self._accesses = readers.accesses
        self._builder = builder
        walk.handlers.update(BufferStore=self._store, Bind=self._bind, LetStmt=self._let)

    def _store(self, stmt: Any) -> Nodes:
        buffer = self._expressions.buffer(dialect.buffer_of(stmt))
        value = self._expressions.expr(stmt.value)
        # A scalar that holds an index is a name for it, and costs a GPU no memory.
        if _is_scalar(buffer.shape) and buffer.scope.startswith("local"):
            scalars = self._state.scalars
            target = self._regions.pointer(stmt.value)
            scalars.forget(buffer.id)
            if target is not None:
                scalars.pointers[buffer.id] = target
                return self._builder.evaluation(stmt.value, "address")
            if buffer.dtype.startswith(("int", "uint", "bool")):
                if _is_index(value):
                    nodes = self._store_of_index(stmt)
                    scalars.values[buffer.id] = value
                    return nodes
                if self._state.properties.holds_data(value):
                    scalars.assign(buffer.id, value)
        # tilelang's compiler guards a store outside an array, with all that it stores.
        guard = self._accesses.guard_of(stmt)
        arith, reads = self._builder.cost(stmt.value, guard)
        for index in stmt.indices:
            more, loads = self._builder.cost(index, guard, is_result=False)
            arith, reads = arith + more, reads + loads
        write = self._accesses.access(stmt, "write", guard)
        position = self._state.position
        is_shared = buffer.scope.startswith("shared")
        if position.copies_are_async and self._is_global_load(stmt.value) and is_shared:
            reads = tuple(replace(access, route="async") for access in reads)
            write = replace(write, route="async")
        label = "{}[...] = ...".format(buffer.name)
        kept = kept_elements(stmt, self._expressions)
        accesses = (*reads, write)
        return self._builder.statement(Store(label, arith, accesses, position.executor, kept=kept))

    def _store_of_index(self, stmt: Any) -> Nodes:
        """The store of a scalar that is a name for an index: on a CPU it is in memory."""
        if not self._expressions.is_serial:
            return ()
        reads = self._builder.cost(stmt.value).accesses
        write = self._accesses.access(stmt, "write")
        label = "{}[...] = ...".format(self._expressions.buffer(dialect.buffer_of(stmt)).name)
        executor = self._state.position.executor
        return self._builder.statement(Store(label, (), (*reads, write), executor))

    def _is_global_load(self, value: Any) -> bool:
        """Whether a value is an element of global memory without any change."""
        if dialect.kind(value) != "BufferLoad":
            return False
        return self._expressions.buffer(dialect.buffer_of(value)).scope == "global"

    def _bind(self, stmt: Any) -> Nodes:
        names, properties = self._state.names, self._state.properties
        value = stmt.value
        call = dialect.op_name(value) if dialect.kind(value) == "Call" else ""
        if _LAUNCH_THREAD.search(call):
            axis = self._expressions.literal(value.args[0])
            self._state.bindings.thread_names[int(axis or 0)] = names.define(stmt.var)
            return ()
        target = self._regions.pointer(value)
        if target is not None:
            self._state.scalars.pointers[dialect.key(stmt.var)] = target
            return self._builder.evaluation(value, "address")
        nodes = self._builder.evaluation(value, "let")
        meaning = self._expressions.expr(value)
        if _is_index(meaning):
            names.define(stmt.var, meaning)
            return nodes
        key = dialect.key(stmt.var)
        constant = self._expressions.constant(value)
        if constant is not None:
            properties.constants[key] = constant
        dtype = dialect.dtype_of(stmt.var)
        properties.dependences[key] = Dependence(self._state, self._expressions).of(value)
        if not dtype.startswith(("int", "uint", "bool")):
            names.define(stmt.var, self._expressions.unknown(str(stmt.var.name)))
            return nodes
        name = names.define(stmt.var)
        properties.computed.add(name)
        if properties.holds_data(meaning):
            properties.data.add(name)
        return (*nodes, Let(name, meaning, dtype, self._state.position.sites))

    def _let(self, stmt: Any) -> Nodes:
        return self._bind(stmt) + self._walk.nodes(stmt.body)


def _is_scalar(shape: Tuple[Expr, ...]) -> bool:
    return all(size == 1 for size in shape)


def _is_index(value: Expr, depth: int = 0) -> bool:
    """Whether `value` is short and made of loop variables and sizes alone."""
    if isinstance(value, (int, str)):
        return True
    if isinstance(value, float) or depth > _MAX_DEPTH:
        return False
    return value[0] not in ("load", "opaque", "cast", "/") and all(
        _is_index(part, depth + 1) for part in value[1:]
    )
