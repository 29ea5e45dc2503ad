"""The distinct elements of an array that an access touches while some loop variables vary."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from tirlens_counting.expressions import (
    free_variables,
    is_data_dependent,
    linear,
    simplify,
)
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


class AccessFootprint:
    """The elements of an array of `shape` that an access touches in its loop context.

    `store_loops` has the loops around the stores to scalars that hold an index.
    """

    def __init__(
        self,
        access: Access,
        context: LoopContext,
        shape: Sequence[Any],
        store_loops: StoreLoops = NO_STORE_LOOPS,
    ) -> None:
        self._access = access
        self._context = context
        self._shape = shape
        self._store_loops = store_loops
        resolved = tuple(map(context.resolve, access.indices))
        # A window that moves with the block has its start in two parts of the index.
        self.indices = tuple(map(simplify, resolved)) if context.lets else resolved
        self._data_dependent = [is_data_dependent(index) for index in self.indices]
        self._names = [free_variables(index) for index in self.indices]

    @cached_property
    def has_data_offset(self) -> bool:
        """Whether an index is data whose own position depends on no loop variable.

        An example is a tile number that a persistent kernel keeps in a register.
        """
        loop_variables = self._context.extents.keys()
        return any(
            of_data and not names & loop_variables
            for of_data, names in zip(self._data_dependent, self._names, strict=True)
        )

    @cached_property
    def has_known_offset(self) -> bool:
        """Whether the positions of all loaded indices are known."""
        return all(self._has_known_offsets)

    def varying_names(self, names: Iterable[str]) -> frozenset[str]:
        """Those of `names` on which the address depends, also through loop bounds."""
        wanted = frozenset(names)
        return NO_LOOPS.union(
            *(
                self._varying_in_dimension(dimension, wanted)
                for dimension in range(len(self.indices))
            )
        )

    def element_count(self, free: Iterable[str]) -> float:
        """The number of distinct elements while the variables in `free` vary.

        Each dimension counts the range of its index, at most the combinations of its variables.
        Exact for boxes with separate variables in each dimension, an upper bound otherwise.
        """
        return self._count_distinct(frozenset(free))

    def candidate_elements(
        self, free: Iterable[str], outer: Iterable[str]
    ) -> tuple[float, frozenset[str]]:
        """The elements from which a data-dependent offset selects, and what they depend on.

        The first result is the number of elements that the access can reach while `free` vary,
        whatever the data; infinite where the array's extent is not known.  The second one has the
        variables of `outer` that move this range.
        """
        varying, total, names = frozenset(free), float(max(self._access.lanes, 1)), NO_LOOPS
        for dimension, index in enumerate(self.indices):
            size = self._shape[dimension] if dimension < len(self._shape) else None
            if self._data_dependent[dimension]:
                total *= size if isinstance(size, int) else math.inf
                continue
            low, high = bounds(index, self._ranges_of(index, varying))
            touched = max(high - low + self._box_extents[dimension], 1.0)
            total *= min(touched, size) if isinstance(size, int) else touched
            names |= self._names[dimension]
        return total, names & frozenset(outer)

    def _count_distinct(self, free: frozenset[str]) -> float:
        extents, shape = self._context.extents, self._shape
        total = 1.0
        combinations = 1.0
        seen: set[str] = set()
        for dimension, index in enumerate(self.indices):
            box, of_data = self._box_extents[dimension], self._data_dependent[dimension]
            names = self._varying_in_dimension(dimension, free)
            chosen, rest = NO_LOOPS, index
            if self._has_known_offsets[dimension]:
                # Different entries of an array of offsets (pages, tokens) are different offsets.
                chosen = self._selecting_names(index, names)
                known = all(isinstance(size, int) for size in shape[dimension:] or (None,))
                if not known and self._names[dimension] & names:
                    # Ranges from an offset in a register are assumed to overlap.
                    chosen &= NO_LOOPS.union(*map(free_variables, loads_of(index)))
                rest = drop_loads(index)
            low, high = bounds(rest, self._ranges_of(rest, free - chosen))
            reach = high - low + box
            size = shape[dimension] if dimension < len(shape) else None
            # A strided tile touches one box in each step, not the elements between.
            steps = math.prod(extents.get(name, 1) for name in sorted(names - chosen))
            if not of_data:
                steps = min(steps, self._term_values(rest, names))
            touched = min(reach, steps * box)
            if chosen:
                touched *= math.prod(extents.get(name, 1) for name in sorted(chosen))
            # An index far beyond its dimension is a flat offset into later rows.
            if isinstance(size, int) and (reach < 2 * size or self._access.clipped or of_data):
                touched = min(touched, size)
            total *= max(touched, 1.0)
            combinations *= box
            for name in sorted(names - seen):
                combinations *= extents.get(name, 1)
            seen |= names
        found = max(min(total, combinations) * max(self._access.lanes, 1), 1.0)
        whole = [size for size in shape if isinstance(size, int)]
        return min(found, math.prod(whole)) if len(whole) == len(shape) and whole else found

    def _term_values(self, index: Expr, free: frozenset[str]) -> float:
        """The combinations of the values of the terms of an index; few where a term is divided."""
        total = 1.0
        for term in linear(index)[0]:
            names = free_variables(term) & free
            low, high = bounds(term, self._ranges_of(term, free))
            total *= min(
                high - low + 1, math.prod(self._context.extents.get(name, 1) for name in names)
            )
        return total

    @cached_property
    def _box_extents(self) -> list[float]:
        """The extents of the access; an unknown one counts 1."""
        context, extents = self._context, self._access.extents
        if not extents:
            return [1.0] * len(self.indices)
        highs = (bounds(context.resolve(extent), context.ranges)[1] for extent in extents)
        return [high if math.isfinite(high) else 1.0 for high in highs]

    @cached_property
    def _has_known_offsets(self) -> list[bool]:
        return [
            not of_data or has_known_offset(self._access, index, self._context, self._store_loops)
            for index, of_data in zip(self.indices, self._data_dependent, strict=True)
        ]

    def _ranges_of(self, index: Expr, free: frozenset[str]) -> dict[str, Interval]:
        """The ranges of variables in `index`; one that is not free has its first value."""
        ranges = self._context.ranges
        return {
            name: reach if name in free else (reach[0], reach[0])
            for name in free_variables(index)
            if (reach := ranges.get(name)) is not None
        }

    def _varying_in_dimension(self, dimension: int, names: frozenset[str]) -> frozenset[str]:
        """Those of `names` with which an index varies.

        An array of the block's own changes in each iteration of the loops around its stores (of any
        loop, where these are not known and the index names no variable), except loops whose
        variables occur in the other indices.
        """
        if not self._data_dependent[dimension]:
            return self._names[dimension] & names
        index = self.indices[dimension]
        found = self._names[dimension] & self._context.extents.keys()
        loops = NO_LOOPS
        if found:
            loops = reassigning_loops(index, self._context, self._store_loops)
        if not found:
            store_loops = self._store_loops
            loops = loops.union(*(store_loops.get(str(load[1]), names) for load in loads_of(index)))
        return (found & names) | ((loops & names) - NO_LOOPS.union(*self._names))

    def _selecting_names(self, index: Expr, names: frozenset[str]) -> frozenset[str]:
        """Those of `names` that select which offset is loaded."""
        if not free_variables(index) & self._context.extents.keys():
            return names
        places = NO_LOOPS.union(*map(free_variables, loads_of(index)))
        return names & (places | reassigning_loops(index, self._context, self._store_loops))
