"""The parity of a first wait, from the initial values of the scalars in it."""

from __future__ import annotations

import pytest

from tirlens_worker.facts import Expr
from tirlens_worker.frameworks.state.barriers import Barriers, first_value
from tirlens_worker.frameworks.state.scalars import Scalars
from tirlens_worker.frameworks.state.value_properties import ValueProperties

ITERATION = ("load", "iteration", 0)


@pytest.mark.parametrize(
    ("parity", "first"),
    [
        (("%", ("+", ITERATION, 1), 2), 1),
        (("%", ITERATION, 2), 0),
        (("^", ("&", ("//", "k", 3), 1), 1), 1),
        (("&", (">>", "k", 2), 1), 0),
        (("not", ("==", ("%", "k", 2), 0)), 0),
        (("select", ("<", "k", 1), 1, 0), 1),
        (("cast", "int32", ("-", 3, ITERATION)), 3),
        (("load", "other", 0), None),
        (("+", ("opaque", "f(x)"), 1), None),
        (("//", 1, "k"), None),
        ("unknown", None),
    ],
)
def test_first_value(parity: Expr, first: int | None) -> None:
    scalars = Scalars(ValueProperties())
    scalars.forget("iteration")
    for value in (0, 7):
        scalars.assign("iteration", value)
        scalars.forget("iteration")
    assert first_value(parity, scalars.initial, {"k": 0}.get) == first


def test_each_barrier_of_an_array_has_its_arrivals() -> None:
    barriers = Barriers()
    barriers.set_arrivals("full", 0, 128)
    barriers.set_arrivals("full", 2, 256)
    assert barriers.arrivals["full"] == (128, 256, 256)
