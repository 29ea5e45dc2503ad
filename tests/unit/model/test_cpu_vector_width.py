"""Vector widths, cores with half-width units, and other properties of AMD's cores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tirlens.hardware import load
from tirlens.hardware.spec import Device
from tirlens.model import analyze
from tirlens.model.cpu.compiler.vector_width import loop_vector_width
from tirlens_worker.facts import Expr, KernelFacts

from .test_cpu import facts, loop, store, timed

BASE = load("x86-avx512")
# Both arrays fit in L1.
ROWS, LENGTH = 8, 480


def device(**changes: Any) -> Device:
    """A core that executes vectors of 64 bytes in two halves, as Zen 4 does."""
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
    """Rows times two, in explicit vectors of `lanes` elements, or (0) in a plain loop."""
    column: Expr = ("+", ("*", "j", lanes), "v") if lanes else "j"
    leaf = store({"A": ("i", ("+", column, offset))}, ("B", ("i", column)), "mul")
    inside = [loop("j", columns // max(lanes, 1))]
    inside += [loop("v", lanes, "vectorized")] if lanes else []
    arrays = {"A": (ROWS, columns + offset), "B": (ROWS, columns)}
    return facts(arrays, [loop("i", ROWS), *inside], leaf)


def test_half_width_units_need_as_long_for_half_vectors() -> None:
    half, whole = (timed(analyze(copied(LENGTH, lanes), device())) for lanes in (8, 16))
    assert half == pytest.approx(whole, rel=0.2)
    entire = device(narrow_load_clk=1.0, narrow_store_clk=2.0, narrow_arithmetic_clk=1.0)
    assert timed(analyze(copied(LENGTH, 8), entire)) > 1.6 * half


def test_only_one_half_of_a_vector_crosses_a_line() -> None:
    aligned, across = (timed(analyze(copied(LENGTH, 16, offset), device())) for offset in (0, 1))
    entire = device(narrow_load_clk=1.0)
    twice = timed(analyze(copied(LENGTH, 16, 1), entire))
    assert aligned < across < twice


def test_loads_and_stores_overlap_without_sharing() -> None:
    apart, shared = (
        timed(analyze(copied(LENGTH, 16), device(load_store_sharing=part))) for part in (0.0, 1.0)
    )
    assert shared > 1.2 * apart


def test_the_epilogue_of_long_vectors_is_vectorized() -> None:
    """Vectors of 16 leave 8 of 488 elements, and 7 of 487."""
    even, odd = (timed(analyze(copied(columns, 0), device())) for columns in (488, 487))
    assert even < odd


@pytest.mark.parametrize(
    ("trip_count", "is_contiguous", "elements"),
    [
        (64, True, 16),
        # Seven vectors of 8 cost less than three of 16 and 8 scalar iterations.
        (56, True, 8),
        (56, False, 16),
        (60, True, 8),
        (12, False, 8),
        (12, True, 4),
        (7, True, 4),
        (1, True, 1),
    ],
)
def test_the_vector_width_minimises_vectors_and_remainder(
    trip_count: int, is_contiguous: bool, elements: int
) -> None:
    assert loop_vector_width(16, trip_count, is_contiguous).elements == elements


def filled(reads_value: bool) -> KernelFacts:
    """Short rows that are set to a constant, or to elements of an array."""
    leaf = store({"A": ("i",)} if reads_value else {}, ("B", ("i", "j")))
    arrays = {"A": (4096,), "B": (4096, 16)} if reads_value else {"B": (4096, 16)}
    return facts(arrays, [loop("i", 4096), loop("j", 16)], leaf)


def test_contiguous_constants_are_stored_as_vectors() -> None:
    constant, copied_rows = (timed(analyze(filled(read), device())) for read in (False, True))
    assert constant * 2 < copied_rows


def short_rows(has_own_row: bool) -> KernelFacts:
    """Rows of 64 that are added to one row, or each to a row of its own."""
    row: Expr = "r" if has_own_row else 0
    leaf = store({"A": ("r", "j"), "C": (row, "j")}, ("C", (row, "j")), "add")
    shape = (64 if has_own_row else 1, 64)
    return facts({"A": (64, 64), "C": shape}, [loop("r", 64), loop("j", 64)], leaf)


def test_sums_in_memory_depend_on_the_previous_entry() -> None:
    """Four vectors keep the ports busy for less than a store, a load and an addition take."""
    slow = device(vector_forward_clk=40.0)
    waiting, apart = (timed(analyze(short_rows(changes), slow)) for changes in (False, True))
    assert waiting > 1.5 * apart


def column_sums(columns: int) -> KernelFacts:
    """A sum over the rows of an array, one column after the other."""
    leaf = store({"A": ("i", "j"), "C": ("j",)}, ("C", ("j",)), "add")
    return facts({"A": (128, columns), "C": (columns,)}, [loop("j", columns), loop("i", 128)], leaf)


def test_page_strides_conflict_in_one_set_of_l1() -> None:
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


def test_a_large_unroll_factor_scalarizes_fewer_vectors() -> None:
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
def test_each_kind_of_chain_has_its_own_latency(path: tuple[str, ...], key: str) -> None:
    ops = ("mul", "add") if path == ("fma",) else path
    leaf = store({"A": ("i",), "C": (0,)}, ("C", (0,)), *ops)
    made = facts({"A": (4096,), "C": (1,)}, [loop("i", 4096)], leaf)
    few, many = (timed(analyze(made, device(**{key: clk}))) for clk in (4.0, 8.0))
    assert many == pytest.approx(2 * few, rel=0.15)


def test_scattered_stores_take_write_back_time() -> None:
    leaf = store({"A": ("j", "i")}, ("B", ("i", "j")), "add")
    shape = (1040, 1040)
    made = facts({"A": shape, "B": shape}, [loop("j", 1040), loop("i", 1040)], leaf)
    beside, apart = (timed(analyze(made, device(write_back=part))) for part in (0.0, 1.0))
    assert beside < apart
