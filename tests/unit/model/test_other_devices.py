"""What the model makes of devices that are no NVIDIA GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm, scale
from tirlens.hardware import catalogue, load
from tirlens.model import analyze


@pytest.mark.parametrize("name", ["wormhole-n150", "blackhole-p150"])
def test_an_accelerator_has_the_roofline_at_its_sustained_rates(name: str) -> None:
    device = load(name)
    report = analyze(gemm(), device)
    peak = device.peaks["tensor.float16"]
    assert report.schedule == "unscheduled"
    assert report.occupancy is None
    assert report.time_s == pytest.approx(2 * 4096**3 / (peak.flop_per_s * peak.sustained_fraction))
    streaming = analyze(scale(1 << 26), device)
    rate = device.dram.bytes_per_s * device.dram.sustained_fraction
    assert streaming.time_s == pytest.approx(2 * 4 * (1 << 26) / rate)
    assert "no blocks of threads" in " ".join(note.message for note in report.caveats)


@pytest.mark.parametrize("name", [name for name in catalogue() if load(name).caveats])
def test_the_caveats_of_a_device_are_told_with_each_estimate(name: str) -> None:
    messages = [note.message for note in analyze(scale(1 << 20), load(name)).caveats]
    assert all(text in messages for text in load(name).caveats)


def test_waves_of_64_lanes_fit_an_amd_unit() -> None:
    report = analyze(gemm(stages=1, threads=256), load("mi300x"))
    assert report.occupancy is not None
    assert report.occupancy.fraction == pytest.approx(report.occupancy.blocks_per_sm * 256 / 2048)


def test_a_cache_behind_l2_keeps_tiles_from_dram() -> None:
    facts = gemm(16384, 16384, 1024)
    device = load("mi300x")
    with_cache = analyze(facts, device).dram_bytes.read
    without = analyze(facts, replace(device, llc=None)).dram_bytes.read
    assert with_cache is not None and without is not None
    assert with_cache < without


def test_an_l2_of_one_part_is_usable_as_a_whole() -> None:
    facts = gemm(8192, 8192, 4096)
    whole = load("l40s")
    halves = replace(whole, l2=replace(whole.l2, partitions=2))
    reads = [analyze(facts, device).dram_bytes.read or 0 for device in (whole, halves)]
    assert 0 < reads[0] <= reads[1]
