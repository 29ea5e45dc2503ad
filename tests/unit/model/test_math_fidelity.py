"""Matrix products on Tensix cores at each math fidelity."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm, scale
from tirlens.hardware import Device, catalogue, load
from tirlens.hardware.audit import doubts
from tirlens.math_fidelity import PASSES, fidelity_of
from tirlens.model import analyze

TENSIX = tuple(name for name in catalogue() if load(name).fidelities)


def time_s(device: Device, dtype: str = "float16") -> float:
    report = analyze(gemm(dtype=dtype), device)
    assert report.time_s is not None
    return report.time_s


def test_the_devices_with_tensix_cores_have_fidelities() -> None:
    assert tuple(name for name in catalogue() if "tensix" in load(name).features) == TENSIX


@pytest.mark.parametrize("name", TENSIX)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float32"])
def test_more_passes_take_more_time(name: str, dtype: str) -> None:
    device = load(name)
    times = [time_s(device.with_fidelity(fidelity), dtype) for fidelity in PASSES]
    assert times == sorted(times)
    # At most as many times the time as passes, because the tiles are moved once.
    for passes, taken in zip(PASSES.values(), times, strict=True):
        assert 1 <= taken / times[0] <= passes


@pytest.mark.parametrize("name", TENSIX)
def test_peaks_are_divided_by_the_passes(name: str) -> None:
    device = load(name)
    for fidelity, passes in PASSES.items():
        for key, peak in device.fidelities[fidelity].items():
            single = device.fidelities["LoFi"][key]
            assert peak.flop_per_s * passes == pytest.approx(single.flop_per_s, rel=1e-3)
            assert peak.fidelity == fidelity


@pytest.mark.parametrize(
    ("name", "dtype", "fidelity"),
    [
        ("wormhole-n150", "bfloat16", "HiFi2"),
        ("wormhole-n150", "float8_e4m3fn", "LoFi"),
        ("wormhole-n150", "float32", "HiFi3"),
        ("blackhole-p150", "float16", "HiFi2"),
        ("blackhole-p150", "float8_e5m2", "LoFi"),
        ("blackhole-p150", "float32", "HiFi4"),
    ],
)
def test_the_default_is_that_of_ttnn(name: str, dtype: str, fidelity: str) -> None:
    report = analyze(gemm(dtype=dtype), load(name))
    assert report.math_fidelity == fidelity
    assert analyze(gemm(dtype=dtype), load(name).with_fidelity("HiFi4")).math_fidelity == "HiFi4"


def test_bfloat16_from_dram_as_measured() -> None:
    # GEMM_FLOPS.md of tt-metal, n150 at 3072 x 4096 x 4096, DRAM: 70.66 and 51.02 TFLOP/s.
    flop = 2 * 3072 * 4096 * 4096
    for fidelity, rate in (("HiFi2", 70.66e12), ("HiFi4", 51.02e12)):
        device = load("wormhole-n150").with_fidelity(fidelity)
        report = analyze(gemm(3072, 4096, 4096, dtype="bfloat16"), device)
        assert report.time_s == pytest.approx(flop / rate, rel=0.01)


@pytest.mark.parametrize("name", ["h100-sxm", "mi300x", "wormhole-n150"])
def test_kernels_without_products_and_other_devices_have_none(name: str) -> None:
    assert analyze(scale(1 << 20), load(name)).math_fidelity is None
    if name not in TENSIX:
        assert load(name).with_fidelity("HiFi4") is load(name)
        assert analyze(gemm(), load(name)).math_fidelity is None


def test_cores_scale_all_fidelities() -> None:
    device = load("wormhole-n150")
    half = device.with_sm_count(32)
    for fidelity, rates in device.fidelities.items():
        for name, peak in rates.items():
            assert half.fidelities[fidelity][name].flop_per_s == peak.flop_per_s / 2


def test_a_rate_that_does_not_fit_its_passes_is_doubted() -> None:
    device = load("wormhole-n150")
    wrong = {**device.fidelities["HiFi4"], "tensor.float8": device.peaks["tensor.float8"]}
    found = doubts(replace(device, fidelities={**device.fidelities, "HiFi4": wrong}))
    assert [doubt.key for doubt in found] == ["fidelities.HiFi4.tensor.float8.flop_per_s"]


@pytest.mark.parametrize("text", ["hifi4", " HiFi4 ", "HIFI4"])
def test_names_in_any_case(text: str) -> None:
    assert fidelity_of(text) == "HiFi4"
