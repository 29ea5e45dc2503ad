"""The one formatter of numbers."""

from __future__ import annotations

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


def test_inlay_of_the_contract() -> None:
    assert labels.inlay(81e-6, 0.93, 137438953472, 1.2e9) == "81 us 93% | 137 GF | 1.2 GB"


def test_inlay_with_two_digits() -> None:
    assert labels.inlay(81.3e-6, 1.0, 13.74e9, 1.213e9, 2) == "81 us 100% | 14 GF | 1.2 GB"


def test_inlay_with_a_change() -> None:
    text = "81 us 93% (-28%) | 137 GF | 1.2 GB"
    assert labels.inlay(81e-6, 0.93, 137438953472, 1.2e9, 3, "-28%") == text
    assert labels.cut_hint(text, 33) == "81 us 93% (-28%) | 137 GF"
    assert labels.cut_hint(text, 5) == ""
    # Behind a line that is longer than the window.
    assert labels.cut_hint(text, -7) == ""


def test_inlay_leaves_out_what_is_zero_and_says_what_is_unknown() -> None:
    assert labels.inlay(2e-6, 0.5, 0, 4096) == "2 us 50% | 4.1 kB"
    assert labels.inlay(None, None, 2048, None) == "2.05 kF"


@given(
    st.floats(1e-9, 999),
    st.floats(0.01, 1),
    st.integers(0, 10**26),
    st.floats(0, 1e18),
)
def test_inlay_is_short_ascii(time_s: float, share: float, flop: int, dram_bytes: float) -> None:
    text = labels.inlay(time_s, share, flop, dram_bytes, digits=2)
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
