"""The figures of reports: a kernel of each kind on six GPUs, or on three CPUs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from figures.held import assert_held, line
from figures.kernels import FOLDER, KERNELS, HeldKernel
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.report import KernelReport


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_figures(kernel: HeldKernel) -> None:
    facts, bindings = kernel.facts, kernel.bindings
    lines: list[str] = []
    for device in kernel.devices:
        report = analyze(facts, load(device), bindings)
        lines += [f"# {device}", *_figures(report), ""]
    assert_held(FOLDER / "reports" / f"{kernel.name}.txt", "\n".join(lines))


def _figures(report: KernelReport) -> Iterator[str]:
    yield line(
        of=f"status {report.status}",
        bound=report.bound,
        time_s=report.time_s,
        band_s=report.time_band_s,
        roofline_s=report.roofline_time_s,
        bound_class=report.bound_class,
        uncertainty=report.uncertainty,
        utilisation=report.utilisation,
    )
    yield line(
        of="work",
        flop=report.flop,
        int_ops=report.int_ops,
        useful=report.useful_flop,
        masked=report.masked_flop,
        by_class=report.flop_by_class,
        formula=report.formula,
    )
    yield line(
        of="bytes",
        read=report.global_bytes.read,
        write=report.global_bytes.write,
        compulsory=report.compulsory_bytes,
        is_exact=report.compulsory_is_exact,
        sectors=report.compulsory_sector_bytes,
        dram_read=report.dram_bytes.read,
        dram_write=report.dram_bytes.write,
        l2=report.l2_bytes,
        shared=report.shared_bytes,
    )
    yield line(
        of="rates",
        flop_per_s=report.flop_per_s,
        peak=report.peak_fraction,
        dram=report.dram_fraction,
        intensity=report.arithmetic_intensity,
        ridge_point=report.ridge_point,
    )
    occupancy = report.occupancy
    yield line(
        of=f"launch {report.schedule}",
        grid=report.grid,
        threads=report.threads_per_block,
        shared_bytes=report.shared_bytes_per_block,
        blocks_per_sm=occupancy and occupancy.blocks_per_sm,
        limiter=occupancy and occupancy.limiter,
        registers=report.registers_per_thread,
        stack_bytes=report.stack_bytes,
        waves=report.waves and report.waves.count,
        tail=report.waves and report.waves.tail_fraction,
    )
    for depth, entry in (each for top in report.loops for each in top.walk()):
        yield "  " * (depth + 1) + line(
            of=f"{entry.kind} {entry.label}",
            trips=entry.trips,
            time_s=entry.time_s,
            bound=entry.bound,
            flop=entry.flop,
            global_bytes=entry.global_bytes,
            dram_bytes=entry.dram_bytes,
            path=entry.path,
        )
    for caveat in report.caveats:
        yield f"caveat: {caveat.message}"
