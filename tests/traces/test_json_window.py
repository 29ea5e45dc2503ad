"""JSON value by value: the same values as the whole text gives, and what is broken is left out."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirlens.measured.reading import json_window
from tirlens.measured.reading.json_window import JsonWindow, MalformedValueError
from tirlens.measured.reading.trace_file import TraceError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.fixture(autouse=True)
def small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows that end inside of values."""
    monkeypatch.setattr(json_window, "_CHUNK_BYTES", 7)


def elements(text: str) -> list[Any]:
    return list(JsonWindow(io.BytesIO(text.encode())).elements())


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(VALUES), st.sampled_from([None, 1]))
def test_elements_are_those_of_the_whole_text(values: list[Any], indent: int | None) -> None:
    assert elements(json.dumps(values, indent=indent)) == values


@settings(deadline=None)
@given(VALUES, VALUES)
def test_a_value_is_skipped_as_a_whole(skipped: Any, after: Any) -> None:
    window = JsonWindow(io.BytesIO(json.dumps([skipped, after]).encode()))
    assert window.take() == "["
    window.skip()
    assert window.take() == ","
    assert window.value() == after


def test_fractions_stay_as_they_are_written() -> None:
    assert elements("[1712195495519689.123, 1e3, NaN, 7]") == [
        "1712195495519689.123",
        "1e3",
        "NaN",
        7,
    ]


@pytest.mark.parametrize(
    "broken",
    [
        '{"name": "a"b", "args": {"shape": [[1], [2]]}}',
        '{"name": }',
        '{"name": [1, }',
        '{"a": 1 "b": 2}',
        "nonsense",
        '"\\x"',
        "[" * 100_000 + "]" * 100_000,
        "9" * 5000,
    ],
    ids=lambda text: text[:12],
)
def test_a_broken_element_costs_no_other(broken: str) -> None:
    found = elements(f'[{{"x": 1}}, {broken}, {{"x": 2}}, {{"x": 3}}]')
    assert [each for each in found if isinstance(each, dict)] == [{"x": 1}, {"x": 2}, {"x": 3}]
    assert [each for each in found if isinstance(each, MalformedValueError)]


def test_a_value_that_is_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_window, "LONGEST_VALUE", 100)
    first, long, last = elements('[{"x": 1}, {"x": "' + "y" * 1000 + '"}, {"x": 2}]')
    assert (first, last) == ({"x": 1}, {"x": 2})
    assert "more than 100 characters" in str(long)


def test_a_quote_without_its_end_costs_no_event_behind_the_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_window, "LONGEST_VALUE", 100)
    events = ", ".join(f'{{"x": {number}}}' for number in range(100))
    found = elements(f'[{{"name": "a}}, {events}]')
    assert [each["x"] for each in found if isinstance(each, dict)][-90:] == list(range(10, 100))


@pytest.mark.parametrize("text", ["[1, 2", "[1, [2", '[1, "2', "[1, 2,", "[1, {"])
def test_the_end_inside_an_array_is_said(text: str) -> None:
    found = JsonWindow(io.BytesIO(text.encode())).elements()
    assert next(found) == 1
    with pytest.raises(TraceError, match="ends inside"):
        list(found)


def test_memory_does_not_grow_with_the_text() -> None:
    window = JsonWindow(io.BytesIO(b"[" + b",".join([b'{"x": 1}'] * 10_000) + b"]"))
    longest = 0
    for _ in window.elements():
        longest = max(longest, len(window._buffer))
    assert longest < 200
