"""What a statement issues: operations, addresses, accesses on the lanes of a warp, and bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tirlens_worker.facts import Buffer, Expr

from ..classes import ArithTotals, totals
from ..expr import is_data_dependent
from .addressing import chosen_instructions, index_instructions, index_parts
from .hoisting import addressed_share, issued_share, packed_share
from .places import SetIn
from .spread import memory_of, spread
from .work import NO_ARITH, Item


@dataclass(frozen=True)
class Block:
    """What all statements of a block share: arrays, threads, tiles that matrices set, compiler.

    `written` are the loops around what writes to each array.
    """

    buffers: Mapping[str, Buffer]
    threads: int
    accumulators: frozenset[str]
    fast_math: bool
    written: SetIn


def fill_leaf(
    item: Item, block: Block, threads: int, known: frozenset[Expr], like: dict[object, Item]
) -> frozenset[Expr]:
    """Fill in a leaf; returns the parts of addresses that are known behind it.

    `like` are leaves of the same place that touch no memory.  What is computed alike from other
    registers, as copies of unrolled code are, is taken over from them.
    """
    count, buffers = item.count, block.buffers
    item.threads = threads
    item.accumulators = block.accumulators
    key = _in_registers(item, buffers)
    if key is not None:
        same = like.setdefault(key, item)
        if same is not item:
            item.spread, item.arith, item.flop = same.spread, same.arith, same.flop
            item.useful_flop, item.masked_flop = same.useful_flop, same.masked_flop
            return known
    item.spread = spread(
        item.node, item.place, buffers, item.threads, block.accumulators, written=block.written
    )
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


def _in_registers(item: Item, buffers: Mapping[str, Buffer]) -> object:
    """What is the same for leaves of one place that compute alike; None for any other.

    Each thread executes them by itself, and all that they touch are its own registers.
    """
    node = item.node
    if node.per != "thread":
        return None
    for access in node.accesses:
        own = buffers[access.buffer].scope in ("local", "local.var")
        if not own or access.guard is not None:
            return None
    return node.arith, len(node.accesses)


def agree(leaves: Sequence[Item], block: Block) -> None:
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


def _issued(item: Item, fast_math: bool) -> ArithTotals:
    """A leaf's operations, with the instructions that a compiler makes of them."""
    if not item.count.arith:
        return NO_ARITH
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
