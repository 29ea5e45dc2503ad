"""On which variables an index depends."""

from __future__ import annotations

import pytest

from tirlens_worker.frameworks.reading.dependence import names
from tirlens_worker.frameworks.symbolic.ranges import Ranges

FLAT = ("+", ("*", ("+", ("*", "block", 256), "i"), 8), "j")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, ""),
        ("i", "i"),
        (("+", "i", ("*", "j", 4)), "i j"),
        (("//", FLAT, 4096), "block"),
        (("//", FLAT, 64), "block i"),
        (("//", FLAT, 12), "block i j"),
        (("%", FLAT, 8), "j"),
        (("%", FLAT, 2048), "i j"),
        (("//", ("//", FLAT, 8), 256), "block"),
        (("//", ("-", "i", "j"), 64), "i j"),
        (("truncdiv", FLAT, 2048), "block"),
        (("truncdiv", ("+", "signed", ("*", "block", 64)), 64), "block signed"),
        (("//", ("+", ("*", "block", 8), "unbounded"), 8), "block unbounded"),
        (("select", ("<", "i", 3), "block", 0), "block i"),
    ],
)
def test_names_that_an_index_depends_on(value: object, expected: str) -> None:
    ranges = Ranges()
    for name, start, extent in (("block", 0, 64), ("i", 0, 256), ("j", 0, 8), ("signed", -4, 8)):
        ranges.add(name, start, extent)
    assert names(value, ranges) == frozenset(expected.split())


@pytest.mark.parametrize("value", [("load", "data", "i"), ("+", 1, ("opaque", "x"))])
def test_what_depends_on_data_is_not_known(value: object) -> None:
    assert names(value, Ranges()) is None
