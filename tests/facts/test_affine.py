"""The trips of a loop with a counter are those that running it makes."""

from __future__ import annotations

import operator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tirlens_worker.facts import Expr
from tirlens_worker.frameworks.symbolic.affine import trips

_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def _value(expr: Expr, n: int) -> Any:
    if not isinstance(expr, tuple):
        return n if expr == "n" else expr
    left, right = (_value(part, n) for part in expr[1:])
    arithmetic = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv}
    return (arithmetic | _COMPARE)[expr[0]](left, right)


@given(
    st.sampled_from(list(_COMPARE)),
    st.integers(-40, 40),
    st.integers(-7, 7),
    st.integers(-40, 40),
    st.booleans(),
    st.booleans(),
)
def test_trips(name: str, start: int, step: int, bound: int, swapped: bool, holds: bool) -> None:
    moving: Expr = ("+", start, ("*", "n", step))
    condition: Expr = (name, bound, moving) if swapped else (name, moving, bound)
    count = trips(condition, "n", holds)
    run = next((n for n in range(200) if bool(_value(condition, n)) is not holds), None)
    if run is None:
        assert count is None or step == 0
    elif count is not None:
        assert max(_value(count, 0), 0) == run


def test_what_is_not_linear_is_not_guessed() -> None:
    assert trips(("<", ("*", "n", "n"), 7), "n") is None
    assert trips(("and", True, False), "n") is None
    assert trips(("<", ("load", "A", "n"), 7), "n") is None
