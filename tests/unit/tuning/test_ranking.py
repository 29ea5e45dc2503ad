"""The order of configurations, and those that a prediction leaves to a measurement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirlens.tuning import Estimate, worth_measuring
from tirlens.tuning.ranking import in_order

REFUSED = Estimate(is_refused=True, reason="too much shared memory")
UNKNOWN = Estimate(reason="depends on data")


def timed(time_s: float, factor: float = 1.2) -> Estimate:
    return Estimate(time_s=time_s, time_band_s=(time_s / factor, time_s * factor))


def ranked(*estimates: Estimate):
    return in_order([({"n": str(n)}, f"f(n={n})", one) for n, one in enumerate(estimates)])


def numbers(configurations) -> list[int]:
    return [int(one.arguments["n"]) for one in configurations]


def test_the_fastest_is_first_then_the_unknown_and_the_refused_last() -> None:
    found = ranked(REFUSED, timed(3), UNKNOWN, timed(1), timed(2))
    assert numbers(found) == [3, 4, 1, 2, 0]
    assert [one.rank for one in found] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("estimates", "most", "kept"),
    [
        # 1.0 ends at 1.2: 1.4 begins at 1.17, and 1.5 at 1.25.
        ([timed(1.0), timed(1.4), timed(1.5)], 8, [0, 1]),
        ([timed(1.0), timed(1.1), timed(1.2)], 2, [0, 1]),
        ([timed(1.0), timed(9.0), UNKNOWN, UNKNOWN, REFUSED], 1, [0, 2, 3]),
        ([UNKNOWN, UNKNOWN, REFUSED], 1, [0, 1]),
        ([REFUSED], 1, []),
        ([], 1, []),
    ],
)
def test_what_a_measurement_has_to_decide(
    estimates: list[Estimate], most: int, kept: list[int]
) -> None:
    assert numbers(worth_measuring(ranked(*estimates), most)) == kept


@given(st.lists(st.floats(1e-6, 1e-3), min_size=1, max_size=30), st.integers(1, 10))
def test_the_best_is_kept_and_nothing_that_is_dropped_may_be_as_fast(
    times: list[float], most: int
) -> None:
    found = ranked(*map(timed, times))
    kept = worth_measuring(found, most)
    assert kept[0] == found[0]
    dropped = [one for one in found if one not in kept]
    if len(kept) < most:
        end_s = found[0].estimate.time_band_s[1]
        assert all(one.estimate.time_band_s[0] > end_s for one in dropped)
