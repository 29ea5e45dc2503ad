"""Where the blocks of a launch are in global memory, each time one takes its next tile.

A persistent block walks over tiles whose numbers it computes from its own and from its turn.  What
the blocks of one turn have in common is fetched once, as what the blocks of a wave have; so each
turn of a wave is a step of its own in `waves`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tirlens_worker.facts import Access, Expr

from ..expr import (
    UnknownValueError,
    evaluate,
    free_variables,
    is_data_dependent,
    linear,
    simplify,
)
from ..instructions.places import (
    NOWHERE,
    SIDE_BY_SIDE,
    SPATIAL,
    Place,
    SetIn,
    loads_of,
    says_its_place,
    without_loads,
)

IntArray = npt.NDArray[np.int64]
# Positions for x, y, z of the blocks and their turn, -1 for a block that has no such turn.
PlaceOf = Callable[[IntArray, IntArray, IntArray, IntArray], IntArray]
AXES = {"blockIdx.x": 0, "blockIdx.y": 1, "blockIdx.z": 2}
# Beyond this many turns a block is taken to touch all of its tiles at once.
MOST_TURNS = 4096
# Beyond this many places, of all blocks and turns, the turns are not told apart.
MOST_PLACES = 1 << 16
# Tells rows apart in an array whose size is not known.
_FAR = 1 << 20


@dataclass(frozen=True)
class Walk:
    """Where an access of a block starts at each of its `turns`, as a number for each place.

    `var` is the variable of the loop that turns, None where the place is the same all the time.
    """

    place_of: PlaceOf
    turns: int = 1
    var: str | None = None

    def places(self, grid: Sequence[int]) -> float:
        """How many places all blocks together touch; infinity where they are too many to tell."""
        gx, gy, gz = (*grid, 1, 1, 1)[:3]
        if gx * gy * gz * self.turns > MOST_PLACES:
            return math.inf
        # Each on an axis of its own: what depends on one of them is evaluated for that one alone.
        axes = [np.arange(extent, dtype=np.int64) for extent in (self.turns, gz, gy, gx)]
        turn, z, y, x = np.meshgrid(*axes, indexing="ij", sparse=True)
        found = self.place_of(x, y, z, turn)
        return len(distinct(found[found >= 0]))


def distinct(numbers: IntArray) -> IntArray:
    """The different ones of some numbers, none of which is negative, in their order."""
    if not numbers.size:
        return numbers.ravel()
    most = int(numbers.max()) + 1
    if most > 8 * numbers.size:
        ordered = np.sort(numbers, axis=None)
        return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))]
    seen = np.zeros(most, dtype=bool)
    seen[numbers] = True
    return np.flatnonzero(seen)


def walk_of(
    access: Access, place: Place, shape: Sequence[Expr], set_in: SetIn = NOWHERE
) -> Walk | None:
    """How the blocks walk, if their places are no sums of multiples of the block indices.

    Where a block finds the group of its tile in data, all tiles are taken to be of one group: also
    where it asks for its own tile's, as long as it says itself which tile of the group it takes.
    """
    grid = {loop.var: AXES.get(loop.tag or "", 0) for loop in place.around if loop.kind in SPATIAL}
    indices = [place.resolve(index) for index in access.indices]
    blocks_of = grid.keys()
    data = [index for index in indices if is_data_dependent(index)]
    if data:
        by_block = any(
            free_variables(load) & blocks_of and not free_variables(without_loads(one)) & blocks_of
            for one in data
            for load in loads_of(one)
        )
        if not by_block and all(says_its_place(access, one, place, set_in) for one in data):
            indices = [without_loads(index) for index in indices]
    mixed = [
        names
        for index in indices
        if (names := free_variables(index)) & blocks_of
        and any(
            isinstance(atom, tuple) and free_variables(atom) & blocks_of
            for atom in linear(simplify(index))[0]
        )
    ]
    if not mixed:
        return None
    turning = next(
        (
            loop
            for loop in place.around
            if loop.kind not in SPATIAL | SIDE_BY_SIDE and any(loop.var in names for names in mixed)
        ),
        None,
    )
    blocks = math.prod(loop.extent or 1 for loop in place.around if loop.kind in SPATIAL)
    most = min(MOST_TURNS, MOST_PLACES // max(blocks, 1))
    if turning is None or not turning.extent or turning.extent > most:
        walk = Walk(_place_of(indices, shape, place, grid, None, 1))
    else:
        steps = (extent for var, _, extent in place.steps if var == turning.var)
        extent = next(steps, turning.extent)
        found = _place_of(indices, shape, place, grid, turning.var, extent)
        walk = Walk(found, turning.extent, turning.var)
    first = np.zeros(1, dtype=np.int64)
    try:
        walk.place_of(first, first, first, first)
    except UnknownValueError:
        return None
    return walk


def _place_of(
    indices: Sequence[Expr],
    shape: Sequence[Expr],
    place: Place,
    grid: Mapping[str, int],
    var: str | None,
    extent: Expr,
) -> PlaceOf:
    sizes = [_size(place.resolve(size), place) for size in shape]

    def place_of(x: IntArray, y: IntArray, z: IntArray, turn: IntArray) -> IntArray:
        env: dict[str, Any] = {
            **place.first_values,
            **{name: (x, y, z)[axis] for name, axis in grid.items()},
        }
        turns = np.asarray(evaluate(extent, env))
        if var is not None:
            env[var] = turn + place.first_values.get(var, 0)
        flat: Any = 0
        # Beyond a block's last turn the divisor may be zero.
        with np.errstate(divide="ignore"):
            for size, index in zip(sizes, indices, strict=True):
                flat = flat * size + evaluate(index, env)
        found = np.asarray(flat, dtype=np.int64)
        found, within = np.broadcast_arrays(found + 0 * (x + turn), turn < turns)
        return np.where(within, np.abs(found), -1)

    return place_of


def _size(size: Expr, place: Place) -> int:
    try:
        return int(evaluate(size, place.first_values))
    except UnknownValueError:
        return _FAR
