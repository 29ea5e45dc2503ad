"""Linear conditions and positions in digits of variables: the counts and images of all points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.properties import examples
from tirlens_counting.closed_forms import count_in_closed_form
from tirlens_counting.expressions import evaluate, simplify
from tirlens_counting.problem import Problem, make_problem
from tirlens_counting.product_images import _list_sums, find_product_image
from tirlens_counting.range_simplification import simplify_in_ranges
from tirlens_worker.facts import Expr

NAMES = ("a", "b", "c", "d")
Box = Mapping[str, tuple[int, int]]
quick = examples(300)


def points(box: Box) -> Iterator[dict[str, int]]:
    for values in itertools.product(*(range(low, high + 1) for low, high in box.values())):
        yield dict(zip(box, values, strict=True))


@st.composite
def boxes(draw: st.DrawFn) -> dict[str, tuple[int, int]]:
    names = NAMES[: draw(st.integers(1, 4))]
    lows = [draw(st.sampled_from([0, 0, 0, 4, 8, -8, 3])) for _ in names]
    lengths = [draw(st.sampled_from([1, 2, 3, 4, 6, 8, 16])) for _ in names]
    return {
        name: (low, low + length - 1)
        for name, low, length in zip(names, lows, lengths, strict=True)
    }


def sums(names: tuple[str, ...], most: int) -> st.SearchStrategy[Expr]:
    """Sums of multiples of variables and of their digits."""
    variable: st.SearchStrategy[Expr] = st.sampled_from(names)
    division = st.sampled_from(["//", "%"])
    radix = st.sampled_from([2, 2, 3, 4, 4, 8])
    once = st.tuples(division, variable, radix)
    read = variable | once | st.tuples(division, once, radix)
    term = st.tuples(st.just("*"), read, st.sampled_from([1, 1, 2, 4, 8, -1, -2, -4, 16, 3]))
    constant: st.SearchStrategy[Expr] = st.integers(-20, 20)
    return st.tuples(constant, st.lists(term, min_size=1, max_size=most)).map(
        lambda parts: ("+", parts[0], *parts[1])
    )


def comparisons(names: tuple[str, ...]) -> st.SearchStrategy[Expr]:
    operator = st.sampled_from(["<", "<", "<", ">=", ">", "==", "!="])
    return st.tuples(operator, sums(names, 3), st.integers(-5, 30)).map(simplify)


@st.composite
def conditions(draw: st.DrawFn) -> tuple[Box, list[Expr], frozenset[str]]:
    box = draw(boxes())
    found = draw(st.lists(comparisons(tuple(box)), max_size=3))
    return box, found, draw(st.frozensets(st.sampled_from(list(box)), max_size=2))


@st.composite
def nested(draw: st.DrawFn) -> tuple[Box, list[Expr], frozenset[str]]:
    """Conditions on a sum and on multiples of it with others, as of tiles and what is in them."""
    box = {name: (0, draw(st.sampled_from([2, 3, 4, 7]))) for name in NAMES}
    factor = st.sampled_from([-2, -1, 1, 2])
    tiles = ("+", ("*", "a", draw(factor)), ("*", "b", draw(factor)))
    inside = [("*", name, draw(factor)) for name in ("c", "d")]
    places = [("+", ("*", tiles, draw(st.sampled_from([-4, 1, 4, 8]))), *inside) for _ in "xy"]
    operator = st.sampled_from(["<", "<=", ">", "=="])
    tests = [
        simplify((draw(operator), sum_, draw(st.integers(-6, 6))))
        for sum_ in [tiles, *places][: draw(st.integers(2, 3))]
    ]
    return box, tests, frozenset()


@quick
@given(conditions() | nested())
def test_a_closed_count_is_that_of_all_points(
    case: tuple[Box, list[Expr], frozenset[str]],
) -> None:
    box, tests, merged = case
    part = make_problem(dict(box), tests, merged)
    number = count_in_closed_form(part) if part.scale else 0
    if number is None:
        return
    met = {
        tuple(value for name, value in env.items() if name not in merged)
        for env in points(box)
        if all(evaluate(test, env) for test in tests)
    }
    assert number == len(met)


@st.composite
def positions(draw: st.DrawFn) -> tuple[Box, list[Expr], list[Expr]]:
    """Positions that mostly have variables of their own, and conditions, mostly on those."""
    box = draw(boxes())
    names = draw(st.permutations(list(box)))
    number = draw(st.integers(1, 2))
    places = [
        simplify_in_ranges(simplify(draw(sums(tuple(names[axis::number] or names), 3))), box)
        for axis in range(number)
    ]
    limit = st.tuples(
        st.sampled_from(["<", ">=", "=="]), st.sampled_from(places), st.integers(-10, 40)
    )
    tests = draw(st.lists(limit.map(simplify) | comparisons(tuple(box)), max_size=2))
    return box, places, tests


@quick
@given(positions())
def test_sides_are_the_distinct_positions(case: tuple[Box, list[Expr], list[Expr]]) -> None:
    box, places, tests = case
    whole = make_problem(dict(box), tests)
    if not whole.scale:
        return
    found = find_product_image(Problem(whole.box, whole.guards, whole.weights), places)
    if found is None:
        return
    distinct = {
        tuple(evaluate(place, env) for place in places)
        for env in points(box)
        if all(evaluate(test, env) for test in tests)
    }
    lists = [[int(value) for value in found.get(axis, ())] for axis in range(len(places))]
    assert all(values == sorted(set(values)) for values in lists)
    assert set(itertools.product(*lists)) == distinct


THREADS = {"bx": (0, 1), "ko": (0, 24), "t": (0, 255), "i": (0, 3)}
ROW, COLUMN = ("+", ("*", "ko", 8), ("*", "i", 2), ("//", "t", 128)), ("%", "t", 128)
TILES = ("+", ("*", "bx", 128), COLUMN)


@pytest.mark.parametrize(
    ("tests", "number"),
    [
        ([("<", TILES, 196)], 196 * 25 * 8),
        ([("<", TILES, 196), ("<", ROW, 188)], 196 * 188),
        ([("==", ("//", "t", 32), 3), ("==", ("%", "t", 32), 0)], 2 * 25 * 4),
        ([("!=", ("//", "t", 32), 0)], 2 * 25 * 4 * 224),
        (
            [("<=", "ko", "i"), ("<=", ("+", ("*", "ko", 16), COLUMN), ("+", ("*", "i", 16), 7))],
            2 * 2 * (8 + 32 + 72 + 128),
        ),
    ],
)
def test_layouts_of_threads_have_closed_counts(tests: list[Expr], number: int) -> None:
    assert count_in_closed_form(make_problem(dict(THREADS), tests)) == number


@pytest.mark.parametrize("number", [1, 1 << 19, (1 << 20) + 1, 3 << 19, (1 << 40) - 1])
@pytest.mark.parametrize("names", ["ab", "ba"])
def test_the_count_below_a_limit_takes_no_time_for_each_point(names: str, number: int) -> None:
    """Elements below a limit in rows of 2^20, whichever loop is named first."""
    rows, columns = names
    element = ("+", ("*", rows, 1 << 20), columns)
    part = make_problem(dict.fromkeys("ab", (0, (1 << 20) - 1)), [("<", element, number)])
    assert count_in_closed_form(part) == number


def test_a_clipped_tile_is_a_product_of_ranges() -> None:
    whole = make_problem(dict(THREADS), [("<", TILES, 196), ("<", ROW, 188)])
    assert find_product_image(whole, [ROW, TILES]) == {0: range(188), 1: range(196)}


@quick
@given(
    st.integers(-20, 20),
    st.lists(st.tuples(st.integers(1, 9), st.integers(2, 5)), min_size=1, max_size=3),
    st.integers(-25, 90) | st.just(-math.inf),
    st.integers(-25, 90) | st.just(math.inf),
)
def test_listed_sums_are_those_within_both_limits(
    low: int, steps: list[tuple[int, int]], first: float, last: float
) -> None:
    choices = (range(0, factor * length, factor) for factor, length in steps)
    sums = {low + sum(chosen) for chosen in itertools.product(*choices)}
    found = _list_sums(low, sorted(steps), first, last)
    assert found is not None
    assert list(found) == sorted(one for one in sums if first <= one <= last)


@pytest.mark.parametrize(("first", "last"), [(5, 12), (5, 11), (6, 12), (0, 12), (5, 17)])
def test_limits_of_listed_sums_are_inclusive(first: int, last: int) -> None:
    found = _list_sums(0, [(5, 2), (12, 2)], first, last)
    assert found is not None
    assert list(found) == [one for one in (0, 5, 12, 17) if first <= one <= last]
