"""Declarations of arrays and views."""

from __future__ import annotations

from typing import Any

from ...ops import Region
from ..ir import dialect
from ..reading.expression_cost import Readers
from .builder import Nodes
from .traversal import Traversal


class Declarations:
    """Walks declarations, and statements that only contain others."""

    def __init__(self, walk: Traversal, readers: Readers) -> None:
        self._walk = walk
        self._arrays = readers.state.arrays
        self._expressions = readers.expressions
        self._regions = readers.regions
        walk.handlers.update(
            AllocBuffer=self._allocation,
            BufferRealize=self._allocation,
            DeclBuffer=self._view,
            Allocate=self._body,
            AssertStmt=self._body,
        )

    def _allocation(self, stmt: Any) -> Nodes:
        self._expressions.declare(stmt.buffer, storage=getattr(stmt, "storage", None))
        return self._body(stmt)

    def _view(self, stmt: Any) -> Nodes:
        data = getattr(stmt, "data", None)
        owner = None if data is None else self._arrays.owner_of_data(data)
        view = None if data is None or owner is not None else self._regions.pointer(data)
        if view is None:
            self._expressions.declare(stmt.buffer, alias_of=owner)
        elif self._is_whole(stmt.buffer, view):
            self._arrays.add_name(stmt.buffer, view.buffer.id)
        else:
            # Through another type's pointer: the memory is that of the array pointed at.
            source = view.buffer
            alias_of = source.alias_of or source.id
            self._expressions.declare(stmt.buffer, alias_of=alias_of, scope=source.scope)
        return self._body(stmt)

    def _is_whole(self, buffer: Any, view: Region) -> bool:
        """Whether an array is the whole one that a pointer points at the beginning of."""
        shape = tuple(self._expressions.expr(size) for size in buffer.shape)
        is_beginning = not any(index != 0 for index in view.indices)
        return (
            is_beginning
            and dialect.type_name(buffer.dtype) == view.buffer.dtype
            and shape == view.buffer.shape
        )

    def _body(self, stmt: Any) -> Nodes:
        return self._walk.nodes(getattr(stmt, "body", None))
