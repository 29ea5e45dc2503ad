"""The one formatter of numbers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirlens.ide import labels


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (137438953472, "FLOP", "137 GFLOP"),
        (1.21e9, "B", "1.21 GB"),
        (1.2e9, "B", "1.2 GB"),
        (999, "B", "999 B"),
        (999.4, "B", "999 B"),
        (999.6, "B", "1 kB"),
        (999_499, "B", "999 kB"),
        (999_500, "B", "1 MB"),
        (0, "B", "0 B"),
        (None, "B", "? B"),
        (0.25, "FLOP", "0.25 FLOP"),
        (2 * 8192**3 * 10**6, "FLOP", "1.1 EFLOP"),
        (10**30, "FLOP", "1000000 YFLOP"),
        (-1500, "B", "-1.5 kB"),
    ],
)
def test_quantity(value: float | None, unit: str, text: str) -> None:
    assert labels.quantity(value, unit) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (87.1e-6, "87.1 us"),
        (81e-6, "81 us"),
        (0.9996e-3, "1 ms"),
        (1.0005, "1 s"),
        (1234.0, "1230 s"),
        (5e-13, "0.5 ps"),
        (0.0, "0 s"),
        (None, "? s"),
    ],
)
def test_seconds(value: float | None, text: str) -> None:
    assert labels.seconds(value) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.93, "93%"),
        (1.0, "100%"),
        (0.0105, "1%"),
        (0.004, "0.4%"),
        (1e-6, "<0.1%"),
        (None, "?%"),
        (0.0, "0%"),
    ],
)
def test_percent(fraction: float | None, text: str) -> None:
    assert labels.percent(fraction) == text


@pytest.mark.parametrize(
    ("time_s", "band_s", "text", "brief"),
    [
        (15.2e-6, (9.1e-6, 24.3e-6), "about 15 us (9 to 24)", "about 15 us"),
        (2.56e-3, (1.377e-3, 4.762e-3), "about 2.6 ms (1.4 to 4.8)", "about 2.6 ms"),
        (307e-6, (194.9e-6, 484.9e-6), "about 310 us (190 to 480)", "about 310 us"),
        (0.96e-3, (0.41e-3, 2.2e-3), "about 960 us (410 to 2200)", "about 960 us"),
        (0.996e-3, (0.4e-3, 2.2e-3), "about 1 ms (0.4 to 2.2)", "about 1 ms"),
        (0.9996e-6, (0.01e-6, 2e-6), "about 1 us (0.01 to 2)", "about 1 us"),
        (2.56e-3, (2.1e-3, 3.1e-3), "2.6 ms", "2.6 ms"),
        (147e-6, (122e-6, 177e-6), "147 us", "147 us"),
        (2.56e-3, None, "2.6 ms", "2.6 ms"),
        (None, None, "? s", "? s"),
    ],
)
def test_an_estimate_is_as_precise_as_it_is_known(
    time_s: float | None, band_s: tuple[float, float] | None, text: str, brief: str
) -> None:
    assert labels.estimate(time_s, band_s) == text
    assert labels.brief_estimate(time_s, band_s) == brief


def test_a_change_is_beside_the_band() -> None:
    assert labels.estimate(15.2e-6, (9.1e-6, 24.3e-6), "-28%") == "about 15 us (9 to 24, -28%)"
    assert labels.estimate(15.2e-6, None, "-28%") == "15 us (-28%)"
    assert labels.brief_estimate(15.2e-6, (9.1e-6, 24.3e-6), "-28%") == "about 15 us (-28%)"


@given(st.floats(1e-10, 1e3), st.floats(1.0, 30.0))
def test_the_band_of_an_estimate_encloses_it(time_s: float, spread: float) -> None:
    text = labels.estimate(time_s, (time_s / spread, time_s * spread))
    if spread * spread < 1.99:
        assert "(" not in text
    elif spread * spread > 2.01:
        number, low, high = (float(one) for one in re.findall(r"\d+(?:\.\d+)?", text))
        assert low <= number <= high
        assert 0 < low < high


@pytest.mark.parametrize(
    ("part_s", "time_s", "text"),
    [
        (529e-6, 2.56e-3, "0.5 ms"),
        (66e-6, 223e-6, "66 us"),
        (41.9e-6, 307e-6, "42 us"),
        (3e-6, 2.5e-3, "0.003 ms"),
        (1.26e-6, 15e-6, "1 us"),
        (None, 1e-3, "? s"),
    ],
)
def test_a_saving_is_as_precise_as_its_time(part_s: float | None, time_s: float, text: str) -> None:
    assert labels.saving(part_s, time_s) == text


def test_inlay_of_the_contract() -> None:
    assert labels.inlay(81e-6, 0.93, 137438953472, 1.2e9) == "81 us 93% | 137 GFLOP | 1.2 GB"


def test_inlay_with_two_digits() -> None:
    assert labels.inlay(81.3e-6, 1.0, 13.74e9, 1.213e9) == "81 us 100% | 14 GFLOP | 1.2 GB"


def test_inlay_with_a_change() -> None:
    text = "81 us 93% (-28%) | 137 GFLOP | 1.2 GB"
    assert labels.inlay(81e-6, 0.93, 137438953472, 1.2e9, "-28%") == text
    assert labels.cut_hint(text, 33) == "81 us 93% (-28%) | 137 GFLOP"
    assert labels.cut_hint(text, 5) == ""
    # Behind a line that is longer than the window.
    assert labels.cut_hint(text, -7) == ""


def test_inlay_leaves_out_what_is_zero_and_says_what_is_unknown() -> None:
    assert labels.inlay(2e-6, 0.5, 0, 4096) == "2 us 50% | 4.1 kB"
    assert labels.inlay(None, None, 2048, None) == "2 kFLOP"


@given(
    st.floats(1e-9, 999),
    st.floats(0.01, 1),
    st.integers(0, 10**26),
    st.floats(0, 1e18),
)
def test_inlay_is_short_ascii(time_s: float, share: float, flop: int, dram_bytes: float) -> None:
    text = labels.inlay(time_s, share, flop, dram_bytes)
    assert len(text) <= labels.INLAY_LIMIT
    assert text.isascii()


@given(st.integers(1, 10**26))
def test_quantity_is_within_three_digits(value: int) -> None:
    number, prefix = labels.quantity(value, "B").split(" ")
    scale = 10 ** (3 * "BkMGTPEZY".index(prefix[0] if prefix != "B" else "B"))
    assert len(number.replace(".", "")) <= 3
    assert abs(float(number) * scale - value) <= value * 0.00501


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("matmul(8192, 8192, 8192, block_M=128)", "matmul(8192, 8192, ...)"),
        ("f(1, 2)", "f(1, 2)"),
        ("attention((4, 32, 4096, 128), causal=True)", "attention((4, 32, 4096, 128), ...)"),
    ],
)
def test_shorten(call: str, text: str) -> None:
    assert labels.shorten(call) == text
