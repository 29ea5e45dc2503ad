"""Which loops the compiler unrolls in full before it vectorises: the short ones.

LLVM's ``LoopFullUnrollPass`` takes a loop of known length whose copies have fewer instructions
than a threshold; those that address elements count, as far as they are no part of a load or store.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Branch, Loop, Statement

from ...dtypes import is_float
from ...tree.node import CostNode
from .statements import Address, Leaf, chosen, distinct, operations

# llvm/lib/Transforms/Scalar/LoopUnrollPass.cpp, getUnrollThreshold at -O3 and BEInsns.
THRESHOLD = 300
ONCE = 2
# The induction variable's increment and the branch; the comparison is among those that stay once.
LOOP_INSTRUCTIONS = 2
# What a condition compares, the comparison, the branch, and the one behind the statement.  Where
# the loop's counter alone decides it, it is decided in each copy (``LoopUnrollAnalyzer``); where it
# has no part in it, the condition is outside (``SimpleLoopUnswitch``).
CONDITION_INSTRUCTIONS = 4

Addresses = tuple[tuple[Address, ...], tuple[Address, ...]]


class Unrolling:
    """The instructions of unrolled loops, from what each of their statements reads and writes."""

    def __init__(self, addresses: Callable[[CostNode], Addresses], register_bytes: int) -> None:
        self._addresses = addresses
        self._register_bytes = register_bytes
        self._known: dict[tuple[int, str | None], float] = {}

    def unrolled(self, item: CostNode) -> bool:
        """Whether there is no loop left in a node."""
        return self._instructions(item, None) < math.inf

    def _instructions(self, item: CostNode, loop: Loop | None) -> float:
        """Instructions of a node in a loop when all loops in it are unrolled, else infinity."""
        key = (id(item), loop.var if loop else None)
        if key not in self._known:
            self._known[key] = self._count(item, loop)
        return self._known[key]

    def _count(self, item: CostNode, loop: Loop | None) -> float:
        if isinstance(item.source, Statement):
            return self._statement(item, loop)
        if not isinstance(item.source, Loop):
            return sum(self._instructions(child, loop) for child in item.children)
        unroll = item.source.kind == "unroll"
        vector = _is_vector(item)
        inner = loop if unroll or vector else item.source
        inside = sum(self._instructions(child, inner) for child in item.children)
        if vector:
            return inside
        trips = item.count.trips
        if trips is None or item.source.kind == "parallel":
            return math.inf
        if unroll:
            return trips * inside
        total = trips * (inside + LOOP_INSTRUCTIONS) + ONCE
        return total if total < THRESHOLD else math.inf

    def _statement(self, item: CostNode, loop: Loop | None) -> float:
        reads, writes = self._addresses(item)
        around = item.context.loops
        names = [other.var for other in around]
        inner = around[names.index(loop.var) :] if loop is not None else around
        leaf = Leaf(item, reads, writes, inner)
        registers = math.ceil(leaf.lanes * leaf.bits / 8 / self._register_bytes)
        total = registers * _contracted(item)
        if loop is not None and any(
            loop.var in names and len(names) > 1
            for names in map(free_variables, item.context.conditions)
        ):
            total += CONDITION_INSTRUCTIONS
        moved: list[Address] = []
        for address in leaf.addresses:
            kept = loop is not None and loop.var not in address.variables
            # What the iteration before has stored is at hand, and stays so if nobody else sees it.
            again = address in reads and any(_same(address, write) for write in writes)
            if kept and ((again and address.mode == "read") or leaf.on_stack(address)):
                continue
            moved.append(address)
            wide = leaf.lane_loop is not None and leaf.lane_loop in address.variables
            total += (registers if wide else 1) / _shared(address, leaf)
        return total + (_indices(moved, item, loop) if loop else 0)


def _is_vector(item: CostNode) -> bool:
    """Whether a loop is an explicit vector; TVM makes a loop of one with a condition."""
    node = item.source
    return node.kind == "vectorized" and not any(chosen(leaf, node.var) for leaf in item.leaves())


def _shared(address: Address, leaf: Leaf) -> int:
    """How many copies of a statement that TVM unrolls use one load."""
    loops = (loop for loop in leaf.inner if loop.kind == "unroll")
    alone = [loop.extent or 1 for loop in loops if loop.var not in address.variables]
    return math.prod(alone) if address.mode == "read" else 1


def _same(one: Address, other: Address) -> bool:
    return (one.buffer, one.terms, one.constant) == (other.buffer, other.terms, other.constant)


def _contracted(item: CostNode) -> float:
    """Operations of a statement, ``a * b + c`` as one (``llvm.fmuladd``).

    The lesser or greater of two is a comparison and a choice (``CodeGenLLVM``).
    """
    executions = max(item.count.executions or 1, 1)
    adds = multiplies = chosen = 0.0
    for entry in item.count.arith:
        if entry.arith.op in ("min", "max") and not entry.arith.index:
            chosen += distinct(entry) / executions
        if is_float(entry.arith.dtype) and not entry.arith.index:
            adds += distinct(entry) * (entry.arith.op in ("add", "sub")) / executions
            multiplies += distinct(entry) * (entry.arith.op == "mul") / executions
    # A factor of several summands stays a product.
    return operations(item) + chosen - (adds if multiplies >= adds else max(multiplies - 1, 0.0))


def _indices(moved: Sequence[Address], item: CostNode, loop: Loop) -> int:
    """Instructions that make addresses in each iteration.

    One for each place that is not the next element's.  Additions of what a loop does not change are
    taken out of it before the function is inlined and simplified again, unless several accesses use
    one of them, or it and a constant beside it.  The body of a parallel loop is not inlined.
    """
    places: dict[object, set[tuple[str, int]]] = {}
    apart: set[object] = set()
    for address in moved:
        if loop.var in address.variables:
            place = tuple((atom, factor / address.size) for atom, factor in address.terms)
            places.setdefault(place, set()).add((address.buffer, address.constant))
            stride = address.stride(loop.var, item.context.ranges)
            if stride is None or abs(stride) != address.size:
                apart.add(place)
    called = any(around.kind == "parallel" for around in item.context.loops)
    if not called and all(len(users) == 1 for users in places.values()):
        return len(apart)
    beside = any(len({offset for _, offset in users}) > 1 for users in places.values())
    return len(apart) + max(len(places), 1 + beside)


def opened(items: Sequence[CostNode]) -> Iterator[CostNode]:
    """The items with branches replaced by what is in them."""
    for item in items:
        if isinstance(item.source, Branch):
            yield from opened(item.children)
        else:
            yield item
