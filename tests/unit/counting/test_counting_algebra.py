"""The steps of counting keep values: simplifying in ranges, digits, long sums, images, unions."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.generate import comparisons, conditions, integers
from support.properties import examples
from tirlens_counting.digit_variables import change_to_digits
from tirlens_counting.expressions import evaluate, is_integer, linear, simplify
from tirlens_counting.image_unions import count_union
from tirlens_counting.images import Image, find_image
from tirlens_counting.problem import make_problem
from tirlens_counting.quasi_polynomials import sum_over_variable
from tirlens_counting.range_simplification import simplify_in_ranges
from tirlens_counting.solver import Solver
from tirlens_worker.facts import Expr

NAMES = ("a", "b", "c")
CONDITIONS = frozenset({"<", "<=", ">", ">=", "==", "!=", "and", "or", "not"})
Box = dict[str, tuple[int, int]]
quick = examples(150)


def points(box: Mapping[str, tuple[int, int]]) -> Iterator[dict[str, int]]:
    for values in itertools.product(*(range(low, high + 1) for low, high in box.values())):
        yield dict(zip(box, values, strict=True))


@st.composite
def boxes(draw: st.DrawFn, longest: int = 6) -> Box:
    lows = [draw(st.sampled_from([0, 0, 0, 2, -3])) for _ in NAMES]
    return {
        n: (low, low + draw(st.integers(0, longest - 1)))
        for n, low in zip(NAMES, lows, strict=True)
    }


@quick
@given(boxes(), integers(NAMES, 3) | conditions(NAMES))
def test_an_expression_keeps_its_values_within_the_box(box: Box, expr: Expr) -> None:
    shorter = simplify_in_ranges(expr, box)
    for env in points(box):
        assert evaluate(shorter, env) == evaluate(expr, env)


REMAINDERS: list[tuple[Expr, Expr]] = [
    (("-", "a", ("*", ("//", "a", 8), 8)), ("%", "a", 8)),
    (("+", "a", ("*", ("//", "a", 8), -8), "b", 1), ("+", ("%", "a", 8), "b", 1)),
    (
        ("-", ("*", "a", 6), ("*", ("//", ("*", "a", 3), 32), 64)),
        ("*", ("%", ("*", "a", 3), 32), 2),
    ),
    # The remainder of what is less than the divisor is that itself.
    (("+", "a", "b", ("*", ("//", ("+", "a", "b"), 64), -64)), ("+", "a", "b")),
    (("//", ("-", "a", ("*", ("//", "a", 8), 8)), 16), 0),
]


@pytest.mark.parametrize(("written", "meant"), REMAINDERS)
def test_what_a_quotient_leaves_is_a_remainder(written: Expr, meant: Expr) -> None:
    box = {"a": (0, 40), "b": (0, 20)}
    assert linear(simplify_in_ranges(written, box)) == linear(simplify(meant))


@st.composite
def remainders(draw: st.DrawFn) -> tuple[Box, Expr]:
    """Sums of a number and multiples of its quotient, in all sorts of factors."""
    value = draw(integers(NAMES, 2))
    divisor, times = draw(st.integers(1, 6)), draw(st.integers(-2, 2))
    quotient = ("*", ("//", value, divisor), -divisor * times)
    rest = draw(st.sampled_from([0, "a", ("//", "b", 2), ("%", value, divisor)]))
    return draw(boxes()), ("+", rest, ("*", value, times), quotient)


@quick
@given(remainders())
def test_a_remainder_keeps_its_values(drawn: tuple[Box, Expr]) -> None:
    box, expr = drawn
    shorter = simplify_in_ranges(expr, box)
    for env in points(box):
        assert evaluate(shorter, env) == evaluate(expr, env)


@pytest.mark.parametrize("value", ["a", ("+", "a", 3), ("+", "a", ("*", "b", 2), -5)])
@pytest.mark.parametrize("divisor", [2, 4, 7])
@pytest.mark.parametrize("times", [1, -1, 3])
def test_a_value_less_its_quotient_is_its_remainder(value: Expr, divisor: int, times: int) -> None:
    """As often as it is written, also of a value with a constant."""
    box = {"a": (0, 20), "b": (-2, 3)}
    quotient = ("*", ("//", value, divisor), -divisor * times)
    expr = ("+", ("*", value, times), quotient)
    shorter = simplify_in_ranges(expr, box)
    assert linear(shorter) == linear(simplify(("*", ("%", value, divisor), times)))
    for env in points(box):
        assert evaluate(shorter, env) == times * (evaluate(value, env) % divisor)


@st.composite
def divided(draw: st.DrawFn) -> tuple[Box, list[Expr]]:
    """Divisions and modulos of mixed-radix sums, and sums and comparisons of such."""
    box = draw(boxes())
    sizes = {name: high - low + 1 for name, (low, high) in box.items()}
    dense = ("+", ("*", "a", sizes["b"] * sizes["c"]), ("*", "b", sizes["c"]), "c")
    base = st.sampled_from([dense, dense, ("+", dense, 1), "a", "b", "c"])

    def divisions(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        return st.tuples(st.sampled_from(["//", "%"]), inner, st.sampled_from([1, 2, 3, 4, 6, 12]))

    one = base | divisions(base) | divisions(divisions(base))
    scaled = st.tuples(st.just("*"), st.sampled_from(NAMES), st.integers(1, 12))
    one = one | divisions(st.tuples(st.just("+"), scaled, one))
    both = st.tuples(st.sampled_from(["+", "<", "min"]), one, one)
    return box, [simplify(expr) for expr in draw(st.lists(one | both, min_size=1, max_size=3))]


@quick
@given(divided())
def test_digits_give_the_same_values_as_often(case: tuple[Box, list[Expr]]) -> None:
    box, exprs = case
    change = change_to_digits(box, exprs)
    if change is None:
        return
    before = Counter(tuple(evaluate(e, env) for e in exprs) for env in points(box))
    after = Counter(
        tuple(evaluate(e, env) for e in change.exprs)
        for env in points(change.box)
        if all(evaluate(condition, env) for condition in change.conditions)
    )
    assert before == after


def test_a_channels_last_index_falls_apart_into_its_digits() -> None:
    flat = ("+", ("*", "bx", 1024), ("*", "i", 4), "j")
    box = {"bx": (0, 12543), "i": (0, 255), "j": (0, 3)}
    change = change_to_digits(box, [("//", ("%", flat, 802816), 3136)])
    assert change is not None and change.conditions == ()
    assert all(not isinstance(part, tuple) or part[0] in ("+", "*") for part in change.exprs)


@pytest.mark.parametrize(("small_table", "few"), [(1, 0), (64, 0), (32_768, 0), (32_768, 1024)])
@quick
@given(
    st.tuples(boxes(), st.lists(comparisons(NAMES, 2) | conditions(NAMES), max_size=3)) | divided(),
    st.sets(st.sampled_from(NAMES)),
)
def test_a_sum_is_that_of_all_points(
    small_table: int, few: int, case: tuple[Box, list[Expr]], merged: set[str]
) -> None:
    box, exprs = case
    tests = [
        expr if isinstance(expr, tuple) and expr[0] in CONDITIONS else ("<", expr, 3)
        for expr in exprs
    ]
    found = {
        tuple(value for name, value in env.items() if name not in merged)
        for env in points(box)
        if all(evaluate(test, env) for test in tests)
    }
    total = Solver(small_table, few, uses_closed_forms=few > 0).solve(
        make_problem(box, tests, frozenset(merged))
    )
    assert total.exact and total.value == len(found)


@quick
@given(boxes(9), st.lists(st.sampled_from([-40, -6, -3, -1, 1, 2, 5, 64]), min_size=3, max_size=3))
def test_values_of_a_sum_are_counted_without_its_points(box: Box, factors: list[int]) -> None:
    total = ("+", *(("*", name, f) for name, f in zip(NAMES, factors, strict=True)))
    for test in (("<", total, 3), ("==", total, 4), ("<", ("+", total, ("//", "d", 3)), 0)):
        whole = {**box, "d": (-2, 9)}
        expected = sum(bool(evaluate(test, env)) for env in points(whole))
        assert Solver(max_enumerated_points=0).solve(make_problem(whole, [test])).value == expected


@pytest.mark.parametrize("uses_closed_forms", [False, True])
@pytest.mark.parametrize("factors", [(1, 1, 1), (1, 4, 12), (1, 10, 3), (2, -3, 5)])
def test_a_sum_has_each_value_as_often_as_its_points(
    factors: tuple[int, ...], uses_closed_forms: bool
) -> None:
    """All values from below the least to above the greatest, of an equality and of a limit."""
    box = {"a": (0, 3), "b": (0, 2), "c": (-1, 4)}
    total = ("+", *(("*", name, factor) for name, factor in zip(box, factors, strict=True)))
    values = [evaluate(total, env) for env in points(box)]
    for value in range(min(values) - 2, max(values) + 3):
        for test, expected in (
            (("==", total, value), values.count(value)),
            (("<", total, value), sum(one < value for one in values)),
        ):
            solver = Solver(max_enumerated_points=0, uses_closed_forms=uses_closed_forms)
            assert solver.solve(make_problem(box, [test])).value == expected


def test_what_holds_of_a_float_is_not_remembered_of_the_equal_integer() -> None:
    assert not is_integer(("+", "remembered", 1.0))
    assert is_integer(("+", "remembered", 1))


@pytest.mark.parametrize(
    "factors",
    [
        [("max", 0, ("-", ("min", ("+", "x", 700), 90_000), ("*", 2, "x")))],
        [("//", "x", 7), ("+", ("%", "x", 12), ("//", ("*", "x", 5), 6))],
        [("<", ("%", "x", 64), 13), ("+", "x", 1)],
        [("select", ("<", "x", 31_999), "x", 3), "x"],
        [("*", "x", "x", 10**15)],
    ],
)
def test_a_long_sum_is_exact(factors: list[Expr]) -> None:
    low, high = -100, 60_000
    expected = 0
    for x in range(low, high + 1):
        product = 1
        for factor in factors:
            product *= int(evaluate(factor, {"x": x}))
        expected += product
    assert sum_over_variable("x", low, high, [simplify(factor) for factor in factors]) == expected


def test_a_triangle_of_10_to_the_12_is_counted_at_once() -> None:
    side = 10**6
    box = {"i": (0, side - 1), "j": (0, side - 1)}
    assert Solver().solve(make_problem(box, [("<=", "j", "i")])).value == side * (side + 1) // 2


def test_a_causal_mask_over_tiles_is_exact_at_32768() -> None:
    row, column = ("+", ("*", "bx", 128), "i"), ("+", ("*", "k", 128), "j")
    box = {"bx": (0, 255), "k": (0, 255), "i": (0, 127), "j": (0, 127)}
    total = Solver().solve(make_problem(box, [("<=", "k", "bx"), (">=", row, column)]))
    assert total.exact and total.value == 32768 * 32769 // 2


SHAPE = (9, 12)


@st.composite
def accesses(draw: st.DrawFn) -> tuple[Box, list[Expr], list[Expr]]:
    box = draw(boxes(4))
    return (
        box,
        [draw(integers(NAMES, 2)) for _ in SHAPE],
        draw(st.lists(comparisons(NAMES, 1), max_size=2)),
    )


def _inside(case: tuple[Box, list[Expr], list[Expr]]) -> list[Expr]:
    _, positions, tests = case
    limits = [(">=", p, 0) for p in positions]
    return tests + limits + [("<", p, size) for p, size in zip(positions, SHAPE, strict=True)]


def _brute(case: tuple[Box, list[Expr], list[Expr]]) -> set[tuple[int, ...]]:
    box, positions, _ = case
    return {
        tuple(evaluate(position, env) for position in positions)
        for env in points(box)
        if all(evaluate(test, env) for test in _inside(case))
    }


def _image(case: tuple[Box, list[Expr], list[Expr]]) -> Image:
    box, positions, _ = case
    whole = make_problem(box, _inside(case))
    found = find_image(
        whole, [simplify_in_ranges(p, whole.box) for p in positions], SHAPE, Solver()
    )
    assert found is not None
    return found


@quick
@given(st.lists(accesses(), min_size=1, max_size=3))
def test_images_and_unions_have_the_distinct_positions(cases) -> None:
    images = [_image(case) for case in cases]
    assert [found.size for found in images] == [len(_brute(case)) for case in cases]
    together = set[tuple[int, ...]]().union(*map(_brute, cases))
    assert count_union(images, SHAPE) == (len(together), True)


def test_two_halves_of_a_large_array_are_one_rectangle() -> None:
    halves = [Image({0: range(2048), 1: range(start, start + 14336)}) for start in (0, 14336)]
    assert count_union(halves, (2048, 28672)) == (2048 * 28672, True)


def test_a_stride_in_a_union_is_no_rectangle() -> None:
    sides = [range(0, 100, 2), np.array([0, 1, 99])]
    images = [Image({0: side}) for side in sides]
    assert count_union(images, (100,)) == (52, True)
