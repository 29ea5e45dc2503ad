"""Variables that occur in one condition only: the number of their values that satisfy it.

``row + i >= column + j`` over the rows `i` and columns `j` of a tile depends on ``row - column``
alone.  The number of pairs for each value of ``j - i`` is computed once, without enumeration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .arrays import np, npt
from .elimination import Table, Tables
from .expressions import Expr, free_variables, from_linear
from .guards import Guard
from .problem import Problem

# The longest list of how often each value of a sum occurs.
MAX_SUM_VALUES = 65_536
# Numbers below this times the longest list stay within 64 bits.
MAX_COUNT = 2**40

Counts = npt.NDArray[np.int64]
Box = Mapping[str, tuple[int, int]]


class SingleUse(NamedTuple):
    """A condition with the factors of those of its variables that no other factor has."""

    condition: Guard
    variables: Mapping[str, int]


def find_single_uses(part: Problem) -> Iterator[SingleUse]:
    """The conditions of a problem with such variables and without projected ones.

    Counts do not add up over the values of a projected variable.
    """
    used = Counter(name for item in part.guards for name in item.scope)
    used.update(name for weight in part.weights for name in free_variables(weight))
    for item in part.guards:
        if part.projected & item.scope:
            continue
        alone = {
            atom: factor for atom, factor in item.terms if isinstance(atom, str) and used[atom] == 1
        }
        inside = [free_variables(atom) for atom, _ in item.terms if isinstance(atom, tuple)]
        own = _select_variables(alone.keys() - frozenset[str]().union(*inside), alone, part.box)
        if own:
            yield SingleUse(item, own)


def _select_variables(names: Iterable[str], factors: Mapping[str, int], box: Box) -> dict[str, int]:
    """As many of the variables, with their factors, as make a sum of few values."""
    own: dict[str, int] = {}
    reach, number = 0, 1
    steps = {name: abs(factors[name]) * (_length(name, box) - 1) for name in names}
    for name in sorted(steps, key=lambda name: (steps[name], name)):
        reach += steps[name]
        number *= _length(name, box)
        if reach >= MAX_SUM_VALUES or max(number, *map(abs, box[name])) >= MAX_COUNT:
            break
        own[name] = factors[name]
    return own


def tabulate_counts(tail: SingleUse, box: Box, tables: Tables) -> Table | None:
    """The number of values of the single-use variables that satisfy a condition, as a table."""
    item, own = tail
    others: dict[Expr, int] = {atom: f for atom, f in item.terms if atom not in own}
    rest = tables.table_of(from_linear(others, item.constant), box)
    if rest.values.dtype == object:
        return None
    least = sum(min(factor * end for end in box[name]) for name, factor in own.items())
    numbers = _value_counts([(abs(factor), _length(name, box)) for name, factor in own.items()])
    # How far above its least value the sum of the own variables has to stay or be.
    room: Any = -rest.values - least
    if item.equality:
        inside = (room >= 0) & (room < len(numbers))
        return Table(rest.scope, np.where(inside, numbers[np.where(inside, room, 0)], 0))
    below = np.append(0, np.cumsum(numbers))
    return Table(rest.scope, below[np.minimum(np.maximum(room, 0), len(numbers))])


def _length(name: str, box: Box) -> int:
    low, high = box[name]
    return high - low + 1


def _value_counts(steps: Sequence[tuple[int, int]]) -> Counts:
    """How often a sum of multiples ``step * (0, 1, ..., length - 1)`` has each of its values."""
    numbers: Counts = np.ones(1, dtype=np.int64)
    for step, length in sorted(steps):
        size = len(numbers) + step * (length - 1)
        # A sliding window of `length` multiples, by differences.
        change = np.zeros(-(-(size + step) // step) * step, dtype=np.int64)
        change[: len(numbers)] += numbers
        change[step * length : step * length + len(numbers)] -= numbers
        sums: Counts = np.cumsum(np.reshape(change, (-1, step)), axis=0)
        numbers = np.ravel(sums)[:size]
    return numbers
