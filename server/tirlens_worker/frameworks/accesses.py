"""Loads and stores, and when tilelang's compiler lets them happen."""

from __future__ import annotations

import re
from typing import Any, Iterator, List, Optional

from ..facts import Access, AccessMode, Expr
from ..ops.build import plus
from . import dialect
from .conditions import both_hold, implied
from .data import holds_data
from .expressions import bare
from .parts import parts
from .places import Places

#: Calls that tilelang's compiler guards as a whole (``LegalizeSafeMemoryAccess``).
_GUARDED = re.compile(r"tl\.atomic_(add|max|min|load|store)\w*_elem_op|(tir\.|tirx\.)?call_extern")
_POINTERS = frozenset({"access_ptr", "tvm_access_ptr", "address_of"})


class Accesses(Places):
    """Reads what expressions load and store; `guarded` where the compiler sees to bounds."""

    def number(self, index: Any) -> Optional[int]:
        """How many values `index` can have; None if its range is not known."""
        low, high = self.scope.ranges.of(self.expr(index))
        return None if low is None or high is None else high - low + 1

    def constant(self, node: Any) -> Optional[float]:
        """A floating-point constant, by name or in all lanes; None for all else."""
        kind = dialect.kind(node)
        if kind == "Broadcast":
            return self.constant(node.value)
        if kind == "Var":
            return self.scope.constants.get(dialect.key(node))
        return float(node.value) if kind == "FloatImm" else None

    def inside(self, node: Any, guard: Optional[Expr] = None) -> Optional[Expr]:
        """When a load or store happens at all, beyond `guard`; None for always.

        tilelang's compiler guards every access of a global array that it cannot prove to end
        inside (``LegalizeSafeMemoryAccess``); an index below zero counts from the end
        (``LegalizeNegativeIndex``).  A place that data decide is taken to lie inside.
        """
        buffer = self.buffer(dialect.buffer_of(node))
        if not self.guarded or buffer.scope != "global":
            return guard
        known = {*self.scope.conditions, guard}
        for index, size in zip(node.indices, buffer.shape):
            low, lanes = self.corner(index)
            if holds_data(low, self.scope.data) or not isinstance(lanes, int):
                continue
            condition = self.scope.ranges.below(low, size, lanes)
            if condition is not None and not implied(condition, known):
                guard = both_hold(guard, condition)
        return guard

    def inside_call(self, call: Any, guard: Optional[Expr], alone: bool) -> Optional[Expr]:
        """When a call happens at all, beyond `guard`; None for always.

        tilelang's compiler guards an atomic or external call that stands `alone` by every place
        that its arguments read or point at, and one whose result is used by where it points.
        """
        if self.guarded and _GUARDED.match(dialect.op_name(call)):
            for argument in call.args:
                pointer = dialect.kind(argument) == "Call" and bare(dialect.op_name(argument))
                if alone or pointer in _POINTERS:
                    for load in loads(argument):
                        guard = self.inside(load, guard)
        return guard

    def access(self, node: Any, mode: AccessMode, guard: Optional[Expr] = None) -> Access:
        """The access of one load or store node."""
        indices: List[Expr] = []
        lanes = 1
        for index in node.indices:
            low, size = self.corner(index)
            indices.append(low)
            if isinstance(size, int):
                lanes *= size
            else:
                self.note("the length of a scalable vector is not known and is counted as 1")
        buffer = self.buffer(dialect.buffer_of(node))
        _, wide = dialect.lanes_of(buffer.dtype)
        lanes = max(lanes, 1) if wide == 1 else 1
        window = self.scope.windows.get(buffer.id)
        if window is not None and len(indices) == len(buffer.shape):
            source, corners = window
            placed = (low if dim is None else plus(low, indices[dim]) for low, dim in corners)
            return Access(source, mode, tuple(placed), lanes=lanes, guard=guard)
        return Access(buffer.id, mode, tuple(indices), lanes=lanes, guard=guard)


def loads(node: Any) -> Iterator[Any]:
    """The loads in an expression, those in the indices of others too."""
    return (part for part in parts(node) if dialect.kind(part) in dialect.LOADS)
