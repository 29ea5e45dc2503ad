"""The stages of a GPU kernel in order: occupancy, traffic, unit times, block time, launch time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tirlens.hardware.spec import Device

from ..tree.kernel_time import KernelTime
from ..tree.node import CostNode, StatementCost, known_sum, leaves_of, replace_leaves
from ..tree.timed_node import TimedNode
from ..workload import Workload
from .block import BlockOccupancy, BlockRecord, BlockTime, block_occupancy, time_block
from .compiler.routes import choose_routes
from .compiler.spills import add_spill_time
from .launch.imbalance import block_times_s, imbalance_factor
from .launch.launch_time import (
    BLOCK_START_S,
    BlockSchedule,
    ResourceDemand,
    are_warps_unsynchronised,
    time_launch,
)
from .launch.memory_latency import (
    loaded_latency_fraction,
    with_idle_latency,
    with_loaded_latency,
    with_saturated_latency,
)
from .memory import compute_traffic
from .memory.atomic_contention import add_atomic_demand
from .memory.l2_sharing import LaunchShape
from .units import l2_hit_seconds, sum_busy_times, unit_busy_times, with_read_write_mix


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
class GpuKernel:
    """A kernel with the time of its block, node by node, and of its launch."""

    tree: tuple[CostNode, ...]
    launch: GpuLaunch
    block_time: TimedNode
    time: KernelTime


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
    routed = choose_routes(workload.tree, workload.facts, device)
    launch = find_launch(workload, routed, device)
    leaves = move_bytes(workload, leaves_of(routed), launch, device)
    device = with_read_write_mix(device, leaves)
    leaves = [leaf.with_busy_s(unit_busy_times(leaf, device)) for leaf in leaves]
    leaves = add_spill_time(leaves, launch.block.resources.spilled_share, device)
    tree = replace_leaves(routed, leaves)
    block, queueing_s = _time_block(tree, launch, device, record)
    time = _time_launch(tree, launch, device, block, queueing_s)
    return GpuKernel(tree, launch, block.root, time)


def find_launch(workload: Workload, tree: Sequence[CostNode], device: Device) -> GpuLaunch:
    """The launch of a kernel; as lowered for the device's architecture where it is lowered."""
    facts, counts = workload.facts, workload.counts
    threads = math.prod(counts.launch.threads or (1,))
    lowered = facts.lowered_for(device.arch)
    return GpuLaunch(
        grid=tuple(counts.launch.grid or (1,)) or (1,),
        cluster=tuple(counts.launch.cluster or ()),
        threads=threads,
        launched_threads=lowered.threads if lowered else threads,
        block=block_occupancy(facts, counts, tree, device),
        panel=facts.launch.panel,
        panel_order=facts.launch.panel_order,
    )


def move_bytes(
    workload: Workload, leaves: Sequence[StatementCost], launch: GpuLaunch, device: Device
) -> list[StatementCost]:
    """The statements with their traffic in L2 and DRAM, and their atomic updates."""
    shape = LaunchShape(
        launch.grid if workload.is_scheduled else (1,),
        max(min(launch.blocks, launch.concurrent_blocks(device)), 1),
        launch.block.resources.shared_bytes,
        launch.panel,
        launch.panel_order,
    )
    accesses = workload.global_accesses.for_leaves(leaves)
    demanding = add_atomic_demand(leaves, accesses, device)
    moved = compute_traffic(leaves, accesses, shape, device, workload.counted.footprint)
    return [leaf.with_atomics(other.atomics) for leaf, other in zip(moved, demanding, strict=True)]


def _time_block(
    tree: Sequence[CostNode], launch: GpuLaunch, device: Device, record: BlockRecord | None
) -> tuple[BlockTime, float]:
    """The time of one block, and its queueing time in seconds while DRAM is always busy."""
    leaves = leaves_of(tree)
    if not are_warps_unsynchronised(leaves):
        moved_bytes = _dram_bytes(leaves)
        loaded = with_loaded_latency(device, moved_bytes)
        share = _latency_share(device, launch, moved_bytes)
        block = time_block(
            tree,
            loaded,
            launch.blocks,
            has_producer=launch.launched_threads > launch.threads,
            latency_share=share,
            record=record,
        )
        return block, 0.0
    idle = time_block(tree, with_idle_latency(device), launch.blocks, is_unsynchronised=True)
    saturated = with_saturated_latency(device)
    queued = time_block(tree, saturated, launch.blocks, is_unsynchronised=True)
    return idle, max(queued.total_s - idle.total_s, 0.0)


def _dram_bytes(leaves: Sequence[StatementCost]) -> float | None:
    """DRAM bytes of the kernel; None where its issued bytes are not known."""
    if known_sum([leaf.global_bytes for leaf in leaves]) is None:
        return None
    read = sum(leaf.traffic.dram_read_bytes for leaf in leaves)
    written = sum(leaf.traffic.dram_write_bytes for leaf in leaves)
    return round(read) + round(written)


def _latency_share(
    device: Device, launch: GpuLaunch, moved_bytes: float | None
) -> Callable[[float], float]:
    """The latency of one wait over that under the kernel's whole traffic.

    The result is a function of the bytes that a block requests before the wait.
    """
    whole = loaded_latency_fraction(device, moved_bytes)
    blocks = min(launch.blocks, launch.concurrent_blocks(device))
    warps = blocks * launch.threads / device.limits.warp_size

    def share(block_bytes: float) -> float:
        return min(loaded_latency_fraction(device, blocks * block_bytes, warps) / whole, 1.0)

    return share


def _time_launch(
    tree: Sequence[CostNode],
    launch: GpuLaunch,
    device: Device,
    block: BlockTime,
    queueing_s: float,
) -> KernelTime:
    leaves = leaves_of(tree)
    times = block_times_s(block.root, launch.grid, launch.panel, launch.panel_order, launch.cluster)
    imbalance = 1.0
    if times is not None:
        imbalance = imbalance_factor(times + BLOCK_START_S, launch.concurrent_blocks(device))
    return time_launch(
        device,
        BlockSchedule(
            launch.blocks, launch.block.blocks_per_sm, block.total_s, imbalance, queueing_s
        ),
        ResourceDemand(
            {**sum_busy_times(leaves), "l2 again": l2_hit_seconds(leaves, device)},
            block.prefetched_share,
            block.burst_share,
            are_warps_unsynchronised(leaves),
        ),
    )
