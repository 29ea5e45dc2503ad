"""What is true of every report: asserted wherever a test analyses a kernel (`conftest.py`)."""

from __future__ import annotations

import functools
from collections.abc import Callable

from tirlens.hardware import Device
from tirlens.model.report import KernelReport

# Rounding of sums of floating-point times and bytes.
ROUNDING = 1e-9


def assert_invariants(report: KernelReport, device: Device) -> None:
    """DRAM bytes cover the compulsory bytes, and no rate is above that of the data sheet.

    Neither the time nor the band of a GPU is below the roofline.

    A kernel moves each of its distinct bytes at least once, except for what stays in the caches of
    a CPU between two runs.  Compulsory bytes that are not exact are upper bounds and say nothing.
    Nor does the traffic of a kernel that its device cannot run.
    """
    moved, compulsory = report.dram_bytes.total, report.compulsory_bytes
    can_run = device.kind != "cpu" or report.status == "ok"
    if moved is not None and compulsory is not None and report.compulsory_is_exact and can_run:
        # A byte that stays in the caches saves its read and its write.
        assert moved + 2 * kept_bytes(device) >= compulsory * (1 - ROUNDING) - 1, (
            f"{report.name} on {device.id}: {moved} bytes of DRAM, {compulsory} are compulsory"
        )
    if report.time_s is not None and report.roofline_time_s is not None:
        assert report.time_s >= report.roofline_time_s * (1 - ROUNDING), (
            f"{report.name} on {device.id}: {report.time_s} s, {report.roofline_time_s} s roofline"
        )
        if device.kind != "cpu" and report.time_band_s is not None:
            assert report.time_band_s[0] >= report.roofline_time_s * (1 - ROUNDING)
    for name in ("peak_fraction", "dram_fraction"):
        share = getattr(report, name)
        assert share is None or share <= 1 + ROUNDING, (
            f"{report.name} on {device.id}: {name} {share}"
        )


def kept_bytes(device: Device) -> float:
    """The bytes of the caches that may hold data from the run before; 0 for other than CPUs."""
    if device.cpu is None:
        return 0.0
    caches = (cache for cache in (device.cpu.l2, device.cpu.l3) if cache is not None)
    beyond_l1 = sum(cache.bytes * device.sm_count / cache.cores for cache in caches)
    return device.l1_bytes_per_sm * device.sm_count + beyond_l1


def with_invariants(analyze: Callable[..., KernelReport]) -> Callable[..., KernelReport]:
    """`analyze`, which asserts the invariants of each report."""

    @functools.wraps(analyze)
    def checked(facts: object, device: Device, *rest: object, **named: object) -> KernelReport:
        report = analyze(facts, device, *rest, **named)
        assert_invariants(report, device)
        return report

    return checked
