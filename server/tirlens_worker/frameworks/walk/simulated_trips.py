"""Trip counts of ``while`` loops whose condition depends on numbers that are known in advance.

``i = 16; while i >= 1: ...; i = i // 2`` runs five times.  The scalars are computed iteration by
iteration.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from ...facts import Expr
from ..reading.expressions import Expressions
from ..state.barriers import first_value
from ..state.kernel_state import KernelState
from .induction import Induction

#: No loop of a kernel over known numbers has more: it halves or doubles them.
_MAX_TRIPS = 4096


def simulated_trips(
    stmt: Any, state: KernelState, expressions: Expressions, induction: Induction
) -> Optional[int]:
    """The trip count of the loop `stmt`; None if it is not known."""
    values = state.scalars.values
    stores = induction.writes(stmt.body)
    current: Dict[str, int] = {}
    for name, writes in stores.items():
        value = values.get(name)
        if type(value) is int and len(writes) == 1 and writes[0].certain and writes[0].times == 1:
            current[name] = value
    if not current:
        return None
    before = dict(values)
    for name in stores:
        values.pop(name, None)
    values.update({name: name for name in current})
    try:
        condition = expressions.expr(stmt.condition)
        updates: List[Tuple[str, Expr]] = [
            (name, expressions.expr(stores[name][0].value))
            for name in stores
            if name in current and stores[name][0].value is not None
        ]
    finally:
        state.scalars.values = before
    if len(updates) < len(current):
        return None
    for count in range(_MAX_TRIPS):
        holds = first_value(condition, {}, current.get)
        if not holds:
            return count if holds is not None else None
        for name, value in updates:
            number = first_value(value, {}, current.get)
            if number is None:
                return None
            current[name] = number
    return None
