"""The verdict of a gate on operations that were measured before a change and now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tirlens.gate.growth_limits import Limits
from tirlens.measured.runs.comparison import LEAST_DIFFERENCE, Comparison, OperationChange

MeasuredVerdict = Literal[
    "slower", "more-dram", "other-device", "no-baseline", "other-work", "no-time",
    "unknown-spread", "unsure", "faster", "changed", "removed", "same",
]  # fmt: skip

REFUSED: frozenset[MeasuredVerdict] = frozenset({"slower", "more-dram"})
"""The verdicts that a gate refuses."""

UNCOMPARED: frozenset[MeasuredVerdict] = frozenset(
    {"other-device", "no-baseline", "other-work", "no-time", "unknown-spread"}
)
"""The verdicts that say too little: a gate refuses them unless an option allows them."""


@dataclass(frozen=True)
class MeasuredChange:
    """An operation of both runs with the verdicts of the gate, worst first.

    `verdicts` are: ``slower`` by more than the limit and beyond the spread; ``more-dram`` than the
    limit, for an operation that is not faster; ``other-device`` where the runs are of different
    devices; ``no-baseline`` for an operation that the former runs do not have; ``other-work``
    where the sizes of the arguments differ or are not known to be the same; ``no-time``;
    ``unknown-spread`` where the time has grown by more than the limit and a side has one execution
    only; ``unsure`` where the growth is within the spread; ``faster`` beyond it; ``changed``
    where the limits allow the growth; ``removed``; ``same``.
    """

    change: OperationChange
    verdicts: tuple[MeasuredVerdict, ...]

    @property
    def is_refused(self) -> bool:
        """Whether the gate refuses the change."""
        return not REFUSED.isdisjoint(self.verdicts)

    @property
    def is_uncompared(self) -> bool:
        """Whether the runs do not say what became of the operation."""
        return not UNCOMPARED.isdisjoint(self.verdicts)


def measured_changes(comparison: Comparison, limits: Limits) -> list[MeasuredChange]:
    """The verdict on each operation of two sides."""
    return [
        MeasuredChange(
            change,
            ("other-device",)
            if comparison.has_other_device
            else tuple(_verdicts(change, limits)) or ("same",),
        )
        for change in comparison.changes
    ]


def _verdicts(change: OperationChange, limits: Limits) -> Iterator[MeasuredVerdict]:
    if change.relation == "gone":
        yield "removed"
    elif change.relation == "new":
        yield "no-baseline"
    elif change.relation == "other-work":
        yield "other-work"
    elif change.time_growth is None:
        yield "no-time"
    else:
        yield from _verdicts_on_growth(change, change.time_growth, limits)


def _verdicts_on_growth(
    change: OperationChange, growth: float, limits: Limits
) -> Iterator[MeasuredVerdict]:
    beyond = change.is_beyond_spread
    exceeds = limits.time is not None and growth > limits.time
    is_faster = growth < -LEAST_DIFFERENCE and beyond is True
    dram_growth = change.dram_growth or 0.0
    moves_more = limits.dram is not None and dram_growth > limits.dram and not is_faster
    if exceeds and beyond:
        yield "slower"
    if moves_more:
        yield "more-dram"
    if exceeds and beyond is None:
        yield "unknown-spread"
    elif exceeds and not beyond:
        yield "unsure"
    elif is_faster:
        yield "faster"
    elif not (exceeds or moves_more) and abs(growth) >= LEAST_DIFFERENCE:
        yield "changed"
