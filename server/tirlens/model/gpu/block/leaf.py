"""What one block's share of a leaf takes on its SM: how long it keeps units busy, what it waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tirlens.hardware.spec import Device

from ...tree.node import CostNode
from ...tree.timed_node import Busy, BusyBeside
from ..compiler.loop_carried import sequential_executions
from ..units import L2_PORT_BYTES_PER_CLK, burst_fraction, filled_slots, sum_seconds
from .steps import carried_seconds, wait_seconds

# Instructions that keep the pipelines of an SM full: four schedulers, a latency of four clocks.
IN_FLIGHT = 16.0
# What one warp has of them: an issue port takes one instruction of it in a clock, so that four
# cover the latency of four.
MOST_INDEPENDENT = 4.0
# Beside others that have blocks, an SM draws at most this many times its even share of DRAM and L2:
# an estimate from its port of 64 bytes a clock, which is 4.5 times its share of an H100's DRAM and
# 2 of its L2.
ALONE_SHARE = 3.0


@dataclass(frozen=True)
class BlockContext:
    """What the time of a block depends on besides its own work.

    `drifts` tells that warps go through it by themselves, `busy` keeps what `busy_of_block` has
    found of each leaf.  `latency_share` tells which part of the latencies of `device` a wait has in
    which a block loads so many bytes; None if all have the whole of them.
    """

    device: Device
    blocks: int
    drifts: bool = False
    latency_share: Callable[[float], float] | None = None
    busy: dict[CostNode, Busy] = field(
        default_factory=dict[CostNode, Busy], repr=False, compare=False
    )


def leaf_seconds(item: CostNode, context: BlockContext) -> float:
    """The greatest busy time that one block's share of a leaf causes on its SM."""
    return busy_of_block(item, context).longest_s


def busy_of_block(item: CostNode, context: BlockContext) -> Busy:
    """How long one block's share of a leaf keeps each unit of its SM busy."""
    known = context.busy.get(item)
    if known is None:
        units = _busy_seconds(item, context)
        known = context.busy[item] = Busy(units, max(units.values(), default=0.0))
    return known


def busy_beside(context: BlockContext) -> BusyBeside:
    """Tells the same of a leaf of which so many times its own instructions are independent."""

    def busy(leaf: CostNode, beside: float) -> Busy:
        known = busy_of_block(leaf, context)
        if beside == 1.0:
            return known
        drawn, more = _drawn_rate(leaf), _drawn_rate(leaf, beside)
        if drawn == more:
            return known
        units = _busy_seconds(leaf, context, beside)
        return Busy(units, max(units.values(), default=0.0))

    return busy


def step_seconds(
    item: CostNode, context: BlockContext, repeats: float, waits: bool = True
) -> float:
    """What the executions of a leaf in one block take beside throughput."""
    together = 1.0
    if item.count.executions is not None:
        # A guarded statement runs less often than its loops turn.
        each = item.threads if item.source.per == "thread" else 1
        repeats = min(repeats, item.count.executions / (context.blocks * each))
        if repeats and waits and item.read_bytes:
            together = max(sequential_executions(item, context.blocks) / repeats, 1.0)
    waiting = _waited_seconds(item, context, waits, together, repeats)
    carried = carried_seconds(item, context.device, context.blocks)
    return max(waiting, carried - leaf_seconds(item, context)) if carried else waiting


def _waited_seconds(
    item: CostNode, context: BlockContext, waits: bool, together: float, repeats: float
) -> float:
    """What `repeats` waits take, each for the loads of `together` turns.

    By Little's law a load waits longer than in an idle memory for what is under way before it.
    That is what DRAM serves meanwhile, which is part of the time for which the leaf keeps it busy.
    """
    if context.latency_share is None or not repeats or not item.read_bytes:
        return wait_seconds(item, context.device, waits, together) * repeats
    bytes_of_wait = item.traffic.l2_read_bytes * together / (context.blocks * repeats)
    idle_s, waited_s = (
        wait_seconds(item, context.device, waits, together, context.latency_share(moved)) * repeats
        for moved in (0.0, bytes_of_wait)
    )
    busy = busy_of_block(item, context)
    dram_s = busy.units.get("dram", 0.0)
    others_s = max((own for unit, own in busy.units.items() if unit != "dram"), default=0.0)
    return idle_s + max(others_s + waited_s - idle_s, dram_s) - busy.longest_s


def transfer_seconds(loads: Sequence[CostNode], context: BlockContext) -> float:
    """What one block's loads take together: DRAM and L2 serve them at the same time."""
    share = context.device.sm_count / context.blocks
    drawn = max(sum_seconds(loads).values(), default=0.0) * share / _alone(context, ALONE_SHARE)
    return max(drawn, sum(_port_seconds(leaf, context) for leaf in loads))


def _busy_seconds(item: CostNode, context: BlockContext, beside: float = 1.0) -> dict[str, float]:
    share = context.device.sm_count / context.blocks
    drawn = _drawn_rate(item, beside)
    out: dict[str, float] = {}
    for name, seconds in item.busy_s.items():
        mine = seconds * share
        if name in ("dram", "l2"):
            # Other blocks load at other times, but those of a wave end and store together unless
            # they have drifted apart.
            apart = item.read_bytes or context.drifts
            mine /= _alone(context, ALONE_SHARE if apart else 1.0)
            mine = max(mine, _port_seconds(item, context))
        elif name == "tensor":
            # The power limit holds for the device over time, not for one product.
            mine *= burst_fraction(item, context.device)
        elif name == "issue":
            # Few warps leave slots empty that many would not fill either.
            mine /= min(drawn / filled_slots(item, context.device), 1.0)
        elif name != "shared":
            mine /= drawn
        out[name] = mine
    return out


def _alone(context: BlockContext, least: float) -> float:
    """How many even shares of DRAM and L2 a block can draw: those of SMs without one as well."""
    sms = context.device.sm_count
    return max(least, sms / min(context.blocks, sms))


def _port_seconds(item: CostNode, context: BlockContext) -> float:
    """How long what a block reads of L2, or stores there, takes through the port of its SM."""
    port = L2_PORT_BYTES_PER_CLK * context.device.clock_hz
    return max(item.traffic.l2_read_bytes, item.traffic.l2_write_bytes) / context.blocks / port


def _drawn_rate(item: CostNode, beside: float = 1.0) -> float:
    """The share of an SM's issue rate that the warps of one block can draw with a leaf.

    Eight warps with two independent instructions each keep the pipelines of an SM full, and four
    warps with four: those of an unrolled loop over a thread's own elements, or of `beside` chains
    in straight code.  Those who come to a branch and pass on draw as well.
    """
    independent = 2.0 * item.context.unrolled_iterations * beside
    if item.mapping is not None and item.source.per == "block":
        independent = max(independent, item.mapping.repeats)
    warps = max(item.threads, item.reaching_threads) / item.context.first_warp_lanes
    return min(1.0, warps * min(independent, MOST_INDEPENDENT) / IN_FLIGHT)
