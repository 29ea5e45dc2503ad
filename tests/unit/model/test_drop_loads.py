"""Indices as if what they load were 0."""

from __future__ import annotations

import pytest

from tirlens.model.tree.context import drop_loads
from tirlens_worker.facts import Expr

LOADED: Expr = ("load", "table", "i")


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("i", "i"),
        (LOADED, 0),
        (("+", LOADED, "i"), ("+", 0, "i")),
        (("*", ("+", LOADED, 3), "i"), ("*", ("+", 0, 3), "i")),
        # A loaded divisor is a size that all that is counted fits in.
        (("//", "i", LOADED), 0),
        (("%", "i", LOADED), "i"),
        (("truncmod", ("+", "i", LOADED), LOADED), ("+", "i", 0)),
        # Another divisor stays, and so does what is divided.
        (("//", LOADED, 4), ("//", 0, 4)),
        (("%", "i", 4), ("%", "i", 4)),
        (("opaque", "f()"), 0),
    ],
)
def test_loads_are_dropped(index: Expr, expected: Expr) -> None:
    assert drop_loads(index) == expected


def test_only_the_chosen_loads_are_dropped() -> None:
    other: Expr = ("load", "other", "i")
    found = drop_loads(("+", LOADED, other), lambda load: load[1] == "table")
    assert found == ("+", 0, other)
