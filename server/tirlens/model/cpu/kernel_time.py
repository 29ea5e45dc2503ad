"""The time of a kernel on a CPU: the Execution-Cache-Memory model on the busiest core.

After the ECM model for several cores (Treibig, Hager, Wellein).  Each core needs the longer of its
in-core time and the time of its cache lines, which overlap in part.  The cores share the rates of
the last-level cache and of DRAM.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tirlens.hardware.cpu_core import CACHE_LINE_BYTES
from tirlens.hardware.spec import Device
from tirlens_worker.facts import Buffer, KernelFacts

from ..constants import constant
from ..dtypes import scalar_class
from ..tree.busy import NO_SPILLS, Busy
from ..tree.context import EnclosingLoop
from ..tree.kernel_time import KernelTime
from ..tree.moved import NO_TRAFFIC, Traffic
from ..tree.node import CostNode, leaves_of
from ..tree.table import Table
from ..tree.timed_kernel import TimedKernel
from ..tree.timed_node import timed_tree
from .compiler import Nest, compile_loops, executed_code
from .compiler.statements import NestStatement
from .in_core import CoreTime, executed_core_times, time_core
from .memory import TransferTime, time_transfers

CPU_OVERLAP_EXPONENT = constant(
    "CPU_OVERLAP_EXPONENT",
    3.0,
    kind="fitted",
    unit="dimensionless",
    meaning=(
        "Exponent with which in-core time and transfers overlap: 1 not at all, infinity entirely."
    ),
    source="hand-tuned",
    rows="CPU kernels (`tests/measured/cpu_kernels`)",
)


@dataclass(frozen=True)
class CpuKernel(TimedKernel):
    """A kernel on a CPU.

    The statements have the time in seconds for which each keeps each unit of the busiest core busy,
    and the bytes that all cores transfer from L2 or beyond.

    Attributes
    ----------
    busy_cores
        The cores that the kernel's parallel loops keep busy.
    is_executed
        Whether the in-core times are those of the instructions that LLVM made.
    """

    busy_cores: int
    is_executed: bool


def model_cpu_kernel(
    facts: KernelFacts,
    nodes: tuple[CostNode, ...],
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Sequence[int]],
    device: Device,
) -> CpuKernel:
    """The time of each statement and of the kernel on a CPU.

    The kernel is assumed to run repeatedly, so that the caches hold what the last run left.

    Parameters
    ----------
    facts
        The kernel.
    nodes
        The body of the kernel, counted.
    buffers, shapes
        The kernel's arrays and their shapes in elements, by name.
    device
        The device, a CPU.
    """
    assert device.cpu is not None
    kernel = compile_loops(nodes, buffers, shapes, device)
    parts = max((parallel_iterations(nest) for nest in kernel.nests), default=1)
    cores = min(parts, device.sm_count)
    shares = [busiest_share(nest, device) for nest in kernel.nests]
    core_times = [
        time_core(nest, device, share) for nest, share in zip(kernel.nests, shares, strict=True)
    ]
    code = executed_code(facts, shapes, device)
    if code is not None:
        core_times = executed_core_times(code, kernel.nests, core_times, device)
    instructions = [
        core.instructions / max(_most_executions(nest) * share, 1)
        for nest, core, share in zip(kernel.nests, core_times, shares, strict=True)
    ]
    transfers = time_transfers(kernel, instructions, device, cores)
    launch_s = device.cpu.call_s + device.launch_s * parallel_entries(kernel.nests)
    leaves = leaves_of(nodes)
    time_s = [0.0] * len(leaves)
    traffic = [NO_TRAFFIC] * len(leaves)
    unit_s: list[Mapping[str, float]] = [{}] * len(leaves)
    for parts_of_nest in zip(kernel.nests, core_times, transfers, strict=True):
        nest = NestTime(*parts_of_nest)
        for statement, share in nest.statement_shares():
            number = statement.node.number
            unit_s[number] = _unit_times_s(statement, nest, share, device.clock_hz)
            traffic[number] = _traffic(nest.transfers, cores * share)
            time_s[number] = nest.clk * share / device.clock_hz
    busy = Busy(Table(unit_s), Table(NO_SPILLS for _ in leaves))
    node_times = timed_tree(nodes, lambda leaf: time_s[leaf.number])
    time = KernelTime(launch_s, node_times.total_s, 0.0, None)
    return CpuKernel(nodes, Table(traffic), busy, None, node_times, time, cores, code is not None)


@dataclass(frozen=True)
class NestTime:
    """The time of a nest on the busiest core."""

    nest: Nest
    core: CoreTime
    transfers: TransferTime

    @property
    def clk(self) -> float:
        """Clocks of the nest, with the overlap of in-core time and transfers."""
        core_clk, transfer_clk = self.core.throughput_clk, self.transfers.clk
        longer = max(core_clk, transfer_clk)
        if not longer:
            return self.core.chain_clk
        core_part = (core_clk / longer) ** CPU_OVERLAP_EXPONENT
        transfer_part = (transfer_clk / longer) ** CPU_OVERLAP_EXPONENT
        both = longer * (core_part + transfer_part) ** (1 / CPU_OVERLAP_EXPONENT)
        # While a dependency chain sets the time, transfers overlap with it entirely.
        return max(both, self.core.chain_clk + self.core.entry_clk)

    def statement_shares(self) -> Iterable[tuple[NestStatement, float]]:
        """Each statement with its fraction of the nest's time, by its throughput clocks."""
        statements = self.nest.statements
        clk = [self.core.statement_clk.get(id(one.node), 0.0) for one in statements]
        total = sum(clk)
        for statement, one in zip(statements, clk, strict=True):
            yield statement, one / total if total else 1 / len(statements)


def _unit_times_s(
    statement: NestStatement, nest: NestTime, share: float, clock_hz: float
) -> dict[str, float]:
    """The busy times of a statement that has a `share` of its nest, by unit."""
    node = statement.node
    is_double = any(scalar_class(entry.arith.dtype) == "fp64" for entry in node.count.arith)
    unit = ("fp64" if is_double else "fp32") if statement.is_floating_point else "int"
    clocks = {
        unit: nest.core.arithmetic_clk,
        "latency": nest.core.chain_clk,
        "sfu": nest.core.call_clk,
        "issue": nest.core.issue_clk + nest.core.entry_clk,
        "l1": nest.core.load_store_clk,
        **nest.transfers.level_clk,
    }
    return {name: value * share / clock_hz for name, value in clocks.items() if value}


def _traffic(transfers: TransferTime, cores: float) -> Traffic:
    """The bytes of the transfers of so many cores."""
    line_bytes = CACHE_LINE_BYTES * cores
    return Traffic(
        l2_read_bytes=transfers.lines * line_bytes,
        l2_write_bytes=sum(transfers.level_written_lines.values()) * line_bytes,
        dram_read_bytes=transfers.level_lines.get("dram", 0.0) * line_bytes,
        dram_write_bytes=transfers.level_written_lines.get("dram", 0.0) * line_bytes,
    )


def parallel_iterations(nest: Nest) -> int:
    """Iterations of a nest's parallel loop; 1 without one."""
    return max((loop.trip_count for loop in nest.loops if loop.kind == "parallel"), default=1)


def busiest_share(nest: Nest, device: Device) -> float:
    """The fraction of a nest's executions that the busiest core has."""
    parts = parallel_iterations(nest)
    cores = min(parts, device.sm_count)
    return math.ceil(parts / cores) / parts


def parallel_entries(nests: Iterable[Nest]) -> int:
    """Entries of parallel loops in one launch, each of which wakes the other cores."""
    entries: dict[tuple[EnclosingLoop, ...], int] = {}
    for nest in nests:
        for depth, loop in enumerate(nest.loops):
            if loop.kind == "parallel" and loop.trip_count > 1:
                outer_loops = nest.loops[:depth]
                entries[nest.loops[: depth + 1]] = math.prod(
                    outer.trip_count for outer in outer_loops
                )
                break
    return sum(entries.values())


def _most_executions(nest: Nest) -> int:
    return max((statement.executions for statement in nest.statements), default=1)
