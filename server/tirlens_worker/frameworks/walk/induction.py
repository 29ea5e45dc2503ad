"""Induction variables: scalars that each iteration of a loop changes by the same amount."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ...facts import Expr
from ...ops.build import plus, times
from ..ir import dialect
from ..ir.stores import Write, writes
from ..reading.expressions import Expressions
from ..state.kernel_state import KernelState
from ..symbolic.affine import mentions

#: The amount that one iteration adds to each scalar, by buffer id.
Steps = Dict[str, Expr]


class Induction:
    """Reads the induction variables of loops, and makes scalars hold their values."""

    def __init__(self, state: KernelState, expressions: Expressions) -> None:
        self._state = state
        self._scalars = state.scalars
        self._expressions = expressions

    def writes(self, stmt: Any) -> Dict[str, List[Write]]:
        """The stores in `stmt` to arrays that are registered, by buffer id."""
        out: Dict[str, List[Write]] = {}
        for write in writes(stmt):
            known = self._state.arrays.id_of(write.buffer)
            if known is not None:
                out.setdefault(known, []).append(write)
        return out

    def enter(self, body: Any, iteration: Expr) -> Steps:
        """Make scalars hold their values in iteration `iteration` of a loop; their steps."""
        scalars = self._scalars
        stores = self.writes(body)
        steps = self._steps(stores, dialect.jumps(body, ("continue",)))
        entry_values = dict(scalars.values)
        for name in stores:
            scalars.forget(name)
        before = {name: entry_values[name] for name in steps}
        now = {name: plus(before[name], times(steps[name], iteration)) for name in steps}
        scalars.values.update(now)
        scalars.values.update(self._derive(body, stores, entry_values, before, now))
        return steps

    def leave(self, steps: Steps, before: Dict[str, Expr], count: Expr) -> None:
        """Make scalars hold their values after `count` iterations."""
        for name, amount in steps.items():
            self._scalars.values[name] = plus(before[name], times(amount, count))

    def _steps(self, stores: Dict[str, List[Write]], has_continue: bool) -> Steps:
        """The steps of the scalars that each iteration changes by a constant amount."""
        steps: Steps = {}
        for name, stores_of_scalar in stores.items():
            start = self._scalars.values.get(name)
            if (
                len(stores_of_scalar) != 1
                or start is None
                or stores_of_scalar[0].value is None
                or has_continue
            ):
                continue
            amount = self._step(name, stores_of_scalar[0]) if stores_of_scalar[0].certain else None
            if amount is not None and not any(mentions(amount, other) for other in stores):
                steps[name] = amount
        return steps

    def _step(self, name: str, store: Write) -> Optional[Expr]:
        start = self._scalars.values[name]
        self._scalars.values[name] = name
        value = self._expressions.expr(store.value)
        self._scalars.values[name] = start
        if not isinstance(value, tuple) or len(value) != 3 or value[0] not in "+-":
            return None
        operator, left, right = value
        if left != name and operator == "+":
            left, right = right, left
        if left != name or not isinstance(right, int):
            return None
        return times(right if operator == "+" else -right, store.times)

    def _derive(
        self,
        body: Any,
        stores: Dict[str, List[Write]],
        entry_values: Dict[str, Expr],
        before: Dict[str, Expr],
        now: Dict[str, Expr],
    ) -> Dict[str, Expr]:
        """The values of scalars that an iteration computes from induction variables after them.

        The value in the first iteration has to be the one that is computed in front of the loop:
        ``row = i * 2 + half`` in front of it and, after ``i += blocks``, at its end.  `before` and
        `now` are the values of the induction variables in front of the loop and in the iteration.
        """
        order = [self._state.arrays.id_of(write.buffer) for write in writes(body)]
        last = max((index for index, name in enumerate(order) if name in now), default=-1)
        values = self._scalars.values
        out: Dict[str, Expr] = {}
        for name, stores_of_scalar in stores.items():
            (store, *more), start = stores_of_scalar, entry_values.get(name)
            is_last = order.index(name) > last
            if more or start is None or store.value is None or not (store.certain and is_last):
                continue
            values.update(before)
            first = self._expressions.expr(store.value)
            values.update(now)
            value = self._expressions.expr(store.value)
            if now and first == start and not self._state.properties.holds_data(value):
                out[name] = value
        return out
