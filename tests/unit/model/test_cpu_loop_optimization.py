"""Hoisting, vectorization legality and register promotion, seen in the times of kernels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tirlens.model import analyze
from tirlens.model.cpu.compiler.statements import address_of
from tirlens.model.cpu.compiler.vector_width import legal_accesses
from tirlens.model.tree.context import LoopContext
from tirlens_worker.facts import Access, Arith, Branch, Buffer, Expr, KernelFacts, Loop

from .test_cpu import DEVICE, FLOAT, facts, loop, store, timed

ROWS, COLUMNS = 64, 512


def rooted(over: tuple[str, ...] | None, local: bool) -> KernelFacts:
    """``B[i, j] = A[i, j] * rsqrt(S[i])``; the root depends on the loops `over`."""
    leaf = store({"A": ("i", "j"), "S": ("i",)}, ("B", ("i", "j")))
    arith = (Arith("rsqrt", FLOAT, over=over), Arith("mul", FLOAT, over=("i", "j")))
    made = facts(
        {"A": (ROWS, COLUMNS), "S": (ROWS,), "B": (ROWS, COLUMNS)},
        [loop("i", ROWS), loop("j", COLUMNS)],
        replace(leaf, arith=arith),
    )
    owned = tuple(replace(b, is_parameter=not local or b.name != "S") for b in made.buffers)
    return replace(made, buffers=owned)


@pytest.mark.parametrize("local", [False, True])
def test_loop_invariant_operations_are_hoisted(local: bool) -> None:
    often, once = (timed(analyze(rooted(over, local), DEVICE)) for over in (("i", "j"), ("i",)))
    assert once * 3 < often
    assert timed(analyze(rooted(None, local), DEVICE)) == often


def rows(index: Expr, column: Expr) -> KernelFacts:
    arrays = {"R": (ROWS,), "A": (ROWS, COLUMNS), "B": (ROWS, COLUMNS)}
    leaf = store({"R": ("i",), "A": (index, column)}, ("B", ("i", "j")), "add")
    return facts(arrays, [loop("i", ROWS), loop("j", COLUMNS)], leaf)


def test_a_loop_with_data_dependent_rows_is_not_vectorized() -> None:
    plain, selected = (timed(analyze(rows(row, "j"), DEVICE)) for row in ("i", ("load", "R", "i")))
    assert plain * 2 < selected


def test_a_reversed_row_is_read_as_vectors() -> None:
    backwards = timed(analyze(rows("i", ("-", COLUMNS - 1, "j")), DEVICE))
    halves = timed(analyze(rows("i", ("//", "j", 2)), DEVICE))
    assert timed(analyze(rows("i", "j"), DEVICE)) < backwards < halves


def strips(width: int, trips: int, size: int) -> KernelFacts:
    """``B[v] = A[v] + 1`` in explicit vectors, with a condition if the last one is not full."""
    place: Expr = ("+", ("*", "o", width), "v")
    leaf = store({"A": (place,)}, ("B", (place,)), "add")
    made = facts({"A": (size,), "B": (size,)}, [loop("o", trips)], leaf)
    lanes: Loop | Branch = Loop("vectorized", "v", 0, width, (leaf,))
    if width * trips > size:
        lanes = replace(lanes, body=(Branch(("<", place, size), (leaf,)),))
    (outer,) = made.body
    assert isinstance(outer, Loop)
    return replace(made, body=(replace(outer, body=(lanes,)),))


def test_an_explicit_vector_with_a_condition_on_its_lanes_is_scalar() -> None:
    whole = timed(analyze(strips(8, 1250, 10000), DEVICE))
    cut = timed(analyze(strips(8, 1250, 9996), DEVICE))
    assert whole * 2 < cut


def summed(others: int, scope: str) -> KernelFacts:
    """One chain of additions, and in the same loop a sum in another array of the kernel."""
    leaf = store({"A": ("j",), "s": (0,)}, ("s", (0,)), "add")
    made = facts({"A": (4096,), "s": (1,), "q": (1,)}, [loop("j", 4096)], leaf)
    beside = store({"A": ("j",), "q": (0,)}, ("q", (0,)), "add")
    (outer,) = made.body
    assert isinstance(outer, Loop)
    owned = tuple(
        b if b.name == "A" else replace(b, is_parameter=False, scope=scope) for b in made.buffers
    )
    return replace(made, buffers=owned, body=(replace(outer, body=(leaf, beside)[: 1 + others]),))


def test_sums_that_may_overlap_are_kept_in_memory() -> None:
    alone = timed(analyze(summed(0, "local"), DEVICE))
    assert timed(analyze(summed(1, "global"), DEVICE)) == pytest.approx(alone, rel=0.2)
    assert timed(analyze(summed(1, "local"), DEVICE)) > 1.8 * alone


@pytest.mark.parametrize("columns", [500, 512])
def test_quotient_and_remainder_are_one_address(columns: int) -> None:
    buffer = Buffer("A", "A", FLOAT, (100, columns), is_parameter=True)
    context = LoopContext((), {}, {})
    split = Access("A", "read", (("//", "f", columns), ("%", "f", columns)))
    address = address_of(split, buffer, (100, columns), context)
    assert (address.terms, address.offset_bytes) == ((("f", 4),), 0)
    apart = replace(split, indices=(("//", "f", columns // 2), ("%", "f", columns)))
    assert len(address_of(apart, buffer, (100, columns), context).terms) == 2


def test_unrolled_copies_keep_their_sum_in_a_register() -> None:
    """Nine times eight vectors are added to eight, which are loaded once."""
    loops = [loop("i", 2), loop("p", 9, "unroll"), loop("f", 8, "unroll")]
    lanes = Loop("vectorized", "v", 0, 8, ())
    added: tuple[Expr, ...] = ("i", "p", "f", "v")
    times: list[float] = []
    for place in (("i", "f", "v"), added):
        leaf = store({"B": place, "A": added}, ("B", place), "add")
        shape = tuple({"i": 2, "p": 9, "f": 8, "v": 8}[str(name)] for name in place)
        made = facts({"A": (2, 9, 8, 8), "B": shape}, [*loops, lanes], leaf)
        assert DEVICE.cpu is not None
        times.append(timed(analyze(made, DEVICE)) - DEVICE.cpu.call_s)
    assert times[0] < 0.85 * times[1]


def update_within_array(beside: tuple[Expr, ...]) -> KernelFacts:
    """Rows of an array, each element of which is updated with another element of the array."""
    leaf = store({"A": (("+", "i", 1), "j")}, ("A", (("+", "i", 1), "j")), "add")
    more = Access("A", "read", beside)
    leaf = replace(leaf, accesses=(more, *leaf.accesses))
    return facts({"A": (101, 100)}, [loop("k", 100), loop("i", 100), loop("j", 100)], leaf)


def test_accesses_with_different_strides_prevent_vectorization() -> None:
    along, fixed = (
        timed(analyze(update_within_array(place), DEVICE))
        for place in ((0, "j"), (("+", "i", 1), "k"))
    )
    assert fixed > 2 * along


def short(width: int) -> KernelFacts:
    """Sums of integers in a loop of `width`, which is too long to unroll with its body."""
    leaf = store({"X": ("n", "u"), "Y": ("n", "i")}, ("Y", ("n", "i")), "add")
    loops = [loop("n", 640 // width), loop("i", width), loop("u", 34)]
    made = facts({"X": (640, 34), "Y": (640, width)}, loops, leaf)
    return replace(made, buffers=tuple(replace(b, dtype="int32") for b in made.buffers))


def test_loops_of_fewer_than_sixteen_iterations_get_no_overlap_checks() -> None:
    few, many = (timed(analyze(short(width), DEVICE)) for width in (10, 20))
    assert few > 1.5 * many


@pytest.mark.parametrize(
    ("elements", "registers", "expected"),
    [(16, 1, 1), (32, 2, 2), (12, 1, 2), (5, 1, 2), (15, 1, 4), (40, 3, 3), (30, 2, 4)],
)
def test_a_vector_is_accessed_in_powers_of_two(
    elements: int, registers: int, expected: int
) -> None:
    assert legal_accesses(elements, registers) == expected


INNER: Expr = ("+", "i", 101)


@pytest.mark.parametrize(
    ("write", "read", "is_disjoint"),
    [
        # One element before the part of a row that the loop updates.
        (("j", INNER), ("j", "k"), True),
        # The previous row.
        ((("+", "k", 1), "i"), ("k", "i"), True),
        # An element of the row that the loop updates.
        (("j", "i"), ("j", "k"), False),
        # Another column, whose elements are between those that the loop updates.
        (("i", "j"), ("i", "k"), False),
        # An element of an earlier row, whose number depends on the same outer variable.
        ((("+", ("+", "i", "k"), 1), "j"), ("k", "j"), False),
    ],
)
def test_an_update_is_vectorized_if_its_accesses_are_disjoint(
    write: tuple[Expr, ...], read: tuple[Expr, ...], is_disjoint: bool
) -> None:
    def made(source: str) -> KernelFacts:
        leaf = store({"A": write}, ("A", write), "mul", "add")
        more = Access(source, "read", read)
        loops = [loop("k", 100), loop("j", 100), loop("i", 100)]
        arrays = {"A": (202, 202), "B": (202, 202)}
        return facts(arrays, loops, replace(leaf, accesses=(more, *leaf.accesses)))

    same, other = (timed(analyze(made(source), DEVICE)) for source in "AB")
    # Another array adds its lines at most; gathers cost more or less than scalar loads.
    assert (0.6 * other < same < 1.05 * other) == is_disjoint
