"""Throughput of one block: for how long its share of a statement keeps each unit of its SM busy.

The busy times of a statement are those of the whole device at full occupancy.  One block on its SM
reaches another rate: it may have too few warps to fill the pipelines, it draws more than an even
share of DRAM and L2 where other SMs draw less, and the port of its SM limits what it draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tirlens.hardware.microarchitecture import Microarchitecture
from tirlens.hardware.spec import Device

from ...constants import constant
from ...tree.node import CostNode, StatementCost
from ..units import burst_fraction, issue_fraction, sum_busy_times

INDEPENDENT_INSTRUCTIONS = constant(
    "INDEPENDENT_INSTRUCTIONS",
    2.0,
    kind="estimate",
    unit="instructions",
    meaning="Independent instructions of one warp in code that no loop unrolls.",
    source="eight warps then fill an SM",
)
BANDWIDTH_SHARE_LIMIT = constant(
    "BANDWIDTH_SHARE_LIMIT",
    3.0,
    kind="estimate",
    unit="ratio",
    meaning=(
        "An SM draws at most this many times its even share of DRAM and L2 while the others "
        "draw less."
    ),
    source=(
        "its port of 64 bytes a clock is 4.5 times its share of an H100's DRAM and 2 times "
        "that of its L2"
    ),
    bounds=(2.0, 4.5),
)


class BusyTime(NamedTuple):
    """For how long one block's share of a statement keeps each unit busy, and the busiest one."""

    unit_s: Mapping[str, float]
    longest_s: float


@dataclass(frozen=True)
class BlockContext:
    """What the time of a block depends on besides its own work.

    Attributes
    ----------
    device : Device
        The device, with the latencies of its memory in this launch.
    blocks : int
        The number of blocks of the launch.
    is_unsynchronised : bool
        Whether the warps go through the block without synchronisation.
    latency_share : callable or None
        The share of the latencies of `device` that a wait has in which a block loads so many bytes;
        None if every wait has the whole latencies.
    """

    device: Device
    blocks: int
    is_unsynchronised: bool = False
    latency_share: Callable[[float], float] | None = None
    # Results of `busy_time`, which several rules ask for each statement.
    busy_times: dict[CostNode, BusyTime] = field(
        default_factory=dict[CostNode, BusyTime], repr=False, compare=False
    )


def busy_time(leaf: StatementCost, context: BlockContext, chains: float = 1.0) -> BusyTime:
    """For how long one block's share of a statement keeps each unit of its SM busy.

    `chains` is how many times the statement's own instructions are independent: the number of
    dependency chains that are interleaved with its own.
    """
    known = context.busy_times.get(leaf)
    if known is None:
        known = context.busy_times[leaf] = _busy_time(leaf, context, 1.0)
    sm = context.device.microarchitecture
    if chains == 1.0 or _issue_rate_share(leaf, sm) == _issue_rate_share(leaf, sm, chains):
        return known
    return _busy_time(leaf, context, chains)


def _busy_time(leaf: StatementCost, context: BlockContext, chains: float) -> BusyTime:
    device = context.device
    share = device.sm_count / context.blocks
    rate_share = _issue_rate_share(leaf, device.microarchitecture, chains)
    units: dict[str, float] = {}
    for name, device_busy_s in leaf.busy_s.items():
        busy_s = device_busy_s * share
        if name in ("dram", "l2"):
            # Other blocks load at other times.  The blocks of a wave end and store at the same time
            # unless their warps are unsynchronised.
            is_spread = leaf.read_bytes or context.is_unsynchronised
            busy_s /= _bandwidth_shares(context, BANDWIDTH_SHARE_LIMIT if is_spread else 1.0)
            busy_s = max(busy_s, _port_time_s(leaf, context))
        elif name == "tensor":
            # The power limit holds for the device over time, not for one product.
            busy_s *= burst_fraction(leaf, device)
        elif name == "issue":
            # Few warps leave issue slots empty that many warps would not fill either.
            busy_s /= min(rate_share / issue_fraction(leaf, device), 1.0)
        elif name != "shared":
            busy_s /= rate_share
        units[name] = busy_s
    return BusyTime(units, max(units.values(), default=0.0))


def transfer_time_s(loads: Sequence[StatementCost], context: BlockContext) -> float:
    """Seconds that one block's share of loads takes; DRAM and L2 serve them at the same time."""
    share = context.device.sm_count / context.blocks
    shares = _bandwidth_shares(context, BANDWIDTH_SHARE_LIMIT)
    memory_s = max(sum_busy_times(loads).values(), default=0.0) * share / shares
    return max(memory_s, sum(_port_time_s(leaf, context) for leaf in loads))


def _bandwidth_shares(context: BlockContext, least: float) -> float:
    """How many even shares of DRAM and L2 a block draws, with those of SMs without a block."""
    sms = context.device.sm_count
    return max(least, sms / min(context.blocks, sms))


def _port_time_s(leaf: StatementCost, context: BlockContext) -> float:
    """Seconds in which one block's reads from L2, or its writes, pass the port of its SM."""
    device = context.device
    port_bytes_per_s = device.microarchitecture.l2_port_bytes_per_clk * device.clock_hz
    most_bytes = max(leaf.traffic.l2_read_bytes, leaf.traffic.l2_write_bytes)
    return most_bytes / context.blocks / port_bytes_per_s


def _issue_rate_share(leaf: StatementCost, sm: Microarchitecture, chains: float = 1.0) -> float:
    """The share of an SM's issue rate that the warps of one block reach in a statement.

    The independent instructions of a warp are those of an unrolled loop, of the elements of a tile
    that a thread has, and of `chains` interleaved chains.  Warps that reach a branch and do not
    take it count too.
    """
    independent = INDEPENDENT_INSTRUCTIONS * leaf.context.unrolled_iterations * chains
    if leaf.source.per == "block":
        independent = max(independent, leaf.mapping.repeats)
    warps = max(leaf.threads, leaf.reaching_threads) / leaf.context.first_warp_lanes
    in_flight = warps * min(independent, sm.instructions_in_flight_per_warp)
    return min(1.0, in_flight / sm.instructions_in_flight)
