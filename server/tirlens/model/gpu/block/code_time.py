"""The time of a statement by its machine code: as the compiler has scheduled it for one warp."""

from __future__ import annotations

from tirlens_worker.facts import MEMORY_CLOCKS

from ...tree.node import Leaf
from .exposed_latency import load_latency_s
from .throughput import BlockContext, busy_time


def has_machine_code(context: BlockContext) -> bool:
    """Whether the times of statements are those of their machine code."""
    return context.compiled.code_clocks is not None


def code_time_s(leaf: Leaf, context: BlockContext) -> float | None:
    """Seconds that a block takes for all executions of a statement; None without machine code.

    Warps of a block overlap each other, so that it is the time of the slowest one, or that of the
    unit which all together keep busy longest.  The waits for loads are linear in their latency.
    """
    if context.compiled.code_clocks is None:
        return None
    row = context.compiled.code_clocks[leaf]
    clocks = row.clocks
    first, second = row.memory_clocks
    if second:
        latency_clocks = load_latency_s(leaf, context) * context.device.clock_hz
        slope = (second - first) / (MEMORY_CLOCKS[1] - MEMORY_CLOCKS[0])
        clocks += max(first + slope * (latency_clocks - MEMORY_CLOCKS[0]), 0.0)
    return max(busy_time(leaf, context).longest_s, clocks / context.device.clock_hz)
