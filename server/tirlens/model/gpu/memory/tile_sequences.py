"""The tiles that persistent blocks process, step by step.

A persistent block computes the number of its next tile from its own index and its step.  Blocks
that load the same tile in one step fetch it once, so a step counts like a wave in `l2_sharing`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tirlens_counting.arrays import np, npt
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
# The variables of tile numbers; they cannot be names of a kernel.
POSITION = ("block x", "block y", "block z")
STEP = "step of the block"
# With more steps, a block counts as touching all of its tiles at the same time.
MAX_STEPS = 4096
# With more tiles over all blocks and steps, the steps are not distinguished.
MAX_TILES = 1 << 16
# Row size that separates the rows of an array of unknown size, in elements.
_UNKNOWN_SIZE = 1 << 20


@dataclass(frozen=True)
class TileSequence:
    """The tile of an access at each of a block's `steps`, as a number for each tile.

    `indices` are those of the access in an array of `sizes`, and `block_steps` is the number of
    steps of one block.  Both depend on the block's position and step alone, so that equal
    sequences compare equal.  `var` is the variable of the loop over steps, None without such a
    loop.
    """

    indices: tuple[Expr, ...]
    sizes: tuple[int, ...]
    block_steps: Expr = 1
    steps: int = 1
    var: str | None = None

    def tile_ids(self, x: IntArray, y: IntArray, z: IntArray, step: IntArray) -> IntArray:
        """The tile numbers of blocks at their steps; -1 where a block has no such step."""
        env = _block_values(x, y, z, step)
        flat: Any = 0
        # Beyond a block's last step the divisor may be zero.
        with np.errstate(divide="ignore"):
            for size, index in zip(self.sizes, self.indices, strict=True):
                flat = flat * size + evaluate(index, env)
        found = np.abs(np.asarray(flat, dtype=np.int64))
        shape = np.broadcast_shapes(found.shape, x.shape, step.shape)
        if self.var is None:
            return np.broadcast_to(found, shape)
        return np.where(step < np.asarray(evaluate(self.block_steps, env)), found, -1)

    def tile_count(self, grid: Sequence[int]) -> float:
        """The number of distinct tiles of all blocks; infinite above `MAX_TILES`."""
        return _count_tiles(self, (*grid, 1, 1, 1)[:3])


# A kernel has few different sequences.
@lru_cache(maxsize=256)
def _count_tiles(sequence: TileSequence, grid: Sequence[int]) -> float:
    gx, gy, gz = grid
    if gx * gy * gz * sequence.steps > MAX_TILES:
        return math.inf
    # Sparse axes: an expression is evaluated only along the axes on which it depends.
    axes = [np.arange(extent, dtype=np.int64) for extent in (sequence.steps, gz, gy, gx)]
    step, z, y, x = np.meshgrid(*axes, indexing="ij", sparse=True)
    independent = (
        _independent_ids(sequence, _block_values(x, y, z, step)) if sequence.var is None else None
    )
    if independent is not None:
        return math.prod(len(distinct_values(numbers)) for numbers in independent)
    found = sequence.tile_ids(x, y, z, step)
    return len(distinct_values(found[found >= 0]))


def _independent_ids(sequence: TileSequence, env: Mapping[str, IntArray]) -> list[IntArray] | None:
    """Tile numbers by independent groups of dimensions; None if an index exceeds its dimension."""
    groups: list[tuple[set[int], IntArray]] = []
    for number, (size, index) in enumerate(zip(sequence.sizes, sequence.indices, strict=True)):
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


def _block_values(x: IntArray, y: IntArray, z: IntArray, step: IntArray) -> dict[str, IntArray]:
    return {**dict(zip(POSITION, (x, y, z), strict=True)), STEP: step}


def distinct_values(numbers: IntArray) -> IntArray:
    """The distinct values of non-negative numbers, sorted."""
    if not numbers.size:
        return numbers.ravel()
    most = int(numbers.max()) + 1
    if most > 8 * numbers.size:
        ordered = np.sort(numbers, axis=None)
        return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))]
    seen = np.zeros(most, dtype=bool)
    seen[numbers] = True
    return np.flatnonzero(seen)


def find_tile_sequence(
    access: Access,
    context: LoopContext,
    shape: Sequence[Expr],
    store_loops: StoreLoops = NO_STORE_LOOPS,
) -> TileSequence | None:
    """The tile sequence of an access whose address is not affine in the block indices, else None.

    Where the group of a tile is data, all tiles are assumed to be of one group, if the tile's
    position in its group depends on the block.
    """
    grid = {
        loop.var: AXES.get(loop.tag or "", 0) for loop in context.loops if loop.kind in GRID_KINDS
    }
    indices = [context.resolve(index) for index in access.indices]
    blocks_of = grid.keys()
    data = [index for index in indices if is_data_dependent(index)]
    if data:
        by_block = any(
            free_variables(load) & blocks_of and not free_variables(drop_loads(one)) & blocks_of
            for one in data
            for load in loads_of(one)
        )
        if not by_block and all(
            has_known_offset(access, one, context, store_loops) for one in data
        ):
            indices = [drop_loads(index) for index in indices]
    atoms_by_index = {
        index: [
            names
            for atom in linear(simplify(index))[0]
            if isinstance(atom, tuple) and (names := free_variables(atom)) & blocks_of
        ]
        for index in indices
        if free_variables(index) & blocks_of
    }
    mixed = [free_variables(index) for index, atoms in atoms_by_index.items() if atoms]
    threads = {loop.var for loop in context.loops if loop.kind == "block"}
    # Where threads have windows of their own, the block has no tile.
    if not mixed or any(names & threads for atoms in atoms_by_index.values() for names in atoms):
        return None
    step_loop = next(
        (
            loop
            for loop in context.loops
            if loop.kind not in GRID_KINDS | CONCURRENT_KINDS
            and any(loop.var in names for names in mixed)
        ),
        None,
    )
    blocks = math.prod(loop.trip_count for loop in context.loops if loop.kind in GRID_KINDS)
    most = min(MAX_STEPS, MAX_TILES // max(blocks, 1))
    here: dict[str, Expr] = {
        **context.first_values,
        **{name: POSITION[axis] for name, axis in grid.items()},
    }
    sizes = tuple(_known_size(context.resolve(size), context) for size in shape)
    if step_loop is None or not step_loop.extent or step_loop.extent > most:
        sequence = TileSequence(_in_block_terms(indices, here), sizes)
    else:
        var = step_loop.var
        steps = (extent for name, _, extent in context.path if name == var)
        (extent,) = _in_block_terms([next(steps, step_loop.extent)], here)
        here[var] = ("+", STEP, context.first_values.get(var, 0))
        sequence = TileSequence(
            _in_block_terms(indices, here), sizes, extent, step_loop.extent, var
        )
    first = np.zeros(1, dtype=np.int64)
    try:
        sequence.tile_ids(first, first, first, first)
    except UnknownValueError:
        return None
    return sequence


def _in_block_terms(exprs: Sequence[Expr], names: Mapping[str, Expr]) -> tuple[Expr, ...]:
    """Expressions in terms of the position and step of a block."""
    return tuple(simplify(substitute(expr, names)) for expr in exprs)


def _known_size(size: Expr, context: LoopContext) -> int:
    try:
        return int(evaluate(size, context.first_values))
    except UnknownValueError:
        return _UNKNOWN_SIZE
