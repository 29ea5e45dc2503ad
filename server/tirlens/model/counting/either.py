"""What a branch on data may cost: its body never, always, or in place of the other."""

from __future__ import annotations

from collections.abc import Sequence

from ..classes import totals
from .result import NodeCount, leaves

Side = Sequence[NodeCount]


def either(then: Side, orelse: Side) -> str:
    """``0 to 1,024 FLOP, 0 to 512 B of global memory``: the branch never or always taken.

    Empty if one of these is not known, or if both sides cost the same.
    """
    ranges: list[str] = []
    for unit, sides in (
        ("FLOP", [_flop(side) for side in (then, orelse)]),
        ("B of global memory", [_global_bytes(side) for side in (then, orelse)]),
    ):
        if None in sides:
            return ""
        low, high = sorted(side or 0 for side in sides)
        if low != high:
            ranges.append(f"{low:,} to {high:,} {unit}")
    return ", ".join(ranges)


def outweighs(one: Side, other: Side) -> bool:
    """Whether `one` side of a branch costs more than the `other`, an unknown cost being more.

    First comes what it moves and computes, an operation as much as a byte, then how much it runs.
    """
    return _weight(one) > _weight(other)


def _weight(side: Side) -> tuple[float, int]:
    flop, moved = _flop(side), _global_bytes(side)
    known = None if flop is None or moved is None else flop + moved
    executions = sum(leaf.executions or 0 for leaf in leaves(side))
    return (float("inf") if known is None else known, executions)


def _flop(side: Side) -> int | None:
    pairs = [(item.arith, item.total) for leaf in leaves(side) for item in leaf.arith]
    if any(total is None and not arith.index for arith, total in pairs):
        return None
    return totals(pairs).flop


def _global_bytes(side: Side) -> int | None:
    total = 0
    for leaf in leaves(side):
        for item in leaf.accesses:
            if item.buffer.scope != "global":
                continue
            if item.bytes is None:
                return None
            total += item.bytes
    return total
