"""Straight runs of instructions: which loads the compiler starts first, and which come later."""

from __future__ import annotations

from tirlens_worker.facts import Loop, Statement

from ..instructions.places import loads_of
from ..instructions.traits import LOADS, READS, STRAIGHT, every, some
from ..instructions.work import Item


def starts_loads(item: Item) -> bool:
    """Whether a node loads from memory."""
    return some(item, LOADS)


def is_unrolled(item: Item) -> bool:
    """Whether a node is a statement, or becomes a row of them."""
    if isinstance(item.node, Loop):
        return item.node.kind == "unroll" and all(map(is_unrolled, item.children))
    return isinstance(item.node, Statement)


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
