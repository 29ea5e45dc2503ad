"""What a branch on data may cost: its body never, always, or in place of the other."""

from __future__ import annotations

from collections.abc import Sequence

from .counts_data import NodeCount, subtree_cost

Side = Sequence[NodeCount]


def cost_range(then: Side, orelse: Side) -> str:
    """``0 to 1,024 FLOP, 0 to 512 B of global memory``: the branch never or always taken.

    Empty if one of these is not known, or if both sides cost the same.
    """
    one, other = subtree_cost(then), subtree_cost(orelse)
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


def is_costlier(one: Side, other: Side) -> bool:
    """Whether `one` side of a branch costs more than the `other`, an unknown cost being more.

    First comes what it moves and computes, an operation as much as a byte, then how much it runs.
    """
    return _weight(one) > _weight(other)


def _weight(side: Side) -> tuple[float, int]:
    flop, moved, executions = subtree_cost(side)
    known = None if flop is None or moved is None else flop + moved
    return (float("inf") if known is None else known, executions)
