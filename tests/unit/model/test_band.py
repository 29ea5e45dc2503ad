"""The time band: wider where more is uncertain, and for devices that nobody measured."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.kernels import gemm, scale
from tirlens.hardware import load
from tirlens.hardware.provenance import is_measured, provenance
from tirlens.model import analyze
from tirlens.model.reporting.time_band import DramTrafficRange, band_s, uncertainties

H200 = load("h200")
SHARES = st.floats(0, 1)


def width(device: str = "h200", **utilisation: float) -> float:
    return math.hypot(*uncertainties(load(device), utilisation, 0.0, None).values())


@given(busy=SHARES, launch=SHARES, seconds=st.floats(1e-7, 10))
def test_the_time_is_inside_its_band(busy: float, launch: float, seconds: float) -> None:
    parts = uncertainties(H200, {"dram": busy}, launch * (1 - busy), None)
    low, high = band_s(seconds, parts)
    assert all(part >= 0 for part in parts.values())
    assert 0 < low <= seconds <= high < 4 * seconds


@given(first=SHARES, second=SHARES)
def test_the_more_a_kernel_waits_the_less_is_known(first: float, second: float) -> None:
    less, more = sorted((first, second))
    waits = [uncertainties(H200, {"dram": busy}, 0.0, None)["waits"] for busy in (less, more)]
    assert waits[0] >= waits[1]


def test_a_stream_is_known_better_than_a_product_and_both_than_waits() -> None:
    assert width(dram=0.97) < width(fp32=0.97) < width(fp32=0.4)
    # Power moves the clock of a board of 70 W.
    assert width("t4", fp32=0.97) > 1.5 * width("v100-sxm2", fp32=0.97)


def test_traffic_is_uncertain_between_its_bounds_only() -> None:
    def reuse(dram: float) -> float:
        traffic = DramTrafficRange(dram, 100.0, 300.0)
        return uncertainties(H200, {"dram": 1.0}, 0.0, traffic)["reuse"]

    assert reuse(100.0) == reuse(300.0) == 0.0
    assert reuse(200.0) == pytest.approx(0.3)


def test_what_was_not_measured_is_less_certain() -> None:
    assert provenance(load("a30"), "dram.sustained_fraction") == "estimate"
    assert provenance(load("mi250x"), "dram.sustained_fraction") == "as"
    assert provenance(H200, "dram.sustained_fraction") == "measured"
    assert provenance(replace(H200, provenance={}), "dram.sustained_fraction") == "estimate"
    assert width("a30", dram=0.97) > width("mi250x", dram=0.97) > width("mi210", dram=0.97)
    assert width("a30", tensor=0.97) > width("h200", tensor=0.97)


def test_what_measurements_disagree_on_is_least_certain() -> None:
    key = "dram.sustained_fraction"
    disputed = replace(H200, provenance={**H200.provenance, key: "disputed"})
    parts = uncertainties(disputed, {"dram": 0.97}, 0.0, None)
    assert math.hypot(*parts.values()) > width("a30", dram=0.97)


def test_the_words_of_a_source_change_no_band() -> None:
    key = "dram.sustained_fraction"
    worded = replace(H200, sources={**H200.sources, key: "estimate: as scaled by the H100"})
    assert uncertainties(worded, {"dram": 0.97}, 0.0, None) == uncertainties(
        H200, {"dram": 0.97}, 0.0, None
    )


def test_a_device_whose_rates_are_those_of_others_says_so() -> None:
    assert is_measured(H200) and not is_measured(load("a30"))
    told = "the rates that a30 sustains are taken from other devices"
    assert any(told in note.message for note in analyze(gemm(), load("a30")).caveats)
    assert not any("other devices" in note.message for note in analyze(gemm(), H200).caveats)


def test_reports_have_the_band() -> None:
    for facts in (gemm(8192, 8192, 8192), scale()):
        report = analyze(facts, H200)
        assert report.time_s is not None and report.time_band_s is not None
        assert report.roofline_time_s is not None
        low, high = report.time_band_s
        width = math.exp(math.hypot(*report.uncertainty.values()))
        assert low < report.time_s < high
        assert high == pytest.approx(report.time_s * width)
        # No measured time is below the roofline.
        assert low == pytest.approx(max(report.time_s / width, report.roofline_time_s))
