"""Distinct elements that an access touches, enumerated by hand."""

from __future__ import annotations

import pytest

from tirlens.model.gpu.memory.access_footprint import AccessFootprint
from tirlens.model.tree.context import EnclosingLoop, LoopContext
from tirlens_worker.facts import Access, Expr

CONTEXT = LoopContext(
    (EnclosingLoop("i", "serial", 64), EnclosingLoop("j", "serial", 4)),
    {"i": (0, 63), "j": (0, 3)},
    {},
)
ROW: Expr = ("load", "T", "i")


@pytest.mark.parametrize(
    ("access", "shape", "free", "elements"),
    [
        (Access("A", "read", ("i", "j")), (64, 4), "ij", 256),
        (Access("A", "read", ("i", "j")), (64, 4), "j", 4),
        (Access("A", "read", ("i", "j")), (64, 4), "", 1),
        # Two variables of one dimension: 64 + 4 - 1 positions.
        (Access("A", "read", (("+", "i", "j"),)), (99,), "ij", 67),
        # A strided index touches no elements in between; a box at each step does.
        (Access("A", "read", (("*", "i", 2),)), (999,), "i", 64),
        (Access("A", "read", (("*", "i", 8),), (8,)), (512,), "i", 512),
        (Access("A", "read", (("*", "i", 4),), (8,)), (260,), "i", 260),
        (Access("A", "read", (("*", "i", 16),), (8,)), (1024,), "i", 512),
        # Sixteen rows of a quotient.
        (Access("A", "read", (("//", "i", 4), "j")), (16, 4), "ij", 64),
        (Access("A", "read", ("i",), lanes=4), (999,), "i", 256),
        # Not more than the array has, where all of its sizes are known.
        (Access("A", "read", ("i", "j")), (32, 4), "ij", 128),
        (Access("A", "read", ("i", "j")), ("n", 4), "ij", 256),
        # Each entry of a table is another row, of those that there are.
        (Access("A", "read", (ROW, "j")), (1000, 4), "ij", 256),
        (Access("A", "read", (ROW, "j")), (32, 4), "ij", 128),
        (Access("A", "read", (ROW, "j")), (1000, 4), "j", 4),
        (Access("A", "read", (("+", ROW, "j"),)), (1000,), "ij", 256),
        (Access("A", "read", (("+", ROW, "j"),)), (100,), "ij", 100),
    ],
)
def test_distinct_elements(
    access: Access, shape: tuple[Expr, ...], free: str, elements: float
) -> None:
    assert AccessFootprint(access, CONTEXT, shape).element_count(free) == elements


@pytest.mark.parametrize(
    ("indices", "shape", "elements", "names"),
    [
        # Data select one of 1000 rows, and j one of four columns.
        ((ROW, "j"), (1000, 4), 4000, ""),
        ((ROW, "i"), (1000, 64), 1000, "i"),
        ((ROW, "i"), ("n", 64), float("inf"), "i"),
        ((0, "j"), (1000, 4), 4, ""),
    ],
)
def test_elements_that_data_select_from(
    indices: tuple[Expr, ...], shape: tuple[Expr, ...], elements: float, names: str
) -> None:
    footprint = AccessFootprint(Access("A", "read", indices), CONTEXT, shape)
    assert footprint.candidate_elements("j", "i") == (elements, frozenset(names))
