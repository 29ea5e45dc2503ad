"""The time of one block, node by node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from .node import CostNode


class Busy(NamedTuple):
    """How long one block's share of a statement keeps each unit busy, and the busiest of them."""

    units: Mapping[str, float]
    longest_s: float


BusyOf = Callable[[CostNode], Busy]
#: The same of a leaf of which so many times its own instructions are independent of each other.
BusyBeside = Callable[[CostNode, float], Busy]
#: The time of a node that runs so many times in a block.
TimedOf = Callable[[CostNode, float], "Timed"]


class Timed:
    """How long one block spends in a node: `own_s` in itself, the rest in its children."""

    __slots__ = ("children", "item", "own_s", "total_s")

    def __init__(
        self, item: CostNode | None, own_s: float, children: tuple[Timed, ...] = ()
    ) -> None:
        self.item = item
        self.own_s = own_s
        self.children = children
        inside = 0.0
        for child in children:
            inside += child.total_s
        self.total_s = own_s + inside

    def scaled(self, factor: float) -> Timed:
        """The same for `factor` times as long."""
        if factor == 1.0:
            return self
        children = tuple([child.scaled(factor) for child in self.children])
        return Timed(self.item, self.own_s * factor, children)
