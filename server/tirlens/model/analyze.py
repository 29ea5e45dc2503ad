"""The model's entry: facts, a device and bindings to a report.

The way of a kernel: `_analyze` substitutes known data and counts (`workload`), `_analyze_workload`
chooses the schedule, `gpu.kernel` or `cpu` model the time, and `reporting` writes the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tirlens.hardware.provenance import caveats
from tirlens.hardware.spec import Device
from tirlens_worker.facts import KernelFacts, ModelSizes

from . import cpu
from .counting.data_substitution import bind_data_extents, split_rows_evenly
from .gpu.compiler.atomic_forms import note_update_loops
from .gpu.compiler.matrix_instructions import find_unsupported_instructions
from .gpu.kernel import compile_for, find_launch, model_gpu_kernel, move_bytes
from .gpu.launch.limits import array_bytes, refused_launch
from .gpu.memory.atomic_contention import note_expected_contention
from .gpu.requirements import refuse, requirement_notes, unmet_requirements
from .multi_kernel import merge_reports, split_kernels
from .report import ArrayShape, CaveatNote, KernelReport
from .reporting.lower_bound import (
    limit_to_compulsory_bytes,
    report_lower_bound,
    unavoidable_footprint,
)
from .reporting.paths import lost_notes
from .reporting.report_builder import (
    add_cached_roofline,
    add_caveat,
    add_counts,
    add_gpu_launch,
    add_time,
    add_traffic,
    add_unknown_time,
)
from .tree.node import leaves_of
from .workload import Workload, count_workload


def analyze(
    facts: KernelFacts,
    device: Device,
    bindings: Mapping[str, int] | None = None,
    known: Workload | None = None,
    by_line: bool = True,
) -> KernelReport:
    """The cost of a kernel on a device.

    Parameters
    ----------
    facts
        The kernel, as extracted from its IR.
    device
        The device.
    bindings
        Sizes of shape variables.  A variable without one has the size of the facts' call, else an
        assumed size, which the report names.
    known
        The workload of these facts, or of facts with the same counts, to be reused.
    by_line
        Whether the report has the breakdown by line; what-ifs that compare times need none.

    Returns
    -------
    The report.  A number that cannot be known is None with a caveat.  Facts that the model cannot
    handle have the status ``error`` or ``needs-bindings``.  The function is pure, takes
    milliseconds and never raises.
    """
    try:
        return _analyze(facts, device, bindings, known, by_line)
    except Exception as error:  # the model must not take the editor down, whatever the facts
        message = f"the model could not handle this kernel: {type(error).__name__}: {error}"
        return _begin_report(facts, device, bindings or {}).replace(status="error", message=message)


def workload_of(facts: KernelFacts, bindings: Mapping[str, int] | None = None) -> Workload | None:
    """The workload that several calls of `analyze` for these or similar facts share.

    None for a function with several kernels, and for facts that the model cannot handle.
    """
    try:
        facts = split_rows_evenly(facts)
        return (
            None
            if len(split_kernels(facts)) > 1
            else count_workload(facts, _resolve_sizes(facts, bindings))
        )
    except Exception:  # `analyze` reports it
        return None


def _analyze(
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
    sizes = _resolve_sizes(facts, bindings)
    if known is None or known.facts is not facts:
        facts = bind_data_extents(facts, sizes)
    found = None if known is None else known.for_facts(facts, sizes)
    report = _begin_report(facts, device, bindings or {})
    return _analyze_workload(report, found or count_workload(facts, sizes), device, by_line)


def _begin_report(facts: KernelFacts, device: Device, bindings: Mapping[str, int]) -> KernelReport:
    """The report before anything is counted."""
    sizes = _resolve_sizes(facts, bindings)
    names = dict.fromkeys((*(item.name for item in facts.variables), *facts.assumed))
    bound = {name: sizes[name] for name in names if name in sizes}
    guessed = [name for name in bound if name in _assumed_variables(facts, bindings)]
    model = _without_bound(facts.model, bindings)
    return KernelReport(
        name=facts.name,
        definition=facts.definition,
        span=facts.span,
        framework=facts.framework,
        framework_version=facts.framework_version,
        call=facts.call,
        call_source="assumed" if guessed else facts.call_source,
        bindings=bound,
        assumed={**facts.assumed_arguments, **{name: str(bound[name]) for name in guessed}},
        model=model,
        device_id=device.id,
        device_name=device.name,
        sm_count=device.sm_count,
        launch_facts="lowered" if facts.lowered_for(device.arch) else "source",
        lowered=facts.lowered_for(device.arch),
        built=facts.built,
        lowering_error=facts.refused.get(device.arch, ""),
        caveats=(
            *(CaveatNote(caveat.message, caveat.span) for caveat in facts.caveats),
            *(CaveatNote(text, facts.span) for text in caveats(device)),
            *_assumption_caveats({name: bound[name] for name in guessed}, facts),
        ),
    )


def _without_bound(model: ModelSizes | None, bindings: Mapping[str, int]) -> ModelSizes | None:
    """`model` without the sizes that the user gives; None if none is left."""
    if model is None:
        return None
    values = {name: size for name, size in model.values.items() if name not in bindings}
    return replace(model, values=values) if values else None


def _resolve_sizes(facts: KernelFacts, bindings: Mapping[str, int] | None) -> dict[str, int]:
    given = {name: int(value) for name, value in (bindings or {}).items()}
    return {**facts.assumed, **facts.sizes, **given}


def _assumed_variables(facts: KernelFacts, bindings: Mapping[str, int] | None) -> set[str]:
    """The variables whose size is assumed."""
    return set(facts.assumed) - set(facts.sizes) - set(bindings or ())


def _assumption_caveats(sizes: Mapping[str, int], facts: KernelFacts) -> tuple[CaveatNote, ...]:
    """A caveat that names assumed sizes and how to set them."""
    if not sizes:
        return ()
    said = ", ".join(f"{name}={size}" for name, size in sizes.items())
    comment = f"a comment '# tirlens: {next(iter(sizes))}=...'"
    return (CaveatNote(f"assumed sizes: {said}; {comment} or --bind sets them", facts.span),)


def _analyze_workload(
    report: KernelReport, workload: Workload, device: Device, by_line: bool
) -> KernelReport:
    """The report of a counted kernel."""
    report = _add_count_caveats(report, workload)
    report = report.replace(arrays=tuple(_array_shapes(workload)))
    if workload.needs:
        message = f"needs {', '.join(workload.needs)}"
        return report.replace(status="needs-bindings", needs=workload.needs, message=message)
    negative = _negative_array(workload)
    if negative is not None:
        return report.replace(status="error", message=f"an array of this kernel is {negative}")
    if device.kind == "gpu":
        workload = workload.with_warps_of(device.limits.warp_size)
    leaves = leaves_of(workload.tree)
    noted = {caveat.function for caveat in workload.facts.caveats}
    report = add_counts(report, leaves, noted)
    if array_bytes(workload.counts) > device.dram.bytes:
        report = add_caveat(report, _memory_caveat(array_bytes(workload.counts), device))
    if device.kind == "cpu":
        return _analyze_cpu_kernel(report, workload, device, by_line)
    if device.kind == "accelerator" or not workload.is_scheduled:
        return _bound_unscheduled_kernel(report, workload, device)
    return _analyze_gpu_kernel(report, workload, device, by_line)


def _analyze_gpu_kernel(
    report: KernelReport, workload: Workload, device: Device, by_line: bool
) -> KernelReport:
    kernel = model_gpu_kernel(workload, device)
    costs = kernel.costs
    leaves = costs.leaves
    unsupported = find_unsupported_instructions((leaf.source for leaf in leaves), device.arch)
    loops = note_update_loops(leaves, device.arch)
    contention = note_expected_contention(leaves, kernel.context.moved.atomics, device)
    lost = tuple(lost_notes(costs.tree, kernel.context.compiled.routes))
    lacks = unmet_requirements(workload.facts, (leaf.source for leaf in leaves), device)
    required = requirement_notes(workload.facts, lacks, device)
    notes = (*unsupported, *required, *loops, *contention, *lost)
    report = report.replace(caveats=(*report.caveats, *notes))
    report = add_traffic(
        report,
        workload.counted.footprint,
        leaves,
        costs.traffic,
        sum(map(costs.l2_bytes, leaves)),
        device,
    )
    report = add_gpu_launch(report, kernel.launch, device)
    timed = kernel.block_time, kernel.time
    block = kernel.launch.block
    reason = refuse(lacks, device) if lacks else refused_launch(workload.counts, device)
    if not reason and report.lowering_error:
        reason = f"{report.framework} does not compile this for {device.name}"
    if reason or not block.occupancy:
        return add_unknown_time(report, costs, timed, reason or block.misfit, by_line)
    return add_time(report, device, costs, timed, kernel.launch.blocks, by_line)


def _analyze_cpu_kernel(
    report: KernelReport, workload: Workload, device: Device, by_line: bool
) -> KernelReport:
    times = cpu.time_kernel(workload.tree, workload.buffers, workload.shapes, device)
    report = add_traffic(
        report,
        workload.counted.footprint,
        times.costs.leaves,
        times.costs.traffic,
        sum(map(times.costs.l2_bytes, times.costs.leaves)),
        device,
    )
    report = add_cached_roofline(report, device).replace(schedule="cpu")
    timed = times.timed_tree, times.kernel_time
    if workload.is_scheduled:
        reason = f"it launches blocks of threads, and {device.name} is a CPU: choose a GPU"
        return add_unknown_time(report, times.costs, timed, reason, by_line)
    return add_time(report, device, times.costs, timed, times.busy_cores, by_line)


def _bound_unscheduled_kernel(
    report: KernelReport, workload: Workload, device: Device
) -> KernelReport:
    footprint = unavoidable_footprint(workload.counted.footprint, workload.facts.buffers)
    compiled = compile_for(workload, device)
    launch = find_launch(workload, compiled, device)
    moved = move_bytes(workload, compiled, launch, device)
    limit = None if footprint is None else footprint.bytes
    traffic = limit_to_compulsory_bytes(moved.traffic, limit)
    report = add_traffic(
        report,
        footprint,
        leaves_of(workload.tree),
        traffic,
        sum(one.l2_bytes for one in traffic),
        device,
    )
    least = None if footprint is None else footprint.least_bytes
    return report_lower_bound(report, device, workload.tree, traffic, least)


def _add_count_caveats(report: KernelReport, workload: Workload) -> KernelReport:
    known = set(report.caveats)
    counts = workload.counts
    notes = (
        *(CaveatNote(caveat.message, caveat.span) for caveat in counts.caveats),
        *(CaveatNote(caveat.message, caveat.span, is_defect=True) for caveat in counts.outside),
    )
    new = tuple(note for note in notes if note not in known)
    return report.replace(caveats=report.caveats + new, formula=workload.counted.formula)


def _memory_caveat(size: int, device: Device) -> str:
    return (
        f"the arrays take {size / 1e9:.4g} GB, more than the {device.dram.bytes / 1e9:.4g} GB of "
        f"{device.id}"
    )


def _array_shapes(workload: Workload) -> Iterator[ArrayShape]:
    """The arrays that the kernel takes."""
    for entry in workload.counts.buffers.values():
        buffer = entry.buffer
        if buffer.is_parameter:
            yield ArrayShape(buffer.name, buffer.dtype, entry.shape)


def _negative_array(workload: Workload) -> str | None:
    """The first array with a negative size, which the arguments of no valid kernel give."""
    for name, buffer in workload.counts.buffers.items():
        if any(size < 0 for size in buffer.shape or ()):
            return f"{name}[{', '.join(map(str, buffer.shape or ()))}]: check its arguments"
    return None
