"""Many points of a program's iteration space at once: the state of the reference executor.

A point is one execution of whatever the executor is at, with a value for each variable in scope.
Loops turn every point into as many as they have iterations, branches keep those where the condition
holds.  The threads of a block that run the same statements with the same values are not told apart
until something asks for a thread's number: until then one point stands for `alike` of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

CHUNK = 1 << 20


class Unknown:
    """A value that comes from data."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()


class Points:
    """`size` points; a column holds one value for all of them or an array with one for each."""

    def __init__(self, size: int, columns: dict, waiting: tuple, threads: frozenset) -> None:
        self.size = size
        self.columns = columns
        #: Thread indices that no one has asked for yet, as (variable, extent).
        self.waiting = waiting
        #: Variables that tell the threads of one block apart.
        self.threads = threads

    @property
    def alike(self) -> int:
        return math.prod(extent for _, extent in self.waiting)

    def full(self, value: Any) -> np.ndarray:
        return np.broadcast_to(np.asarray(value), (self.size,))

    def take(self, chosen: np.ndarray) -> Points:
        """The points that a mask or positions choose."""
        size = int(chosen.sum()) if chosen.dtype == bool else len(chosen)
        columns = {
            name: value[chosen] if isinstance(value, np.ndarray) else value
            for name, value in self.columns.items()
        }
        return Points(size, columns, self.waiting, self.threads)

    def child(self) -> Points:
        """The same points, with a scope of their own."""
        return Points(self.size, dict(self.columns), self.waiting, self.threads)

    def expanded(self, variable: Any, start: Any, extents: Any, step: Any) -> Iterator[Points]:
        """The points of a loop's body, in portions."""
        if self.size == 0:
            return
        sizes = np.maximum(self.full(extents), 0)
        totals = np.cumsum(sizes)
        if not int(totals[-1]):
            return
        if int(totals[-1]) <= CHUNK:
            yield self._inside(np.arange(self.size), sizes, 0, variable, start, step)
            return
        first = 0
        while first < self.size:
            before = int(totals[first - 1]) if first else 0
            last = max(int(np.searchsorted(totals, before + CHUNK, side="right")), first + 1)
            chosen = np.arange(first, last)
            largest = int(sizes[first])
            if last == first + 1 and largest > CHUNK:
                for low in range(0, largest, CHUNK):
                    part = np.asarray([min(CHUNK, largest - low)])
                    yield self._inside(chosen, part, low, variable, start, step)
            elif sizes[chosen].any():
                yield self._inside(chosen, sizes[chosen], 0, variable, start, step)
            first = last

    def _inside(
        self, chosen: np.ndarray, sizes: np.ndarray, low: int, variable: Any, start: Any, step: Any
    ) -> Points:
        rows = np.repeat(chosen, sizes)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + low
        inner = self.take(rows)
        start, step = (
            value[rows] if isinstance(value, np.ndarray) else value for value in (start, step)
        )
        inner.columns[variable] = start + within * step
        return inner

    def with_threads(self) -> Iterator[Points]:
        """The same with every thread a point of its own."""
        if not self.waiting:
            yield self
            return
        (variable, extent), *rest = self.waiting
        bare = Points(self.size, self.columns, tuple(rest), self.threads | {variable})
        for part in bare.expanded(variable, 0, extent, 1):
            yield from part.with_threads()

    def by_block(self) -> Points:
        """One point for all threads of a block that are here: the first of them."""
        known = Points(self.size, self.columns, (), self.threads)
        if not self.threads or self.size == 0:
            return known
        columns = [
            value
            for name, value in self.columns.items()
            if name not in self.threads and isinstance(value, np.ndarray)
        ]
        if not columns:
            return known.take(np.asarray([0]))
        return known.take(np.sort(distinct(columns)))


def distinct(columns: list[np.ndarray]) -> np.ndarray:
    """The positions of the first of all equal rows of some columns of integers."""
    number: Any = 0
    together = 1
    for column in (column.astype(np.int64, copy=False) for column in columns):
        low, span = int(column.min()), int(np.ptp(column)) + 1
        together *= span
        number = number * span + (column - low)
    if together > np.iinfo(np.int64).max:
        return np.unique(np.stack(columns), axis=1, return_index=True)[1]
    return np.unique(number, return_index=True)[1]
