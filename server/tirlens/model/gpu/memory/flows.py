"""What each access to global memory touches: by one block, by all, and from block to block.

It is the same on every device.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    free_variables,
    is_data_dependent,
    simplify,
)
from tirlens_worker.facts import Access, Buffer, Expr

from ...tree.context import (
    GRID_KINDS,
    NO_LOOPS,
    SECTOR_BYTES,
    EnclosingLoop,
    LoopContext,
    StoreLoops,
    drop_loads,
    dtype_bytes,
    loads_of,
)
from ...tree.node import CostNode
from .reach import Reach
from .walks import AXES, Walk, walk_of
from .waves import Slab


@dataclass(frozen=True, eq=False)
class Flow:
    """One global access of one leaf with its sizes in bytes."""

    item: CostNode
    access: Access
    buffer: Buffer
    issued_bytes: int
    block_bytes: float
    axes: tuple[int, ...]
    compulsory: float
    start: float | None  # beyond the places that are loaded
    behind: tuple[Any, ...]  # those places
    stride: float | None  # the greatest that divides the steps from block to block, in bytes
    block_sector_bytes: float
    step_bytes: float  # what a block touches in one turn of its walk, if it walks
    walk: Walk | None
    wanders: bool
    array_bytes: float
    pool: Slab | None  # what its place is chosen from, where data tell that


@dataclass(frozen=True)
class Flows:
    """The accesses to global memory, which are the same on every device, by number of the leaf."""

    numbered: tuple[tuple[int, Flow], ...]

    def of(self, leaves: Sequence[CostNode]) -> list[Flow]:
        """The same of other items of the same leaves."""
        return [_again(flow, leaves[number]) for number, flow in self.numbered]


def _again(flow: Flow, item: CostNode) -> Flow:
    new = object.__new__(Flow)
    new.__dict__.update(flow.__dict__, item=item)
    return new


def flows(
    leaves: Sequence[CostNode],
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Sequence[Any]],
    grid: tuple[int, ...],
) -> Flows:
    """What the leaves of a launch of `grid` blocks read and write in global memory."""
    set_in = _set_in(leaves, buffers)
    return Flows(
        tuple(
            (number, _flow(item, entry.access, buffer, entry.bytes, shapes, grid, set_in))
            for number, item in enumerate(leaves)
            for entry in item.count.accesses
            if entry.bytes and (buffer := buffers[entry.access.buffer]).scope == "global"
        )
    )


def _flow(
    item: CostNode,
    access: Access,
    buffer: Buffer,
    issued_bytes: int,
    shapes: Mapping[str, Sequence[Any]],
    launched: tuple[int, ...],
    set_in: StoreLoops,
) -> Flow:
    shape = shapes.get(buffer.id, ())
    place = item.context
    names = [loop.var for loop in place.loops]
    grid = {loop.var: loop for loop in place.loops if loop.kind in GRID_KINDS}
    size = dtype_bytes(buffer.dtype)
    blocks = max(math.prod(launched), 1)
    inner = [name for name in names if name not in grid]
    issued = issued_bytes / blocks
    reach = Reach(access, place, shape, set_in)
    own = reach.elements(inner) * size
    everything = reach.elements(names) * size
    axes = tuple(sorted(AXES.get(grid[name].tag or "", 0) for name in reach.varies_with(grid)))
    least = min(everything, float(issued_bytes))
    chosen = reach.wanders
    if chosen:
        # Blocks that choose their tiles at run time are taken to choose those that others have.
        own = min(own, least / blocks)
    # Each row of what a block touches is brought in whole sectors.
    rows = 1.0
    if len(access.indices) > 1:
        rows = max(min(reach.rows(inner), own / size), 1.0)
    sectors = rows * math.ceil(own / rows / SECTOR_BYTES) * SECTOR_BYTES
    behind: tuple[Any, ...] = ()
    if reach.says_its_place:
        behind = tuple(load for index in reach.indices for load in loads_of(index))
    start = _start(reach.indices, buffer, place)
    step = own = min(own, issued)
    walk = None if chosen else walk_of(access, place, buffer.shape, set_in)
    if walk is not None:
        if walk.var is not None:
            within = [name for name in inner if name != walk.var]
            step = min(reach.elements(within) * size, own)
        least = min(least, walk.places(launched) * step)
    known = [extent for extent in shape if isinstance(extent, int)]
    array = math.prod(known) * size if len(known) == len(shape) else math.inf
    return Flow(
        item,
        access,
        buffer,
        issued_bytes,
        own,
        axes,
        least,
        start,
        behind,
        _stride(reach.indices, buffer, place, grid),
        sectors,
        step,
        walk,
        chosen,
        array,
        _pool(reach, inner, grid, size) if behind and walk is None else None,
    )


def _pool(
    reach: Reach, inner: Sequence[str], grid: Mapping[str, EnclosingLoop], size: float
) -> Slab | None:
    elements, names = reach.pool(inner, grid)
    axes = tuple(sorted({AXES.get(grid[name].tag or "", 0) for name in names}))
    return Slab(elements * size, axes) if math.isfinite(elements) else None


def _set_in(leaves: Sequence[CostNode], buffers: Mapping[str, Buffer]) -> StoreLoops:
    found: dict[str, frozenset[str]] = {}
    for leaf in leaves:
        loops = leaf.context.extents.keys()
        for access in leaf.source.accesses:
            if access.mode != "read" and buffers[access.buffer].scope != "global":
                known = found.get(access.buffer)
                if known is None or not loops <= known:
                    found[access.buffer] = (known or NO_LOOPS) | loops
    return found


def _start(indices: Sequence[Expr], buffer: Buffer, place: LoopContext) -> float | None:
    """Where the first thread of the first block starts to read, in elements."""
    try:
        flat = 0
        for size, index in zip(buffer.shape, indices, strict=True):
            behind = simplify(drop_loads(index)) if is_data_dependent(index) else index
            # How many rows there are says nothing of where one begins.
            flat = (flat * place.first_value(size) if flat else 0) + place.first_value(behind)
        return float(flat)
    except (UnknownValueError, ValueError, ZeroDivisionError):
        return None


def _stride(
    indices: Sequence[Expr], buffer: Buffer, place: LoopContext, grid: Mapping[str, EnclosingLoop]
) -> float | None:
    """The greatest stride that divides the steps from block to block, in bytes; None: not known."""
    if any(map(is_data_dependent, indices)):
        return None
    steps: list[int] = []
    try:
        here = place.first_values
        starts = [int(evaluate(index, here)) for index in indices]
        for name in grid:
            there = {**here, name: here[name] + 1}
            flat = 0
            for size, index, start in zip(buffer.shape, indices, starts, strict=True):
                moved = 0
                if name in free_variables(index):
                    moved = int(evaluate(index, there)) - start
                flat = (flat * int(place.first_value(size)) if flat else 0) + moved
            steps.append(flat)
    except (UnknownValueError, ValueError, ZeroDivisionError, KeyError):
        return None
    return math.gcd(*steps) * dtype_bytes(buffer.dtype)
