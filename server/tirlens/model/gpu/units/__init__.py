"""Units: how long each statement keeps each unit of the device busy.

Input: what the compiler makes of the statements, the bytes that they move, and the share of the
register arrays that spills.  Output: `Busy` (`occupy_units`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirlens.hardware.spec import Device

from ...tree.busy import Busy, Spills
from ...tree.compiled import Compiled
from ...tree.moved import Moved
from ...tree.node import Leaf
from ...tree.table import Table
from .spills import spill_statement
from .unit_times import (
    DEVICE_WIDE_UNITS,
    burst_fraction,
    issue_fraction,
    l2_hit_seconds,
    sum_busy_times,
    unit_busy_times,
)

__all__ = [
    "DEVICE_WIDE_UNITS",
    "burst_fraction",
    "issue_fraction",
    "l2_hit_seconds",
    "occupy_units",
    "sum_busy_times",
]


def occupy_units(
    leaves: Sequence[Leaf], compiled: Compiled, moved: Moved, spilled_share: float, device: Device
) -> Busy:
    """The busy times of the statements of a kernel.

    Parameters
    ----------
    leaves
        The statements in program order.
    compiled
        Their instructions and routes.
    moved
        The bytes that they move.
    spilled_share
        The share of the register arrays that is in local memory.
    device
        The device.
    """
    unit_s: list[Mapping[str, float]] = []
    spills: list[Spills] = []
    for leaf in leaves:
        busy_s = unit_busy_times(leaf, compiled, moved, device)
        route = compiled.routes[leaf]
        seconds, spilled = spill_statement(leaf, busy_s, route, spilled_share, device)
        unit_s.append(seconds)
        spills.append(spilled)
    return Busy(Table(unit_s), Table(spills))
