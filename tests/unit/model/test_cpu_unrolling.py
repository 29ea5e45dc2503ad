"""Loops that LLVM unrolls before it vectorises, and vectors for which there is no register."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tirlens.model import analyze
from tirlens.model.cpu.address import address_of
from tirlens.model.cpu.caches import signature_of
from tirlens.model.instructions.places import Place
from tirlens_worker.facts import Access, Arith, Buffer, KernelFacts, Statement

from .test_cpu import DEVICE, FLOAT, facts, loop, store, timed

ROWS, DEPTH = 128, 96


def copied(columns: int, kind: str) -> KernelFacts:
    arrays = {"A": (ROWS, columns), "B": (ROWS, columns)}
    leaf = store({"A": ("i", "j")}, ("B", ("i", "j")))
    return facts(arrays, [loop("i", ROWS, kind), loop("j", columns)], leaf)


def added(columns: int, kind: str) -> KernelFacts:
    arrays = dict.fromkeys("ABC", (ROWS, columns))
    leaf = store({"A": ("i", "j"), "B": ("i", "j")}, ("C", ("i", "j")), "add")
    return facts(arrays, [loop("i", ROWS, kind), loop("j", columns)], leaf)


def greater(columns: int, kind: str) -> KernelFacts:
    arrays = dict.fromkeys("ABC", (ROWS, columns))
    leaf = store({"A": ("i", "j"), "B": ("i", "j")}, ("C", ("i", "j")), "max")
    return facts(arrays, [loop("i", ROWS, kind), loop("j", columns)], leaf)


def neighbours(columns: int, kind: str) -> KernelFacts:
    arrays = {"A": (ROWS, columns + 2), "C": (ROWS, columns)}
    reads = (Access("A", "read", ("i", "j")), Access("A", "read", ("i", ("+", "j", 1))))
    leaf = Statement(
        "store", "store", (Arith("add", FLOAT),), (*reads, Access("C", "write", ("i", "j")))
    )
    return facts(arrays, [loop("i", ROWS, kind), loop("j", columns)], leaf)


def updates(columns: int, kind: str) -> KernelFacts:
    arrays = {"A": (ROWS, DEPTH), "B": (DEPTH, columns), "C": (ROWS, columns)}
    leaf = store(
        {"A": ("i", "k"), "B": ("k", "j"), "C": ("i", "j")}, ("C", ("i", "j")), "mul", "add"
    )
    return facts(arrays, [loop("i", ROWS, kind), loop("k", DEPTH), loop("j", columns)], leaf)


@pytest.mark.parametrize(
    ("made", "kind", "most"),
    [
        (copied, "serial", 59),
        (added, "serial", 42),
        # The greater of two is a comparison and a choice.
        (greater, "serial", 37),
        (neighbours, "serial", 37),
        (updates, "serial", 42),
        # Not inlined, so that it is simplified once only.
        (updates, "parallel", 33),
    ],
)
def test_the_longest_loop_that_is_unrolled_is_that_of_llvm(
    made: Callable[[int, str], KernelFacts], kind: str, most: int
) -> None:
    """Found by compiling with apache-tvm 0.27 and printing LLVM's passes.

    Where the columns are unrolled there is no loop over them left to run in vectors.
    """
    unrolled, vectors = (
        timed(analyze(made(columns, kind), DEVICE)) / columns for columns in (most, most + 1)
    )
    assert unrolled > 1.3 * vectors


def summed(lanes: int) -> KernelFacts:
    """Sums over k of explicit vectors, which stay in registers."""
    arrays = {"A": (ROWS, DEPTH * 8), "B": (DEPTH * 8, lanes), "C": (ROWS, lanes)}
    leaf = store(
        {"A": ("i", "k"), "B": ("k", "v"), "C": ("i", "v")}, ("C", ("i", "v")), "mul", "add"
    )
    loops = [loop("i", ROWS), loop("k", DEPTH * 8), loop("v", lanes, "vectorized")]
    return facts(arrays, loops, leaf)


def test_sums_in_vectors_of_no_power_of_two_go_one_by_one() -> None:
    odd, even = (timed(analyze(summed(lanes), DEVICE)) / lanes for lanes in (12, 16))
    assert odd > 2 * even


def test_rows_that_other_data_choose_are_other_rows() -> None:
    table = Buffer("W", "W", FLOAT, (4096, 16), is_parameter=True)
    place = Place((), {"i": (0, 99)}, {})
    chosen = [Access("W", "read", (("load", "R", "i", n), 0)) for n in (0, 1, 1)]
    one, other, again = (
        signature_of(address_of(access, table, (4096, 16), place), (), {}) for access in chosen
    )
    assert one != other == again
