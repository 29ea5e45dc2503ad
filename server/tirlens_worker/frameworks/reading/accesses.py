"""Loads and stores, and the guards that tilelang's compiler puts around them."""

from __future__ import annotations

import re
from typing import Any, Iterator, List, Optional

from ...facts import Access, AccessMode, Expr
from ...ops.build import plus
from ..ir import dialect
from ..ir.subexpressions import subexpressions
from ..state.kernel_state import KernelState
from .expressions import Expressions, bare
from .guards import both_hold, is_implied
from .regions import Regions

#: Calls that tilelang's compiler guards as a whole (``LegalizeSafeMemoryAccess``).
_GUARDED = re.compile(r"tl\.atomic_(add|max|min|load|store)\w*_elem_op|(tir\.|tirx\.)?call_extern")
_POINTERS = frozenset({"access_ptr", "tvm_access_ptr", "address_of"})


class Accesses:
    """Reads the accesses of loads and stores at the point of the walk."""

    def __init__(self, state: KernelState, expressions: Expressions, regions: Regions) -> None:
        self._state = state
        self._expressions = expressions
        self._regions = regions

    def guard_of(self, node: Any, guard: Optional[Expr] = None) -> Optional[Expr]:
        """The guard of a load or store, `guard` included; None if it always happens.

        tilelang's compiler guards every access of a global array that it cannot prove to end
        inside (``LegalizeSafeMemoryAccess``); an index below zero counts from the end
        (``LegalizeNegativeIndex``).  A data-dependent address is taken to lie inside.
        """
        buffer = self._expressions.buffer(dialect.buffer_of(node))
        if not self._expressions.is_guarded or buffer.scope != "global":
            return guard
        known = {*self._state.position.conditions, guard}
        for index, size in zip(node.indices, buffer.shape):
            low, lanes = self._regions.corner(index)
            if self._state.properties.holds_data(low) or not isinstance(lanes, int):
                continue
            condition = self._state.ranges.below(low, size, lanes)
            if condition is not None and not is_implied(condition, known):
                guard = both_hold(guard, condition)
        return guard

    def guard_of_call(self, call: Any, guard: Optional[Expr], alone: bool) -> Optional[Expr]:
        """The guard of a call, `guard` included; None if it is always executed.

        tilelang's compiler guards an atomic or external call by the addresses that its arguments
        point at, and a call that is a statement (`alone`) also by those that its arguments read.
        """
        if self._expressions.is_guarded and _GUARDED.match(dialect.op_name(call)):
            for argument in call.args:
                pointer = dialect.kind(argument) == "Call" and bare(dialect.op_name(argument))
                if alone or pointer in _POINTERS:
                    for load in loads(argument):
                        guard = self.guard_of(load, guard)
        return guard

    def access(self, node: Any, mode: AccessMode, guard: Optional[Expr] = None) -> Access:
        """The access of one load or store node."""
        indices: List[Expr] = []
        lanes = 1
        for index in node.indices:
            low, size = self._regions.corner(index)
            indices.append(low)
            if isinstance(size, int):
                lanes *= size
            else:
                self._state.caveats.note(
                    "the length of a scalable vector is not known and is counted as 1"
                )
        buffer = self._expressions.buffer(dialect.buffer_of(node))
        _, wide = dialect.lanes_of(buffer.dtype)
        lanes = max(lanes, 1) if wide == 1 else 1
        window = self._state.arrays.windows.get(buffer.id)
        if window is not None and len(indices) == len(buffer.shape):
            corners = window.corners
            in_source = (low if dim is None else plus(low, indices[dim]) for low, dim in corners)
            return Access(window.source, mode, tuple(in_source), lanes=lanes, guard=guard)
        return Access(buffer.id, mode, tuple(indices), lanes=lanes, guard=guard)


def loads(node: Any) -> Iterator[Any]:
    """The loads in an expression, those in the indices of others too."""
    return (part for part in subexpressions(node) if dialect.kind(part) in dialect.LOADS)
