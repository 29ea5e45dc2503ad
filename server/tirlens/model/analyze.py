"""Facts, a device and bindings in, a report out: the model's one entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tirlens.hardware.provenance import caveats
from tirlens.hardware.spec import Device
from tirlens_worker.facts import KernelFacts

from . import cpu
from .counting.data_substitution import bind_data_extents, split_rows_evenly
from .counting.kernel_counts import Counts
from .gpu.block import BlockOccupancy, block_occupancy, time_block
from .gpu.compiler.instruction_set import find_unsupported_instructions
from .gpu.compiler.spills import add_spill_time
from .gpu.launch.imbalance import block_times_s, imbalance_factor
from .gpu.launch.launch_time import (
    BlockSchedule,
    ResourceDemand,
    are_warps_unsynchronised,
    time_launch,
)
from .gpu.launch.lower_bound import limit_to_compulsory_bytes, report_lower_bound
from .gpu.launch.memory_latency import (
    loaded_latency_fraction,
    with_idle_latency,
    with_loaded_latency,
    with_saturated_latency,
)
from .gpu.memory import compute_traffic
from .gpu.memory.l2_sharing import LaunchShape
from .gpu.units import as_mixed, busy_seconds, repeated_l2_seconds, sum_seconds
from .multi_kernel import merge_reports, split_kernels
from .report import CaveatNote, KernelReport, Waves
from .reporting.report_builder import (
    add_cached_roofline,
    add_counts,
    add_time,
    add_traffic,
    add_unknown_time,
)
from .tree.node import CostNode, leaves_of, replace_leaves
from .workload import Workload, count_workload


def analyze(
    facts: KernelFacts,
    device: Device,
    bindings: Mapping[str, int] | None = None,
    known: Workload | None = None,
    by_line: bool = True,
) -> KernelReport:
    """What `facts` cost on `device` with its shape variables bound by `bindings`.

    A variable that is not bound has the size that the facts' call tells, if it tells one, or else
    the one that is assumed for it, if any: the report then says so.
    `known` are counts of these facts or of like ones, which are taken where they hold.  `by_line`
    asks for the breakdown, which a what-if that only compares times does without.
    Pure, takes milliseconds, and never raises: what cannot be known is None with a caveat, and
    facts that the model cannot handle give a report whose status is ``error`` or
    ``needs-bindings``.
    """
    try:
        return _modelled(facts, device, bindings, known, by_line)
    except Exception as error:  # the model must not take the editor down, whatever the facts
        message = f"the model could not handle this kernel: {type(error).__name__}: {error}"
        return _uncounted(facts, device, bindings or {}).replace(status="error", message=message)


def workload_of(facts: KernelFacts, bindings: Mapping[str, int] | None = None) -> Workload | None:
    """What several calls of `analyze` for these facts and like ones need to count only once.

    None where they are several kernels, or facts that the model cannot handle.
    """
    try:
        facts = split_rows_evenly(facts)
        return (
            None
            if len(split_kernels(facts)) > 1
            else count_workload(facts, _sizes(facts, bindings))
        )
    except Exception:  # `analyze` tells of it
        return None


def _modelled(
    facts: KernelFacts,
    device: Device,
    bindings: Mapping[str, int] | None,
    known: Workload | None,
    by_line: bool,
) -> KernelReport:
    if known is None or known.facts is not facts:
        facts = split_rows_evenly(facts)
    parts = split_kernels(facts)
    if len(parts) > 1:
        return merge_reports([analyze(part, device, bindings, None, by_line) for part in parts])
    sizes = _sizes(facts, bindings)
    if known is None or known.facts is not facts:
        facts = bind_data_extents(facts, sizes)
    found = None if known is None else known.for_facts(facts, sizes)
    report = _uncounted(facts, device, bindings or {})
    return _analyzed(report, found or count_workload(facts, sizes), device, by_line)


def _uncounted(facts: KernelFacts, device: Device, bindings: Mapping[str, int]) -> KernelReport:
    """What the report says before anything is counted."""
    sizes = _sizes(facts, bindings)
    bound = {item.name: sizes[item.name] for item in facts.variables if item.name in sizes}
    guessed = [name for name in bound if name in _guessed(facts, bindings)]
    return KernelReport(
        name=facts.name,
        definition=facts.definition,
        span=facts.span,
        framework=facts.framework,
        framework_version=facts.framework_version,
        call=facts.call,
        call_source="assumed" if guessed else facts.call_source,
        bindings=bound,
        device_id=device.id,
        device_name=device.name,
        launch_facts="lowered" if facts.lowered_for(device.arch) else "source",
        lowered=facts.lowered_for(device.arch),
        lowering_error=facts.refused.get(device.arch, ""),
        caveats=(
            *(CaveatNote(caveat.message, caveat.span) for caveat in facts.caveats),
            *(CaveatNote(text, facts.span) for text in caveats(device)),
            *_assumption({name: bound[name] for name in guessed}, facts),
        ),
    )


def _sizes(facts: KernelFacts, bindings: Mapping[str, int] | None) -> dict[str, int]:
    given = {name: int(value) for name, value in (bindings or {}).items()}
    return {**facts.assumed, **facts.sizes, **given}


def _guessed(facts: KernelFacts, bindings: Mapping[str, int] | None) -> set[str]:
    """The variables whose size is assumed."""
    return set(facts.assumed) - set(facts.sizes) - set(bindings or ())


def _assumption(sizes: Mapping[str, int], facts: KernelFacts) -> tuple[CaveatNote, ...]:
    """Tells the assumed `sizes`, and how to give others."""
    if not sizes:
        return ()
    said = ", ".join(f"{name}={size}" for name, size in sizes.items())
    comment = f"a comment '# tirlens: {next(iter(sizes))}=...'"
    return (CaveatNote(f"assumed sizes: {said}; {comment} or --bind sets them", facts.span),)


@dataclass(frozen=True)
class _Launch:
    grid: tuple[int, ...]
    threads: int  # of the source, without a producer beside them
    threads_launched: int
    blocks: int
    block: BlockOccupancy
    panel: int | None
    panel_order: str
    cluster: tuple[int, ...]


def _analyzed(report: KernelReport, found: Workload, device: Device, by_line: bool) -> KernelReport:
    facts, counts, touched = found.facts, found.counts, found.counted.footprint
    seen = set(report.caveats)
    notes = tuple(
        note
        for note in (CaveatNote(caveat.message, caveat.span) for caveat in counts.caveats)
        if note not in seen
    )
    report = report.replace(caveats=report.caveats + notes, formula=found.counted.formula)
    if found.needs:
        message = f"needs {', '.join(found.needs)}"
        return report.replace(status="needs-bindings", needs=found.needs, message=message)
    negative = _negative_array(counts)
    if negative is not None:
        return report.replace(status="error", message=f"an array of this kernel is {negative}")
    items = found.tree
    leaves = leaves_of(items)
    report = add_counts(report, leaves, {caveat.function for caveat in facts.caveats})
    scheduled = bool(facts.launch.grid or facts.launch.threads)
    launch = _launch(facts, counts, items, device)
    shape = LaunchShape(
        launch.grid if scheduled else (1,),
        max(min(launch.blocks, launch.block.blocks_per_sm * device.sm_count), 1),
        launch.block.resources.shared_bytes,
        launch.panel,
        launch.panel_order,
    )
    if device.kind == "cpu":
        times = cpu.time_kernel(items, found.buffers, found.shapes, device)
        leaves = leaves_of(times.nodes)
        report = add_cached_roofline(add_traffic(report, touched, leaves, device), device).replace(
            schedule="cpu"
        )
        timed = times.timed_tree, times.kernel_time
        return add_time(report, device, times.nodes, timed, times.busy_cores, by_line)
    leaves = compute_traffic(
        leaves, found.global_accesses.for_leaves(leaves), shape, device, touched
    )
    if not scheduled or device.kind == "accelerator":
        leaves = limit_to_compulsory_bytes(leaves, None if touched is None else touched.bytes)
        report = add_traffic(report, touched, leaves, device)
        return report_lower_bound(report, device, items, leaves)
    absent = find_unsupported_instructions((leaf.source for leaf in leaves), device.arch)
    report = report.replace(caveats=report.caveats + absent)
    device = as_mixed(device, leaves)
    leaves = [leaf.replace(busy_s=busy_seconds(leaf, device)) for leaf in leaves]
    leaves = add_spill_time(leaves, launch.block.resources.spilled, device)
    report = add_traffic(report, touched, leaves, device)
    return _on_gpu(report, device, replace_leaves(items, leaves), launch, by_line)


def _negative_array(counts: Counts) -> str | None:
    """An array of negative size, which no kernel can have: its arguments do not make sense."""
    for name, buffer in counts.buffers.items():
        if any(size < 0 for size in buffer.shape or ()):
            return f"{name}[{', '.join(map(str, buffer.shape or ()))}]: check its arguments"
    return None


def _launch(
    facts: KernelFacts, counts: Counts, items: Sequence[CostNode], device: Device
) -> _Launch:
    grid = tuple(counts.launch.grid or (1,)) or (1,)
    threads = math.prod(counts.launch.threads or (1,))
    lowered = facts.lowered_for(device.arch)
    return _Launch(
        grid=grid,
        threads=threads,
        threads_launched=lowered.threads if lowered else threads,
        blocks=max(math.prod(grid), 1),
        block=block_occupancy(facts, counts, items, device),
        panel=facts.launch.panel,
        panel_order=facts.launch.panel_order,
        cluster=tuple(counts.launch.cluster or ()),
    )


def _latency_share(
    device: Device, launch: _Launch, moved_bytes: float | None
) -> Callable[[float], float]:
    """Which part of the latencies under the whole traffic one wait of all resident blocks has."""
    whole = loaded_latency_fraction(device, moved_bytes)
    blocks = min(launch.blocks, launch.block.blocks_per_sm * device.sm_count)
    warps = blocks * launch.threads / device.limits.warp_size

    def share(bytes_of_block: float) -> float:
        return min(loaded_latency_fraction(device, blocks * bytes_of_block, warps) / whole, 1.0)

    return share


def _on_gpu(
    report: KernelReport,
    device: Device,
    items: Sequence[CostNode],
    launch: _Launch,
    by_line: bool,
) -> KernelReport:
    report = report.replace(
        schedule="gpu",
        grid=launch.grid,
        threads_per_block=launch.threads_launched,
        threads_written=launch.threads,
        shared_bytes_per_block=launch.block.resources.shared_bytes,
        registers_per_thread=launch.block.resources.registers,
        occupancy=launch.block.occupancy,
        waves=Waves(launch.blocks / (launch.block.blocks_per_sm * device.sm_count), 0.0),
    )
    leaves = leaves_of(items)
    drifts = are_warps_unsynchronised(leaves)
    dram_bytes = report.dram_bytes.total
    timing_device = with_idle_latency(device) if drifts else with_loaded_latency(device, dram_bytes)
    latency_share = None if drifts else _latency_share(device, launch, dram_bytes)
    block = time_block(items, timing_device, launch.blocks, drifts, latency_share)
    queued_s = 0.0
    if drifts:
        far = time_block(items, with_saturated_latency(device), launch.blocks, drifts)
        queued_s = max(far.total_s - block.total_s, 0.0)
    costs = block_times_s(block.root, launch.grid, launch.panel, launch.panel_order, launch.cluster)
    places = launch.block.blocks_per_sm * device.sm_count
    longer = 1.0 if costs is None else imbalance_factor(costs, places)
    time = time_launch(
        device,
        BlockSchedule(launch.blocks, launch.block.blocks_per_sm, block.total_s, longer, queued_s),
        ResourceDemand(
            {**sum_seconds(leaves), "l2 again": repeated_l2_seconds(leaves, device)},
            block.prefetched_share,
            block.burst_share,
            drifts,
        ),
    )
    if launch.block.resources.spilled:
        message = "the fragments take more registers than a thread can have: they will spill"
        note = CaveatNote(message, report.span, is_spill=True)
        report = report.replace(caveats=(*report.caveats, note))
    timed = block.root, time
    if not launch.block.occupancy:
        return add_unknown_time(report, items, timed, launch.block.misfit, by_line)
    return add_time(report, device, items, timed, launch.blocks, by_line)
