"""A node of the kernel's tree with what it does: operations, bytes at each level, its place.

Items mirror the tree of counts (see `tree`).  Everything in one is a total over the whole launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from tirlens_worker.facts import Statement

from ..classes import ArithTotals
from .places import Place
from .spread import Spread
from .traits import Registers, Traits, registers_of, traits_of

# Shared by all that compute nothing; sums are only ever filled in by `totals`.
NO_ARITH = ArithTotals()


@dataclass(eq=False)
class Item:
    """One node of the tree; `flop` and `global_bytes` are exact, or None where not known.

    `useful_flop` of `flop` contribute to the result, and masks hide `masked_flop`.

    `threads` is how many of a block's threads take part, `spread` how its accesses lie on them,
    `index_instructions` what one thread computes for the addresses of one execution.

    Blocks that ask for the same bytes at the same time all wait for the one fetch from DRAM:
    `dram_waited_bytes` are the bytes of all who wait.  Of a leaf's arrays in registers,
    `spilled_share` lies in local memory.
    """

    node: Any
    count: Any
    place: Place
    children: tuple[Item, ...] = ()
    arith: ArithTotals = field(default_factory=lambda: NO_ARITH)
    flop: int | None = 0
    useful_flop: int | None = 0
    masked_flop: int | None = 0
    read_bytes: int | None = 0
    write_bytes: int | None = 0
    shared_bytes: int = 0
    l2_read_bytes: float = 0.0
    l2_write_bytes: float = 0.0
    dram_read_bytes: float = 0.0
    dram_write_bytes: float = 0.0
    dram_waited_bytes: float = 0.0
    sectors_per_request: float | None = None
    spilled_share: float = 0.0
    spread: Spread | None = None
    threads: int = 1
    index_instructions: float = 0.0
    accumulators: frozenset[str] = frozenset()
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def global_bytes(self) -> int | None:
        if self.read_bytes is None or self.write_bytes is None:
            return None
        return self.read_bytes + self.write_bytes

    def leaves(self) -> tuple[Item, ...]:
        """The statements inside, in program order."""
        return self._leaves

    def again(self, **changed: Any) -> Item:
        """The same work of a node with nothing said yet of caches, memory and time."""
        item = object.__new__(Item)
        known = item.__dict__
        known.update(self.__dict__)
        known.update(_UNTIMED)
        known.pop("_leaves", None)
        item.seconds = {}
        if changed:
            known.update(changed)
        elif self.children:
            item.children = tuple([child.again() for child in self.children])
        return item

    @cached_property
    def _leaves(self) -> tuple[Item, ...]:
        if isinstance(self.node, Statement):
            return (self,)
        children = self.children
        if len(children) == 1:
            return children[0].leaves()
        inside: list[Item] = []
        for child in children:
            if isinstance(child.node, Statement):
                inside.append(child)
            else:
                inside += child.leaves()
        return tuple(inside)

    @cached_property
    def traits(self) -> tuple[Traits, Traits]:
        """What holds for every statement inside, and what for some of them: see `traits`."""
        return traits_of(self)

    @cached_property
    def registers(self) -> Registers:
        """What a statement reads and writes of registers and of tiles: see `traits`."""
        return registers_of(self)


_UNTIMED: Mapping[str, Any] = {
    "l2_read_bytes": 0.0,
    "l2_write_bytes": 0.0,
    "dram_read_bytes": 0.0,
    "dram_write_bytes": 0.0,
    "dram_waited_bytes": 0.0,
    "sectors_per_request": None,
    "spilled_share": 0.0,
}


def total(values: Sequence[int | None]) -> int | None:
    """The sum, unknown as soon as one of the values is."""
    return None if None in values else sum(cast("Sequence[int]", values))
