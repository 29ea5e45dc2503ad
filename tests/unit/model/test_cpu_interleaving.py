"""Interleaved access groups, named values, and sums on the stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tirlens.model import analyze
from tirlens_worker.facts import Expr, KernelFacts, Loop, Statement

from .test_cpu import DEVICE, facts, loop, store, timed

LENGTH = 4096


def packed(width: int) -> KernelFacts:
    """Columns of `width` elements packed contiguously, as for a product."""
    leaf = store({"A": ("i", "j")}, ("P", ("j", "i")))
    return facts(
        {"A": (width, LENGTH), "P": (LENGTH, width)}, [loop("j", LENGTH), loop("i", width)], leaf
    )


@pytest.mark.parametrize("width", [2, 4, 8])
def test_an_interleaved_group_without_gaps_is_stored_as_vectors(width: int) -> None:
    def each(width: int) -> float:
        return timed(analyze(packed(width), DEVICE)) / width

    assert each(width) * 1.5 < each(9)


def every_third(explicit: bool) -> KernelFacts:
    place: Expr = ("+", ("*", "o", 8), "v") if explicit else "o"
    leaf = store({"X": (place, 0)}, ("Y", (place,)))
    lanes = [loop("v", 8, "vectorized")] if explicit else []
    loops = [loop("o", LENGTH // 8 if explicit else LENGTH), *lanes]
    return facts({"X": (LENGTH, 3), "Y": (LENGTH,)}, loops, leaf)


def test_an_explicit_vector_with_a_stride_is_scalarized() -> None:
    loops, explicit = (timed(analyze(every_third(way), DEVICE)) for way in (False, True))
    assert explicit > 1.5 * loops


def every_second(trips: int) -> KernelFacts:
    leaf = store({"X": ("i", ("*", "j", 2))}, ("Y", ("i", "j")))
    loops = [loop("i", 16), loop("j", trips)]
    return facts({"X": (16, 2 * trips), "Y": (16, trips)}, loops, leaf)


def test_groups_with_gaps_need_a_scalar_epilogue() -> None:
    """8 of 64 iterations are scalar, and 1 of 65."""
    whole, odd = (timed(analyze(every_second(trips), DEVICE)) for trips in (64, 65))
    assert whole > odd


def sequence(
    leaves: Sequence[Statement], loops: Sequence[Loop], own: dict[str, str]
) -> KernelFacts:
    """Statements in one nest; `own` are the scopes of arrays that are no parameters."""
    arrays = {"A": (LENGTH,), "B": (LENGTH,), **dict.fromkeys(own, (1,))}
    made = facts(arrays, loops, leaves[0])
    (outer,) = made.body
    assert isinstance(outer, Loop)
    buffers = tuple(
        replace(b, is_parameter=False, scope=own[b.name]) if b.name in own else b
        for b in made.buffers
    )
    return replace(made, buffers=buffers, body=(replace(outer, body=tuple(leaves)),))


def test_a_named_value_is_in_memory_unless_it_is_on_the_stack() -> None:
    leaves = (
        store({"A": ("i",)}, ("low", (0,)), "mul"),
        store({"low": (0,)}, ("B", ("i",)), "add"),
    )
    stack, memory = (
        timed(analyze(sequence(leaves, [loop("i", LENGTH)], {"low": scope}), DEVICE))
        for scope in ("global", "local")
    )
    assert memory > 4 * stack


def vector_sums(rows: int) -> KernelFacts:
    """Six vectors of eight sums, in an array that TVM compacts to their size."""
    leaf = store(
        {"A": ("i", "k"), "B": ("k", "v"), "S": ("o", "i", "v")},
        ("S", ("o", "i", "v")),
        "mul",
        "add",
    )
    loops = [loop("o", rows), loop("k", 256), loop("i", 6, "unroll"), loop("v", 8, "vectorized")]
    return facts({"A": (6, 256), "B": (256, 8), "S": (rows, 6, 8)}, loops, leaf)


def test_sums_on_the_stack_are_stored_after_the_loop() -> None:
    made = vector_sums(64)
    own = tuple(replace(b, is_parameter=b.name != "S", scope="global") for b in made.buffers)
    stack = timed(analyze(replace(made, buffers=own), DEVICE))
    assert 1.3 * stack < timed(analyze(made, DEVICE))


def test_the_footprint_of_a_triangle_is_at_most_its_array() -> None:
    """Several pairs of loop values give the same element."""
    diagonal: Expr = ("+", "i", "j")
    size = 700
    leaf = store({"A": (diagonal, "j"), "y": (diagonal,)}, ("y", (diagonal,)), "add")
    made = facts(
        {"A": (2 * size, size), "y": (2 * size,)}, [loop("j", size), loop("i", size)], leaf
    )
    report = analyze(made, DEVICE)
    assert report.bound != "dram", report.bound_reason
