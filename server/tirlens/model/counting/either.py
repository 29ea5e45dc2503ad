"""What a branch on data may cost: its body never, always, or in place of the other."""

from __future__ import annotations

from collections.abc import Sequence

from .result import NodeCount, cost

Side = Sequence[NodeCount]


def either(then: Side, orelse: Side) -> str:
    """``0 to 1,024 FLOP, 0 to 512 B of global memory``: the branch never or always taken.

    Empty if one of these is not known, or if both sides cost the same.
    """
    one, other = cost(then), cost(orelse)
    ranges: list[str] = []
    for unit, sides in (
        ("FLOP", (one.flop, other.flop)),
        ("B of global memory", (one.global_bytes, other.global_bytes)),
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
    flop, moved, executions = cost(side)
    known = None if flop is None or moved is None else flop + moved
    return (float("inf") if known is None else known, executions)
