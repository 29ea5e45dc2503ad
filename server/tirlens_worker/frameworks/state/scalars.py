"""The values of scalar variables: arrays of one element that hold an index or an address."""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Sequence, Tuple, Union

from ...facts import Expr
from ...ops import Region
from .value_properties import ValueProperties, describes_its_loads

Interval = Tuple[Optional[int], Optional[int]]
_ANY: Interval = (None, None)


class OtherThreads(NamedTuple):
    """The value of a scalar in all threads but those for which one of `conditions` holds."""

    value: Expr
    conditions: Tuple[Expr, ...]


class Scalars:
    """What the scalars hold at the point of the walk, by buffer id."""

    def __init__(self, properties: ValueProperties) -> None:
        #: Values that are made of loop variables and sizes alone.
        self.values: Dict[str, Expr] = {}
        #: Values in which loads take part.
        self.loaded: Dict[str, Expr] = {}
        #: Values in the threads that did not take the branches which changed the scalar.
        self.other_threads: Dict[str, OtherThreads] = {}
        #: The regions that addresses point at, by buffer id or by the key of a variable.
        self.pointers: Dict[Union[str, int], Region] = {}
        #: The values before the first change.
        self.initial: Dict[str, Expr] = {}
        self._properties = properties

    def value_of(self, buffer_id: str) -> Optional[Expr]:
        """The value of a scalar, with or without loads; None if it is not known."""
        known = self.values.get(buffer_id)
        return self.loaded.get(buffer_id) if known is None else known

    def forget(self, buffer_id: str) -> None:
        """Record that the value of a scalar is no longer known in any thread."""
        before = self.values.pop(buffer_id, None)
        if before is not None:
            self.initial.setdefault(buffer_id, before)
        self.loaded.pop(buffer_id, None)
        self.pointers.pop(buffer_id, None)
        self.other_threads.pop(buffer_id, None)

    def assign(self, buffer_id: str, value: Expr) -> None:
        """Record that a scalar holds `value` from here on."""
        if not self._properties.holds_data(value):
            self.values[buffer_id] = value
        elif describes_its_loads(value):
            self.loaded[buffer_id] = value

    def values_for(self, conditions: Sequence[Expr]) -> Dict[str, Expr]:
        """The values of scalars that only threads have changed for which `conditions` fail."""
        return {
            name: other.value
            for name, other in self.other_threads.items()
            if all(
                any(are_exclusive(here, condition) for here in conditions)
                for condition in other.conditions
            )
        }

    def change_in_branch(
        self, name: str, value: Expr, earlier: Tuple[Expr, ...], conditions: Sequence[Expr]
    ) -> None:
        """Record that a scalar keeps `value` only in threads for which `conditions` do not hold.

        `earlier` are the conditions of the branches that have changed it before.
        """
        self.other_threads.pop(name, None)
        if len(conditions) == 1:
            self.other_threads[name] = OtherThreads(value, (*earlier, conditions[0]))


def unchanged_values(before: Dict[str, Expr], after: Dict[str, Expr]) -> Dict[str, Expr]:
    """The values of `before` that are the same `after`."""
    return {name: value for name, value in before.items() if after.get(name) == value}


def are_exclusive(one: Expr, other: Expr) -> bool:
    """Whether two conditions never hold together, by the intervals they give to an expression."""
    left, right = _intervals(one), _intervals(other)
    return any(_are_disjoint(left[name], right[name]) for name in left.keys() & right.keys())


def _intervals(condition: Expr) -> Dict[Expr, Interval]:
    """The values that expressions have where a conjunction of comparisons holds."""
    if not isinstance(condition, tuple):
        return {}
    operator = condition[0]
    if operator == "and":
        out = _intervals(condition[1])
        for name, (low, high) in _intervals(condition[2]).items():
            a, b = out.get(name, _ANY)
            lows = [value for value in (a, low) if value is not None]
            highs = [value for value in (b, high) if value is not None]
            out[name] = (max(lows, default=None), min(highs, default=None))
        return out
    if len(condition) != 3 or type(condition[2]) is not int:
        return {}
    name, value = condition[1], condition[2]
    intervals: Dict[str, Interval] = {
        "==": (value, value),
        "<": (None, value - 1),
        "<=": (None, value),
        ">": (value + 1, None),
        ">=": (value, None),
    }
    return {name: intervals[operator]} if operator in intervals else {}


def _are_disjoint(one: Interval, other: Interval) -> bool:
    for (low, _), (_, high) in ((one, other), (other, one)):
        if low is not None and high is not None and high < low:
            return True
    return False
