"""What operations' handlers read by: values, places, accesses, and what evaluating them costs."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ..facts import Access, Arith, Expr
from . import dialect
from .accesses import Accesses
from .bill import Bill


class Reader(Accesses):
    """Reads values, regions and costs; it is the `ops.Context` of the operations' handlers."""

    def arith(self, node: Any) -> Tuple[Arith, ...]:
        """The arithmetic on data of evaluating `node` once."""
        return self.cost(node)[0]

    def accesses(self, node: Any) -> Tuple[Access, ...]:
        """The loads of evaluating `node` once."""
        return self.cost(node)[1]

    def combination(self) -> Tuple[Arith, ...]:
        """The arithmetic of combining two partial results of the reduction that the walk is in."""
        reducer = self.combiner
        if reducer is None:
            return ()
        for value in (*reducer.lhs, *reducer.rhs):
            self.scope.define(value, ("opaque", str(value.name)))
        return tuple(item for result in reducer.result for item in self.arith(result))

    def cost(
        self,
        node: Any,
        guard: Optional[Expr] = None,
        named: bool = False,
        result: bool = True,
    ) -> Tuple[Tuple[Arith, ...], Tuple[Access, ...]]:
        """The arithmetic on data and the loads of evaluating `node` once, where `guard` holds.

        A condition that is given a name is the part of a mask.  The value is the statement's
        `result`, or else only tells a place or whether to go on.
        """
        masks = named and self.guarded and dialect.dtype_of(node) == "bool"
        bill = Bill(self, self, masks, result)
        bill.visit(node, guard)
        return bill.arith(), tuple(bill.accesses)
