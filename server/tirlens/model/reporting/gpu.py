"""What a report says of a kernel with thread bindings on a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tirlens.hardware.spec import Device
from tirlens_worker.facts import KernelFacts

from ..gpu.compiler.atomic_forms import note_update_loops
from ..gpu.compiler.matrix_instructions import find_unsupported_instructions
from ..gpu.kernel import GpuKernel, model_gpu_kernel
from ..gpu.launch.limits import refused_launch
from ..gpu.memory.atomic_contention import note_expected_contention
from ..gpu.requirements import refuse, requirement_notes, unmet_requirements
from ..report import CaveatNote, Launch, MemoryTraffic, Waves, Work
from ..roofline import roofline_seconds
from ..tree.compiled import Instructions, ThreadResources
from ..tree.node import Leaf
from ..tree.table import Table
from ..workload import Workload
from .bound import find_bound
from .modelled import Judgement, Modelled, TimeShares
from .paths import lost_notes
from .time_band import band_s, dram_traffic_range, uncertainties
from .traffic import least_dram_bytes, sum_traffic


def report_gpu(workload: Workload, work: Work, device: Device) -> Modelled:
    """The time of a kernel with `work` operations, its launch, and what the stages found."""
    kernel = model_gpu_kernel(workload, device)
    footprint = workload.counted.footprint
    traffic = sum_traffic(kernel, footprint, work, device)
    least = least_dram_bytes(kernel.traffic, footprint)
    roofline_s = roofline_seconds(device, work.flop_by_class, least) or None
    lacks = unmet_requirements(workload.facts, (leaf.source for leaf in kernel.leaves), device)

    def judge(shares: TimeShares) -> Judgement:
        return _judge(shares, kernel, traffic, roofline_s or 0.0, device)

    return Modelled(
        kernel,
        traffic,
        roofline_s,
        launch=_launch(kernel, device),
        judge=judge,
        refusal=_refusal(workload, kernel, lacks, device),
        notes=tuple(_notes(workload, kernel, lacks, device)),
        math_fidelity=None,
    )


def _launch(kernel: GpuKernel, device: Device) -> Launch:
    """Grid, resources of a block and of a thread, occupancy, and waves."""
    launch, thread = kernel.launch, kernel.context.compiled.thread
    resources = launch.block.resources
    return Launch(
        schedule="gpu",
        grid=launch.grid,
        threads_per_block=launch.launched_threads,
        threads_written=launch.threads,
        shared_bytes_per_block=resources.shared_bytes,
        registers_per_thread=resources.registers_per_thread,
        stack_bytes=thread.stack_bytes,
        spill_bytes=thread.spill_bytes,
        occupancy=launch.block.occupancy,
        waves=Waves(launch.blocks / launch.concurrent_blocks(device), 0.0),
    )


def _refusal(workload: Workload, kernel: GpuKernel, lacks: list[str], device: Device) -> str | None:
    """The reason why the device cannot run a kernel that requires what it `lacks`."""
    facts, block = workload.facts, kernel.launch.block
    if lacks:
        return refuse(lacks, device)
    reason = refused_launch(workload.counts, device)
    if not reason and facts.refused.get(device.arch):
        reason = f"{facts.framework} does not compile this for {device.name}"
    if not reason and not block.occupancy:
        return block.misfit
    return reason or None


def _notes(
    workload: Workload, kernel: GpuKernel, lacks: list[str], device: Device
) -> Iterator[CaveatNote]:
    context, leaves = kernel.context, kernel.leaves
    yield from find_unsupported_instructions((leaf.source for leaf in leaves), device.arch)
    yield from requirement_notes(workload.facts, lacks, device)
    yield from note_update_loops(leaves, device.arch)
    yield from note_expected_contention(leaves, context.moved.atomics, device)
    yield from lost_notes(kernel.tree, context.compiled.routes)
    yield from _local_memory_notes(workload.facts, context.compiled.thread, device)
    yield from _serialised_products(leaves, context.compiled.instructions)


def _local_memory_notes(
    facts: KernelFacts, thread: ThreadResources, device: Device
) -> Iterator[CaveatNote]:
    """What is in local memory: by the machine code, else by the estimate."""
    if facts.compiled_for(device.arch) is None:
        if thread.spill_bytes:
            message = "the fragments take more registers than a thread can have: they will spill"
            yield CaveatNote(message, facts.span, is_spill=True)
        return
    if thread.spill_bytes:
        message = f"registers spill: code for {thread.spill_bytes} bytes a thread (ptxas)"
        yield CaveatNote(message, facts.span, is_spill=True)
    elif any(one.instructions for one in thread.local_memory):
        # Else it is for rare paths of the math library.
        message = f"{thread.stack_bytes} bytes of arrays a thread are in local memory (ptxas)"
        yield CaveatNote(message, facts.span)


def _serialised_products(
    leaves: Sequence[Leaf], instructions: Table[Instructions]
) -> Iterator[CaveatNote]:
    """The products whose asynchronous instructions the compiler lets wait one by one."""
    for leaf in leaves:
        waits = round(instructions[leaf].product_waits)
        if waits > 1:
            message = f"ptxas serialises the product: {waits} waits where one would do"
            yield CaveatNote(message, next(iter(leaf.source.sites), None))


def _judge(
    shares: TimeShares, kernel: GpuKernel, traffic: MemoryTraffic, roofline_s: float, device: Device
) -> Judgement:
    bound = find_bound(
        device,
        shares.utilisation,
        kernel.launch.blocks,
        shares.launch,
        shares.tail,
        kernel.time.limiter,
        uses_shared=traffic.shared_bytes != 0,
    )
    parts = uncertainties(device, shares.utilisation, shares.launch, dram_traffic_range(traffic))
    low, high = band_s(shares.time_s, parts)
    # No measured time is below the least time at the data sheet's rates.
    return Judgement(bound, parts, (max(low, min(roofline_s, shares.time_s)), high))
