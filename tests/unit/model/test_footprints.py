"""Distinct elements and sectors that an access touches, enumerated by hand."""

from __future__ import annotations

import pytest

from tirlens.model.gpu.memory.access_footprint import AccessFootprint
from tirlens.model.gpu.memory.flat_address import AddressTerm, FlatAddress, join_neighbours
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


@pytest.mark.parametrize(
    ("starts", "widths", "fractions"),
    [
        ((0, 4), (8, 8), (1, 1)),
        ((4, 0, 4), (8, 8, 8), (1, 1, 1)),
        # Less than a sector in between: both may be in one, or in neighbours.
        ((0, 32), (36, 36), (8 / 36, 8 / 36)),
        # A whole sector may be in between.
        ((0, 36), (4, 4), (1, 1)),
        ((0, 4, 100), (8, 8, 4), (1, 1, 1)),
        ((0, 100, 104), (4, 8, 8), (1, 1, 1)),
        ((0, 20, 40), (44, 44, 44), (12 / 44, 12 / 44, 12 / 44)),
    ],
)
def test_neighbours_in_sectors_are_one_address(
    starts: tuple[int, ...], widths: tuple[float, ...], fractions: tuple[float, ...]
) -> None:
    found = join_neighbours([FlatAddress((), start, 4.0) for start in starts], 32)
    assert tuple(one.width_bytes for one in found) == widths
    assert tuple(one.used_fraction for one in found) == fractions


@pytest.mark.parametrize(
    ("strides", "start", "elements", "sectors"),
    [
        # 64 floats beside each other, in two directions, and from the middle of a sector.
        ((4,), 0, 256, 8),
        ((4,), 16, 256, 9),
        # One of each sector, of every second one, and of each 36 bytes: none shares a sector.
        ((32,), 0, 256, 64),
        ((64,), 0, 256, 64),
        ((36,), 0, 256, 64),
        # Eight runs: at sectors, or at any eighth byte, where three of four begin in one more.
        ((4, 1024), 0, 2048, 64),
        ((4, 1000), 0, 2048, 8 * 8.75),
        # Seven shifts of the run by an element.
        ((4, 4), 0, 4 * (64 + 7), 9),
    ],
)
def test_sectors_of_runs(
    strides: tuple[int, ...], start: int, elements: float, sectors: float
) -> None:
    ranges = {"i": (0, 63), "j": (0, 7)}
    terms = tuple(
        AddressTerm(stride, name, frozenset(name), 1, False)
        for stride, name in zip(strides, "ij", strict=False)
    )
    found = FlatAddress(terms, start, 4.0).touched_bytes(ranges, 32)
    assert (found.element_bytes, found.sector_bytes) == (elements, 32 * sectors)
    assert found.density == pytest.approx(32 * sectors / elements)


def test_a_quotient_of_block_and_thread_has_the_values_of_one_block() -> None:
    # Threads of a transpose without tiles, ``x[i % 8192 * 8192 + i // 8192]`` with
    # ``i = block * 256 + thread``: a column of 256 floats, one of each sector.
    index = ("+", ("*", "block", 256), "thread")
    names = frozenset({"block", "thread"})
    terms = (
        AddressTerm(4 * 8192, ("%", index, 8192), names),
        AddressTerm(4, ("//", index, 8192), names),
    )
    found = FlatAddress(terms, 0, 4.0).touched_bytes({"thread": (0, 255)}, 32)
    assert (found.element_bytes, found.sector_bytes) == (256 * 4, 256 * 32)
