"""Stores that mask the tile of a product: ``S[i, j] = T.if_then_else(i >= j, S[i, j], -inf)``."""

from __future__ import annotations

from typing import Any, Optional

from ...facts import Expr
from ..ir import dialect
from ..ir.subexpressions import SELECT
from ..reading.expressions import Expressions, bare

#: Bound of the finite values that masks use for minus infinity: their exponential is negligible.
_LOW = -1e4


def kept_elements(store: Any, expressions: Expressions) -> Optional[Expr]:
    """The condition under which a mask does not change an element; None for other stores.

    A mask sets elements to zero or to (nearly) minus infinity.  It does not change the others, or
    sets them to zero, to which a product is added later.
    """
    value = store.value
    if dialect.kind(value) == "Select":
        condition, then, other = (getattr(value, part) for part in SELECT)
    elif dialect.kind(value) == "Call" and bare(dialect.op_name(value)) == "if_then_else":
        condition, then, other = value.args
    else:
        return None
    expr = expressions.expr
    holds = expressions.truth(condition)
    element = ("load", expressions.buffer(dialect.buffer_of(store)).id, *map(expr, store.indices))
    one, two = expr(then), expr(other)
    if _drops(two, one, element):
        return holds
    return ("not", holds) if _drops(one, two, element) else None


def _drops(value: Expr, alternative: Expr, element: Expr) -> bool:
    """Whether `value` masks an element that `alternative` does not mask."""
    if alternative == element:
        return _is_low(value) or _is_zero(value)
    return _is_zero(alternative) and _is_low(value)


def _is_zero(value: Expr) -> bool:
    if isinstance(value, tuple) and value[0] == "cast":
        return _is_zero(value[2])
    return isinstance(value, (int, float)) and value == 0


def _is_low(value: Expr) -> bool:
    if isinstance(value, tuple) and value[0] == "cast":
        return _is_low(value[2])
    if isinstance(value, tuple) and value[0] == "*":
        return "infinity" in str(value) and any(
            isinstance(part, (int, float)) and part < 0 for part in value[1:]
        )
    return isinstance(value, (int, float)) and value <= _LOW
