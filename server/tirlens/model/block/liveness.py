"""How many bytes of registers a thread's arrays take at the same time.

The compiler gives the registers of an array that is read for the last time to the next one.  An
array lives from its first access to its last; one that is used inside a loop and outside of it
lives through the whole loop, and so does one whose value goes from one iteration to the next.  The
registers of a thread's own array live apart where all indices are constants.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tirlens_worker.facts import Access, Buffer, Loop, Statement, While

from ..instructions.places import SIDE_BY_SIDE, SPATIAL, dtype_bytes
from ..instructions.work import Item

REGISTER_SCOPES = ("local", "wmma")
REGISTER_BYTES = 4.0


#: An array, or one register of it.
Unit = tuple[str, int | None]


@dataclass
class _Life:
    """`first` and `last` number the statements in program order."""

    first: int
    last: int
    starts_read: bool
    bytes: float


def live_bytes(items: Sequence[Item], counts: Any) -> float:
    """The most bytes that the register arrays of one thread take at the same time."""
    leaves = [leaf for item in items for leaf in item.leaves()]
    lives = _lives(leaves, counts.buffers)
    for low, high in _loops(items):
        for life in lives.values():
            _through(life, low, high)
    steps = [0.0] * (len(leaves) + 1)
    for life in lives.values():
        steps[life.first] += life.bytes
        steps[max(life.last, life.first + 1)] -= life.bytes
    most = now = 0.0
    for step in steps:
        now += step
        most = max(most, now)
    return most


def _lives(leaves: Sequence[Item], buffers: Mapping[str, Any]) -> dict[Unit, _Life]:
    lives: dict[Unit, _Life] = {}
    whole = _indexed_at_run_time(leaves)
    for number, leaf in enumerate(leaves):
        for entry in leaf.count.accesses:
            buffer: Buffer = entry.buffer
            if not buffer.scope.startswith(REGISTER_SCOPES):
                continue
            name = buffer.alias_of or buffer.id
            known = buffers.get(name)
            if known is None or known.bytes is None or math.prod(known.shape or (0,)) == 1:
                # Single values come and go with the expressions that need them.
                continue
            # A fragment is spread over the threads, a local array is each thread's own.
            spread_out = buffer.scope == "local.fragment"
            held = known.bytes / leaf.threads if spread_out else float(known.bytes)
            registers: Iterable[int | None] = (None,)
            if name not in whole:
                registers, held = _registers(entry.access, buffer), REGISTER_BYTES
            for register in registers:
                life = lives.get((name, register))
                if life is None:
                    started = entry.access.mode != "write"
                    lives[name, register] = _Life(number, number, started, held)
                else:
                    life.last, life.bytes = number, max(life.bytes, held)
    return lives


def _registers(access: Access, buffer: Buffer) -> range:
    """Which registers of a thread's array, or of the array that it views, an access touches."""
    size = dtype_bytes(buffer.dtype)
    (index,), offset = access.indices, buffer.element_offset
    assert isinstance(index, int) and isinstance(offset, int)
    first = (offset + index) * size
    return range(
        int(first // REGISTER_BYTES),
        math.ceil((first + access.lanes * size) / REGISTER_BYTES),
    )


def _indexed_at_run_time(leaves: Sequence[Item]) -> frozenset[str]:
    """The arrays that are not accessed element by element with constant indices alone."""
    found: set[str] = set()
    for leaf in leaves:
        for entry in leaf.count.accesses:
            access, buffer = entry.access, entry.buffer
            places = (*access.indices, buffer.element_offset)
            constant = len(places) == 2 and all(isinstance(place, int) for place in places)
            if not constant or buffer.scope != "local" or access.extents:
                found.add(buffer.alias_of or buffer.id)
    return frozenset(found)


def _loops(items: Sequence[Item]) -> list[tuple[int, int]]:
    """First and last statement of each loop whose iterations are in turn, inner ones first."""
    found: list[tuple[int, int]] = []

    def visit(item: Item, number: int) -> int:
        if isinstance(item.node, Statement):
            return number + 1
        after = number
        for child in item.children:
            after = visit(child, after)
        serial = isinstance(item.node, Loop) and item.node.kind not in SPATIAL | SIDE_BY_SIDE
        if (serial or isinstance(item.node, While)) and after > number:
            found.append((number, after - 1))
        return after

    number = 0
    for item in items:
        number = visit(item, number)
    return found


def _through(life: _Life, low: int, high: int) -> None:
    inside = low <= life.first <= high or low <= life.last <= high
    across = life.first < low or life.last > high
    if inside and (across or life.starts_read):
        life.first, life.last = min(life.first, low), max(life.last, high)
