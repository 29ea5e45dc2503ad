"""Local memory: the time of the loads and stores of what registers do not hold.

Loads hit L1 as far as it has room for what the resident threads keep there; L1 writes all stores
through to L2.
(RTX 3090, products of 4096^3 with 256 accumulators a thread: 40 to 96 ms, where the stores of the
53 registers above the limit take 55 ms at the rate of L2 and the product takes 6 ms.)
"""

from __future__ import annotations

from collections.abc import Mapping

from tirlens.hardware.spec import Device

from ...tree.busy import NO_SPILLS, Spills
from ...tree.compiled import NO_LOCAL_MEMORY, LocalMemory
from ...tree.node import Leaf
from ...tree.route import Route
from ..memory.l2_sharing import miss_probability
from ..occupancy import BlockOccupancy
from .unit_times import issue_rate, l2_bytes_per_s


def l1_miss_fraction(
    stack_bytes: int | None, threads: int, block: BlockOccupancy, device: Device
) -> float:
    """The fraction of the loads from local memory that miss L1; `threads` of a block use it."""
    resources, blocks = block.resources, block.blocks_per_sm
    room = device.l1_bytes_per_sm - blocks * resources.shared_bytes
    held = (stack_bytes or 0) * threads * blocks
    return float(miss_probability(min(held / room, 10.0))) if room > 0 else 1.0


def add_local_memory(
    leaf: Leaf,
    unit_s: Mapping[str, float],
    route: Route,
    local: LocalMemory,
    missed: float,
    device: Device,
) -> tuple[Mapping[str, float], Spills]:
    """The busy times of a statement with its accesses to local memory, and these.

    Parameters
    ----------
    leaf
        The statement.
    unit_s
        Its busy times without them, by unit.
    route
        What it becomes.
    local
        Its accesses to local memory.
    missed
        The fraction of the loads that misses L1.
    device
        The device.
    """
    if local == NO_LOCAL_MEMORY:
        return unit_s, NO_SPILLS
    seconds = dict(unit_s)
    # Spill code is loads and stores: the units of the arithmetic do what they did.
    if "issue" in seconds:
        seconds["issue"] *= local.instruction_factor
    # Lanes of a warp access neighbouring words.
    path_bytes_per_s = device.shared_bytes_per_clk_per_sm * device.sm_count * device.clock_hz
    path_s = (local.read_bytes + local.written_bytes) / path_bytes_per_s
    seconds["shared"] = seconds.get("shared", 0.0) + path_s
    if local.instructions:
        issue_s = local.instructions / issue_rate(device)
        seconds["issue"] = seconds.get("issue", 0.0) + issue_s
    write_fraction = device.microarchitecture.l2_write_fraction
    loaded_bytes = missed * local.read_bytes
    l2_bytes = loaded_bytes + local.written_bytes / write_fraction
    seconds["l2"] = seconds.get("l2", 0.0) + l2_bytes / l2_bytes_per_s(route, device)
    return seconds, Spills(local.read_bytes, local.written_bytes, loaded_bytes)
