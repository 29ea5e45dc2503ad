"""Functions that draw numbers: the middle of their range is taken."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from tirlens.evaluation.libraries.library_function import LibraryFunction
from tirlens.evaluation.values import UNKNOWN, Value, items_of


def _middle(positional: list[Value], named: dict[str, Value]) -> Value:
    bounds = positional[:2] if len(positional) > 1 else [0, *positional]
    known = len(bounds) == 2 and all(type(item) is int for item in bounds)
    return sum(bounds) // 2 if known and len(positional) < 3 and not named else UNKNOWN


def _middle_item(positional: list[Value], named: dict[str, Value]) -> Value:
    items = items_of(positional[0]) if positional else None
    return items[len(items) // 2] if items else UNKNOWN


FUNCTIONS: dict[str, LibraryFunction] = {
    "numpy.random.randint": _middle,
    "random.choice": _middle_item,
    "random.randint": _middle,
    "random.randrange": _middle,
}
