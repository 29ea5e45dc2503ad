"""The kernel's tree with what each leaf does: operations, bytes at each level, places.

`Item` mirrors the tree of counts.  Everything in it is a total over the whole launch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from tirlens_worker.facts import (
    Branch,
    Buffer,
    Expr,
    KernelFacts,
    Let,
    Loop,
    Node,
    Statement,
    While,
)

from ..classes import ArithTotals, totals
from ..expr import is_data_dependent
from .active import active_threads
from .addressing import chosen_instructions, index_instructions, index_parts
from .hoisting import addressed_share, issued_share, packed_share
from .places import SIDE_BY_SIDE, SPATIAL, Place, outermost
from .spread import Spread, memory_of, spread
from .traits import Registers, Traits, registers_of, traits_of

# How these loops run decides what a thread does, and how often.
_NOT_IN_TURN = SPATIAL | SIDE_BY_SIDE | {"unroll"}


# Shared by all that compute nothing; sums are only ever filled in by `totals`.
_NO_ARITH = ArithTotals()


@dataclass(eq=False)
class Item:
    """One node of the tree; `flop` and `global_bytes` are exact, or None where not known.

    `useful_flop` of `flop` contribute to the result, and masks hide `masked_flop`.

    `threads` is how many of a block's threads take part, `spread` how its accesses lie on them,
    `index_instructions` what one thread computes for the addresses of one execution.

    Blocks that ask for the same bytes at the same time all wait for the one fetch from DRAM:
    `dram_waited_bytes` are the bytes of all who wait.  Of a leaf's arrays in registers,
    `spilled_share` lies in local memory.
    """

    node: Any
    count: Any
    place: Place
    children: tuple[Item, ...] = ()
    arith: ArithTotals = field(default_factory=lambda: _NO_ARITH)
    flop: int | None = 0
    useful_flop: int | None = 0
    masked_flop: int | None = 0
    read_bytes: int | None = 0
    write_bytes: int | None = 0
    shared_bytes: int = 0
    l2_read_bytes: float = 0.0
    l2_write_bytes: float = 0.0
    dram_read_bytes: float = 0.0
    dram_write_bytes: float = 0.0
    dram_waited_bytes: float = 0.0
    sectors_per_request: float | None = None
    spilled_share: float = 0.0
    spread: Spread | None = None
    threads: int = 1
    index_instructions: float = 0.0
    accumulators: frozenset[str] = frozenset()
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def global_bytes(self) -> int | None:
        if self.read_bytes is None or self.write_bytes is None:
            return None
        return self.read_bytes + self.write_bytes

    def leaves(self) -> tuple[Item, ...]:
        """The statements inside, in program order."""
        return self._leaves

    def again(self, **changed: Any) -> Item:
        """The same work of a node with nothing said yet of caches, memory and time."""
        item = object.__new__(Item)
        known = item.__dict__
        known.update(self.__dict__)
        known.update(_UNTIMED)
        known.pop("_leaves", None)
        item.seconds = {}
        if changed:
            known.update(changed)
        elif self.children:
            item.children = tuple([child.again() for child in self.children])
        return item

    @cached_property
    def _leaves(self) -> tuple[Item, ...]:
        if isinstance(self.node, Statement):
            return (self,)
        children = self.children
        if len(children) == 1:
            return children[0].leaves()
        inside: list[Item] = []
        for child in children:
            if isinstance(child.node, Statement):
                inside.append(child)
            else:
                inside += child.leaves()
        return tuple(inside)

    @cached_property
    def traits(self) -> tuple[Traits, Traits]:
        """What holds for every statement inside, and what for some of them: see `traits`."""
        return traits_of(self)

    @cached_property
    def registers(self) -> Registers:
        """What a statement reads and writes of registers and of tiles: see `traits`."""
        return registers_of(self)


_UNTIMED: Mapping[str, Any] = {
    "l2_read_bytes": 0.0,
    "l2_write_bytes": 0.0,
    "dram_read_bytes": 0.0,
    "dram_write_bytes": 0.0,
    "dram_waited_bytes": 0.0,
    "sectors_per_request": None,
    "spilled_share": 0.0,
}


def build(
    facts: KernelFacts,
    counts: Any,
    bindings: Mapping[str, int],
    buffers: Mapping[str, Buffer],
    like: Sequence[Item] | None = None,
) -> tuple[Item, ...]:
    """The tree of a kernel with operations and issued bytes of every leaf.

    `like` is that of a kernel which is `alike`: what its leaves do is taken over.
    """
    if like is not None:
        return _placed(counts.root, outermost(bindings), like)
    block = _Block(
        buffers,
        max(math.prod(counts.launch.threads or (1,)), 1),
        frozenset(_accumulators(counts, buffers)),
        facts.fast_math,
    )
    return _nodes(counts.root, outermost(bindings), block, frozenset())


def alike(nodes: Sequence[Node], others: Sequence[Node]) -> bool:
    """Whether two bodies that are counted alike differ in no more than how loops take their turns.

    What their statements do is the same then; only what runs beside what may differ.
    """
    for node, other in zip(nodes, others, strict=True):
        if node is other:
            continue
        if isinstance(node, Loop) and isinstance(other, Loop):
            same = node.kind == other.kind or {node.kind, other.kind}.isdisjoint(_NOT_IN_TURN)
            inside = same and alike(node.body, other.body)
        elif isinstance(node, Branch) and isinstance(other, Branch):
            inside = alike(node.then, other.then) and alike(node.orelse, other.orelse)
        elif isinstance(node, While) and isinstance(other, While):
            inside = alike(node.body, other.body)
        else:
            inside = False
        if not inside:
            return False
    return True


def _placed(counts: Sequence[Any], place: Place, like: Sequence[Item]) -> tuple[Item, ...]:
    """The items of a body that has those of another one, which is alike, with its own loops."""
    items: list[Item] = []
    old = iter(like)
    for count in counts:
        node = count.node
        if isinstance(node, Let):
            place = place.with_let(node)
            continue
        item = next(old)
        if isinstance(node, Branch):
            first = len(node.then)
            own = sum(not isinstance(inside, Let) for inside in node.then)
            then, orelse = place.where(node.condition), place.where(("not", node.condition))
            children = (
                *_placed(count.children[:first], then, item.children[:own]),
                *_placed(count.children[first:], orelse, item.children[own:]),
            )
        else:
            children = _placed(count.children, _inside(count, place), item.children)
        items.append(item.again(node=node, count=count, place=place, children=children))
    return tuple(items)


def _inside(count: Any, place: Place) -> Place:
    """The place in the body of a loop, or of what repeats until something happens."""
    node = count.node
    if isinstance(node, Loop):
        return place.inside(node, count.trips)
    if isinstance(node, While):
        return place.turning(node.var or f"while {id(node)}", count.trips or 1)
    return place


@dataclass(frozen=True)
class _Block:
    """What all statements of a block share: arrays, threads, tiles that matrices set, compiler."""

    buffers: Mapping[str, Buffer]
    threads: int
    accumulators: frozenset[str]
    fast_math: bool


def _accumulators(counts: Any, buffers: Mapping[str, Buffer]) -> Iterator[str]:
    for count in counts.statements():
        for access in count.node.accesses:
            if access.route == "mma" and buffers[access.buffer].scope == "local.fragment":
                yield access.buffer


def _nodes(
    counts: tuple[Any, ...], place: Place, block: _Block, known: frozenset[Expr]
) -> tuple[Item, ...]:
    """The items of a body; `known` are parts of addresses that were computed on the way to it."""
    if not counts:
        return ()
    items: list[Item] = []
    threads = active_threads(place, block.threads)
    for count in counts:
        node = count.node
        if isinstance(node, Let):
            place = place.with_let(node)
            continue
        if isinstance(node, Branch):
            first = len(node.then)
            children = (
                *_nodes(count.children[:first], place.where(node.condition), block, known),
                *_nodes(count.children[first:], place.where(("not", node.condition)), block, known),
            )
        else:
            children = _nodes(count.children, _inside(count, place), block, known)
        item = Item(node, count, place, children)
        if isinstance(node, Statement):
            known = _leaf(item, block, threads, known)
        elif isinstance(node, Loop) and node.kind == "parallel" and not in_tile_loop(place):
            _agree(tuple(item.leaves()), block)
        items.append(item)
    return tuple(items)


def in_tile_loop(place: Place) -> bool:
    return any(loop.kind == "parallel" for loop in place.around)


def _agree(leaves: Sequence[Item], block: _Block) -> None:
    """The statements of one tile loop are spread over the threads alike."""
    spreads = [leaf.spread for leaf in leaves if leaf.spread is not None]
    widest = min((one.vector for one in spreads), default=1)
    # A condition on data keeps loads apart only where it waits for loads.
    serial = any(one.serial for one in spreads) and any(map(_loads_at_once, leaves))
    for leaf in leaves:
        one = leaf.spread
        if one is not None and one.vector > widest:
            one = spread(
                leaf.node, leaf.place, block.buffers, leaf.threads, block.accumulators, widest
            )
        leaf.spread = None if one is None else replace(one, serial=serial)
        leaf.arith = _issued(leaf, block.fast_math)


def _loads_at_once(leaf: Item) -> bool:
    """Whether a statement loads from global memory without a condition on data."""
    return any(
        entry.access.mode == "read"
        and entry.buffer.scope == "global"
        and not (
            entry.access.guard is not None
            and is_data_dependent(leaf.place.resolve(entry.access.guard))
        )
        for entry in leaf.count.accesses
    )


def _leaf(item: Item, block: _Block, threads: int, known: frozenset[Expr]) -> frozenset[Expr]:
    """Fill in a leaf; returns the parts of addresses that are known behind it."""
    count, buffers = item.count, block.buffers
    item.threads = threads
    item.accumulators = block.accumulators
    item.spread = spread(item.node, item.place, buffers, item.threads, block.accumulators)
    memory = [access for access in item.node.accesses if memory_of(access, buffers) is not None]
    parts = index_parts(memory, item.place, buffers)
    if parts:
        # The compiler computes once what is the same in all of a body, but for loads.
        item.index_instructions = index_instructions(
            parts - known,
            item.place,
            lambda names: addressed_share(names, item.place, item.spread, item.threads),
        )
        known |= {part for part in parts if not is_data_dependent(part)}
    item.index_instructions += sum(chosen_instructions(access, item.place) for access in memory)
    pairs = [(entry.arith, entry.total) for entry in count.arith]
    item.arith = _issued(item, block.fast_math)
    unknown = any(total is None and not arith.index for arith, total in pairs)
    item.flop = None if unknown else item.arith.flop
    if all(entry.useful == entry.total and entry.masked == 0 for entry in count.arith):
        item.useful_flop, item.masked_flop = item.flop, 0
    else:
        item.useful_flop = _flop_of([(entry.arith, entry.useful) for entry in count.arith])
        item.masked_flop = _flop_of([(entry.arith, entry.masked) for entry in count.arith])
    for entry in count.accesses:
        scope = buffers[entry.access.buffer].scope if entry.access.buffer in buffers else "global"
        if scope == "global":
            _global(item, entry)
        elif entry.bytes is not None and scope.startswith("shared"):
            item.shared_bytes += entry.bytes
    return known


def _issued(item: Item, fast_math: bool) -> ArithTotals:
    """A leaf's operations, with the instructions that a compiler makes of them."""
    if not item.count.arith:
        return _NO_ARITH
    one = item.spread
    pairs = [(entry.arith, entry.total) for entry in item.count.arith]
    if one is None:
        return totals(pairs, fast_math=fast_math)
    matrix = any(access.buffer in item.accumulators for access in item.node.accesses)
    shares = [
        issued_share(arith, item.place, one, item.threads, matrix) * packed_share(arith, one)
        for arith, _ in pairs
    ]
    return totals(pairs, shares, fast_math)


def _flop_of(pairs: Sequence[tuple[Any, int | None]]) -> int | None:
    if any(number is None and not arith.index for arith, number in pairs):
        return None
    return totals(pairs).flop


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


def total(values: Sequence[int | None]) -> int | None:
    """The sum, unknown as soon as one of the values is."""
    return None if None in values else sum(cast("Sequence[int]", values))
