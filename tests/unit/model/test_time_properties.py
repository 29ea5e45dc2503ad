"""What is true of any time: nothing is free, nothing better hurts, more takes longer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.kernels import gemm
from support.properties import examples
from tirlens.hardware import Device, catalogue, load
from tirlens.model import analyze
from tirlens.model.roofline import peak
from tirlens_worker.facts import KernelFacts

from .launches import kernels, products, stream, streams
from .test_time_model import conserved

GPUS = [name for name in catalogue() if load(name).kind == "gpu"]
# What a block reads that another one reads too is taken to come from L2, and so sooner, although
# both may wait for the same line of DRAM.
SHARED = 1.2
# How well traffic hides behind computation follows from their times; it moves the time by so much.
HIDDEN = 1.01
# Of a DRAM that is no faster each of more SMs has less, which the blocks of a small grid wait for.
SPREAD = 1.2
# The tail of the last wave is taken from the average block.
TAIL = 1.001


@examples(40, derandomize=True)
@given(kernels(), st.sampled_from(GPUS))
def test_parts_add_up_and_no_peak_is_exceeded(facts: KernelFacts, name: str) -> None:
    device = load(name)
    report = analyze(facts, device)
    assert report.has_counts, report.message
    assume(report.occupancy is not None)
    conserved(report)
    time_s, dram = report.time_s, report.dram_bytes
    assert time_s is not None and report.roofline_time_s is not None
    assert time_s >= device.launch_s and time_s >= report.roofline_time_s
    assert report.time_band_s is not None
    assert 0 < report.time_band_s[0] <= time_s <= report.time_band_s[1]
    assert dram.read is not None and dram.write is not None
    assert (dram.read + dram.write) / time_s <= device.dram.bytes_per_s
    assert report.l2_bytes is not None and report.l2_bytes / time_s <= device.l2.bytes_per_s
    for kind, flop in report.flop_by_class.items():
        assert flop / time_s <= peak(device, kind).flop_per_s
    assert all(0 <= share <= 1 for share in report.utilisation.values()), report.utilisation


def seconds(facts: KernelFacts, device: Device) -> float:
    """The time of a kernel that the device can launch."""
    report = analyze(facts, device)
    assume(report.occupancy is not None)
    assert report.time_s is not None
    return report.time_s


def faster(device: Device, **times: float) -> Device:
    """`device` with some of its rates `times` as high."""
    peaks = {
        key: replace(peak, flop_per_s=peak.flop_per_s * times["peaks"])
        for key, peak in device.peaks.items()
    }
    return replace(
        device,
        peaks=peaks,
        dram=replace(device.dram, bytes_per_s=device.dram.bytes_per_s * times["dram"]),
        l2=replace(device.l2, bytes_per_s=device.l2.bytes_per_s * times["l2"]),
    )


BETTER: dict[str, Callable[[Device], Device]] = {
    "clock": lambda device: replace(device, clock_hz=device.clock_hz * 1.25),
    "peaks": lambda device: faster(device, peaks=1.25, dram=1, l2=1),
    "dram": lambda device: faster(device, peaks=1, dram=1.25, l2=1),
    "l2": lambda device: faster(device, peaks=1, dram=1, l2=1.25),
    "larger l2": lambda device: replace(
        device, l2=replace(device.l2, bytes=device.l2.bytes * 5 // 4)
    ),
    "latency": lambda device: replace(
        device, dram=replace(device.dram, latency_s=device.dram.latency_s * 0.8)
    ),
    "launch": lambda device: replace(device, launch_s=device.launch_s * 0.8),
}


@pytest.mark.parametrize("what", BETTER)
@examples(15, derandomize=True)
@given(kernels(), st.sampled_from(GPUS))
def test_a_better_device_is_never_slower(what: str, facts: KernelFacts, name: str) -> None:
    device = load(name)
    before, after = seconds(facts, device), seconds(facts, BETTER[what](device))
    assert after <= before * HIDDEN


@examples(40, derandomize=True)
@given(kernels(), st.sampled_from(GPUS))
def test_twice_the_sms_take_no_longer(facts: KernelFacts, name: str) -> None:
    device = load(name)
    twice = replace(faster(device, peaks=2, dram=1, l2=1), sm_count=2 * device.sm_count)
    before, after = seconds(facts, device), seconds(facts, twice)
    assert after <= before * SPREAD


def never_faster(
    make: Callable[..., KernelFacts],
    sizes: dict[str, Any],
    larger: dict[str, Any],
    name: str,
    times: float = 1.0,
) -> None:
    """The larger problem takes as long on a device, or less by the factor that is allowed."""
    device = load(name)
    before = seconds(make(**sizes), device)
    after = seconds(make(**{**sizes, **larger}), device)
    assert before <= after * times * (1 + 1e-9), larger


@examples(30, derandomize=True)
@given(products(), st.sampled_from(GPUS))
def test_a_larger_product_takes_longer(sizes: dict[str, int], name: str) -> None:
    never_faster(gemm, sizes, {"k": sizes["k"] + sizes["tile_k"]}, name)
    never_faster(gemm, sizes, {"m": sizes["m"] * 2}, name, SHARED)
    never_faster(gemm, sizes, {"n": sizes["n"] + sizes["tile_n"]}, name, SHARED)


@examples(30, derandomize=True)
@given(streams(), st.sampled_from(GPUS))
def test_more_to_move_or_to_do_takes_longer(sizes: dict[str, Any], name: str) -> None:
    work = {kind: 2 * count for kind, count in sizes["work"].items()}
    for larger, times in [
        ({"blocks": 2 * sizes["blocks"]}, 1),
        ({"blocks": sizes["blocks"] + 1}, TAIL),
        ({"turns": sizes["turns"] + 1}, 1),
        ({"dtype": "float32"}, 1),
        ({"reads": sizes["reads"] + 1}, 1),
        ({"stride": 2 * sizes["stride"]}, 1),
        ({"work": work}, 1),
    ]:
        never_faster(stream, sizes, larger, name, times)
