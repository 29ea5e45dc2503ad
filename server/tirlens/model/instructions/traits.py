"""What the statements in a node are, found once for all that ask and for all devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirlens_worker.facts import Statement

if TYPE_CHECKING:
    from .work import Item

# Statements that the compiler moves about freely: no barrier, no operation on a whole tile.
_STRAIGHT_OPS = frozenset({"store", "let", "call", "load"})

#: A statement of single threads, or of a tile loop, without a barrier.
STRAIGHT = "straight"
#: A product of tiles.
PRODUCT = "product"
#: A product that is only started, or what names something beside it.
STARTED = "started"
#: Loads from global memory.
READS = "reads"
#: Is a load, or loads from global memory.
LOADS = "loads"
#: Only brings data from global memory, here or into registers of single threads.
BRINGS = "brings"
LOADS_REGISTERS = "loads registers"
#: A copy by TMA or cp.async, which is only started.
COPIES = "copies"
#: Loads from or stores to shared memory.
SHARED = "shared"
#: Does something to barriers, or starts a product that something else waits for.
EVENT = "event"

Traits = frozenset[str]
_ALL: Traits = frozenset(
    (
        STRAIGHT,
        PRODUCT,
        STARTED,
        READS,
        LOADS,
        BRINGS,
        LOADS_REGISTERS,
        COPIES,
        SHARED,
        EVENT,
    )
)
_NONE: Traits = frozenset()


def traits_of(item: Item) -> tuple[Traits, Traits]:
    """What holds for every statement in a node, and what for some of them."""
    if isinstance(item.node, Statement):
        mine = frozenset(_of_statement(item))
        return mine, mine
    every, some = _ALL, _NONE
    for child in item.children:
        of_all, of_some = child.traits
        every &= of_all
        some |= of_some
    return every, some


def _of_statement(item: Item) -> list[str]:
    node = item.node
    straight = node.op in _STRAIGHT_OPS or _fills_registers(item)
    found: list[str] = [STRAIGHT] if straight else []
    if node.op == "gemm":
        found.append(PRODUCT)
        if node.attributes.get("wg_wait") == -1:
            found.append(STARTED)
    elif node.op == "let":
        found.append(STARTED)
    if item.read_bytes:
        found.append(READS)
        if not item.arith.flop:
            found.append(BRINGS)
            if node.per == "thread":
                found.append(LOADS_REGISTERS)
    reads = False
    for entry in item.count.accesses:
        if entry.buffer.scope.startswith("shared"):
            found.append(SHARED)
        if entry.access.mode == "read":
            reads = reads or bool(entry.bytes)
            if entry.access.route in ("tma", "async"):
                found.append(COPIES)
    if node.op == "load" or (reads and item.read_bytes):
        found.append(LOADS)
    if node.signals or starts_product(item):
        found.append(EVENT)
    return found


def _fills_registers(leaf: Item) -> bool:
    """Whether a tile operation is code that each thread runs for its own registers.

    So are a tile's copy from shared memory, its conversion and its first value.
    """
    return leaf.node.op in ("copy", "fill") and all(
        entry.buffer.scope.startswith("local")
        or (entry.access.mode == "read" and entry.buffer.scope.startswith("shared"))
        for entry in leaf.count.accesses
    )


def starts_product(leaf: Item) -> bool:
    """Whether a statement starts a product that something else waits for."""
    attributes = leaf.node.attributes
    return attributes.get("wg_wait") == -1 or bool(attributes.get("asynchronous"))


def every(item: Item, trait: str) -> bool:
    """Whether all statements in a node are so; all of none are."""
    return trait in item.traits[0]


def some(item: Item, trait: str) -> bool:
    """Whether a statement in a node is so."""
    return trait in item.traits[1]


def only(item: Item, trait: str) -> bool:
    """Whether a node has statements, and all of them are so."""
    of_all, of_some = item.traits
    return trait in of_all and trait in of_some
