"""Traits of the statements in a node, as bits that are computed once for all devices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tirlens_worker.facts import Call, Copy, Evaluate, Fill, Gemm, Load, Mma, Store

if TYPE_CHECKING:
    from .node import CostNode, Leaf

# Statements that the compiler reorders freely: no barrier, no operation on a whole tile.
_STRAIGHT = (Store, Evaluate, Call, Load)

# A set of traits, with a bit for each.
Traits = int

#: A statement of single threads, or of a tile loop, without a barrier.
STRAIGHT: Traits = 1 << 0
#: A product of tiles.
PRODUCT: Traits = 1 << 1
#: A product that is only started, or an evaluated expression.
STARTED: Traits = 1 << 2
#: Loads from global memory.
READS: Traits = 1 << 3
#: Is a load, or loads from global memory.
LOADS: Traits = 1 << 4
#: Loads from global memory without arithmetic.
PURE_LOAD: Traits = 1 << 5
LOADS_REGISTERS: Traits = 1 << 6
#: An asynchronous copy (TMA or cp.async).
COPIES: Traits = 1 << 7
#: Loads from or stores to shared memory.
SHARED: Traits = 1 << 8
#: An operation on a barrier, or the start of an asynchronous product.
EVENT: Traits = 1 << 9

#: Stores to global memory.
STORES: Traits = 1 << 10
#: A load that the compiler does not reorder with stores, which may be to the same address.
ORDERED: Traits = 1 << 11

_ALL: Traits = (1 << 12) - 1


def body_traits(body: Iterable[CostNode]) -> tuple[Traits, Traits]:
    """The traits of every statement of a body, and those of at least one."""
    every, some = _ALL, 0
    for node in body:
        of_all, of_some = node.traits
        every &= of_all
        some |= of_some
    return every, some


def statement_traits(cost: Leaf) -> Traits:
    """The traits of a statement."""
    node = cost.source
    found = 0
    reads = False
    # A copy, conversion or fill of a register tile is code of each thread.
    fills_registers = isinstance(node, (Copy, Fill))
    for entry in cost.count.accesses:
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
    if cost.read_bytes:
        found |= READS
        if reads:
            found |= LOADS
        if not cost.arith.flop:
            found |= PURE_LOAD
            if node.per == "thread":
                found |= LOADS_REGISTERS
    if isinstance(node, Load):
        found |= LOADS
        if cost.read_bytes and not node.read_only:
            found |= ORDERED
    if cost.write_bytes:
        found |= STORES
    if node.signals or starts_product(cost):
        found |= EVENT
    return found


#: A register of a thread, or an element of a tile: the array and its index; None if not constant.
Register = tuple[str, int | None]
Registers = tuple[tuple[Register, ...], tuple[Register, ...]]


def registers_of(leaf: Leaf) -> Registers:
    """The registers and tile elements that a statement reads, and those that it writes."""
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


def starts_product(leaf: Leaf) -> bool:
    """Whether a statement starts an asynchronous product."""
    return isinstance(leaf.source, (Gemm, Mma)) and leaf.source.is_asynchronous


def every(cost: CostNode, trait: Traits) -> bool:
    """Whether all statements in a node have a trait; true for a node without statements."""
    return bool(cost.traits[0] & trait)


def some(cost: CostNode, trait: Traits) -> bool:
    """Whether a statement in a node has a trait."""
    return bool(cost.traits[1] & trait)


def only(cost: CostNode, trait: Traits) -> bool:
    """Whether a node has statements, all with a trait."""
    of_all, of_some = cost.traits
    return bool(of_all & of_some & trait)
