"""Cores whose units are narrower than their registers, and other ways of AMD's cores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tirlens.hardware import load
from tirlens.hardware.spec import Device
from tirlens.model import analyze
from tirlens.model.cpu.compiler.vector_width import of_loop
from tirlens_worker.facts import Expr, KernelFacts

from .test_cpu import facts, loop, store, timed

BASE = load("x86-avx512")
# In the first cache together.
ROWS, LENGTH = 8, 480


def device(**changes: Any) -> Device:
    """A core that takes vectors of 64 bytes in two halves, as Zen 4 does."""
    assert BASE.cpu is not None
    core = replace(
        BASE.cpu,
        vector_bytes=64,
        narrow_arithmetic_clk=0.5,
        arithmetic_clk=1.0,
        narrow_load_clk=0.5,
        load_clk=1.0,
        narrow_store_clk=1.0,
        store_clk=2.0,
        load_store_sharing=0.2,
    )
    return replace(BASE, cpu=replace(core, **changes))


def copied(columns: int, lanes: int, offset: int = 0) -> KernelFacts:
    """Rows that are doubled, in explicit vectors of `lanes` elements or as the compiler likes."""
    place: Expr = ("+", ("*", "j", lanes), "v") if lanes else "j"
    leaf = store({"A": ("i", ("+", place, offset))}, ("B", ("i", place)), "mul")
    inside = [loop("j", columns // max(lanes, 1))]
    inside += [loop("v", lanes, "vectorized")] if lanes else []
    arrays = {"A": (ROWS, columns + offset), "B": (ROWS, columns)}
    return facts(arrays, [loop("i", ROWS), *inside], leaf)


def test_half_vectors_take_as_long_as_whole_ones_where_these_are_two_halves() -> None:
    half, whole = (timed(analyze(copied(LENGTH, lanes), device())) for lanes in (8, 16))
    assert half == pytest.approx(whole, rel=0.2)
    entire = device(narrow_load_clk=1.0, narrow_store_clk=2.0, narrow_arithmetic_clk=1.0)
    assert timed(analyze(copied(LENGTH, 8), entire)) > 1.6 * half


def test_of_two_halves_one_lies_across_lines() -> None:
    aligned, across = (timed(analyze(copied(LENGTH, 16, offset), device())) for offset in (0, 1))
    entire = device(narrow_load_clk=1.0)
    twice = timed(analyze(copied(LENGTH, 16, 1), entire))
    assert aligned < across < twice


def test_loads_and_stores_go_side_by_side_where_they_share_nothing() -> None:
    apart, shared = (
        timed(analyze(copied(LENGTH, 16), device(load_store_sharing=part))) for part in (0.0, 1.0)
    )
    assert shared > 1.2 * apart


def test_what_is_left_of_long_vectors_runs_in_shorter_ones() -> None:
    """Of 488 elements 8 are left of vectors of 16, of 487 those are 7."""
    even, odd = (timed(analyze(copied(columns, 0), device())) for columns in (488, 487))
    assert even < odd


@pytest.mark.parametrize(
    ("trips", "in_a_row", "elements"),
    [
        (64, True, 16),
        # Seven vectors of 8 are less than three of 16 and 8 single elements.
        (56, True, 8),
        (56, False, 16),
        (60, True, 8),
        (12, False, 8),
        (12, True, 4),
        (7, True, 4),
        (1, True, 1),
    ],
)
def test_a_loop_is_cut_into_vectors_that_leave_little(
    trips: int, in_a_row: bool, elements: int
) -> None:
    assert of_loop(16, trips, in_a_row).elements == elements


def filled(value_read: bool) -> KernelFacts:
    """Short rows that are filled with a constant, or with what an array has."""
    leaf = store({"A": ("i",)} if value_read else {}, ("B", ("i", "j")))
    arrays = {"A": (4096,), "B": (4096, 16)} if value_read else {"B": (4096, 16)}
    return facts(arrays, [loop("i", 4096), loop("j", 16)], leaf)


def test_constants_in_a_row_are_stored_as_vectors() -> None:
    constant, copied_rows = (timed(analyze(filled(read), device())) for read in (False, True))
    assert constant * 2 < copied_rows


def short_rows(changes_row: bool) -> KernelFacts:
    """Rows of 64 that are added to one row, or each to a row of its own."""
    row: Expr = "r" if changes_row else 0
    leaf = store({"A": ("r", "j"), "C": (row, "j")}, ("C", (row, "j")), "add")
    shape = (64 if changes_row else 1, 64)
    return facts({"A": (64, 64), "C": shape}, [loop("r", 64), loop("j", 64)], leaf)


def test_sums_in_memory_wait_for_the_entry_before() -> None:
    """Four vectors take the ports less time than it takes to store one, load it and add."""
    slow = device(vector_forward_clk=40.0)
    waiting, apart = (timed(analyze(short_rows(changes), slow)) for changes in (False, True))
    assert waiting > 1.5 * apart


def column_sums(columns: int) -> KernelFacts:
    """A sum over the rows of an array, one column after the other."""
    leaf = store({"A": ("i", "j"), "C": ("j",)}, ("C", ("j",)), "add")
    return facts({"A": (128, columns), "C": (columns,)}, [loop("j", columns), loop("i", 128)], leaf)


def test_strides_of_a_page_wait_for_one_set_of_the_first_cache() -> None:
    assert BASE.cpu is not None
    slow = device(l2=replace(BASE.cpu.l2, crowded_line_clk=20.0))
    crowded, spread = (timed(analyze(column_sums(n), slow)) / n for n in (1024, 1040))
    assert crowded > 2 * spread
    assert timed(analyze(column_sums(1024), device())) / 1024 < crowded / 2


def summed(lanes: int) -> KernelFacts:
    """Sums in one explicit vector over the rows of an array."""
    leaf = store({"A": ("r", "v"), "C": ("v",)}, ("C", ("v",)), "add")
    return facts(
        {"A": (840, lanes), "C": (lanes,)}, [loop("r", 840), loop("v", lanes, "vectorized")], leaf
    )


def test_odd_vectors_are_taken_apart_seldom_where_loops_are_unrolled_far() -> None:
    often, seldom = (
        timed(analyze(summed(24), device(unrolled_instructions=most))) for most in (50, 512)
    )
    assert often > 3 * seldom
    same = [timed(analyze(summed(32), device(unrolled_instructions=most))) for most in (50, 512)]
    assert same[0] == same[1]


@pytest.mark.parametrize(
    ("path", "key"),
    [
        (("fma",), "multiply_add_latency_clk"),
        (("max",), "max_latency_clk"),
        (("add",), "latency_clk"),
    ],
)
def test_each_kind_of_chain_has_its_latency(path: tuple[str, ...], key: str) -> None:
    ops = ("mul", "add") if path == ("fma",) else path
    leaf = store({"A": ("i",), "C": (0,)}, ("C", (0,)), *ops)
    made = facts({"A": (4096,), "C": (1,)}, [loop("i", 4096)], leaf)
    few, many = (timed(analyze(made, device(**{key: clk}))) for clk in (4.0, 8.0))
    assert many == pytest.approx(2 * few, rel=0.15)


def test_lines_stored_to_apart_are_sent_back_in_time_of_their_own_or_not() -> None:
    leaf = store({"A": ("j", "i")}, ("B", ("i", "j")), "add")
    shape = (1040, 1040)
    made = facts({"A": shape, "B": shape}, [loop("j", 1040), loop("i", 1040)], leaf)
    beside, apart = (timed(analyze(made, device(write_back=part))) for part in (0.0, 1.0))
    assert beside < apart
