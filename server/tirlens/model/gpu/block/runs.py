"""Which loads the compiler starts first or brings together, and which come later."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from tirlens.hardware.spec import Device
from tirlens_counting.expressions import is_data_dependent
from tirlens_worker.facts import Barrier, Branch, Loop, Statement

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS, is_in_tile_loop, loads_of
from ...tree.node import CostNode
from ...tree.traits import LOADS, ORDERED, READS, STORES, STRAIGHT, every, some
from ..compiler.predication import MAX_FULL_UNROLL_ITERATIONS, PARTIAL_UNROLL_ITERATIONS

# ptxas 13.0 for sm_100a puts a condition on the instructions of a branch of 17 instructions (a load
# and 16 multiply-adds) and jumps over one of 25.
PREDICATED = 20


def starts_loads(item: CostNode) -> bool:
    """Whether a node loads from memory."""
    return some(item, LOADS)


def is_unrolled(item: CostNode) -> bool:
    """Whether a node is a statement, or becomes a row of them.

    So do the lanes of a vector, and a short branch, whose instructions carry its condition.
    """
    node = item.source
    if isinstance(node, Loop):
        return node.kind in ("unroll", "vectorized") and all(map(is_unrolled, item.children))
    if isinstance(node, Branch):
        return (
            not _asks_data(item)
            and _instructions(item) <= PREDICATED
            and all(map(is_unrolled, item.children))
        )
    return isinstance(node, Statement)


def is_entered_once(item: CostNode) -> bool:
    """Whether what stands first in a node follows what stands before it, and no data tell.

    So it is in a branch, and in a loop that turns no more than once.
    """
    node = item.source
    if isinstance(node, Branch):
        return not _asks_data(item)
    turns = isinstance(node, Loop) and node.kind not in GRID_KINDS | CONCURRENT_KINDS
    return turns and (item.count.trips or 2) <= 1


def _asks_data(item: CostNode) -> bool:
    return is_data_dependent(item.context.resolve(item.source.condition))


def _instructions(item: CostNode) -> float:
    """About how many instructions a thread has for one execution of straight code."""
    node = item.source
    if isinstance(node, Statement):
        executions = item.count.executions
        if not executions:
            return 0.0
        computed = sum(item.arith.instructions.values()) / executions
        outside = sum(not entry.buffer.scope.startswith("local") for entry in item.count.accesses)
        return computed + outside
    turns = (item.count.trips or 1) if isinstance(node, Loop) else 1
    return turns * sum(map(_instructions, item.children))


def places_from(item: CostNode) -> set[str]:
    """The arrays in which loads of a node find their own places."""
    return {
        str(load[1])
        for leaf in item.leaves()
        if some(leaf, READS) and every(leaf, STRAIGHT)
        for entry in leaf.count.accesses
        if entry.access.mode == "read" and entry.buffer.scope == "global"
        for index in entry.access.indices
        for load in loads_of(leaf.context.resolve(index))
    }


def loaded(item: CostNode) -> set[str]:
    """The global arrays that a node loads from."""
    if not some(item, READS):
        return set()
    return {
        entry.access.buffer
        for leaf in item.leaves()
        if leaf.read_bytes
        for entry in leaf.count.accesses
        if entry.access.mode == "read" and entry.buffer.scope == "global"
    }


def starts_at_once(item: CostNode) -> bool:
    """Whether the compiler starts all loads of an unrolled loop first.

    Not if its turns store, and load by instructions that have to stay behind a store.
    """
    return item.source.kind == "unroll" and not (some(item, STORES) and some(item, ORDERED))


def branches(item: CostNode, device: Device) -> bool:
    """Whether the code of a node branches by itself, so that no load is moved before what it does.

    LLVM's division for AMD has no branch (``AMDGPUTargetLowering``: ``DIV_SCALE``, ``DIV_FIXUP``),
    and Metal approximates.
    """
    return device.vendor == "NVIDIA" and any(leaf.arith.branches for leaf in item.leaves())


def waits_for_loads(loop: Loop, trips: float) -> float:
    """How often a thread waits for the loads of `trips`, which the compiler brings together.

    All of a short loop of constant extent, which it unrolls whole, four of a longer one.  A number
    of trips that is known at run time only is gone through four at a time, and what is left one by
    one.
    """
    if isinstance(loop.extent, int):
        return max(
            1.0,
            trips
            / (
                MAX_FULL_UNROLL_ITERATIONS
                if trips <= MAX_FULL_UNROLL_ITERATIONS
                else PARTIAL_UNROLL_ITERATIONS
            ),
        )
    whole, rest = divmod(trips, PARTIAL_UNROLL_ITERATIONS)
    return max(1.0, whole + rest)


def brings_together(item: CostNode) -> bool:
    """Whether the compiler can bring the loads of a loop's iterations together.

    Barriers and conditions on data keep them apart; a tile in shared memory brings barriers, unless
    no thread touches what another one does.  Loads that have to stay behind a store stay apart with
    the stores: nvcc 13.0 unrolls torch's layer norm by four turns, whose loads of ``gamma`` are
    behind the stores of the turns before, and those of ``X``, which is ``__restrict__``, are not.
    """
    if some(item, STORES) and some(item, ORDERED):
        return False
    places: dict[str, set[tuple[Any, ...]]] = {}
    for leaf in item.leaves():
        for entry in leaf.count.accesses:
            if entry.buffer.scope.startswith("shared"):
                resolved = tuple(leaf.context.resolve(index) for index in entry.access.indices)
                places.setdefault(entry.access.buffer, set()).add(resolved)
    shared = {name for name, indices in places.items() if len(indices) > 1}
    return all(
        (leaf.source.per == "thread" or _is_of_threads(leaf, shared))
        and not isinstance(leaf.source, Barrier)
        and not (leaf.mapping is not None and leaf.mapping.is_serial)
        for leaf in item.leaves()
    )


def _is_of_threads(leaf: CostNode, exchanged: Container[str]) -> bool:
    """Whether a tile loop's statement becomes code that each thread runs without the others.

    Threads hand each other what is in the `exchanged` tiles.
    """
    stores = any(
        entry.access.mode != "read" and entry.access.buffer in exchanged
        for entry in leaf.count.accesses
    )
    return is_in_tile_loop(leaf.context) and not stores
