"""Add the result of each stage to the report of a kernel."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tirlens.hardware.spec import Device

from ..counting.kernel_counts import Footprint
from ..gpu.kernel import GpuLaunch
from ..gpu.units import sum_busy_times
from ..report import BreakdownEntry, CaveatNote, KernelReport, ReadWrite, Waves
from ..roofline import dominant_class, peak, roofline_seconds
from ..tree.kernel_time import KernelTime
from ..tree.moved import Traffic
from ..tree.node import Leaf, known_sum
from ..tree.statement_costs import Leafs
from ..tree.timed_node import TimedNode, timed_tree
from . import attribution
from .bound import find_bound, find_cpu_bound
from .time_band import band_s, dram_traffic_range, uncertainties


def add_counts(
    report: KernelReport, leaves: Sequence[Leaf], noted: Collection[str | None]
) -> KernelReport:
    """The report with operations and issued bytes.

    `noted` are the functions of unknown cost that already have a caveat at their line.
    """
    by_class: dict[str, int] = {}
    unknown: set[str] = set()
    int_ops = 0
    for arith in (leaf.arith for leaf in leaves if leaf.count.arith):
        int_ops += arith.int_ops
        unknown.update(arith.unknown)
        for name, flop in arith.flop_by_class.items():
            by_class[name] = by_class.get(name, 0) + flop
    notes = tuple(
        CaveatNote(f"the cost of {name!r} is not known; it is left out")
        for name in sorted(unknown.difference(noted))
    )
    return report.replace(
        flop=known_sum([leaf.flop for leaf in leaves]),
        useful_flop=known_sum([leaf.useful_flop for leaf in leaves]),
        masked_flop=known_sum([leaf.masked_flop for leaf in leaves]),
        flop_by_class=by_class,
        int_ops=int_ops,
        global_bytes=ReadWrite(
            known_sum([leaf.read_bytes for leaf in leaves]),
            known_sum([leaf.write_bytes for leaf in leaves]),
        ),
        shared_bytes=sum([leaf.shared_bytes for leaf in leaves]),
        caveats=report.caveats + notes,
    )


def add_traffic(
    report: KernelReport,
    footprint: Footprint | None,
    leaves: Sequence[Leaf],
    traffic: Iterable[Traffic],
    l2_bytes: float,
    device: Device,
) -> KernelReport:
    """The report with L2 and DRAM bytes, and the roofline."""
    compulsory = None if footprint is None else footprint.bytes
    read = sum(one.dram_read_bytes for one in traffic)
    written = sum(one.dram_write_bytes for one in traffic)
    known = report.global_bytes.total is not None
    main = _main_peak(report, leaves, device)
    both = read + written
    is_exact = footprint is None or footprint.exact
    operations = report.operations
    least = None if footprint is None else footprint.least_bytes
    # An upper bound of the compulsory bytes is no lower bound of the time.
    least = least if is_exact or least is None else min(least, both)
    sectors = None if footprint is None else footprint.in_sectors(device.dram_sector_bytes)
    return report.replace(
        compulsory_bytes=compulsory,
        compulsory_is_exact=is_exact,
        compulsory_sector_bytes=None if sectors is None else sectors.bytes,
        compulsory_sectors_are_exact=sectors is None or sectors.exact,
        dram_bytes=ReadWrite(round(read), round(written)) if known else ReadWrite(None, None),
        l2_bytes=round(l2_bytes) if known else None,
        roofline_time_s=roofline_seconds(device, report.flop_by_class, least) or None,
        arithmetic_intensity=(
            operations.main / both if operations.main is not None and both else None
        ),
        ridge_point=main[1] / device.dram.bytes_per_s if main else None,
    )


def _main_peak(
    report: KernelReport, leaves: Sequence[Leaf], device: Device
) -> tuple[int, float] | None:
    """The kernel's main operations of one class, and their peak per second; None: not known.

    The peak of integers outside of matrix units is that of their fewest instructions at the rate of
    ``int32``, which only files of GPUs have.
    """
    operations = report.operations
    if operations.are_integer and operations.int_ops:
        found = device.peaks.get("int32") if device.kind == "gpu" else None
        if found is None or operations.integer_flop:
            return None
        instructions = sum(leaf.arith.least_int_instructions for leaf in leaves)
        return operations.int_ops, operations.int_ops / instructions * found.flop_per_s
    name = dominant_class(device, report.flop_by_class)
    return (report.flop_by_class[name], peak(device, name).flop_per_s) if name else None


def add_cached_roofline(report: KernelReport, device: Device) -> KernelReport:
    """The report with the roofline of a kernel whose arrays may be cached from its previous run.

    The DRAM rate of a CPU is that of reads, which overlap with write-backs.
    """
    read, compulsory = report.dram_bytes.read, report.compulsory_bytes
    least = read if compulsory is None or read is None else min(read, compulsory)
    seconds = roofline_seconds(device, report.flop_by_class, least)
    return report.replace(roofline_time_s=seconds or None)


def add_gpu_launch(report: KernelReport, launch: GpuLaunch, device: Device) -> KernelReport:
    """The report with the launch of a GPU kernel: grid, resources of a block, occupancy, waves."""
    resources = launch.block.resources
    if resources.spilled_share:
        message = "the fragments take more registers than a thread can have: they will spill"
        note = CaveatNote(message, report.span, is_spill=True)
        report = report.replace(caveats=(*report.caveats, note))
    return report.replace(
        schedule="gpu",
        grid=launch.grid,
        threads_per_block=launch.launched_threads,
        threads_written=launch.threads,
        shared_bytes_per_block=resources.shared_bytes,
        registers_per_thread=resources.registers_per_thread,
        occupancy=launch.block.occupancy,
        waves=Waves(launch.blocks / launch.concurrent_blocks(device), 0.0),
    )


def add_caveat(report: KernelReport, message: str) -> KernelReport:
    """The report with a caveat at the kernel's line."""
    return report.replace(caveats=(*report.caveats, CaveatNote(message, report.span)))


def add_time(
    report: KernelReport,
    device: Device,
    costs: Leafs,
    timed: tuple[TimedNode, KernelTime],
    blocks: int,
    by_line: bool = True,
) -> KernelReport:
    """The report with time, uncertainty and bound, and the breakdown if `by_line`.

    `KernelReport.schedule` must be set.
    """
    reason = _unknown_time_reason(report)
    if reason:
        return add_unknown_time(report, costs, timed, reason, by_line)
    seconds = timed[1].total_s
    if by_line:
        report = report.replace(loops=_breakdown(report, costs, timed, known=True))
        # Exactly the sum of the entries.
        seconds = sum(entry.time_s or 0.0 for entry in report.loops)
    return _add_known_time(report, device, costs, seconds, timed[1], blocks)


def add_unknown_time(
    report: KernelReport,
    costs: Leafs,
    timed: tuple[TimedNode, KernelTime],
    reason: str,
    by_line: bool,
) -> KernelReport:
    """The report with the reason `reason` why it has no time, and the other numbers by line."""
    report = add_caveat(report, f"the time is not known: {reason}")
    report = report.replace(status="no-time", message=reason)
    if by_line:
        report = report.replace(loops=_breakdown(report, costs, timed, known=False))
    return report


def _unknown_time_reason(report: KernelReport) -> str:
    """The reason why a kernel has no time; empty if it has one."""
    if report.flop is None or report.global_bytes.total is None:
        return "some counts are not"
    if report.schedule == "unscheduled" and not report.roofline_time_s:
        if report.compulsory_bytes is None:
            return "the bytes that it touches are not"
        if report.global_bytes.total:
            return "an array that it reads or writes has no elements"
        return "it computes nothing and moves nothing"
    return ""


def _breakdown(
    report: KernelReport,
    costs: Leafs,
    timed: tuple[TimedNode, KernelTime],
    known: bool,
) -> tuple[BreakdownEntry, ...]:
    """The entries that add up to the kernel's time; without times where it is not `known`."""
    block, time = timed
    frame = attribution.KernelFrame(report.span, time.total_s if known else None, time.limiter)
    if time.limiter is not None:
        name = time.limiter
        block = timed_tree(costs.tree, lambda leaf: costs.busy.unit_s[leaf].get(name, 0.0))
    weight = block.total_s
    scaled = block.scale(time.body_s / weight if weight else 0.0)
    entries = list(attribution.build_entries(scaled, costs, frame))
    if known and report.schedule != "unscheduled":
        # A kernel without work still takes its launch.
        missing = time.body_s if not weight else 0.0
        entries.append(
            attribution.overhead_entry(frame, "launch", "launch", time.launch_s + missing)
        )
        if time.tail_s:
            entries.append(attribution.overhead_entry(frame, "tail", "tail", time.tail_s))
    return tuple(entries)


def _dram_fraction(report: KernelReport, device: Device, seconds: float) -> float | None:
    """The share of the DRAM's rate that is taken: by reads alone, where it is a rate of reads."""
    moved = report.dram_bytes.read if device.dram.is_rate_of_reads else report.dram_bytes.total
    return moved / seconds / device.dram.bytes_per_s if moved is not None and seconds else None


def _add_known_time(
    report: KernelReport,
    device: Device,
    costs: Leafs,
    seconds: float,
    time: KernelTime,
    blocks: int,
) -> KernelReport:
    busy = sum_busy_times(costs.busy.unit_s)
    utilisation = {name: value / seconds for name, value in busy.items()} if seconds else {}
    tail = time.tail_s / seconds if seconds else 0.0
    launch = time.launch_s / seconds if seconds else 0.0
    if device.kind == "cpu":
        found = find_cpu_bound(device, utilisation, blocks, launch)
        parts: dict[str, float] = {}
        low, high = seconds / (1 + device.band), seconds * (1 + device.band)
    else:
        found = find_bound(
            device,
            utilisation,
            blocks,
            launch,
            tail,
            time.limiter,
            uses_shared=report.shared_bytes != 0,
        )
        parts = uncertainties(device, utilisation, launch, dram_traffic_range(report))
        low, high = band_s(seconds, parts)
        # No measured time is below the least time at the data sheet's rates. The rates of a
        # calibrated CPU are measurements, which others may pass.
        low = max(low, min(report.roofline_time_s or 0.0, seconds))
    main = _main_peak(report, costs.leaves, device)
    flop = report.flop or 0
    traffic = report.dram_bytes.total
    per_s = flop / seconds if seconds else None
    waves = report.waves
    return report.replace(
        time_s=seconds,
        time_band_s=(low, high),
        uncertainty=parts,
        bound=found.bound,
        bound_class=found.bound_class,
        bound_reason=found.reason,
        flop_per_s=per_s,
        peak_fraction=main[0] / seconds / main[1] if main and seconds else None,
        dram_bytes_per_s=traffic / seconds if traffic is not None and seconds else None,
        dram_fraction=_dram_fraction(report, device, seconds),
        utilisation=utilisation,
        waves=Waves(waves.count, tail) if waves else None,
    )
