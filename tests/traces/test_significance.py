"""Spread and chance: Student's distribution by its tables, Welch's test, several runs."""

from __future__ import annotations

import random
import statistics

import pytest

from tirlens.measured.runs.significance import (
    CHANCE,
    Sample,
    is_beyond_spread,
    probability_of_chance,
    sample_of_executions,
    sample_of_percentiles,
    sample_of_runs,
    student_t_tail,
)
from tirlens.measured.spread import Spread

# Percentage points of Student's distribution: NIST/SEMATECH e-Handbook, 1.3.6.7.2.
POINTS = [
    (1, 3.078, 0.10), (1, 31.821, 0.01), (2, 6.965, 0.01), (5, 2.015, 0.05), (10, 2.764, 0.01),
    (10, 4.144, 0.001), (30, 2.457, 0.01), (60, 1.671, 0.05), (100, 3.174, 0.001),
]  # fmt: skip


@pytest.mark.parametrize(("degrees", "t", "tail"), POINTS)
def test_the_tail_is_that_of_the_tables(degrees: int, t: float, tail: float) -> None:
    assert student_t_tail(t, degrees) == pytest.approx(tail, rel=2e-3)


def test_welch_by_the_example_of_the_handbook() -> None:
    # NIST/SEMATECH e-Handbook, 1.3.5.3: cars of two countries, unequal variances.
    us, japan = Sample(249, 20.14458, 6.41470, "runs"), Sample(79, 30.48101, 6.10771, "runs")
    probability = probability_of_chance(us, japan)
    assert probability is not None
    assert probability < 1e-20
    assert is_beyond_spread(us, japan)


def test_chance_alone_is_seldom_taken_for_a_growth() -> None:
    generator = random.Random(7)
    found = 0
    for _ in range(2000):
        sides = [[generator.gauss(1e-3, 2e-5) for _ in range(8)] for _ in "ab"]
        samples = [Sample(8, statistics.mean(x), statistics.stdev(x), "runs") for x in sides]
        found += is_beyond_spread(*samples) is True
    # Both directions are counted, each with the probability CHANCE.
    assert found / 2000 == pytest.approx(2 * CHANCE, abs=0.01)


def test_one_run_against_several_is_a_prediction_interval() -> None:
    generator = random.Random(11)
    found = 0
    for _ in range(2000):
        old = [generator.gauss(1e-3, 2e-5) for _ in range(5)]
        before = sample_of_runs([Sample(100, mean_s, 1e-7, "executions") for mean_s in old])
        now = Sample(100, generator.gauss(1e-3, 2e-5), 1e-7, "executions")
        assert before is not None
        found += is_beyond_spread(before, now) is True
    assert found / 2000 == pytest.approx(2 * CHANCE, abs=0.01)


def test_a_single_execution_has_no_spread() -> None:
    once = Spread()
    once.add(1e-3)
    sample = sample_of_executions(once)
    assert sample == Sample(1, 1e-3)
    assert is_beyond_spread(sample, Sample(10, 2e-3, 1e-5, "executions")) is None


def test_a_sum_with_extremes_has_a_bound_of_the_deviation() -> None:
    times = [1.0, 1.2, 1.9, 1.1, 1.3]
    summed = Spread()
    summed.add_sum(5, sum(times), min(times), max(times))
    sample = sample_of_executions(summed)
    assert sample is not None
    assert sample.source == "extremes"
    assert sample.deviation_s is not None
    assert sample.deviation_s >= statistics.pstdev(times)
    summed.add_sum(5, sum(times))
    assert sample_of_executions(summed) == Sample(10, pytest.approx(1.3))


def test_percentiles_give_the_deviation_of_a_normal_distribution() -> None:
    normal = statistics.NormalDist(1e-3, 2e-5)
    sample = sample_of_percentiles(1e-3, normal.inv_cdf(0.1), normal.inv_cdf(0.9), 100)
    assert sample.deviation_s == pytest.approx(2e-5, rel=1e-3)


def test_equal_times_without_any_deviation() -> None:
    assert is_beyond_spread(Sample(3, 1.0, 0.0, "runs"), Sample(3, 1.0, 0.0, "runs")) is False
    assert is_beyond_spread(Sample(3, 1.0, 0.0, "runs"), Sample(3, 1.1, 0.0, "runs")) is True


def test_one_run_a_side_knows_no_difference_below_one_percent() -> None:
    before, now = (Sample(10_000, mean_s, 1e-6, "executions") for mean_s in (1e-3, 1.005e-3))
    assert probability_of_chance(before, now) == pytest.approx(0.0, abs=1e-9)
    assert is_beyond_spread(before, now) is False
    assert is_beyond_spread(before, Sample(10_000, 1.02e-3, 1e-6, "executions")) is True
    runs = [Sample(5, mean_s, 1e-6, "runs") for mean_s in (1e-3, 1.005e-3)]
    assert is_beyond_spread(*runs) is True
