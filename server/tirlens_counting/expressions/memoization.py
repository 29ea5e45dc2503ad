"""Functions of expressions that remember what they found."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Found = TypeVar("Found")
Operation = tuple[Any, ...]

# One kernel repeats a few hundred operations.
_MOST = 16_384
_UNKNOWN: Any = object()


def memoize(function: Callable[[Operation], Found]) -> Callable[[Operation], Found]:
    """A cached pure `function` of an operation; `cache_clear` empties the cache.

    Operations with 1 and 1.0 compare equal.  A result for the integer also holds for the float, but
    not conversely: operations with floats are not cached.
    """
    known: dict[Operation, Any] = {}

    @wraps(function)
    def look_up(expr: Operation) -> Found:
        found = known.get(expr, _UNKNOWN)
        if found is _UNKNOWN:
            found = function(expr)
            if _has_no_float(expr):
                if len(known) >= _MOST:
                    known.clear()
                known[expr] = found
        return found

    look_up.cache_clear = known.clear  # type: ignore[attr-defined]
    return look_up


_without_float: set[Operation] = set()


def _has_no_float(expr: Operation) -> bool:
    if expr in _without_float:
        return True
    for part in expr:
        if isinstance(part, tuple):
            if not _has_no_float(part):  # type: ignore[reportUnknownArgumentType]
                return False
        elif isinstance(part, float):
            return False
    if len(_without_float) >= _MOST:
        _without_float.clear()
    _without_float.add(expr)
    return True
