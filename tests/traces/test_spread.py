"""Spreads from streams, beside those of `statistics`."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirlens.measured.spread import KEPT_VALUES, QUANTILE_ERROR, Spread

TIMES = st.floats(min_value=1e-9, max_value=10) | st.just(0.0)


def spread_of(values: list[float]) -> Spread:
    spread = Spread()
    for value in values:
        spread.add(value)
    return spread


@given(st.lists(TIMES, min_size=2, max_size=300))
def test_it_agrees_with_the_statistics_of_all_values(values: list[float]) -> None:
    spread = spread_of(values)
    assert spread.count == len(values)
    assert spread.total == pytest.approx(sum(values))
    assert spread.mean == pytest.approx(statistics.fmean(values))
    assert (spread.minimum, spread.maximum) == (min(values), max(values))
    assert spread.deviation == pytest.approx(statistics.stdev(values), abs=1e-7 * max(values))


@given(st.lists(TIMES, min_size=1, max_size=3 * KEPT_VALUES), st.floats(0, 1))
def test_a_quantile_is_exact_or_within_its_error(values: list[float], share: float) -> None:
    spread = spread_of(values)
    found = spread.quantile(share)
    assert found is not None
    rank = share * (len(values) - 1)
    ordered = sorted(values)
    below, above = ordered[int(rank)], ordered[min(int(rank) + 1, len(values) - 1)]
    error = 0.0 if spread.has_exact_quantiles else QUANTILE_ERROR
    assert below * (1 - error) - 1e-15 <= found <= above * (1 + error) + 1e-15


@given(st.lists(st.lists(TIMES, min_size=1, max_size=20), min_size=1, max_size=10))
def test_rows_that_sum_give_the_same_as_their_values(rows: list[list[float]]) -> None:
    summed = Spread()
    for row in rows:
        deviation = statistics.stdev(row) if len(row) > 1 else 0.0
        summed.add_sum(len(row), sum(row), min(row), max(row), deviation)
    single = spread_of([value for row in rows for value in row])
    assert summed.count == single.count
    assert summed.mean == pytest.approx(single.mean)
    assert (summed.minimum, summed.maximum) == (single.minimum, single.maximum)
    largest = max(map(max, rows))
    assert summed.deviation == pytest.approx(single.deviation, abs=1e-7 * largest)
    if any(len(row) > 1 for row in rows):
        assert summed.median is None


def test_what_a_row_does_not_say_is_unknown() -> None:
    spread = Spread()
    assert (spread.mean, spread.minimum, spread.median, spread.deviation) == (None,) * 4
    spread.add_sum(10, 1e-3)
    spread.add(5e-5)
    assert spread.mean == pytest.approx(1.05e-3 / 11)
    assert (spread.minimum, spread.maximum, spread.median, spread.deviation) == (None,) * 4


def test_memory_does_not_grow_with_the_values() -> None:
    spread = Spread()
    for index in range(100_000):
        spread.add(1e-6 * (1 + index % 977 / 977))
    assert spread._values is None  # pyright: ignore[reportPrivateUsage]
    assert len(spread._bins or ()) <= 80  # pyright: ignore[reportPrivateUsage]
