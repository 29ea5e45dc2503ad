"""The figures of the score table on numbers whose figures are known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measured import baselines, metrics
from measured.tables import Measurement, half_of, measurements
from tirlens.hardware import load

TIMES = st.floats(1e-6, 1.0)
PAIRS = st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=20)


def test_errors_of_known_numbers():
    found = metrics.errors([2.0, 1.0, 1.5, 4.0], [1.0, 1.0, 1.0, 8.0])
    assert found is not None
    assert found.number == 4
    assert found.mape == pytest.approx((1.0 + 0.0 + 0.5 + 0.5) / 4)
    assert found.median == pytest.approx(0.5)
    assert found.p90 == pytest.approx(1.0)
    assert found.spread == pytest.approx(math.exp((2 * math.log(2) + math.log(1.5)) / 4))
    assert found.bias == pytest.approx(1.5**0.25)
    assert metrics.errors([], []) is None


@given(PAIRS)
def test_the_spread_is_the_same_for_half_and_double(pairs: list[tuple[float, float]]):
    predicted, measured = zip(*pairs, strict=True)
    there, back = metrics.errors(predicted, measured), metrics.errors(measured, predicted)
    assert there is not None and back is not None
    assert there.spread == pytest.approx(back.spread)
    assert there.bias == pytest.approx(1 / back.bias)


@pytest.mark.parametrize(
    ("predicted", "measured", "tau"),
    [
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([3, 2, 1], [10, 20, 30], -1.0),
        ([1, 3, 2], [10, 20, 30], 1 / 3),
        ([2, 2, 2], [10, 20, 30], 0.0),  # no order predicted is no agreement
        ([2, 1], [10.0, 10.1], None),  # within 2 % there is no order to find
        ([1], [1], None),
    ],
)
def test_rank_correlation(predicted: list[float], measured: list[float], tau: float | None):
    assert metrics.kendall_tau(predicted, measured) == (None if tau is None else pytest.approx(tau))


@pytest.mark.parametrize(
    ("predicted", "measured", "share"),
    [
        ([1, 2], [5, 10], 1.0),
        ([2, 1], [5, 10], 0.5),
        ([1, 1, 2], [5, 10, 4], 0.4),  # of two predicted alike the worse counts
    ],
)
def test_top_one(predicted: list[float], measured: list[float], share: float):
    assert metrics.top_one(predicted, measured) == pytest.approx(share)


def test_the_halves_stay_where_they_are():
    """Constants were fitted on one of them: a kernel must not change sides."""
    sides = {"fitted": set[str](), "held out": set[str]()}
    for table in ("h200_tileops.csv", "public.csv"):
        for item in measurements(table).values():
            sides[item.half].add(f"{item.device_id} {item.family}")
    assert half_of("src/tileops/kernels/rope.py") == "fitted"
    assert half_of("src/tileops/kernels/gemm/dense.py") == "held out"
    assert "h200-1500-mhz tileops/gemm" in sides["held out"]
    assert "a100-80-pcie neusight/elementwise" not in sides["held out"]
    assert "v100-pcie neusight/softmax" not in sides["fitted"]


ITEM = Measurement(
    table="",
    row=0,
    source="",
    device_id="h200",
    klass="elementwise",
    family="",
    half="fitted",
    problem="",
    name="",
    measured_s=1.0,
    harness_s=0.0,
    flop=0.0,
    bytes=0.0,
    peak="fp32",
)


def test_calibration_finds_the_shares_that_made_the_times():
    device = load("h200")
    items: list[Measurement] = []
    for size in (1e9, 1e10, 1e11):
        streaming_s = size / device.dram.bytes_per_s / 0.8 + baselines.LAUNCH_S
        computing_s = 1e3 * size / device.peaks["fp32"].flop_per_s / 0.6 + baselines.LAUNCH_S
        items += [
            replace(ITEM, bytes=size, measured_s=streaming_s),
            replace(ITEM, flop=1e3 * size, measured_s=computing_s),
        ]
    shares = baselines.calibrate(items, device)
    assert shares is not None
    assert shares == baselines.Shares(memory=0.8, arithmetic=0.6)
    for item in items:
        assert baselines.calibrated_s(item, device, shares) == pytest.approx(item.measured_s)


def test_a_row_without_ideal_work_has_no_roofline():
    device = load("h200")
    item = replace(ITEM, flop=None, bytes=None)
    assert baselines.datasheet_s(item, device) is None
    assert baselines.calibrate([item], device) is None


@pytest.mark.parametrize(
    ("share_s", "arithmetic_s", "gigabytes", "known"),
    [
        (0.9, 0.1, 10, "memory"),
        (0.9, 0.1, 0.05, None),  # what L2 holds need not come from DRAM
        (0.5, 0.5, 10, None),
        (0.1, 0.9, 10, "compute"),
        (0.9, 0.9, 10, None),  # both
    ],
)
def test_the_class_that_the_time_alone_tells(
    share_s: float, arithmetic_s: float, gigabytes: float, known: str | None
):
    """The shares are of the harness-free time, at the sustained rates."""
    device = load("h200")
    moved = gigabytes * 1e9
    own_s = moved / device.dram.bytes_per_s / device.dram.sustained_fraction / share_s
    peak = device.peaks["fp32"]
    flop = arithmetic_s * own_s * peak.flop_per_s * peak.sustained_fraction
    item = replace(ITEM, bytes=moved, flop=flop, measured_s=own_s + 1e-3, harness_s=1e-3)
    assert baselines.known_class(item, device) == known
