"""Bounds of expressions: they hold for each value, and are as narrow as the expression is plain."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tirlens_counting.expressions import evaluate
from tirlens_counting.intervals import EVERYTHING, Interval, bounds, largest_value
from tirlens_worker.facts import Expr

START: Expr = ("load", "starts", "i")
ENDS: Expr = ("min", ("+", START, 32), ("load", "starts", ("+", "i", 1)))


@pytest.mark.parametrize(
    "expr, wanted",
    [
        (("-", ENDS, START), (-math.inf, 32)),
        (("-", START, ENDS), (-32, math.inf)),
        (("-", ("max", START, ("+", "x", START)), START), (0, 7)),
        (("*", ("-", ENDS, START), 4), (-math.inf, 128)),
        (("-", ("min", ENDS, ("+", START, "x")), START), (-math.inf, 7)),
        (ENDS, EVERYTHING),
        (("-", ENDS, ("load", "others", "i")), EVERYTHING),
    ],
)
def test_a_length_has_bounds_wherever_it_starts(expr: Expr, wanted: Interval) -> None:
    assert bounds(expr, {"x": (0, 7)}) == wanted


_LEAVES = st.one_of(st.sampled_from(["x", "y", "z"]), st.integers(-9, 9))


def _joined(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.tuples(st.sampled_from(["+", "-", "min", "max"]), parts, parts),
        st.tuples(st.just("*"), parts, st.integers(-3, 3)),
    )


@given(
    st.recursive(_LEAVES, _joined, max_leaves=10),
    st.fixed_dictionaries({name: st.integers(-20, 20) for name in "xyz"}),
)
def test_every_value_is_within_the_bounds(expr: Expr, values: dict[str, int]) -> None:
    """Of a variable with bounds and of two without."""
    low, high = bounds(expr, {"x": (-20, 20)})
    assert low <= evaluate(expr, values) <= high


@given(
    st.recursive(
        st.one_of(_LEAVES, st.sampled_from([0.5, -1.5])),
        lambda parts: st.tuples(st.sampled_from(["+", "-", "min", "max"]), parts, parts),
        max_leaves=8,
    ),
    st.fixed_dictionaries({name: st.integers(-20, 20) for name in "xyz"}),
)
def test_every_value_of_a_sum_of_floats_is_within_the_bounds(
    expr: Expr, values: dict[str, int]
) -> None:
    low, high = bounds(expr, dict.fromkeys("xyz", (-20, 20)))
    assert low <= evaluate(expr, values) <= high


def test_the_bounds_of_a_sum_with_a_float_are_reached() -> None:
    box = {"x": (0, 7), "y": (-2, 3)}
    assert bounds(("+", "x", "y", 0.5), box) == (-1.5, 10.5)
    assert bounds(("-", "x", "y", 0.5), box) == (-3.5, 8.5)


@example(("-", ("min", "z", "y"), ("min", "z", "y")), {"x": 0, "y": 0, "z": 0})
@given(
    st.recursive(_LEAVES, _joined, max_leaves=10),
    st.fixed_dictionaries({name: st.integers(-20, 20) for name in "xyz"}),
)
def test_no_value_is_above_the_largest(expr: Expr, values: dict[str, int]) -> None:
    box = dict.fromkeys("xyz", (-20, 20))
    assert evaluate(expr, values) <= largest_value(expr, box) <= bounds(expr, box)[1]
