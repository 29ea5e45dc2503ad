"""Throughput of one block: for how long its share of a statement keeps each unit of its SM busy.

The busy times of a statement are those of the whole device at full occupancy.  One block on its SM
reaches another rate: it may have too few warps to fill the pipelines, it draws more than an even
share of DRAM and L2 where other SMs draw less, and the port of its SM limits what it draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tirlens.hardware.spec import Device

from ...constants import constant
from ...tree.busy import Busy
from ...tree.compiled import Compiled
from ...tree.moved import MemoryState, Moved
from ...tree.node import CostNode, Leaf
from ..units import burst_fraction, issue_fraction, sum_busy_times
from .block_record import BlockRecord

INDEPENDENT_INSTRUCTIONS = constant(
    "INDEPENDENT_INSTRUCTIONS",
    2.0,
    kind="estimate",
    unit="instructions",
    meaning="Independent instructions of one warp in code that no loop unrolls.",
    source="eight warps then fill an SM",
)
DRAM_PORT_FRACTION = constant(
    "DRAM_PORT_FRACTION",
    2 / 3,
    kind="estimate",
    unit="fraction",
    meaning=(
        "An SM draws data from DRAM at this fraction of the rate of its port while other SMs draw "
        "less."
    ),
    source=(
        "three times the even share of an H100's DRAM, whose SMs have ports of 4.5 times that "
        "share; the limit is one of the SM, so that it does not depend on the other SMs"
    ),
    bounds=(0.45, 1.0),
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
        The device.
    compiled, moved, busy
        What the stages before this one find of the statements.
    memory : MemoryState
        The memory of the device, with its latencies in this launch.
    blocks : int
        The number of blocks of the launch.
    is_unsynchronised : bool
        Whether the warps go through the block without synchronisation.
    has_producer : bool
        Whether a warpgroup of its own loads the tiles of pipelined loops.
    latency_share : callable or None
        The share of the latencies of `memory` that a wait has in which a block loads so many bytes;
        None if every wait has the whole latencies.
    record : BlockRecord or None
        Where the stages note how they arrive at a time; None where nobody asks.
    """

    device: Device
    compiled: Compiled
    moved: Moved
    busy: Busy
    memory: MemoryState
    blocks: int
    is_unsynchronised: bool
    has_producer: bool
    latency_share: Callable[[float], float] | None
    record: BlockRecord | None
    # Results of `busy_time`, which several rules ask for each statement.
    busy_times: dict[CostNode, BusyTime] = field(
        default_factory=dict[CostNode, BusyTime], init=False, repr=False, compare=False
    )


def busy_time(leaf: Leaf, context: BlockContext, chains: float = 1.0) -> BusyTime:
    """For how long one block's share of a statement keeps each unit of its SM busy.

    `chains` is how many times the statement's own instructions are independent: the number of
    dependency chains that are interleaved with its own.
    """
    known = context.busy_times.get(leaf)
    if known is None:
        known = context.busy_times[leaf] = _busy_time(leaf, context, 1.0)
    if chains == 1.0 or _issue_rate_share(leaf, context) == _issue_rate_share(
        leaf, context, chains
    ):
        return known
    return _busy_time(leaf, context, chains)


def _busy_time(leaf: Leaf, context: BlockContext, chains: float) -> BusyTime:
    device = context.device
    share = device.sm_count / context.blocks
    compiled = context.compiled
    # Machine code has the waits of dependent instructions in its own time.
    has_code = compiled.code_clocks is not None
    rate_share = 1.0 if has_code else _issue_rate_share(leaf, context, chains)
    units: dict[str, float] = {}
    for name, device_busy_s in context.busy.unit_s[leaf].items():
        busy_s = device_busy_s * share
        if name in ("dram", "l2"):
            # Other blocks load at other times.  The blocks of a wave end and store at the same time
            # unless their warps are unsynchronised.
            is_spread = leaf.read_bytes or context.is_unsynchronised
            busy_s /= _bandwidth_shares(context, name) if is_spread else _even_shares(context)
            busy_s = max(busy_s, _port_time_s(leaf, context))
        elif name == "atomics":
            # L2 executes the updates of all blocks one after the other.
            busy_s /= device.sm_count
        elif name == "tensor":
            # The power limit holds for the device over time, not for one product.
            busy_s *= burst_fraction(leaf, compiled.routes[leaf], device)
        elif name == "issue":
            # Few warps leave issue slots empty that many warps would not fill either.
            fraction = issue_fraction(leaf, compiled.instructions[leaf], device)
            busy_s /= min(rate_share / fraction, 1.0)
        elif name != "shared":
            busy_s /= rate_share
        units[name] = busy_s
    return BusyTime(units, max(units.values(), default=0.0))


def transfer_time_s(loads: Sequence[Leaf], context: BlockContext) -> float:
    """Seconds that one block's share of loads takes; DRAM and L2 serve them at the same time."""
    share = context.device.sm_count / context.blocks
    memory_s = max(
        (
            busy_s / (_bandwidth_shares(context, name) if name in ("dram", "l2") else 1.0)
            for name, busy_s in sum_busy_times(context.busy.unit_s[leaf] for leaf in loads).items()
        ),
        default=0.0,
    )
    return max(memory_s * share, sum(_port_time_s(leaf, context) for leaf in loads))


def _even_shares(context: BlockContext) -> float:
    """How many even shares of DRAM and L2 an SM has, with those of SMs without a block."""
    sms = context.device.sm_count
    return sms / min(context.blocks, sms)


def _bandwidth_shares(context: BlockContext, unit: str) -> float:
    """How many even shares of DRAM or L2 an SM draws while the others draw less."""
    device = context.device
    fraction = DRAM_PORT_FRACTION if unit == "dram" else 1.0
    rate = device.l2.bytes_per_s * device.l2.sustained_fraction
    if unit == "dram":
        rate = context.memory.dram_bytes_per_s
    share_bytes_per_s = rate / device.sm_count
    return max(fraction * _port_bytes_per_s(device) / share_bytes_per_s, _even_shares(context))


def _port_bytes_per_s(device: Device) -> float:
    """Bytes per second of the port of an SM to L2."""
    return device.microarchitecture.l2_port_bytes_per_clk * device.clock_hz


def _port_time_s(leaf: Leaf, context: BlockContext) -> float:
    """Seconds in which one block's reads from L2, or its writes, pass the port of its SM.

    Spills are stores without an end, which pass at the rate of writes; other stores come in bursts.
    """
    traffic, spills = context.moved.traffic[leaf], context.busy.spills[leaf]
    write_fraction = context.device.microarchitecture.l2_write_fraction
    most_bytes = max(
        traffic.l2_read_bytes + spills.missed_bytes,
        traffic.l2_write_bytes,
        spills.stored_bytes / write_fraction,
    )
    return most_bytes / context.blocks / _port_bytes_per_s(context.device)


def _issue_rate_share(leaf: Leaf, context: BlockContext, chains: float = 1.0) -> float:
    """The share of an SM's issue rate that the warps of one block reach in a statement.

    The independent instructions of a warp are those of an unrolled loop, of the elements of a tile
    that a thread has, and of `chains` interleaved chains.  Warps that reach a branch and do not
    take it count too.
    """
    sm, compiled = context.device.microarchitecture, context.compiled.instructions[leaf]
    independent = INDEPENDENT_INSTRUCTIONS * leaf.context.unrolled_iterations * chains
    if leaf.source.per == "block":
        independent = max(independent, compiled.mapping.repeats)
    warps = max(leaf.threads / leaf.lanes, compiled.reaching_threads / leaf.context.warp_size)
    in_flight = warps * min(independent, sm.instructions_in_flight_per_warp)
    return min(1.0, in_flight / sm.instructions_in_flight)
