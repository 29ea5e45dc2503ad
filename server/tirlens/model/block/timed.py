"""The time of one block, node by node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..instructions.work import Item


@dataclass(frozen=True)
class Busy:
    """How long one block's share of a statement keeps each unit busy, and the busiest of them."""

    units: Mapping[str, float]
    longest_s: float


BusyOf = Callable[[Item], Busy]


@dataclass(eq=False)
class Timed:
    """How long one block spends in a node: `own_s` in itself, the rest in its children."""

    item: Item | None
    own_s: float
    children: tuple[Timed, ...] = ()

    @cached_property
    def total_s(self) -> float:
        return self.own_s + sum(child.total_s for child in self.children)

    def scaled(self, factor: float) -> Timed:
        return Timed(
            self.item, self.own_s * factor, tuple(child.scaled(factor) for child in self.children)
        )
