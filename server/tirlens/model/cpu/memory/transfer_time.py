"""What a nest waits for: its cache lines, one after the other or apart, and its pages.

Prefetchers foresee lines that follow each other.  Where they do not, at the start of each row of
lines, a core has as many misses in flight as its reorder buffer reaches rows ahead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tirlens.hardware.cpu_core import CpuCore
from tirlens.hardware.spec import Device

from ..compiler.loop_nests import Nest
from ..compiler.statements import LINE_BYTES, PAGE_BYTES, Pattern
from ..compiler.vector_width import width_of
from .layer_conditions import Capacity, Footprints, Signature, Stream

# Lines at the start of a run that come before the prefetchers have seen it: two make a direction
# (Intel 64 Optimization Reference Manual, "Data Prefetching").
FIRST_LINES = 2.0
# Misses in flight while scattered lines are read, so that a latency is so many times their clocks:
# 90 ns of DRAM or 22 ns of the last cache over the calibrated 40 to 50 and 10 clocks.
MISSES = 6.0
# How little it takes, relative to one set of L1, when misses go to several: (sets) ** this.  Looked
# at on Zen 4: 10.5, 7.5, 3.5 and 2.2 clocks with 1, 2, 4 and 8 sets.
APART = 0.75


@dataclass(frozen=True)
class Waits:
    """Clocks of a nest's lines by the level they come from and of its page walks (``tlb``).

    `lines` by level, of which `written` go back to where they came from.
    """

    clocks: Mapping[str, float]
    lines: Mapping[str, float]
    written: float


@dataclass(frozen=True)
class Taken:
    """Lines and pages of the whole kernel by signature, and how often its statements run."""

    lines: Mapping[str, Mapping[Signature, float]]
    pages: Mapping[Signature, float]
    executions: Mapping[Signature, int]


def waits(
    nest: Nest,
    mine: Sequence[Stream],
    taken: Taken,
    found: Footprints,
    device: Device,
    cores: int,
    instructions: float,
) -> Waits:
    """The waits of a nest with the streams `mine`, each execution of which has `instructions`."""
    core = device.cpu
    assert core is not None
    written = 0.0
    lines = dict.fromkeys(taken.lines, 0.0)
    clocks = dict.fromkeys([*taken.lines, "tlb"], 0.0)
    own = {stream.signature: stream for stream in mine}
    stored = {stream.signature for stream in mine if stream.address.mode != "read"}
    rates = {name: line_clk(name, device, cores) for name in taken.lines}
    first_level = Capacity.of(device.l1_bytes_per_sm, core.l1_ways)
    for signature, share in shares(mine, taken.executions).items():
        row = row_of(own[signature], nest, found)
        amounts = [by[signature] * share for by in taken.lines.values()] + [0.0]
        for number, name in enumerate(taken.lines):
            # A line that a level has is not asked of the level behind.
            amount = max(amounts[number] - amounts[number + 1], 0.0)
            lines[name] += amount
            crowded = crowded_clk(name, core, first_level.used(row.pattern))
            near, far = (clk + crowded for clk in rates[name])
            first, exposed = row.start(core.window / max(instructions, 1e-9))
            each = (1 - first) * near + exposed * far
            if signature in stored:
                written += amount
                # A line that is stored to apart is fetched (write-allocate), and sent back apart.
                each += first * near * core.write_back
            clocks[name] += amount * each
        pages = taken.pages[signature] * share
        clocks["tlb"] += pages * row.jumps * core.page_walk_clk
    if any(width_of(leaf, nest, device).wide for leaf in nest.leaves):
        for name in rates:
            clocks[name] *= core.wide_lines
    return Waits(clocks, lines, written)


def line_clk(name: str, device: Device, cores: int) -> tuple[float, float]:
    """Clocks of a line from a level when it is foreseen, and when it is not."""
    core = device.cpu
    assert core is not None
    level = {"l2": core.l2, "l3": core.l3}.get(name)
    if level is not None:
        return level.line_clk, level.scattered_line_clk
    rate = device.dram.bytes_per_s * device.dram.sustained_fraction
    together_clk = LINE_BYTES * device.clock_hz * cores / rate
    return max(core.dram_line_clk, together_clk), max(core.dram_scattered_line_clk, together_clk)


def crowded_clk(name: str, core: CpuCore, sets: float) -> float:
    """How much longer a line from a level takes where all go to so many sets of L1.

    Each set waits for its misses nearly one by one on AMD's cores.
    """
    level = {"l2": core.l2, "l3": core.l3}.get(name)
    if level is None:
        return 0.0
    return max(level.crowded_line_clk / max(sets, 1.0) ** APART - level.scattered_line_clk, 0.0)


def shares(mine: Sequence[Stream], executions: Mapping[Signature, int]) -> dict[Signature, float]:
    """How much of what has a signature in the whole kernel a nest with the streams `mine` has."""
    together: dict[Signature, int] = {}
    for stream in mine:
        known = together.get(stream.signature, 0)
        together[stream.signature] = known + stream.leaf.executions
    return {
        signature: count / max(executions[signature], 1) for signature, count in together.items()
    }


@dataclass(frozen=True)
class Row:
    """What a stream passes without a jump, and how often its statement runs meanwhile."""

    pattern: Pattern
    executions: float

    def start(self, window: float) -> tuple[float, float]:
        """Of each line: the share that is not foreseen, and how many of such it waits for.

        `window` is how many executions the reorder buffer reaches ahead: where that is not as
        far as the next rows, their first lines come one latency after the other.
        """
        if not self.pattern.copies:
            return 0.0, 0.0
        lines = max(self.pattern.run / LINE_BYTES, 1.0)
        first = min(lines, FIRST_LINES)
        alone = min(MISSES, MISSES * self.executions / window)
        return first / lines, max(first, alone) / lines

    @property
    def jumps(self) -> float:
        """The share of pages that do not follow the one before, whose walk is not made ahead.

        Ivy Bridge and what came after it walk for the next page of a stream (Intel's optimisation
        manual, next-page prefetcher).
        """
        return max(1 - self.pattern.run / PAGE_BYTES, 0.0) if self.pattern.copies else 0.0


def row_of(stream: Stream, nest: Nest, found: Footprints) -> Row:
    """The row of a stream in a nest's loop and the loops around it that continue it."""
    depth = len(nest.outer)
    pattern = found.pattern(stream, depth)
    while depth > 0 and not pattern.copies:
        depth -= 1
        pattern = found.pattern(stream, depth)
    runs = math.prod(count for _, count in pattern.copies)
    executions = math.prod(loop.extent or 1 for loop in stream.around[depth:])
    return Row(pattern, executions / max(runs, 1))
