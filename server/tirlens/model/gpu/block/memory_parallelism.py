"""Memory-level parallelism: which loads of a thread are in flight at the same time.

The compiler issues the loads of straight-line code before the code that needs them, and batches
those of several iterations of a loop, so that they share one wait.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from tirlens.hardware.spec import Device
from tirlens_counting.expressions import is_data_dependent
from tirlens_worker.facts import Barrier, Loop

from ...constants import constant
from ...tree.compiled import Instructions
from ...tree.context import CONCURRENT_KINDS, GRID_KINDS, is_in_tile_loop, loads_of
from ...tree.node import BranchCost, CostNode, Leaf, LoopCost
from ...tree.table import Table
from ...tree.traits import ORDERED, READS, STORES, some
from ..compiler.predication import MAX_FULL_UNROLL_ITERATIONS, PARTIAL_UNROLL_ITERATIONS

PREDICATED_INSTRUCTIONS = constant(
    "PREDICATED_INSTRUCTIONS",
    20,
    kind="compiler",
    unit="instructions",
    meaning=(
        "The longest branch around loads that is predicated: its instructions carry the condition."
    ),
    source=(
        "ptxas 13.0 for sm_100a predicates one of 17 instructions (a load and 16 "
        "multiply-adds) and jumps over one of 25"
    ),
    bounds=(17, 24),
)


def is_straight_line(node: CostNode, instructions: Table[Instructions]) -> bool:
    """Whether a node becomes instructions without a jump.

    A statement does, as do an unrolled loop, the lanes of a vector, and a short branch, which is
    predicated.
    """
    if isinstance(node, LoopCost):
        is_unrolled = node.source.kind in ("unroll", "vectorized")
        return is_unrolled and all(is_straight_line(one, instructions) for one in node.children)
    if isinstance(node, BranchCost):
        return (
            not _has_data_dependent_condition(node)
            and _instructions_per_execution(node, instructions) <= PREDICATED_INSTRUCTIONS
            and all(is_straight_line(one, instructions) for one in node.children)
        )
    return isinstance(node, Leaf)


def is_entered_once(node: CostNode) -> bool:
    """Whether the first statement of a node directly follows the code before the node.

    It does in a branch whose condition is not data, and in a loop of at most one iteration.
    """
    if isinstance(node, BranchCost):
        return not _has_data_dependent_condition(node)
    is_loop = isinstance(node, LoopCost) and node.source.kind not in GRID_KINDS | CONCURRENT_KINDS
    return is_loop and (node.count.trips or 2) <= 1


def _has_data_dependent_condition(branch: BranchCost) -> bool:
    return is_data_dependent(branch.context.resolve(branch.source.condition))


def _instructions_per_execution(node: CostNode, instructions: Table[Instructions]) -> float:
    """About how many instructions a thread issues for one execution of straight-line code."""
    if isinstance(node, Leaf):
        executions = node.count.executions
        if not executions:
            return 0.0
        arithmetic = sum(instructions[node].operations.values()) / executions
        memory = sum(not entry.buffer.scope.startswith("local") for entry in node.count.accesses)
        return arithmetic + memory
    trip_count = (node.count.trips or 1) if isinstance(node, LoopCost) else 1
    return trip_count * sum(
        _instructions_per_execution(child, instructions) for child in node.children
    )


def address_arrays(node: CostNode) -> set[str]:
    """The arrays whose elements are in the addresses that a node loads from."""
    return {
        str(load[1])
        for leaf in node.leaves()
        if some(leaf, READS)
        for entry in leaf.count.accesses
        if entry.access.mode == "read" and entry.buffer.scope == "global"
        for index in entry.access.indices
        for load in loads_of(leaf.context.resolve(index))
    }


def loaded_arrays(node: CostNode) -> set[str]:
    """The arrays in global memory that a node loads from."""
    if not some(node, READS):
        return set()
    return {
        entry.access.buffer
        for leaf in node.leaves()
        if leaf.read_bytes
        for entry in leaf.count.accesses
        if entry.access.mode == "read" and entry.buffer.scope == "global"
    }


def issues_loads_first(loop: LoopCost) -> bool:
    """Whether the compiler issues all loads of a loop before its other instructions.

    It does in an unrolled loop, unless its iterations store and some of their loads may not be
    moved before a store, or branch on data.
    """
    return (
        loop.source.kind == "unroll"
        and not (some(loop, STORES) and some(loop, ORDERED))
        and not any(map(_branches_on_data, loop.children))
    )


def _branches_on_data(node: CostNode) -> bool:
    is_branch = isinstance(node, BranchCost) and _has_data_dependent_condition(node)
    return is_branch or any(map(_branches_on_data, node.children))


def has_arithmetic_branches(
    node: CostNode, instructions: Table[Instructions], device: Device
) -> bool:
    """Whether the arithmetic of a node compiles to branches, which no load is moved across.

    A division does on NVIDIA.  LLVM's for AMD has no branch (``AMDGPUTargetLowering``:
    ``DIV_SCALE``, ``DIV_FIXUP``), and Metal approximates.
    """
    return device.vendor == "NVIDIA" and any(
        instructions[leaf].has_slow_path for leaf in node.leaves()
    )


def load_batches(loop: Loop, trip_count: float) -> float:
    """How often a thread waits for the loads of `trip_count` iterations, which come in batches.

    The compiler unrolls a short loop of constant extent whole, and a longer one by four.  Of a trip
    count that is known only at run time, the iterations left over after fours wait one by one.
    """
    if isinstance(loop.extent, int):
        is_short = trip_count <= MAX_FULL_UNROLL_ITERATIONS
        batch = MAX_FULL_UNROLL_ITERATIONS if is_short else PARTIAL_UNROLL_ITERATIONS
        return max(1.0, trip_count / batch)
    whole, rest = divmod(trip_count, PARTIAL_UNROLL_ITERATIONS)
    return max(1.0, whole + rest)


def can_batch_loads(loop: CostNode, instructions: Table[Instructions]) -> bool:
    """Whether the compiler can issue the loads of several iterations of a loop together.

    Barriers keep them apart, and so do tiles in shared memory, which need barriers unless each
    thread touches its own elements only.  Loads that may not be moved before a store stay with
    their iteration if it stores: nvcc 13.0 unrolls torch's layer norm by four, whose loads of
    ``gamma`` come after the stores of the previous iterations, and those of ``X``, which is
    ``__restrict__``, do not.
    """
    if some(loop, STORES) and some(loop, ORDERED):
        return False
    indices: dict[str, set[tuple[Any, ...]]] = {}
    for leaf in loop.leaves():
        for entry in leaf.count.accesses:
            if entry.buffer.scope.startswith("shared"):
                resolved = tuple(leaf.context.resolve(index) for index in entry.access.indices)
                indices.setdefault(entry.access.buffer, set()).add(resolved)
    exchanged = {name for name, different in indices.items() if len(different) > 1}
    return all(
        (leaf.source.per == "thread" or _is_element_code(leaf, exchanged))
        and not isinstance(leaf.source, Barrier)
        and not instructions[leaf].mapping.is_serial
        for leaf in loop.leaves()
    )


def _is_element_code(leaf: Leaf, exchanged: Container[str]) -> bool:
    """Whether a statement of a tile loop becomes code that each thread executes by itself.

    It does not if it stores to a tile through which threads exchange data.
    """
    stores = any(
        entry.access.mode != "read" and entry.access.buffer in exchanged
        for entry in leaf.count.accesses
    )
    return is_in_tile_loop(leaf.context) and not stores
