"""How long the longest chain of steps in straight code is, of which each needs the one before.

A compiler puts instructions that do not need each other between those that do, so that a thread
waits along the longest chain alone, and not for every step: what a source unrolls by hand takes no
longer than one turn, as far as its units have room.  A loop that turns is gone through before what
stands behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tirlens_worker.facts import Evaluate, Loop, Statement, While

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS
from ...tree.timed_node import TimedNode
from ...tree.traits import Register

_AT_ONCE = GRID_KINDS | CONCURRENT_KINDS | {"unroll"}


def longest_chain_s(parts: Sequence[TimedNode], waits_s: Callable[[TimedNode], float]) -> float:
    """The longest chain through `parts`, statements of which each takes `waits_s`, in seconds."""
    known = _Values()
    floor_s = last_s = loaded_s = named_s = 0.0
    for part in _flat(parts):
        item = part.node
        if item is None:
            continue
        if isinstance(item.source, Statement):
            reads, writes = item.registers
            begin_s = max(floor_s, known.latest_s(reads))
            if item.read_bytes:
                # Loads that start together wait once already.
                end_s = loaded_s = max(begin_s, loaded_s) + waits_s(part)
                if isinstance(item.source, Evaluate) and not writes:
                    # A value without a place of its own is for what stands behind it.
                    named_s = end_s
            else:
                end_s = max(begin_s, named_s) + waits_s(part)
        else:
            reads, writes = (), ()
            end_s = floor_s = last_s + longest_chain_s(part.children, waits_s)
        known.write(writes, end_s)
        last_s = max(last_s, end_s)
    return last_s


def _flat(parts: Iterable[TimedNode]) -> Iterator[TimedNode]:
    """Statements and loops that turn, in program order."""
    for part in parts:
        node = None if part.node is None else part.node.source
        turns = isinstance(node, While) or (isinstance(node, Loop) and node.kind not in _AT_ONCE)
        if turns or isinstance(node, Statement):
            yield part
        else:
            yield from _flat(part.children)


class _Values:
    """When what stands in registers and in tiles is there."""

    def __init__(self) -> None:
        self._ends_s: dict[str, dict[int | None, float]] = {}

    def latest_s(self, reads: Iterable[Register]) -> float:
        latest_s = 0.0
        for name, index in reads:
            ends_s = self._ends_s.get(name)
            if ends_s is None:
                continue
            if index is None:
                latest_s = max(latest_s, *ends_s.values())
            else:
                latest_s = max(latest_s, ends_s.get(index, 0.0), ends_s.get(None, 0.0))
        return latest_s

    def write(self, writes: Iterable[Register], end_s: float) -> None:
        for name, index in writes:
            ends_s = self._ends_s.setdefault(name, {})
            # A new value needs nothing of the old one; where the place is not known, others stay.
            ends_s[index] = end_s if index is not None else max(end_s, ends_s.get(None, 0.0))
