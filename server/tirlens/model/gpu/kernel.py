"""The stages of a GPU kernel in order, each of which reads what those before it returned."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tirlens.hardware.spec import Device

from ..tree.compiled import Compiled
from ..tree.kernel_time import KernelTime
from ..tree.moved import MemoryState, Moved
from ..tree.node import CostNode, known_sum, leaves_of
from ..tree.timed_kernel import TimedKernel
from ..workload import Workload
from .block import BlockContext, BlockRecord, BlockTime, time_block
from .compiler.code_clocks import code_clocks
from .compiler.machine_instructions import is_of_sizes, machine_instructions
from .compiler.routes import choose_routes
from .compiler.thread_resources import thread_resources
from .launch.imbalance import block_times_s, imbalance_factor
from .launch.launch_time import (
    BLOCK_START_S,
    BlockSchedule,
    ResourceDemand,
    are_warps_unsynchronised,
    time_launch,
)
from .memory import LaunchShape
from .memory import move_bytes as move_launched_bytes
from .memory.latency import (
    loaded_latency_fraction,
    with_idle_latency,
    with_loaded_latency,
    with_saturated_latency,
)
from .occupancy import BlockOccupancy, block_occupancy
from .units import l2_hit_seconds, occupy_units, sum_busy_times


@dataclass(frozen=True)
class GpuLaunch:
    """The launch of a kernel on a device.

    Attributes
    ----------
    grid, cluster
        Blocks along x, y and z; blocks of a cluster.
    threads, launched_threads
        Threads of a block in the source, and as launched, with a producer warpgroup.
    block
        The resources of a block, and the blocks that are resident on an SM.
    panel, panel_order
        The rasterisation of ``T.use_swizzle``; None without it.
    """

    grid: tuple[int, ...]
    cluster: tuple[int, ...]
    threads: int
    launched_threads: int
    block: BlockOccupancy
    panel: int | None
    panel_order: str

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return max(math.prod(self.grid), 1)

    def concurrent_blocks(self, device: Device) -> int:
        """The number of blocks that the device can run at the same time."""
        return self.block.blocks_per_sm * device.sm_count


@dataclass(frozen=True)
class GpuKernel(TimedKernel):
    """A kernel on a GPU.

    Attributes
    ----------
    launch
        Its launch.
    context
        What the stages before the block find, and the memory under full load.
    """

    launch: GpuLaunch
    context: BlockContext


def model_gpu_kernel(
    workload: Workload, device: Device, record: BlockRecord | None = None
) -> GpuKernel:
    """The time of a kernel with thread bindings on a GPU.

    Parameters
    ----------
    workload
        The counts, thread mappings and instructions of the kernel.
    device
        The GPU.
    record
        Receives how the time of a block comes about.
    """
    tree = workload.tree
    compiled = compile_for(workload, device)
    launch = find_launch(workload, compiled, device)
    moved = move_bytes(workload, compiled, launch, device)
    busy = occupy_units(leaves_of(tree), compiled, moved, launch.block, device)
    context = BlockContext(
        device,
        compiled,
        moved,
        busy,
        moved.memory,
        launch.blocks,
        is_unsynchronised=are_warps_unsynchronised(leaves_of(tree)),
        has_producer=launch.launched_threads > launch.threads,
        latency_share=None,
        record=record,
    )
    block, queueing_s = _time_block(tree, context, launch)
    time = _time_launch(context, launch, block, queueing_s)
    return GpuKernel(tree, moved.traffic, busy, compiled.routes, block.root, time, launch, context)


def compile_for(workload: Workload, device: Device) -> Compiled:
    """What the compiler makes of a kernel on a device."""
    estimated, mapped = workload.instructions, workload.mapped
    facts, counts, tree = workload.facts, workload.counts, workload.tree
    routes = choose_routes(tree, estimated, facts, device)
    thread = thread_resources(facts, counts, tree, estimated, routes, device)
    instructions, clocks = estimated, None
    machine_code = facts.compiled_for(device.arch)
    if machine_code is not None and is_of_sizes(machine_code, workload.counted.bindings):
        blocks = math.prod(counts.launch.grid or (1,))
        instructions = machine_instructions(tree, estimated, machine_code.executed, blocks)
        clocks = code_clocks(tree, estimated, machine_code.line_clocks)
    return Compiled(instructions, routes, mapped.row_vectors, mapped.accumulators, thread, clocks)


def find_launch(workload: Workload, compiled: Compiled, device: Device) -> GpuLaunch:
    """The launch of a kernel; as lowered for the device's architecture where it is lowered."""
    facts, counts = workload.facts, workload.counts
    threads = math.prod(counts.launch.threads or (1,))
    lowered = facts.lowered_for(device.arch)
    return GpuLaunch(
        grid=tuple(counts.launch.grid or (1,)) or (1,),
        cluster=tuple(counts.launch.cluster or ()),
        threads=threads,
        launched_threads=lowered.threads if lowered else threads,
        block=block_occupancy(facts, counts, workload.tree, compiled, device),
        panel=facts.launch.panel,
        panel_order=facts.launch.panel_order,
    )


def move_bytes(workload: Workload, compiled: Compiled, launch: GpuLaunch, device: Device) -> Moved:
    """The traffic of the statements in L2 and DRAM, and their atomic updates."""
    shape = LaunchShape(
        launch.grid if workload.is_scheduled else (1,),
        max(min(launch.blocks, launch.concurrent_blocks(device)), 1),
        launch.block.resources.shared_bytes,
        launch.panel,
        launch.panel_order,
    )
    accesses, footprint = workload.global_accesses, workload.counted.footprint
    return move_launched_bytes(compiled.instructions, accesses, shape, device, footprint)


def _time_block(
    tree: Sequence[CostNode], context: BlockContext, launch: GpuLaunch
) -> tuple[BlockTime, float]:
    """The time of one block, and its queueing time in seconds while DRAM is always busy."""
    device, memory = context.device, context.memory
    if not context.is_unsynchronised:
        issued_bytes = known_sum([leaf.global_bytes for leaf in leaves_of(tree)])
        moved_bytes = None if issued_bytes is None else _dram_bytes(context.moved)
        loaded = replace(
            context,
            memory=with_loaded_latency(memory, device, moved_bytes),
            latency_share=_latency_share(memory, device, launch, moved_bytes),
        )
        return time_block(tree, loaded), 0.0
    idle = time_block(tree, replace(context, memory=with_idle_latency(memory)))
    queued = time_block(tree, replace(context, memory=with_saturated_latency(memory, device)))
    return idle, max(queued.total_s - idle.total_s, 0.0)


def _dram_bytes(moved: Moved) -> float:
    """DRAM bytes of a kernel."""
    read = sum(traffic.dram_read_bytes for traffic in moved.traffic)
    written = sum(traffic.dram_write_bytes for traffic in moved.traffic)
    return round(read) + round(written)


def _latency_share(
    memory: MemoryState, device: Device, launch: GpuLaunch, moved_bytes: float | None
) -> Callable[[float], float]:
    """The latency of one wait over that under the kernel's whole traffic.

    The result is a function of the bytes that a block requests before the wait.
    """
    whole = loaded_latency_fraction(memory, device, moved_bytes)
    blocks = min(launch.blocks, launch.concurrent_blocks(device))
    warps = blocks * launch.threads / device.limits.warp_size

    def share(block_bytes: float) -> float:
        loaded = loaded_latency_fraction(memory, device, blocks * block_bytes, warps)
        return min(loaded / whole, 1.0)

    return share


def _time_launch(
    context: BlockContext, launch: GpuLaunch, block: BlockTime, queueing_s: float
) -> KernelTime:
    device, compiled, moved = context.device, context.compiled, context.moved
    times = block_times_s(block.root, launch.grid, launch.panel, launch.panel_order, launch.cluster)
    imbalance = 1.0
    if times is not None:
        imbalance = imbalance_factor(times + BLOCK_START_S, launch.concurrent_blocks(device))
    l2_hits_s = l2_hit_seconds(moved.traffic, compiled.routes, device)
    return time_launch(
        device,
        BlockSchedule(
            launch.blocks, launch.block.blocks_per_sm, block.total_s, imbalance, queueing_s
        ),
        ResourceDemand(
            {**sum_busy_times(context.busy.unit_s), "l2 again": l2_hits_s},
            block.prefetched_share,
            block.burst_share,
            context.is_unsynchronised,
        ),
    )
