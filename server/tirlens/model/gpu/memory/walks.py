"""Where the blocks of a launch are in global memory, each time one takes its next tile.

A persistent block walks over tiles whose numbers it computes from its own and from its turn.  What
the blocks of one turn have in common is fetched once, as what the blocks of a wave have; so each
turn of a wave is a step of its own in `waves`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    free_variables,
    is_data_dependent,
    linear,
    simplify,
    substitute,
)
from tirlens_worker.facts import Access, Expr

from ...tree.context import (
    CONCURRENT_KINDS,
    GRID_KINDS,
    NO_STORE_LOOPS,
    LoopContext,
    StoreLoops,
    drop_loads,
    has_known_offset,
    loads_of,
)

IntArray = npt.NDArray[np.int64]
AXES = {"blockIdx.x": 0, "blockIdx.y": 1, "blockIdx.z": 2}
# What the indices of a walk are of: no variable of a kernel has such a name.
POSITION = ("block x", "block y", "block z")
TURN = "turn of the block"
# Beyond this many turns a block is taken to touch all of its tiles at once.
MOST_TURNS = 4096
# Beyond this many places, of all blocks and turns, the turns are not told apart.
MOST_PLACES = 1 << 16
# Tells rows apart in an array whose size is not known.
_FAR = 1 << 20


@dataclass(frozen=True)
class Walk:
    """Where an access of a block starts at each of its `turns`, as a number for each place.

    `indices` are those of the access in an array of `sizes`, and `extent` the block's own number of
    turns, in the position of the block and its turn alone: accesses that walk alike are equal.
    `var` is the variable of the loop that turns, None where the place is the same all the time.
    """

    indices: tuple[Expr, ...]
    sizes: tuple[int, ...]
    extent: Expr = 1
    turns: int = 1
    var: str | None = None

    def place_of(self, x: IntArray, y: IntArray, z: IntArray, turn: IntArray) -> IntArray:
        """The places of blocks at their turns, -1 for a block that has no such turn."""
        env = _env(x, y, z, turn)
        flat: Any = 0
        # Beyond a block's last turn the divisor may be zero.
        with np.errstate(divide="ignore"):
            for size, index in zip(self.sizes, self.indices, strict=True):
                flat = flat * size + evaluate(index, env)
        found = np.abs(np.asarray(flat, dtype=np.int64))
        shape = np.broadcast_shapes(found.shape, x.shape, turn.shape)
        if self.var is None:
            return np.broadcast_to(found, shape)
        return np.where(turn < np.asarray(evaluate(self.extent, env)), found, -1)

    def places(self, grid: Sequence[int]) -> float:
        """How many places all blocks together touch; infinity where they are too many to tell."""
        return _places(self, (*grid, 1, 1, 1)[:3])


# The arrays of a kernel are walked over in a few ways.
@lru_cache(maxsize=256)
def _places(walk: Walk, grid: Sequence[int]) -> float:
    gx, gy, gz = grid
    if gx * gy * gz * walk.turns > MOST_PLACES:
        return math.inf
    # Each on an axis of its own: what depends on one of them is evaluated for that one alone.
    axes = [np.arange(extent, dtype=np.int64) for extent in (walk.turns, gz, gy, gx)]
    turn, z, y, x = np.meshgrid(*axes, indexing="ij", sparse=True)
    apart = _apart(walk, _env(x, y, z, turn)) if walk.var is None else None
    if apart is not None:
        return math.prod(len(distinct(numbers)) for numbers in apart)
    found = walk.place_of(x, y, z, turn)
    return len(distinct(found[found >= 0]))


def _apart(walk: Walk, env: Mapping[str, IntArray]) -> list[IntArray] | None:
    """Numbers for the places in the dimensions that share axes of blocks; None: they run over."""
    groups: list[tuple[set[int], IntArray]] = []
    for number, (size, index) in enumerate(zip(walk.sizes, walk.indices, strict=True)):
        places = np.asarray(evaluate(index, env), dtype=np.int64)
        if places.min() < 0 or (number and places.max() >= size):
            return None
        axes = {axis for axis, extent in enumerate(places.shape) if extent > 1}
        others: list[tuple[set[int], IntArray]] = []
        for theirs, before in groups:
            if axes.isdisjoint(theirs):
                others.append((theirs, before))
            else:
                axes |= theirs
                places = places * (int(before.max()) + 1) + before
        groups = [*others, (axes, places)]
    return [places for _, places in groups]


def _env(x: IntArray, y: IntArray, z: IntArray, turn: IntArray) -> dict[str, IntArray]:
    return {**dict(zip(POSITION, (x, y, z), strict=True)), TURN: turn}


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
    access: Access, place: LoopContext, shape: Sequence[Expr], set_in: StoreLoops = NO_STORE_LOOPS
) -> Walk | None:
    """How the blocks walk, if their places are no sums of multiples of the block indices.

    Where a block finds the group of its tile in data, all tiles are taken to be of one group: also
    where it asks for its own tile's, as long as it says itself which tile of the group it takes.
    """
    grid = {
        loop.var: AXES.get(loop.tag or "", 0) for loop in place.loops if loop.kind in GRID_KINDS
    }
    indices = [place.resolve(index) for index in access.indices]
    blocks_of = grid.keys()
    data = [index for index in indices if is_data_dependent(index)]
    if data:
        by_block = any(
            free_variables(load) & blocks_of and not free_variables(drop_loads(one)) & blocks_of
            for one in data
            for load in loads_of(one)
        )
        if not by_block and all(has_known_offset(access, one, place, set_in) for one in data):
            indices = [drop_loads(index) for index in indices]
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
            for loop in place.loops
            if loop.kind not in GRID_KINDS | CONCURRENT_KINDS
            and any(loop.var in names for names in mixed)
        ),
        None,
    )
    blocks = math.prod(loop.extent or 1 for loop in place.loops if loop.kind in GRID_KINDS)
    most = min(MOST_TURNS, MOST_PLACES // max(blocks, 1))
    here: dict[str, Expr] = {
        **place.first_values,
        **{name: POSITION[axis] for name, axis in grid.items()},
    }
    sizes = tuple(_size(place.resolve(size), place) for size in shape)
    if turning is None or not turning.extent or turning.extent > most:
        walk = Walk(_written(indices, here), sizes)
    else:
        var = turning.var
        steps = (extent for name, _, extent in place.path if name == var)
        (extent,) = _written([next(steps, turning.extent)], here)
        here[var] = ("+", TURN, place.first_values.get(var, 0))
        walk = Walk(_written(indices, here), sizes, extent, turning.extent, var)
    first = np.zeros(1, dtype=np.int64)
    try:
        walk.place_of(first, first, first, first)
    except UnknownValueError:
        return None
    return walk


def _written(exprs: Sequence[Expr], names: Mapping[str, Expr]) -> tuple[Expr, ...]:
    """Expressions in the position and turn of a block."""
    return tuple(simplify(substitute(expr, names)) for expr in exprs)


def _size(size: Expr, place: LoopContext) -> int:
    try:
        return int(evaluate(size, place.first_values))
    except UnknownValueError:
        return _FAR
