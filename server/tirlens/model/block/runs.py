"""Straight runs of instructions: which loads the compiler starts first, and which come later."""

from __future__ import annotations

from tirlens_worker.facts import Branch, Loop, Statement

from ..expr import is_data_dependent
from ..instructions.places import SIDE_BY_SIDE, SPATIAL, loads_of
from ..instructions.traits import LOADS, READS, STRAIGHT, every, some
from ..instructions.work import Item

# ptxas 13.0 for sm_100a puts a condition on the instructions of a branch of 17 instructions (a load
# and 16 multiply-adds) and jumps over one of 25.
PREDICATED = 20


def starts_loads(item: Item) -> bool:
    """Whether a node loads from memory."""
    return some(item, LOADS)


def is_unrolled(item: Item) -> bool:
    """Whether a node is a statement, or becomes a row of them.

    A short branch does, whose instructions carry its condition.
    """
    node = item.node
    if isinstance(node, Loop):
        return node.kind == "unroll" and all(map(is_unrolled, item.children))
    if isinstance(node, Branch):
        return (
            not _asks_data(item)
            and _instructions(item) <= PREDICATED
            and all(map(is_unrolled, item.children))
        )
    return isinstance(node, Statement)


def is_entered_once(item: Item) -> bool:
    """Whether what stands first in a node follows what stands before it, and no data tell.

    So it is in a branch, and in a loop that turns no more than once.
    """
    node = item.node
    if isinstance(node, Branch):
        return not _asks_data(item)
    turns = isinstance(node, Loop) and node.kind not in SPATIAL | SIDE_BY_SIDE
    return turns and (item.count.trips or 2) <= 1


def _asks_data(item: Item) -> bool:
    return is_data_dependent(item.place.resolve(item.node.condition))


def _instructions(item: Item) -> float:
    """About how many instructions a thread has for one execution of straight code."""
    node = item.node
    if isinstance(node, Statement):
        executions = item.count.executions
        if not executions:
            return 0.0
        computed = sum(item.arith.instructions.values()) / executions
        outside = sum(not entry.buffer.scope.startswith("local") for entry in item.count.accesses)
        return computed + outside
    turns = (item.count.trips or 1) if isinstance(node, Loop) else 1
    return turns * sum(map(_instructions, item.children))


def places_from(item: Item) -> set[str]:
    """The arrays in which loads of a node find their own places."""
    return {
        str(load[1])
        for leaf in item.leaves()
        if some(leaf, READS) and every(leaf, STRAIGHT)
        for entry in leaf.count.accesses
        if entry.access.mode == "read" and entry.buffer.scope == "global"
        for index in entry.access.indices
        for load in loads_of(leaf.place.resolve(index))
    }


def loaded(item: Item) -> set[str]:
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
