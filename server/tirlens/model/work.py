"""The kernel's tree with what each leaf does: operations, bytes at each level, places.

`Item` mirrors the tree of counts.  Everything in it is a total over the whole launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tirlens_worker.facts import Buffer, KernelFacts, Let, Loop, Statement

from .classes import ArithTotals, totals
from .places import Place, outermost


@dataclass(eq=False)
class Item:
    """One node of the tree; `flop` and `global_bytes` are exact, or None where not known.

    `repeats` is how often one block (or thread) executes it one after the other.
    """

    node: Any
    count: Any
    place: Place
    children: tuple[Item, ...] = ()
    arith: ArithTotals = field(default_factory=ArithTotals)
    flop: int | None = 0
    read_bytes: int | None = 0
    write_bytes: int | None = 0
    shared_bytes: int = 0
    l2_read_bytes: float = 0.0
    l2_write_bytes: float = 0.0
    dram_read_bytes: float = 0.0
    dram_write_bytes: float = 0.0
    sectors_per_request: float | None = None
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def global_bytes(self) -> int | None:
        if self.read_bytes is None or self.write_bytes is None:
            return None
        return self.read_bytes + self.write_bytes

    def leaves(self) -> Iterator[Item]:
        if isinstance(self.node, Statement):
            yield self
        for child in self.children:
            yield from child.leaves()


def build(
    facts: KernelFacts, counts: Any, bindings: Mapping[str, int], buffers: Mapping[str, Buffer]
) -> tuple[Item, ...]:
    """The tree of a kernel with operations and issued bytes of every leaf."""
    return _nodes(counts.root, outermost(bindings), buffers)


def _nodes(
    counts: tuple[Any, ...], place: Place, buffers: Mapping[str, Buffer]
) -> tuple[Item, ...]:
    items: list[Item] = []
    for count in counts:
        node = count.node
        if isinstance(node, Let):
            place = place.with_let(node)
            continue
        inner = place.inside(node) if isinstance(node, Loop) else place
        children = _nodes(count.children, inner, buffers)
        item = Item(node, count, place, children)
        if isinstance(node, Statement):
            _leaf(item, buffers)
        items.append(item)
    return tuple(items)


def _leaf(item: Item, buffers: Mapping[str, Buffer]) -> None:
    count = item.count
    pairs = [(entry.arith, entry.total) for entry in count.arith]
    item.arith = totals(pairs)
    unknown = any(total is None and not arith.index for arith, total in pairs)
    item.flop = None if unknown else item.arith.flop
    for entry in count.accesses:
        scope = buffers[entry.access.buffer].scope if entry.access.buffer in buffers else "global"
        if scope == "global":
            _global(item, entry)
        elif entry.bytes is not None and scope.startswith("shared"):
            item.shared_bytes += entry.bytes


def _global(item: Item, entry: Any) -> None:
    mode = entry.access.mode
    if entry.bytes is None:
        if mode != "write":
            item.read_bytes = None
        if mode != "read":
            item.write_bytes = None
        return
    if mode != "write" and item.read_bytes is not None:
        item.read_bytes += entry.bytes
    if mode != "read" and item.write_bytes is not None:
        item.write_bytes += entry.bytes


def total(values: Iterator[int | None]) -> int | None:
    """The sum, unknown as soon as one of the values is."""
    out = 0
    for value in values:
        if value is None:
            return None
        out += value
    return out
