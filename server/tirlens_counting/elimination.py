"""Sum-product variable elimination over tables of integers.

Bucket elimination (R. Dechter, "Bucket elimination: a unifying framework for reasoning", 1999):
each variable is summed out of the product of the tables that contain it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from .arrays import np, npt
from .expressions import COMPARISONS, Expr, evaluate, free_variables, walk
from .intervals import Bound, bounds

Array = npt.NDArray[Any]
Box = Mapping[str, tuple[int, int]]
# Elements of a table that is cheaper to evaluate than to analyse.
SMALL_TABLE = 32_768
# Sums and products below this stay within 64 bits.
_INT64_SAFE = 2**62
# Operators whose value is no larger than the largest of their operands, or one.
_BOUNDED_OPERATORS = COMPARISONS.keys() | {"min", "max", "and", "or", "not", "select"}


class TooLargeError(Exception):
    """A table of the elimination would exceed the limit."""


@dataclass(frozen=True)
class Table:
    """Values over the points of `scope`, one array axis for each variable in that order."""

    scope: tuple[str, ...]
    values: Array


@dataclass
class Tables:
    """A cache of the tables of expressions, which recur in many sums."""

    _known: dict[object, Table] = field(default_factory=dict[object, Table], repr=False)

    def table_of(self, expr: Expr, box: Box, limit: int = SMALL_TABLE) -> Table:
        """The values of `expr` over its own variables.

        Raises:
            TooLargeError: they are more than `limit`.
        """
        names = free_variables(expr)
        mine = {name: interval for name, interval in box.items() if name in names}
        key = expr, tuple(mine.items())
        known = self._known.get(key)
        if known is None:
            known = _tabulate(expr, mine, limit)
            if known.values.size <= SMALL_TABLE:
                self._known[key] = known
        return known


def eliminate_variables(
    box: Box, tables: list[Table], projected: frozenset[str], limit: int
) -> int:
    """The sum over `box` of the product of `tables`.

    Points that differ only in `projected` variables count once; tables of these are conditions.

    Raises:
        TooLargeError: a step needs a table of more than `limit` elements.
    """
    rest = dict(box)
    while rest:
        candidates: list[str] = [name for name in rest if name in projected] or list(rest)
        sizes: dict[str, int] = {name: _joined_size(name, tables, box) for name in candidates}
        name = min(candidates, key=sizes.__getitem__)
        if sizes[name] > limit:
            raise TooLargeError
        mine = [table for table in tables if name in table.scope]
        tables = [table for table in tables if name not in table.scope]
        del rest[name]
        if mine:
            tables.append(_eliminate(name, mine, projects=name in projected))
        elif name not in projected:
            low, high = box[name]
            tables.append(Table((), np.array(high - low + 1, dtype=object)))
    return math.prod(int(table.values) for table in tables)


def _tabulate(expr: Expr, box: Box, limit: int) -> Table:
    """The values of `expr` over the variables of `box`, which are its own."""
    shape = tuple(high - low + 1 for low, high in box.values())
    if math.prod(shape) > limit:
        raise TooLargeError
    dtype: Any = np.int64 if fits_int64(expr, box) else object
    env = coordinate_axes(box, dtype)
    with np.errstate(divide="ignore"):
        values = np.asarray(evaluate(expr, env))
    if values.dtype == np.bool_ or values.dtype.kind == "f":
        values = values.astype(np.int64)
    return Table(tuple(box), np.broadcast_to(values, shape))


def coordinate_axes(box: Box, dtype: Any) -> dict[str, Array]:
    """Each variable's values along an axis of its own, to be broadcast against the others."""
    values = (np.arange(low, high + 1, dtype=dtype) for low, high in box.values())
    return dict(zip(box, np.ix_(*values), strict=True))


def _length(name: str, box: Box) -> int:
    low, high = box[name]
    return high - low + 1


def fits_int64(expr: Expr, box: Box) -> bool:
    """Whether every intermediate value surely fits a 64-bit integer."""
    if _magnitude_bound(expr, box) < _INT64_SAFE:
        return True
    for part in walk(expr):
        low, high = bounds(part, box)
        if not (low > -_INT64_SAFE and high < _INT64_SAFE):
            return False
    return True


def _magnitude_bound(expr: Expr, box: Box) -> Bound:
    """A rough upper bound of the absolute value of all intermediate values of `expr`."""
    if isinstance(expr, str):
        return max(map(abs, box[expr])) if expr in box else math.inf
    if not isinstance(expr, tuple):
        return abs(expr)
    op = expr[0]
    by_constant = op in ("//", "%") and isinstance(expr[2], int) and expr[2]
    if by_constant or op in _BOUNDED_OPERATORS:
        return max(1, *[_magnitude_bound(part, box) for part in expr[1:]])
    if op in ("+", "-"):
        return sum([_magnitude_bound(part, box) for part in expr[1:]])
    if op == "*":
        return math.prod([max(1, _magnitude_bound(part, box)) for part in expr[1:]])
    return math.inf


def _joined_size(name: str, tables: list[Table], box: Box) -> int:
    scope = {name}.union(*(table.scope for table in tables if name in table.scope))
    return math.prod(_length(other, box) for other in scope)


def _eliminate(name: str, tables: list[Table], *, projects: bool) -> Table:
    """The product of `tables`, summed over `name` (or, if it projects, true where any is)."""
    scope = tuple(dict.fromkeys(other for table in tables for other in table.scope))
    scope = (*(other for other in scope if other != name), name)
    aligned = [_align_axes(table, scope) for table in tables]
    if projects:
        joint = reduce(np.logical_and, aligned)
        return Table(scope[:-1], np.any(joint, axis=-1).astype(np.int64))
    bound = math.prod(max(1, int(np.abs(values).max(initial=0))) for values in aligned)
    length = max(values.shape[-1] for values in aligned)
    if bound * length >= _INT64_SAFE:
        aligned = [values.astype(object) for values in aligned]
    joint = reduce(np.multiply, aligned)
    return Table(scope[:-1], np.asarray(np.sum(joint, axis=-1)))


def _align_axes(table: Table, scope: tuple[str, ...]) -> Array:
    """The table's values with its axes in the order of `scope`, missing ones of length one."""
    order = [table.scope.index(name) for name in scope if name in table.scope]
    values: Array = np.transpose(table.values, order)
    missing = [axis for axis, name in enumerate(scope) if name not in table.scope]
    return np.expand_dims(values, missing)
