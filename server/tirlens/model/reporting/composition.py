"""The report of a kernel, composed of its parts: the one place where a report is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tirlens.hardware.spec import Device

from ..gpu.launch.limits import array_bytes
from ..gpu.units import sum_busy_times
from ..report import (
    ArrayShape,
    BreakdownEntry,
    CaveatNote,
    Identity,
    KernelReport,
    Launch,
    MemoryTraffic,
    Rates,
    Timing,
    Waves,
    Work,
)
from ..tree.node import Leaf, leaves_of
from ..tree.timed_kernel import TimedKernel
from ..tree.timed_node import timed_tree
from ..workload import Workload
from . import attribution
from .confidence import confidence
from .cpu import report_cpu
from .gpu import report_gpu
from .lower_bound import report_lower_bound
from .modelled import Modelled, TimeShares
from .work import main_peak, sum_work, unknown_cost_notes


def compose_report(
    identity: Identity,
    notes: Sequence[CaveatNote],
    workload: Workload,
    device: Device,
    by_line: bool,
) -> KernelReport:
    """The report of a counted kernel, with its breakdown if `by_line`.

    `notes` are what is known to be assumed before it is counted.
    """
    notes = (*notes, *_new_notes(notes, workload))
    reason = _unknown_counts(workload)
    if reason is not None:
        return KernelReport(
            **vars(identity),
            **vars(Work(formula=workload.counted.formula)),
            arrays=tuple(_array_shapes(workload)),
            status="needs-bindings" if workload.needs else "error",
            needs=workload.needs,
            message=reason,
            caveats=notes,
        )
    if device.kind == "gpu":
        workload = workload.with_warps_of(device.limits.warp_size)
    leaves = leaves_of(workload.tree)
    work = sum_work(leaves, workload.counted.formula)
    modelled = _model(workload, work, device)
    kernel, launch = modelled.kernel, modelled.launch
    reason = modelled.refusal
    if reason is None:
        reason = _unknown_time(work, modelled)
    loops = _breakdown(identity, kernel, launch, reason is None) if by_line else ()
    timing, rates = Timing(roofline_time_s=modelled.roofline_time_s), Rates()
    if reason is None:
        # Exactly the sum of the entries.
        time_s = sum(entry.time_s or 0.0 for entry in loops) if by_line else kernel.time.total_s
        shares = _time_shares(kernel, time_s)
        timing = _timing(modelled, shares, identity.framework, device)
        rates = _rates(work, modelled.traffic, launch, leaves, time_s, device)
        launch = _with_tail(launch, shares.tail)
    return KernelReport(
        **vars(identity),
        **vars(timing),
        **vars(work),
        **vars(rates),
        **vars(modelled.traffic),
        **vars(launch),
        status="ok" if reason is None else "no-time",
        message=reason or "",
        is_refused=modelled.refusal is not None,
        arrays=tuple(_array_shapes(workload)),
        math_fidelity=modelled.math_fidelity,
        loops=loops,
        caveats=(
            *notes,
            *unknown_cost_notes(leaves, {one.function for one in workload.facts.caveats}),
            *_memory_notes(identity, workload, device),
            *modelled.notes,
            *_time_notes(identity, reason),
        ),
    )


def _model(workload: Workload, work: Work, device: Device) -> Modelled:
    """The model of the kind of device; for a kernel without thread bindings its lower bound."""
    if device.kind == "cpu":
        return report_cpu(workload, work, device)
    if device.kind == "accelerator" or not workload.is_scheduled:
        return report_lower_bound(workload, work, device)
    return report_gpu(workload, work, device)


def _unknown_counts(workload: Workload) -> str | None:
    """The reason why a kernel has no counts; None if it has them."""
    if workload.needs:
        return f"needs {', '.join(workload.needs)}"
    for name, buffer in workload.counts.buffers.items():
        shape = buffer.shape or ()
        if any(size < 0 for size in shape):
            # The arguments of no valid kernel give such a size.
            return (
                f"an array of this kernel is {name}[{', '.join(map(str, shape))}]: "
                "check its arguments"
            )
    return None


def _unknown_time(work: Work, modelled: Modelled) -> str | None:
    """The reason why a kernel that its device can run has no time; None if it has one."""
    traffic = modelled.traffic
    if work.flop is None or traffic.global_bytes.total is None:
        return "some counts are not"
    if modelled.launch.schedule == "unscheduled" and not modelled.roofline_time_s:
        if traffic.compulsory_bytes is None:
            return "the bytes that it touches are not"
        if traffic.global_bytes.total:
            return "an array that it reads or writes has no elements"
        return "it computes nothing and moves nothing"
    return None


def _breakdown(
    identity: Identity, kernel: TimedKernel, launch: Launch, is_known: bool
) -> tuple[BreakdownEntry, ...]:
    """The entries that add up to the kernel's time; without times where it is not known."""
    time, nodes = kernel.time, kernel.node_times
    if time.limiter is not None:
        name = time.limiter
        nodes = timed_tree(kernel.tree, lambda leaf: kernel.busy.unit_s[leaf].get(name, 0.0))
    weight = nodes.total_s
    scaled = nodes.scale(time.body_s / weight if weight else 0.0)
    frame = attribution.KernelFrame(identity.span, time.total_s if is_known else None, time.limiter)
    entries = list(attribution.build_entries(scaled, kernel, frame))
    if is_known and launch.schedule != "unscheduled":
        # A kernel without work still takes its launch.
        missing = time.body_s if not weight else 0.0
        entries.append(
            attribution.overhead_entry(frame, "launch", "launch", time.launch_s + missing)
        )
        if time.tail_s:
            entries.append(attribution.overhead_entry(frame, "tail", "tail", time.tail_s))
    return tuple(entries)


def _time_shares(kernel: TimedKernel, time_s: float) -> TimeShares:
    if not time_s:
        return TimeShares(time_s, {}, 0.0, 0.0)
    busy = sum_busy_times(kernel.busy.unit_s)
    return TimeShares(
        time_s,
        {name: value / time_s for name, value in busy.items()},
        kernel.time.launch_s / time_s,
        kernel.time.tail_s / time_s,
    )


def _timing(modelled: Modelled, shares: TimeShares, framework: str, device: Device) -> Timing:
    judgement = modelled.judge(shares)
    trust = None
    if judgement.band_s is not None:
        trust = confidence(device.arch, framework, judgement.bound.bound_class)
    return Timing(
        time_s=shares.time_s,
        time_band_s=judgement.band_s,
        confidence=None if trust is None else trust.value,
        confidence_reasons=() if trust is None else trust.reasons,
        uncertainty=judgement.uncertainty,
        roofline_time_s=modelled.roofline_time_s,
        bound=judgement.bound.bound,
        bound_class=judgement.bound.bound_class,
        bound_reason=judgement.bound.reason,
        utilisation=shares.utilisation,
    )


def _rates(
    work: Work,
    traffic: MemoryTraffic,
    launch: Launch,
    leaves: Sequence[Leaf],
    time_s: float,
    device: Device,
) -> Rates:
    if not time_s:
        return Rates()
    moved, main = traffic.dram_bytes.total, main_peak(work, leaves, device)
    peak_fraction = main[0] / time_s / main[1] if main else None
    if launch.schedule == "unscheduled" and peak_fraction is not None and peak_fraction > 1 + 1e-9:
        # Another unit may compute its sums of products faster.
        peak_fraction = None
    # The rate of some devices is one of reads alone.
    rated = traffic.dram_bytes.read if device.dram.is_rate_of_reads else moved
    return Rates(
        flop_per_s=None if work.flop is None else work.flop / time_s,
        peak_fraction=peak_fraction,
        dram_bytes_per_s=None if moved is None else moved / time_s,
        dram_fraction=None if rated is None else rated / time_s / device.dram.bytes_per_s,
    )


def _with_tail(launch: Launch, share: float) -> Launch:
    waves = launch.waves
    return launch if waves is None else replace(launch, waves=Waves(waves.count, share))


def _array_shapes(workload: Workload) -> Iterator[ArrayShape]:
    """The arrays that the kernel takes."""
    for entry in workload.counts.buffers.values():
        buffer = entry.buffer
        if buffer.is_parameter:
            yield ArrayShape(buffer.name, buffer.dtype, entry.shape)


def _new_notes(notes: Sequence[CaveatNote], workload: Workload) -> Iterator[CaveatNote]:
    """The caveats of the counts that are not among `notes`."""
    counts = workload.counts
    found = (
        *(CaveatNote(caveat.message, caveat.span) for caveat in counts.caveats),
        *(CaveatNote(caveat.message, caveat.span, is_defect=True) for caveat in counts.outside),
    )
    yield from (note for note in found if note not in notes)


def _memory_notes(identity: Identity, workload: Workload, device: Device) -> Iterator[CaveatNote]:
    size = array_bytes(workload.counts)
    if size > device.dram.bytes:
        message = (
            f"the arrays take {size / 1e9:.4g} GB, more than the "
            f"{device.dram.bytes / 1e9:.4g} GB of {device.id}"
        )
        yield CaveatNote(message, identity.span)


def _time_notes(identity: Identity, reason: str | None) -> Iterator[CaveatNote]:
    if reason is not None:
        yield CaveatNote(f"the time is not known: {reason}", identity.span)
