"""Memory hierarchy: which bytes L1 and L2 serve, which DRAM moves, and the state of the memory.

Input: the instructions of the statements, their accesses to global memory, the shape of the launch
and the caches of the device.  Output: `Moved` (`move_bytes`).
"""

from __future__ import annotations

from collections.abc import Sequence

from tirlens.hardware.spec import Device

from ...counting.kernel_counts import Footprint
from ...tree.compiled import Instructions
from ...tree.moved import Moved
from ...tree.table import Table
from .atomic_contention import atomic_demand
from .global_accesses import GlobalAccess
from .l2_sharing import LaunchShape
from .latency import memory_state
from .traffic import compute_traffic

__all__ = ["LaunchShape", "move_bytes"]


def move_bytes(
    instructions: Table[Instructions],
    accesses: Sequence[GlobalAccess],
    launch: LaunchShape,
    device: Device,
    footprint: Footprint | None,
) -> Moved:
    """The bytes and atomic updates of each statement, and the state of the memory under them.

    Parameters
    ----------
    instructions
        The instructions of the statements.
    accesses
        Their accesses to global memory.
    launch
        Grid, concurrent blocks, shared bytes and rasterisation.
    device
        The device, for its caches.
    footprint
        The distinct bytes of each array; None where not known.
    """
    traffic = compute_traffic(instructions, accesses, launch, device, footprint)
    atomics = atomic_demand(instructions, accesses, device)
    return Moved(traffic, atomics, memory_state(device, traffic))
