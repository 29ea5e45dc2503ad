"""Values that are not known before the run: what is loaded, and what is made of it."""

from __future__ import annotations

from typing import Set

from ..facts import Expr

#: Operations in a value that is worth to be told in full wherever it is used.
_LONGEST = 128


def holds_data(value: Expr, data: Set[str]) -> bool:
    """Whether `value` is not known before the run; `data` are the variables that are not."""
    if not isinstance(value, tuple):
        return isinstance(value, float) or value in data
    return value[0] in ("load", "opaque") or any(holds_data(part, data) for part in value[1:])


def tells_its_loads(value: Expr) -> bool:
    """Whether `value` says, in few words, what it is made of and from which places that comes."""
    return _operations(value) <= _LONGEST


def _operations(value: Expr) -> int:
    if isinstance(value, float):
        return _LONGEST + 1
    if not isinstance(value, tuple):
        return 0
    if value[0] in ("opaque", "cast"):
        return _LONGEST + 1
    total = 1
    for part in value[1:]:
        total += _operations(part)
        if total > _LONGEST:
            break
    return total
