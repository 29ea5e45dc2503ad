"""The confidence in a time band, by the measured kernels of its kind."""

from __future__ import annotations

import pytest

from support.kernels import gemm
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.reporting.confidence import (
    MeasuredGroup,
    MeasuredKinds,
    _sentence,  # pyright: ignore[reportPrivateUsage]
    confidence,
    measured_kinds,
)


def test_few_families_are_drawn_to_the_wider_group() -> None:
    assert MeasuredGroup(0, 0.0).drawn_to(0.75) == 0.75
    assert MeasuredGroup(4, 0.25).drawn_to(0.75) == 0.5
    assert MeasuredGroup(1000, 0.25).drawn_to(0.75) == pytest.approx(0.25, abs=0.01)


def test_the_group_of_an_architecture_weighs_families() -> None:
    kinds = MeasuredKinds(
        {
            ("sm_90", "tvm", "memory"): MeasuredGroup(3, 1.0),
            ("sm_90", "tilelang", "compute"): MeasuredGroup(1, 0.0),
            ("sm_80", "tvm", "memory"): MeasuredGroup(9, 0.5),
        },
        MeasuredGroup(20, 0.8),
    )
    assert kinds.of_architecture("sm_90") == MeasuredGroup(4, 0.75)
    assert kinds.of_architecture("sm_1") == MeasuredGroup(0, 0.0)


def test_a_kind_that_was_not_measured_says_so_and_what_it_takes_instead() -> None:
    known = measured_kinds()
    of_hopper = confidence("sm_90", "tilelang", "compute")
    assert "tilelang on sm_90 with a compute bound: " in of_hopper.reasons[0]
    of_other = confidence("sm_90", "triton", "compute")
    assert of_other.reasons[0].startswith("no kernel of triton on sm_90")
    assert of_other.reasons[1].startswith("all kernels on sm_90: ")
    unknown = confidence("sm_1", "tilelang", "compute")
    assert unknown.value == known.unfitted_sources.in_band
    assert unknown.reasons[1].startswith("sources to which nothing is fitted: ")


def test_where_there_is_no_band_there_is_no_confidence() -> None:
    report = analyze(gemm(), load("blackhole-p150"))
    assert report.time_band_s is None
    assert report.confidence is None and report.confidence_reasons == ()


@pytest.mark.parametrize(
    ("families", "words"), [(0, "0 families"), (1, "1 family"), (2, "2 families")]
)
def test_families_are_counted_in_words(families: int, words: str) -> None:
    said = _sentence(MeasuredGroup(families, 0.5), "tvm")
    assert said == f"tvm: 50% of the measured times of {words} in the band"
