"""Properties of values other than their expressions: data, constants, counters, dependences."""

from __future__ import annotations

from typing import Dict, FrozenSet, Optional, Set

from ...facts import Expr

#: Operations in a value that is written in full wherever it is used.
_MAX_OPERATIONS = 128


class ValueProperties:
    """Properties of variables and arrays, by their names or the keys of their IR objects."""

    def __init__(self) -> None:
        #: Variables whose values depend on data.
        self.data: Set[str] = set()
        #: Variables whose values are computed where they are named, from data or not.
        self.computed: Set[str] = set()
        #: Keys of arrays and names that hold numbers made of indices alone.
        self.counters: Set[int] = set()
        #: The values of names of floating-point constants, by key.
        self.constants: Dict[int, float] = {}
        #: The variables that names of computed values depend on, by key; None if not known.
        self.dependences: Dict[int, Optional[FrozenSet[str]]] = {}

    def holds_data(self, value: Expr) -> bool:
        """Whether `value` depends on data, so that it is not known before the run."""
        return holds_data(value, self.data)


def holds_data(value: Expr, data: Set[str]) -> bool:
    """Whether `value` depends on data; `data` are the variables that do."""
    if not isinstance(value, tuple):
        return isinstance(value, float) or value in data
    return value[0] in ("load", "opaque") or any(holds_data(part, data) for part in value[1:])


def describes_its_loads(value: Expr) -> bool:
    """Whether `value` is short and states all loads that it is made of.

    An unknown value states what it varies with.
    """
    return _operations(value) <= _MAX_OPERATIONS


def _operations(value: Expr) -> int:
    if isinstance(value, float):
        return _MAX_OPERATIONS + 1
    if not isinstance(value, tuple):
        return 0
    if value[0] == "cast" or (value[0] == "opaque" and len(value) == 2):
        return _MAX_OPERATIONS + 1
    total = 1
    for part in value[1:]:
        total += _operations(part)
        if total > _MAX_OPERATIONS:
            break
    return total
