"""What the statements in a node are, found once for all that ask and for all devices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tirlens_worker.facts import Call, Copy, Evaluate, Fill, Gemm, Load, Mma, Store

if TYPE_CHECKING:
    from .node import CostNode, StatementCost

# Statements that the compiler moves about freely: no barrier, no operation on a whole tile.
_STRAIGHT = (Store, Evaluate, Call, Load)

# A set of traits is a number with a bit for each: asked of every node, often.
Traits = int

#: A statement of single threads, or of a tile loop, without a barrier.
STRAIGHT: Traits = 1 << 0
#: A product of tiles.
PRODUCT: Traits = 1 << 1
#: A product that is only started, or what names something beside it.
STARTED: Traits = 1 << 2
#: Loads from global memory.
READS: Traits = 1 << 3
#: Is a load, or loads from global memory.
LOADS: Traits = 1 << 4
#: Only brings data from global memory, here or into registers of single threads.
BRINGS: Traits = 1 << 5
LOADS_REGISTERS: Traits = 1 << 6
#: A copy by TMA or cp.async, which is only started.
COPIES: Traits = 1 << 7
#: Loads from or stores to shared memory.
SHARED: Traits = 1 << 8
#: Does something to barriers, or starts a product that something else waits for.
EVENT: Traits = 1 << 9

#: Stores to global memory.
STORES: Traits = 1 << 10
#: A load that no compiler moves over a store, which may be to the same place.
ORDERED: Traits = 1 << 11

_ALL: Traits = (1 << 12) - 1


def body_traits(body: Iterable[CostNode]) -> tuple[Traits, Traits]:
    """What holds for every statement of a body, and what for some of them."""
    every, some = _ALL, 0
    for node in body:
        of_all, of_some = node.traits
        every &= of_all
        some |= of_some
    return every, some


def statement_traits(item: StatementCost) -> Traits:
    """What holds for a statement."""
    node = item.source
    found = 0
    reads = False
    # A tile's copy from shared memory, its conversion and its first value are code that each
    # thread runs for its own registers.
    fills_registers = isinstance(node, (Copy, Fill))
    for entry in item.count.accesses:
        access, scope = entry.access, entry.buffer.scope
        is_read = access.mode == "read"
        if scope.startswith("shared"):
            found |= SHARED
            fills_registers = fills_registers and is_read
        elif not scope.startswith("local"):
            fills_registers = False
        if is_read:
            reads = reads or bool(entry.bytes)
            if entry.buffer.may_overlap:
                found |= ORDERED
            if access.route in ("tma", "async"):
                found |= COPIES
    if fills_registers or isinstance(node, _STRAIGHT):
        found |= STRAIGHT
    if isinstance(node, Gemm):
        found |= PRODUCT
        if node.is_asynchronous:
            found |= STARTED
    elif isinstance(node, Evaluate):
        found |= STARTED
    if item.read_bytes:
        found |= READS
        if reads:
            found |= LOADS
        if not item.arith.flop:
            found |= BRINGS
            if node.per == "thread":
                found |= LOADS_REGISTERS
    if isinstance(node, Load):
        found |= LOADS
        if item.read_bytes and not node.read_only:
            found |= ORDERED
    if item.write_bytes:
        found |= STORES
    if node.signals or starts_product(item):
        found |= EVENT
    return found


#: A thread's register, or an element of a tile: the array, and its place where that is a constant.
Register = tuple[str, int | None]
Registers = tuple[tuple[Register, ...], tuple[Register, ...]]


def registers_of(leaf: StatementCost) -> Registers:
    """What a statement reads and writes of registers and of tiles."""
    reads: list[Register] = []
    writes: list[Register] = []
    for entry in leaf.count.accesses:
        access, buffer = entry.access, entry.buffer
        if buffer.scope == "global":
            continue
        name, place = buffer.alias_of or buffer.id, None
        if len(access.indices) == 1 and access.lanes == 1 and not access.extents:
            index = leaf.context.resolve(access.indices[0])
            place = index if isinstance(index, int) and buffer.alias_of is None else None
        if access.mode != "write":
            reads.append((name, place))
        if access.mode != "read":
            writes.append((name, place))
    return tuple(reads), tuple(writes)


def starts_product(leaf: StatementCost) -> bool:
    """Whether a statement starts a product that something else waits for."""
    return isinstance(leaf.source, (Gemm, Mma)) and leaf.source.is_asynchronous


def every(item: CostNode, trait: Traits) -> bool:
    """Whether all statements in a node are so; all of none are."""
    return bool(item.traits[0] & trait)


def some(item: CostNode, trait: Traits) -> bool:
    """Whether a statement in a node is so."""
    return bool(item.traits[1] & trait)


def only(item: CostNode, trait: Traits) -> bool:
    """Whether a node has statements, and all of them are so."""
    of_all, of_some = item.traits
    return bool(of_all & of_some & trait)
