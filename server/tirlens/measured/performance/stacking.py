"""The stacked report: operations summed by their name, by name and memory, or by category."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tirlens.measured.groups import add_time
from tirlens.measured.performance.categories import Category, category_of
from tirlens.measured.performance.rates import Performance
from tirlens.measured.spread import Spread

Grouping: TypeAlias = Literal["op", "memory", "category"]


@dataclass(slots=True)
class Stack:
    """Operations that are summed.

    Attributes
    ----------
    name
        What they have in common.
    category
        That of the first.
    device
        None where those of all devices are summed.
    time
        The times of single executions on the device, in s; those of the host take none.
    flop_fraction
        The parts of the peak of FLOP that the operations reach, where they have one.
    share
        The part of the device time of all stacks, of one device where these are apart.
    """

    name: str
    category: Category
    device: str | None
    operations: int = 0
    time: Spread = field(default_factory=Spread)
    flop_fraction: Spread = field(default_factory=Spread)
    share: float | None = None
    _weighted: float = 0.0
    _weight_s: float = 0.0

    def add(self, row: Performance) -> None:
        """Sum one more operation."""
        operation = row.operation
        self.operations += operation.executions
        if operation.time_s is None:
            return
        add_time(self.time, operation)
        if row.flop_fraction is not None:
            self.flop_fraction.add(row.flop_fraction)
            self._weighted += row.flop_fraction * operation.time_s
            self._weight_s += operation.time_s

    @property
    def weighted_flop_fraction(self) -> float | None:
        """The mean of `flop_fraction`, weighted by time."""
        return self._weighted / self._weight_s if self._weight_s else None


def stack(
    rows: Iterable[Performance], grouping: Grouping, by_device: bool = False
) -> tuple[Stack, ...]:
    """The stacks with the longest time first, those of a device together with `by_device`."""
    found: dict[tuple[str, str | None], Stack] = {}
    for row in rows:
        operation = row.operation
        category = category_of(operation.name, operation.kind)
        device = operation.device if by_device else None
        name = {"op": operation.name, "category": category, "memory": _with_memory(row)}[grouping]
        if (name, device) not in found:
            found[name, device] = Stack(name, category, device)
        found[name, device].add(row)
    totals: dict[str | None, float] = {}
    for each in found.values():
        totals[each.device] = totals.get(each.device, 0.0) + each.time.total
    for each in found.values():
        total_s = totals[each.device]
        each.share = each.time.total / total_s if total_s else None
    return tuple(sorted(found.values(), key=lambda each: (each.device or "", -each.time.total)))


def _with_memory(row: Performance) -> str:
    """The name with the memory of the first operand: ``Matmul (in0:dram_interleaved)``."""
    operation = row.operation
    memory = operation.inputs[0].memory if operation.inputs else None
    words = (memory or "").lower().split("_")[-2:]
    return f"{operation.name} (in0:{'_'.join(words)})" if memory else operation.name
