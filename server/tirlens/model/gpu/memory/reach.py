"""How many distinct elements of an array an access touches, and what its place varies with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from tirlens_counting.expressions import free_variables, is_data_dependent
from tirlens_counting.intervals import Interval, bounds
from tirlens_worker.facts import Access, Expr

from ...tree.context import (
    NO_LOOPS,
    NO_STORE_LOOPS,
    LoopContext,
    StoreLoops,
    drop_loads,
    has_known_offset,
    loads_of,
    reassigning_loops,
)


class Reach:
    """Where an access gets to from its place, in an array of `shape`.

    `set_in` tells where scalars that hold an index are set.
    """

    def __init__(
        self,
        access: Access,
        place: LoopContext,
        shape: Sequence[Any],
        set_in: StoreLoops = NO_STORE_LOOPS,
    ) -> None:
        self._access = access
        self._place = place
        self._shape = shape
        self._set_in = set_in
        self.indices: tuple[Expr, ...] = tuple(place.resolve(index) for index in access.indices)
        self._of_data = [is_data_dependent(index) for index in self.indices]
        self._names = [free_variables(index) for index in self.indices]

    @cached_property
    def wanders(self) -> bool:
        """Whether the place is data that no variable tells the place of.

        So is a tile's number that a persistent kernel keeps in a register.
        """
        turning = self._place.extents.keys()
        return any(
            of_data and not names & turning
            for of_data, names in zip(self._of_data, self._names, strict=True)
        )

    @cached_property
    def says_its_place(self) -> bool:
        """Whether all indices that data take part in say where those lie."""
        return all(self._says)

    def varies_with(self, names: Iterable[str]) -> frozenset[str]:
        """Which of `names` the place of the access depends on, through loop bounds too."""
        wanted = frozenset(names)
        return NO_LOOPS.union(
            *(self._varies_with(dimension, wanted) for dimension in range(len(self.indices)))
        )

    def elements(self, free: Iterable[str]) -> float:
        """How many distinct elements the access touches while the variables in `free` vary.

        Each dimension counts what its index can reach and no more than there are combinations of
        its variables; exact for boxes with separate variables in each dimension, an upper bound
        elsewhere.
        """
        return self._distinct(frozenset(free), len(self.indices), max(self._access.lanes, 1))

    def rows(self, free: Iterable[str]) -> float:
        """In how many rows of the array they are."""
        return self._distinct(frozenset(free), len(self.indices) - 1, 1)

    def pool(self, free: Iterable[str], outer: Iterable[str]) -> tuple[float, frozenset[str]]:
        """How many elements the access chooses from where data tell its place, and from which.

        They are all of the array that it can get to while `free` vary, whatever the data are; the
        variables of `outer` that the second result names give other ones.  Infinitely many where
        the array's extent is not known.
        """
        varying, total, names = frozenset(free), float(max(self._access.lanes, 1)), NO_LOOPS
        for dimension, index in enumerate(self.indices):
            size = self._shape[dimension] if dimension < len(self._shape) else None
            if self._of_data[dimension]:
                total *= size if isinstance(size, int) else math.inf
                continue
            low, high = bounds(index, self._pinned(index, varying))
            touched = max(high - low + self._boxes[dimension], 1.0)
            total *= min(touched, size) if isinstance(size, int) else touched
            names |= self._names[dimension]
        return total, names & frozenset(outer)

    def _distinct(self, free: frozenset[str], dimensions: int, lanes: int) -> float:
        extents, shape = self._place.extents, self._shape
        total = 1.0
        combinations = 1.0
        seen: set[str] = set()
        for dimension, index in enumerate(self.indices[:dimensions]):
            box, of_data = self._boxes[dimension], self._of_data[dimension]
            names = self._varies_with(dimension, free, dimensions)
            chosen, rest = NO_LOOPS, index
            if of_data and self._says[dimension]:
                # Another place in an array of places is another place: a page, a token, a state.
                chosen = self._chosen_by(index, names)
                known = all(isinstance(size, int) for size in shape[dimension:] or (None,))
                if not known and self._names[dimension] & names:
                    # Walks on from where a register says are taken to overlap with each other.
                    chosen &= NO_LOOPS.union(*map(free_variables, loads_of(index)))
                rest = drop_loads(index)
            low, high = bounds(rest, self._pinned(rest, free - chosen))
            reach = high - low + box
            size = shape[dimension] if dimension < len(shape) else None
            # A tile that steps over a constant stride touches one box a step, not all between.
            steps = math.prod(extents.get(name, 1) for name in sorted(names - chosen)) * box
            touched = min(reach, steps)
            if chosen:
                touched *= math.prod(extents.get(name, 1) for name in sorted(chosen))
            # An index far beyond its dimension runs on into the next rows, as offsets do.
            close = reach < 2 * size if isinstance(size, int) else False
            if isinstance(size, int) and (close or self._access.clipped or of_data):
                touched = min(touched, size)
            total *= max(touched, 1.0)
            combinations *= box
            for name in sorted(names - seen):
                combinations *= extents.get(name, 1)
            seen |= names
        found = max(min(total, combinations) * lanes, 1.0)
        whole = [size for size in shape if isinstance(size, int)]
        return min(found, math.prod(whole)) if len(whole) == len(shape) and whole else found

    @cached_property
    def _boxes(self) -> list[float]:
        """The extents of the access, unknown ones counted 1."""
        place, extents = self._place, self._access.extents
        if not extents:
            return [1.0] * len(self.indices)
        highs = (bounds(place.resolve(extent), place.ranges)[1] for extent in extents)
        return [high if math.isfinite(high) else 1.0 for high in highs]

    @cached_property
    def _says(self) -> list[bool]:
        return [
            not of_data or has_known_offset(self._access, index, self._place, self._set_in)
            for index, of_data in zip(self.indices, self._of_data, strict=True)
        ]

    def _pinned(self, index: Expr, free: frozenset[str]) -> dict[str, Interval]:
        """The ranges of the variables in `index`, of those not free their first value."""
        ranges: Mapping[str, Interval] = self._place.ranges
        return {
            name: reach if name in free else (reach[0], reach[0])
            for name in free_variables(index)
            if (reach := ranges.get(name)) is not None
        }

    def _varies_with(
        self, dimension: int, names: frozenset[str], dimensions: int | None = None
    ) -> frozenset[str]:
        """Which of `names` an index varies with.

        What is loaded from a scalar is another value whenever a loop turns in which that is set
        (any loop, where that is not told and the index names no variable), but for those loops
        that the other indices count, of the first `dimensions`.
        """
        if not self._of_data[dimension]:
            return self._names[dimension] & names
        index = self.indices[dimension]
        found = self._names[dimension] & self._place.extents.keys()
        loops = NO_LOOPS
        if found and self._says[dimension]:
            loops = reassigning_loops(index, self._place, self._set_in)
        if not found:
            set_in = self._set_in
            loops = loops.union(*(set_in.get(str(load[1]), names) for load in loads_of(index)))
        return (found & names) | ((loops & names) - NO_LOOPS.union(*self._names[:dimensions]))

    def _chosen_by(self, index: Expr, names: frozenset[str]) -> frozenset[str]:
        """Which of `names`, with which an index varies, choose what is loaded for it."""
        if not free_variables(index) & self._place.extents.keys():
            return names
        places = NO_LOOPS.union(*map(free_variables, loads_of(index)))
        return names & (places | reassigning_loops(index, self._place, self._set_in))
