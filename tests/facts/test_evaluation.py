"""The values of expressions, as the worker needs them and as the counting library has them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirlens_counting.expressions import UnknownValueError
from tirlens_counting.expressions import evaluate as value_of
from tirlens_worker.facts import Expr
from tirlens_worker.frameworks.symbolic.evaluation import evaluate

VALUES = {"k": 7, "n": -3, "z": 0}
BINARY = [
    *("+", "-", "*", "//", "%", "min", "max", "truncdiv", "truncmod", "&", "|", "^"),
    *("==", "!=", "<", "<=", ">", ">=", "and", "or"),
]


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.tuples(st.sampled_from(BINARY), inner, inner),
        st.tuples(st.sampled_from(["-", "not"]), inner),
        st.tuples(st.just("select"), inner, inner, inner),
        st.tuples(st.just("cast"), st.just("int32"), inner),
    )


LEAVES = st.integers(-9, 9) | st.sampled_from([*VALUES, "unknown"])


@given(st.recursive(LEAVES, _grown, max_leaves=12))
def test_the_value_is_that_of_the_counting_library(expr: Expr) -> None:
    found = evaluate(expr, VALUES.get)
    try:
        expected = value_of(expr, VALUES)
    except UnknownValueError:
        return
    assert found == expected


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (("truncdiv", "n", 2), -1),
        (("//", "n", 2), -2),
        (("-", "k"), -7),
        (("+", 1, 2, 3), 6),
        (("//", "k", "z"), None),
        (("opaque", "f(k)"), None),
        (("load", "A", "k"), None),
        (("load", "count", 0), 8),
        (("f", "k"), None),
        (("&", 1.5, "k"), None),
    ],
)
def test_a_value_that_is_not_known_is_none(expr: Expr, value: int | None) -> None:
    assert evaluate(expr, VALUES.get, {"count": ("+", "k", 1)}) == value
