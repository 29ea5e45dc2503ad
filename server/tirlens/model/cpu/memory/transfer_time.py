"""Transfer time: the clocks of a nest's cache lines and page walks.

Prefetchers fetch lines that follow each other ahead of time.  Other lines, such as the first ones
of each row, expose their latency as far as the reorder buffer does not reach the next row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tirlens.hardware.cpu_core import CACHE_LINE_BYTES, PAGE_BYTES, CpuCache, CpuCore
from tirlens.hardware.spec import Device

from ...constants import constant
from ..compiler.loop_nests import CompiledKernel, Nest
from ..compiler.vector_width import width_of
from .footprints import AccessPattern, Footprints, Signature, Stream, find_streams
from .layer_conditions import CacheCapacity, cache_levels, loop_tree, missed_lines

UNPREFETCHED_LINES = constant(
    "UNPREFETCHED_LINES",
    2.0,
    kind="isa",
    unit="lines",
    meaning="Lines at the start of a run that precede the prefetcher: two lines set a direction.",
    source='Intel 64 Optimization Reference Manual, "Data Prefetching"',
)
OUTSTANDING_MISSES = constant(
    "OUTSTANDING_MISSES",
    6.0,
    kind="estimate",
    unit="misses",
    meaning=(
        "Misses in flight while scattered lines are read, so that one latency is this many "
        "times their clocks."
    ),
    source=(
        "90 ns of DRAM or 22 ns of the last-level cache over the calibrated 40 to 50 and 10 clocks"
    ),
)
SET_CONFLICT_EXPONENT = constant(
    "SET_CONFLICT_EXPONENT",
    0.75,
    kind="fitted",
    unit="dimensionless",
    meaning=(
        "Clocks of a line that misses in several sets of L1, relative to one set: (sets) to "
        "the power of minus this."
    ),
    source="hand-tuned on Zen 4: 10.5, 7.5, 3.5 and 2.2 clocks with 1, 2, 4 and 8 sets",
    rows="CPU calibration (`tirlens calibrate --cpu`) of a Zen 4",
)


@dataclass(frozen=True)
class TransferTime:
    """Transfers of a nest to the busiest core.

    Attributes
    ----------
    level_clk
        Clocks of the lines by the level that they come from, and of page walks (``tlb``).
    level_lines
        Lines by the level that they come from.
    level_written_lines
        Those that are written back to it.
    """

    level_clk: Mapping[str, float]
    level_lines: Mapping[str, float]
    level_written_lines: Mapping[str, float]

    @property
    def clk(self) -> float:
        """Clocks of all transfers."""
        return sum(self.level_clk.values())

    @property
    def lines(self) -> float:
        """Lines from all levels."""
        return sum(self.level_lines.values())


def time_transfers(
    kernel: CompiledKernel,
    instructions_per_execution: Sequence[float],
    device: Device,
    cores: int,
) -> tuple[TransferTime, ...]:
    """The transfers of each nest to one of the cores that work.

    Parameters
    ----------
    kernel
        The loop nests.
    instructions_per_execution
        Instructions of each nest for one execution of its most executed statement.
    device
        The device, a CPU.
    cores
        The cores that work.
    """
    misses = _KernelMisses(kernel, device, cores)
    return tuple(
        misses.time_nest(nest, instructions)
        for nest, instructions in zip(kernel.nests, instructions_per_execution, strict=True)
    )


class _KernelMisses:
    """Lines and pages that a kernel misses, by signature, and their time."""

    def __init__(self, kernel: CompiledKernel, device: Device, cores: int) -> None:
        core = device.cpu
        assert core is not None
        self._device = device
        self._core = core
        self._cores = cores
        streams = find_streams(kernel, max(cores, 1), core.vector_bytes)
        self._footprints = Footprints(streams)
        root = loop_tree(streams)
        self._lines = {
            name: missed_lines(root, capacity, self._footprints)
            for name, capacity in cache_levels(device, cores).items()
        }
        tlb = CacheCapacity.of_tlb(core.tlb_bytes)
        self._pages = missed_lines(root, tlb, Footprints(streams, PAGE_BYTES))
        self._l1 = CacheCapacity.of_cache(device.l1_bytes_per_sm, core.l1_ways)
        self._line_clk = {name: line_clk(name, device, cores) for name in self._lines}
        self._executions = _executions(streams)
        self._by_node: dict[int, list[Stream]] = {}
        for stream in streams:
            self._by_node.setdefault(id(stream.statement.node), []).append(stream)

    def time_nest(self, nest: Nest, instructions: float) -> TransferTime:
        """The transfers of a nest, each execution of which has so many `instructions`."""
        core = self._core
        streams = [
            stream
            for statement in nest.statements
            for stream in self._by_node.get(id(statement.node), ())
        ]
        written = dict.fromkeys(self._lines, 0.0)
        lines = dict.fromkeys(self._lines, 0.0)
        clocks = dict.fromkeys([*self._lines, "tlb"], 0.0)
        by_signature = {stream.signature: stream for stream in streams}
        stored = {stream.signature for stream in streams if stream.address.mode != "read"}
        for signature, executions in _executions(streams).items():
            share = executions / max(self._executions[signature], 1)
            row = row_of(by_signature[signature], nest, self._footprints)
            amounts = [missed[signature] * share for missed in self._lines.values()] + [0.0]
            for number, name in enumerate(self._lines):
                # A line that one level holds is not requested from the next level.
                amount = max(amounts[number] - amounts[number + 1], 0.0)
                lines[name] += amount
                conflict_clk = set_conflict_clk(name, core, self._l1.sets_used(row.pattern))
                sequential_clk, scattered_clk = (clk + conflict_clk for clk in self._line_clk[name])
                unprefetched, exposed = row.exposed_lines(core.window / max(instructions, 1e-9))
                each = (1 - unprefetched) * sequential_clk + exposed * scattered_clk
                if signature in stored:
                    written[name] += amount
                    # A scattered store fetches its line (write-allocate) and writes it back.
                    each += unprefetched * sequential_clk * core.write_back
                clocks[name] += amount * each
            pages = self._pages[signature] * share
            clocks["tlb"] += pages * row.page_jumps * core.page_walk_clk
        if any(width_of(one, nest, self._device).is_wide for one in nest.statements):
            for name in self._lines:
                clocks[name] *= core.wide_lines
        # The lines that DRAM reads and those that it writes take turns on its bus. A calibrated
        # rate is that of reads, and no rate of the bus.
        dram = self._device.dram
        if not dram.is_rate_of_reads:
            bus_clk = CACHE_LINE_BYTES * self._device.clock_hz / dram.bytes_per_s
            moved = (lines["dram"] + written["dram"]) * self._cores
            clocks["dram"] = max(clocks["dram"], moved * bus_clk)
        return TransferTime(clocks, lines, written)


def _executions(streams: Sequence[Stream]) -> dict[Signature, int]:
    """By signature: executions of the statements of streams."""
    out: dict[Signature, int] = {}
    for stream in streams:
        out[stream.signature] = out.get(stream.signature, 0) + stream.statement.executions
    return out


def line_clk(level: str, device: Device, cores: int) -> tuple[float, float]:
    """Clocks of a line from a level if it is prefetched, and if it is not.

    The cores that work share the bandwidth of DRAM.
    """
    core = device.cpu
    assert core is not None
    cache = _cache(level, core)
    if cache is not None:
        return cache.line_clk, cache.scattered_line_clk
    bytes_per_s = device.dram.bytes_per_s * device.dram.sustained_fraction
    shared_clk = CACHE_LINE_BYTES * device.clock_hz * cores / bytes_per_s
    return max(core.dram_line_clk, shared_clk), max(core.dram_scattered_line_clk, shared_clk)


def set_conflict_clk(level: str, core: CpuCore, sets: float) -> float:
    """Additional clocks of a line from a level if all lines are in so many sets of L1.

    On AMD's cores the misses of one set hardly overlap.
    """
    cache = _cache(level, core)
    if cache is None:
        return 0.0
    conflict_clk = cache.crowded_line_clk / max(sets, 1.0) ** SET_CONFLICT_EXPONENT
    return max(conflict_clk - cache.scattered_line_clk, 0.0)


def _cache(level: str, core: CpuCore) -> CpuCache | None:
    return {"l2": core.l2, "l3": core.l3}.get(level)


@dataclass(frozen=True)
class Row:
    """What a stream touches without a jump, and the executions of its statement meanwhile."""

    pattern: AccessPattern
    executions: float

    def exposed_lines(self, window_executions: float) -> tuple[float, float]:
        """For each line: the fraction that is not prefetched, and the latencies that it exposes.

        The reorder buffer holds `window_executions`.  If they do not reach the next rows, the
        latencies of their first lines follow each other.
        """
        if not self.pattern.copies:
            return 0.0, 0.0
        lines = max(self.pattern.run_bytes / CACHE_LINE_BYTES, 1.0)
        first = min(lines, UNPREFETCHED_LINES)
        serial = min(OUTSTANDING_MISSES, OUTSTANDING_MISSES * self.executions / window_executions)
        return first / lines, max(first, serial) / lines

    @property
    def page_jumps(self) -> float:
        """The fraction of pages that do not follow the one before, whose walk is exposed.

        Cores since Ivy Bridge walk for the next page of a stream ahead of time (Intel's
        optimisation manual, next-page prefetcher).
        """
        if not self.pattern.copies:
            return 0.0
        return max(1 - self.pattern.run_bytes / PAGE_BYTES, 0.0)


def row_of(stream: Stream, nest: Nest, footprints: Footprints) -> Row:
    """The row of a stream in a nest's loop and the outer loops that continue it."""
    depths = range(len(nest.outer_loops), -1, -1)
    depth = next((one for one in depths if footprints.pattern(stream, one).copies), 0)
    pattern = footprints.pattern(stream, depth)
    rows = math.prod(count for _, count in pattern.copies)
    executions = math.prod(loop.trip_count for loop in stream.loops[depth:])
    return Row(pattern, executions / max(rows, 1))
