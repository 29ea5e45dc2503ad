"""The slope of an index in a variable, by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tirlens.model.counting.data_extents import slope
from tirlens_worker.facts import Expr


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("a", 1),
        ("b", 0),
        (7, 0),
        (("+", "a", "b", "a"), 2),
        (("-", "a", 3), 1),
        (("-", 3, "a"), -1),
        (("-", "a"), -1),
        (("-", "a", ("*", "a", 3)), -2),
        (("*", "a", 4), 4),
        (("//", "a", 4), Fraction(1, 4)),
        (("//", ("*", "a", 6), 4), Fraction(3, 2)),
        (("%", "a", 4), None),
        (("*", "a", "a"), None),
        (("min", "a", 4), None),
        (("//", "a", "b"), None),
        (("//", 9, "a"), None),
    ],
)
def test_slope_in_a(expr: Expr, expected: Fraction | int | None) -> None:
    assert slope(expr, "a") == expected
