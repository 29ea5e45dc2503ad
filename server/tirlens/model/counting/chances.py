"""How often a condition on data is met, where its form tells though its value is not known."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

from tirlens_counting.domain import Domain
from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Expr


def selected_iteration(condition: Expr, domain: Domain) -> str | None:
    """The loop variable that a condition compares with data that is the same in each trip."""
    if not isinstance(condition, tuple) or condition[0] != "==":
        return None
    for name, other in (condition[1:], condition[:0:-1]):
        if isinstance(name, str) and name in domain.box and name not in free_variables(other):
            return name
    return None


def congruence_share(condition: Expr) -> Fraction | None:
    """How often a counter meets ``counter % n == c`` (1 in n) or its contrary, turn by turn."""
    if not isinstance(condition, tuple) or condition[0] not in ("==", "!="):
        return None
    for value, residue in (condition[1:], condition[:0:-1]):
        if not isinstance(value, tuple) or value[0] not in ("%", "truncmod"):
            continue
        period = cast(object, value[2])
        if isinstance(period, int) and period > 1 and isinstance(residue, int):
            once = Fraction(1, period)
            return once if condition[0] == "==" else 1 - once
    return None
