"""Stores that mask the tile of a product: ``S[i, j] = T.if_then_else(i >= j, S[i, j], -inf)``."""

from __future__ import annotations

from typing import Any, Optional

from ..facts import Expr
from . import dialect
from .expressions import Expressions, bare
from .parts import SELECT

#: What masks write in place of infinity: the exponential of it is zero next to any score.
_LOW = -1e4


def kept(store: Any, reader: Expressions) -> Optional[Expr]:
    """Where a store of an element keeps it, None if it is no mask.

    Elements that are masked are set to zero or to (nearly) minus infinity, the others are left as
    they are or set to zero, for a product to be added to.
    """
    value = store.value
    if dialect.kind(value) == "Select":
        condition, then, other = (getattr(value, part) for part in SELECT)
    elif dialect.kind(value) == "Call" and bare(dialect.op_name(value)) == "if_then_else":
        condition, then, other = value.args
    else:
        return None
    holds = reader.truth(condition)
    own = ("load", reader.buffer(dialect.buffer_of(store)).id, *map(reader.expr, store.indices))
    one, two = reader.expr(then), reader.expr(other)
    if _masks(two, one, own):
        return holds
    return ("not", holds) if _masks(one, two, own) else None


def _masks(value: Expr, contrary: Expr, own: Expr) -> bool:
    """Whether `value` drops an element that `contrary` keeps."""
    if contrary == own:
        return _is_low(value) or _is_zero(value)
    return _is_zero(contrary) and _is_low(value)


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
