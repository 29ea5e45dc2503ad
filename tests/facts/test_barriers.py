"""The parity of a first wait, from what the scalars in it held at first."""

from __future__ import annotations

import pytest

from tirlens_worker.facts import Expr
from tirlens_worker.frameworks.barriers import Barriers

TURN = ("load", "turn", 0)


@pytest.mark.parametrize(
    ("parity", "first"),
    [
        (("%", ("+", TURN, 1), 2), 1),
        (("%", TURN, 2), 0),
        (("^", ("&", ("//", "k", 3), 1), 1), 1),
        (("&", (">>", "k", 2), 1), 0),
        (("not", ("==", ("%", "k", 2), 0)), 0),
        (("select", ("<", "k", 1), 1, 0), 1),
        (("cast", "int32", ("-", 3, TURN)), 3),
        (("load", "other", 0), None),
        (("+", ("opaque", "f(x)"), 1), None),
        (("//", 1, "k"), None),
        ("unknown", None),
    ],
)
def test_first_value(parity: Expr, first: int | None) -> None:
    barriers = Barriers()
    barriers.remember("turn", None)
    barriers.remember("turn", 0)
    barriers.remember("turn", 7)
    assert barriers.first(parity, {"k": 0}.get) == first


def test_arrivals_are_kept_for_each_barrier_of_an_array() -> None:
    barriers = Barriers()
    barriers.counts("full", 0, 128)
    barriers.counts("full", 2, 256)
    assert barriers.arrivals["full"] == (128, 256, 256)
