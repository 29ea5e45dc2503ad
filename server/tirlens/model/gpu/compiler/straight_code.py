"""Straight-line code of tile statements, in which elements can be computed one by one.

A thread's elements of a tile are independent until a reduction along a row or an exchange through
shared memory.  If registers are short, the compiler finishes some elements before it starts others:
``sum(o * do)`` over 256 x 256 elements on 128 threads, with 512 registers of sums and 512 of
halves, takes 194 registers and no stack (ptxas 13.0 for sm_90a, `tests/measured/compiled.csv`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tirlens_worker.facts import Branch, Copy, Evaluate, Fill, Loop, Reduce, Statement, Store

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS
from ...tree.node import CostNode
from ...tree.trip_counts import mean_trip_count

_ELEMENTWISE_OPS = (Store, Evaluate, Copy, Fill, Reduce)
_CONCURRENT_KINDS = GRID_KINDS | CONCURRENT_KINDS


def find_straight_code(costs: Sequence[CostNode]) -> list[range]:
    """The pieces of straight-line code, as ranges of statement numbers in program order.

    A loop of one iteration does not end a piece.
    """
    found: list[range] = []
    begin = number = 0
    handed: set[str] = set()
    for leaf in _statements(costs):
        belongs = (
            leaf is not None
            and leaf.source.per == "block"
            and isinstance(leaf.source, _ELEMENTWISE_OPS)
        )
        if leaf is None or not belongs or _reads_any(leaf, handed):
            found.append(range(begin, number))
            begin, handed = number, set[str]()
        if leaf is None:
            continue
        number += 1
        handed |= _shared_arrays(leaf, "write")
        if isinstance(leaf.source, Reduce) or not belongs:
            found.append(range(begin, number) if belongs else range(0))
            begin, handed = number, set[str]()
    found.append(range(begin, number))
    return [piece for piece in found if len(piece) > 1]


def _statements(costs: Sequence[CostNode]) -> Iterator[CostNode | None]:
    """The statements in program order; None where a loop or branch starts or ends."""
    for cost in costs:
        node = cost.source
        if isinstance(node, Statement):
            yield cost
            continue
        concurrent = isinstance(node, Loop) and (
            node.kind in _CONCURRENT_KINDS or mean_trip_count(cost) == 1
        )
        in_tile = isinstance(node, Branch) and any(
            loop.kind in CONCURRENT_KINDS for loop in cost.context.loops
        )
        if concurrent or in_tile:
            yield from _statements(cost.children)
        else:
            yield None
            yield from _statements(cost.children)
            yield None


def _reads_any(leaf: CostNode, names: set[str]) -> bool:
    return bool(names) and not names.isdisjoint(_shared_arrays(leaf, "read"))


def _shared_arrays(leaf: CostNode, mode: str) -> set[str]:
    return {
        entry.buffer.alias_of or entry.buffer.id
        for entry in leaf.count.accesses
        if entry.access.mode in (mode, "update") and entry.buffer.scope.startswith("shared")
    }
