"""Units: how long each statement keeps each unit of the device busy.

Input: what the compiler makes of the statements, the bytes that they move, and the occupancy.
Output: `Busy` (`occupy_units`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirlens.hardware.spec import Device

from ...tree.busy import Busy, Spills
from ...tree.compiled import NO_LOCAL_MEMORY, Compiled
from ...tree.moved import Moved
from ...tree.node import Leaf
from ...tree.table import Table
from ..occupancy import BlockOccupancy
from .local_memory import add_local_memory, l1_miss_fraction
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
    leaves: Sequence[Leaf], compiled: Compiled, moved: Moved, block: BlockOccupancy, device: Device
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
    block
        The resources of a block and the blocks that are resident.
    device
        The device.
    """
    unit_s: list[Mapping[str, float]] = []
    spills: list[Spills] = []
    thread = compiled.thread
    users = (leaf.threads for leaf in leaves if thread.local_memory[leaf] != NO_LOCAL_MEMORY)
    missed = l1_miss_fraction(thread.stack_bytes, max(users, default=0), block, device)
    for leaf in leaves:
        busy_s = unit_busy_times(leaf, compiled, moved, device)
        route = compiled.routes[leaf]
        local = thread.local_memory[leaf]
        seconds, spilled = add_local_memory(leaf, busy_s, route, local, missed, device)
        unit_s.append(seconds)
        spills.append(spilled)
    return Busy(Table(unit_s), Table(spills))
