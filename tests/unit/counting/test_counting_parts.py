"""Single steps of counting, with what they should give beside the source."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from tirlens.model.counting.scope import CountingScope
from tirlens_counting.closed_forms import _count_remaining  # pyright: ignore[reportPrivateUsage]
from tirlens_counting.digit_sums import DigitConstraint, digit_read
from tirlens_counting.digit_variables import _replace_in_division, change_to_digits
from tirlens_counting.domain import Domain
from tirlens_counting.elimination import TooLargeError, _magnitude_bound, _tabulate
from tirlens_counting.expressions import evaluate, free_variables, is_integer, simplify
from tirlens_counting.expressions.text import to_text
from tirlens_counting.formula_sums import never_negative
from tirlens_counting.image_unions import _are_sides_disjoint
from tirlens_counting.images import Image, Side, _is_injective, find_image
from tirlens_counting.intervals import Interval, bounds
from tirlens_counting.problem import make_problem
from tirlens_counting.quasi_polynomials import sum_over_variable
from tirlens_counting.range_simplification import simplify_in_ranges
from tirlens_counting.solver import Solver, Sum, _split_by_carry
from tirlens_counting.symbolic_counts import Points, count_symbolically
from tirlens_counting.unit_images import count_units
from tirlens_worker.facts import Expr

YES, NO, OPEN = (1, 1), (0, 0), (0, 1)


@pytest.mark.parametrize(
    ("a", "less", "at_most", "equal"),
    [
        ((0, 3), YES, YES, NO),
        ((0, 4), OPEN, YES, OPEN),
        ((4, 6), OPEN, OPEN, OPEN),
        ((6, 9), NO, OPEN, OPEN),
        ((7, 9), NO, NO, NO),
    ],
)
def test_comparisons_with_4_to_6(
    a: Interval, less: Interval, at_most: Interval, equal: Interval
) -> None:
    box = {"a": a, "b": (4, 6)}
    assert bounds(("<", "a", "b"), box) == bounds((">", "b", "a"), box) == less
    assert bounds(("<=", "a", "b"), box) == bounds((">=", "b", "a"), box) == at_most
    assert bounds(("==", "a", "b"), box) == equal
    assert bounds(("!=", "a", "b"), box) == (1 - equal[1], 1 - equal[0])


@pytest.mark.parametrize(
    ("expr", "read"),
    [
        ("a", ("a", 1, 0)),
        (("//", "a", 4), ("a", 4, 0)),
        (("%", "a", 4), ("a", 1, 4)),
        (("%", ("//", "a", 4), 8), ("a", 4, 32)),
        (("//", ("%", "a", 32), 8), ("a", 8, 32)),
        (("//", ("%", "a", 30), 8), None),
        (("//", "a", 0), None),
        (("//", "a", "b"), None),
        (("//", ("min", "a", 9), 4), None),
        (("+", "a", 1), None),
        (5, None),
    ],
)
def test_the_digits_that_an_expression_selects(
    expr: Expr, read: tuple[str, int, int] | None
) -> None:
    assert digit_read(expr) == read


def test_a_division_by_zero_selects_no_digits() -> None:
    whole: Expr = ("+", ("*", "a", 8), "b")
    box = {"a": (0, 7), "b": (0, 7)}
    exprs: list[Expr] = [("//", whole, 8), ("//", ("%", whole, 8), 0)]
    change = change_to_digits(box, exprs)
    assert change is None or ("//" in change.exprs[1] and change.exprs[1][2] == 0)


@pytest.mark.parametrize(
    ("op", "bits"),
    [(">>", 0), (">>", 3), ("<<", 0), ("<<", 3), ("&", 1), ("&", 7), ("&", 6), ("&", 0)],
)
def test_shifts_and_masks_keep_their_values(op: str, bits: int) -> None:
    short = simplify((op, "a", bits))
    for a in range(-20, 21):
        assert evaluate(short, {"a": a}) == evaluate((op, "a", bits), {"a": a})


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (("//", ("+", "n", 7), 8), "ceildiv(n, 8)"),
        (("//", ("+", "n", "m", 7), 8), "ceildiv(n + m, 8)"),
        (("//", ("+", "n", 8), 8), "(n + 8) // 8"),
        (("//", ("+", "n", 9), 8), "(n + 9) // 8"),
        (("//", "n", 1), "n // 1"),
        (("//", "n", 8), "n // 8"),
        (("+", "n", -3), "n - 3"),
        (("+", "n", ("*", "m", -1)), "n - m"),
        (("+", "n", ("*", "m", -2)), "n - m*2"),
        (("*", ("+", "n", 1), 2), "(n + 1)*2"),
        (("-", "n", ("-", "m", 1)), "n - (m - 1)"),
    ],
)
def test_expressions_as_python(expr: Expr, text: str) -> None:
    assert to_text(expr) == text


BOX = {"a": (0, 8), "b": (8, 20)}


@pytest.mark.parametrize(
    ("expr", "short"),
    [
        (("min", "a", "b"), "a"),
        (("max", "a", "b"), "b"),
        (("min", "a", 7), ("min", "a", 7)),
        (("min", "a", 8), "a"),
        (("max", "a", 8), 8),
        (("max", "a", 1), ("max", "a", 1)),
        (("max", "a", 0), "a"),
        (("min", "b", "a", ("+", "a", 1)), "a"),
    ],
)
def test_extrema_that_the_ranges_decide(expr: Expr, short: Expr) -> None:
    assert simplify_in_ranges(expr, BOX) == short


def test_what_holds_of_an_inner_float_is_not_remembered() -> None:
    assert not is_integer(("+", ("*", "inner", 2.0), 1))
    assert is_integer(("+", ("*", "inner", 2), 1))


@pytest.mark.parametrize(
    "factor",
    [
        ("+", ("*", "x", "x"), 1),
        ("+", ("*", "x", "x", "x"), ("%", "x", 7)),
        ("//", ("*", "x", "x"), 3),
        ("//", ("min", "x", 50), 4),
    ],
)
def test_long_sums_of_higher_degree(factor: Expr) -> None:
    expected = sum(int(evaluate(factor, {"x": x})) for x in range(-50, 40_001))
    assert sum_over_variable("x", -50, 40_000, [simplify(factor)]) == expected


@pytest.mark.parametrize(
    ("condition", "is_empty"),
    [
        (("or", ("<", "a", 0), (">", "a", 9)), True),
        (("or", ("<", "a", 1), (">", "a", 9)), False),
        (("<", "a", 0), True),
        (("<", "a", 1), False),
    ],
)
def test_a_domain_whose_condition_holds_nowhere_is_empty(condition: Expr, is_empty: bool) -> None:
    assert Domain({"a": (0, 5)}).under_condition(condition).empty == is_empty


@pytest.mark.parametrize(
    ("extent", "condition", "number"),
    [("n", (">=", "i", 0), 45), (8, ("<", "i", 8), 28), (8, ("<=", "i", 7), 28)],
)
def test_a_condition_that_always_holds_is_left_out_of_a_formula(
    extent: Expr, condition: Expr, number: int
) -> None:
    points = Points((("i", extent),), (condition,), ("i",))
    assert eval(count_symbolically(points, ["n"]).text(["n"]), {"n": 10}) == number


@pytest.mark.parametrize(
    ("constant", "is_equality", "number"),
    [(-9, False, 8), (-4, False, 4), (0, False, 0), (1, False, 0), (-3, True, 1), (1, True, 0)],
)
def test_points_of_a_digit_below_8(constant: int, is_equality: bool, number: int) -> None:
    condition = DigitConstraint({"d": 1}, constant, is_equality)
    assert _count_remaining([condition], {"d": (0, 7)}, [100]) == number


@pytest.mark.parametrize(("constant", "is_equality", "number"), [(0, False, 0), (0, True, 1)])
def test_points_of_a_digit_with_one_value(constant: int, is_equality: bool, number: int) -> None:
    condition = DigitConstraint({"d": 1}, constant, is_equality)
    assert _count_remaining([condition], {"d": (0, 0)}, [100]) == number


def test_a_sum_is_exact_where_both_parts_are() -> None:
    assert Sum(1, True) + Sum(2, True) == Sum(3, True)
    assert Sum(1, True) + Sum(2, False) == Sum(1, False) + Sum(2, True) == Sum(3, False)


@pytest.mark.parametrize(("factor", "distinct"), [(5, 20), (4, 17), (3, 14)])
def test_positions_that_coincide_are_counted_once(factor: int, distinct: int) -> None:
    """``factor * b + a`` for `a` up to 4 and `b` up to 3, twice, of which one dimension is made."""
    position = ("+", ("*", "b", factor), "a")
    points = make_problem({"a": (0, 4), "b": (0, 3)}, [])
    image = find_image(points, [position, position], (64, 64), Solver())
    assert image is not None and image.size == distinct


SHAPE = (4, 6)


@pytest.mark.parametrize(
    ("shape", "per_unit", "images", "units", "exact"),
    [
        ((12,), 4, [[np.array([0, 1, 2, 5])]], 2, True),
        ((12,), 4, [[range(0, 12, 4)]], 3, True),
        ((12,), 4, [[range(3, 5)]], 2, True),
        ((32,), 4, [[range(0, 32, 8)]], 4, True),
        ((12,), 1, [[range(3, 5)]], 2, True),
        # Rows of 6 elements in units of 4: elements 0 and 1, and 15 to 17, in units 0, 3 and 4.
        (SHAPE, 4, [[range(1), range(2)], [range(2, 3), range(3, 6)]], 3, False),
        (SHAPE, 4, [[range(4), range(6)]], 6, True),
        (SHAPE, 4, [[range(4), range(1)]], 4, True),
        (SHAPE, 4, [], 0, True),
    ],
)
def test_units_that_hold_positions(
    shape: tuple[int, ...], per_unit: int, images: list[Sequence[Side]], units: int, exact: bool
) -> None:
    found = [Image(dict(enumerate(sides))) for sides in images]
    assert count_units(found, shape, per_unit, Solver()) == (units, exact)


def test_no_more_units_than_the_array_has() -> None:
    images = [
        Image({0: range(0, 4, 2), 1: range(6)}),
        Image({0: range(1, 4), 1: range(0, 6, 2)}),
        Image({0: range(4), 1: range(1, 6, 3)}),
    ]
    assert count_units(images, SHAPE, 4, Solver()) == (math.prod(SHAPE) // 4, False)


@pytest.mark.parametrize(
    "weight",
    [
        ("max", "a", 0), ("max", 0, "a"), ("max", "a", 1), ("max", "a", "b"),
        ("max", "a", "b", 0), ("min", "a", 0), ("max", ("-", "a", "b"), 0),
        ("*", ("max", "a", 0), ("max", "b", 0)),
    ],
)  # fmt: skip
def test_sums_of_lengths_are_those_of_all_values(weight: Expr) -> None:
    """A length ``max(x, 0)`` is no less than none, also where x is."""
    box = {"a": (-3, 4), "b": (-2, 2)}
    every = [evaluate(weight, {"a": a, "b": b}) for a in range(-3, 5) for b in range(-2, 3)]
    found = Solver().solve(make_problem(dict(box), [simplify(weight)]))
    assert found == Sum(sum(map(int, every)))


@pytest.mark.parametrize(
    "terms",
    [
        # A multiple of 8 with a rest that carries 0 to 2, or from -2 to 0, times.
        {"a": 8, "b": 1, "c": 3}, {"a": 8, "b": -1, "c": -3}, {"a": -8, "b": 5, "c": 2},
        {"a": 12, "b": 4, "c": 1}, {"a": 8, "b": 8, "c": 3},
    ],
)  # fmt: skip
@pytest.mark.parametrize("operator", ["<", ">=", "=="])
@pytest.mark.parametrize("limit", [-11, -8, 0, 5, 16, 27])
def test_cases_by_the_carry_of_a_sum(terms: dict[str, int], operator: str, limit: int) -> None:
    box = {"a": (-2, 3), "b": (0, 3), "c": (0, 5)}
    whole: Expr = ("+", *(("*", name, factor) for name, factor in terms.items()))
    condition = simplify((operator, whole, limit))

    def points(conditions: Sequence[Expr], names: dict[str, Interval]) -> int:
        ranges = [range(int(low), int(high) + 1) for low, high in names.values()]
        environments = (dict(zip(names, one, strict=True)) for one in itertools.product(*ranges))
        return sum(all(evaluate(each, env) for each in conditions) for env in environments)

    part = make_problem(dict(box), [condition])
    cases = _split_by_carry(part) if part.scale else None
    if cases is None:
        return
    found = sum(one.scale * points(one.factors(), dict(one.box)) for one in cases)
    assert part.scale * found == points([condition], box)


@pytest.mark.parametrize(
    ("expr", "dtype", "values"),
    [
        (("<", "a", 1), "int64", [1, 0, 0]),
        (("*", "a", 3), "int64", [0, 3, 6]),
        (("*", "a", 1 << 70), "object", [0, 1 << 70, 1 << 71]),
    ],
)
def test_tables_have_exact_integers(expr: Expr, dtype: str, values: list[int]) -> None:
    found = _tabulate(expr, {"a": (0, 2)}, 3)
    assert found.scope == ("a",)
    assert (str(found.values.dtype), found.values.tolist()) == (dtype, values)
    with pytest.raises(TooLargeError):
        _tabulate(expr, {"a": (0, 2)}, 2)


@pytest.mark.parametrize(
    ("expr", "bound"),
    [
        (-7, 7),
        ("a", 5),
        ("c", math.inf),
        (("+", "a", "b", -2), 5 + 9 + 2),
        (("-", "a", "b"), 5 + 9),
        (("*", "a", "b", 0), 5 * 9 * 1),
        # A quotient or remainder by a constant is no larger than what is divided.
        (("//", ("*", "a", "b"), 4), 45),
        (("%", "a", 64), 64),
        (("//", "a", 0), math.inf),
        (("//", "a", "b"), math.inf),
        (("max", "a", ("*", "b", 2)), 18),
        (("<", 0, 0), 1),
        (("<<", "a", 3), math.inf),
    ],
)
def test_magnitudes_of_intermediate_values(expr: Expr, bound: float) -> None:
    assert _magnitude_bound(expr, {"a": (-5, 3), "b": (0, 9)}) == bound


@pytest.mark.parametrize(
    ("positions", "is_injective"),
    [
        (["a"], True),
        ([("+", ("*", "a", 4), "b")], True),
        ([("+", ("*", "a", 3), "b")], False),
        ([("+", "a", "b")], False),
        ([("+", "a", "b"), "b"], True),
        (["a", ("+", "a", "b")], True),
        ([("+", "a", "b"), ("-", "a", "b")], False),
        ([("+", ("*", "c", 16), ("*", "a", -4), "b")], True),
        ([("+", ("*", "c", 15), ("*", "a", -4), "b")], False),
        ([("+", ("*", "c", 2), ("*", "a", 4), "b"), "b"], True),
        ([("+", ("*", "c", 2), ("*", "a", 3), "b"), "b"], True),
        ([("+", ("*", "c", 2), ("*", "a", 2), "b"), "b"], False),
        ([("*", "a", "b")], False),
        ([("//", "a", 2)], False),
    ],
)
def test_positions_that_are_surely_different(positions: list[Expr], is_injective: bool) -> None:
    box = {"a": (0, 3), "b": (2, 5), "c": (-1, 0)}
    assert _is_injective(positions, make_problem(box, [])) == is_injective
    if is_injective:
        names = sorted(set().union(*map(free_variables, positions)))
        ranges = [range(box[name][0], box[name][1] + 1) for name in names]
        environments = [dict(zip(names, one, strict=True)) for one in itertools.product(*ranges)]
        found = {tuple(evaluate(one, env) for one in positions) for env in environments}
        assert len(found) == len(environments)


@pytest.mark.parametrize(
    ("start", "extent", "box", "is_empty"),
    [
        (0, 4, (0, 3), False),
        (2, 1, (2, 2), False),
        (2, 0, (0, 0), True),
        (2, -1, (0, 0), True),
        ("a", 4, (-2, 6), False),
        ("a", 0, (0, 0), True),
        (1, ("+", "a", 9), (1, 12), False),
    ],
)
def test_axes_of_a_domain(start: Expr, extent: Expr, box: tuple[int, int], is_empty: bool) -> None:
    found = Domain({"a": (-2, 3)}).with_axis("x", start, extent)
    assert (found.box["x"], found.empty) == (box, is_empty)


@pytest.mark.parametrize(
    ("factors", "box"),
    [
        ([("<", "a", 3)], {"a": (0, 2), "b": (0, 9)}),
        ([(">=", ("*", "a", 2), 7)], {"a": (4, 9), "b": (0, 9)}),
        ([("==", "a", 4)], {"a": (4, 4), "b": (0, 9)}),
        ([("<", ("+", "a", "b"), 3)], {"a": (0, 2), "b": (0, 2)}),
        ([("and", ("<", "a", 3), (">", "b", 7))], {"a": (0, 2), "b": (8, 9)}),
        # Each length is positive somewhere, and a factor that is none narrows nothing.
        ([("max", ("-", "a", 4), 0)], {"a": (5, 9), "b": (0, 9)}),
        ([("max", 0, ("-", 4, "a"))], {"a": (0, 3), "b": (0, 9)}),
        ([("max", ("-", "a", 4), 1)], {"a": (0, 9), "b": (0, 9)}),
        ([("max", ("-", "a", 4), 0), ("<", ("+", "a", "b"), 8)], {"a": (5, 7), "b": (0, 2)}),
        ([("<", "a", 0)], {}),
        ([("<", "a", 3), (">", "a", 5)], {}),
        ([0, "a"], {}),
    ],
)
def test_ranges_that_conditions_leave(factors: list[Expr], box: dict[str, Interval]) -> None:
    found = make_problem({"a": (0, 9), "b": (0, 9)}, [simplify(one) for one in factors])
    assert dict(found.box) == box
    assert found.scale == (1 if box else 0)


@pytest.mark.parametrize("operator", ["//", "%"])
@pytest.mark.parametrize("divisor", [2, 4, 8, 12])
@pytest.mark.parametrize(
    "terms",
    [
        {"a": 4, "b": 1}, {"a": 8, "b": 2}, {"a": 4, "b": 1, "c": 8}, {"a": 4, "b": 5},
        {"a": 12, "b": 1}, {"a": 8, "b": 1}, {"b": 1, "c": 2}, {"a": 8, "b": 2, "t": 3},
    ],
)  # fmt: skip
def test_divisions_of_a_sum_that_has_a_name(
    operator: str, divisor: int, terms: dict[str, int]
) -> None:
    """``t = 4 a + b`` in place of its parts, also where a multiple of the divisor is missing."""
    chain = {"a": 4, "b": 1}
    value: Expr = ("+", *(("*", name, factor) for name, factor in terms.items()), 3)
    found = _replace_in_division(operator, simplify(value), divisor, chain, "t")
    for a, b, c in itertools.product(range(-1, 4), range(4), range(3)):
        env = {"a": a, "b": b, "c": c, "t": 4 * a + b}
        assert evaluate(found, env) == evaluate((operator, value, divisor), env)


@pytest.mark.parametrize(
    ("condition", "joined"),
    [
        (("<", ("+", ("*", "w", 12), "x"), 90), {"w": 12, "x": 1}),
        (("<", ("+", ("*", "w", 12), ("*", "y", 4), "z"), 90), {"w": 12, "y": 4, "z": 1}),
        # The inner one is a block's and the outer one is not; each fills what the next one counts.
        (("<", ("+", ("*", "x", 10), "w"), 90), None),
        (("<", ("+", ("*", "w", 13), "x"), 90), None),
        (("<", ("+", ("*", "w", 12), "x", "t"), 90), None),
        (("<", ("+", ("*", "x", 8), "t"), 90), None),
        (("<", "x", 9), None),
        (("<", ("+", ("*", "u", 12), "x"), 90), None),
        (("and", "w", "x"), None),
    ],
)
def test_the_number_of_a_tile_is_one_variable(
    condition: Expr, joined: dict[str, int] | None
) -> None:
    box = {"w": (0, 9), "x": (0, 11), "y": (0, 2), "z": (0, 3), "t": (0, 7), "u": (1, 9)}
    env: dict[str, Expr] = {"tile": ("+", ("*", "w", 12), "x")}
    scope = CountingScope(Domain(box), env, frozenset("t"), frozenset("xyz"))
    found = scope.with_tile_number(condition)
    if joined is None:
        assert found is scope
        return
    (name,) = found.domain.box.keys() - box.keys()
    assert found.domain.box.keys() == {name} | box.keys() - joined.keys()
    assert found.domain.box[name] == (0, 119)
    for number in range(120):
        at = {
            name: number,
            "x": 5,
            "y": 1,
            "z": 3,
        }
        parts = {one: evaluate(found.env[one], at) for one in joined}
        assert sum(factor * parts[one] for one, factor in joined.items()) == number
        assert all(box[one][0] <= value <= box[one][1] for one, value in parts.items())
    assert set(found.env) == {"tile", *joined}


SIDES = [
    range(4), range(3, 9), range(4, 9), range(0, 20, 4), range(2, 20, 4), range(1, 20, 6),
    range(3, 20, 2), range(5, 6),
]  # fmt: skip


@pytest.mark.parametrize("one", SIDES)
@pytest.mark.parametrize("other", SIDES)
def test_ranges_without_a_common_value(one: range, other: range) -> None:
    surely = _are_sides_disjoint(one, other)
    if surely:
        assert set(one).isdisjoint(other)
    beside = one[-1] < other[0] or other[-1] < one[0]
    assert surely == (beside or bool((one[0] - other[0]) % math.gcd(one.step, other.step)))
    listed = _are_sides_disjoint(np.asarray(one), other)
    assert listed == beside


@pytest.mark.parametrize(
    ("expr", "never"),
    [
        (("-", "n", 1), True),
        (("-", "n", 2), False),
        # i below n - 1, and j below 4.
        (("-", "n", "i"), True),
        (("-", ("-", "n", "i"), 1), True),
        (("-", ("-", "n", "i"), 2), True),
        (("-", ("-", "n", "i"), 3), False),
        (("-", "i", "j"), False),
        (("-", ("+", "i", 3), "j"), True),
        (("-", ("+", "i", 2), "j"), False),
        (("-", 6, ("*", "j", 2)), True),
        (("-", 5, ("*", "j", 2)), False),
        (("-", ("*", "j", ("-", 3, "j")), 1), False),
    ],
)
def test_what_is_never_negative(expr: Expr, never: bool) -> None:
    axes: dict[str, Expr] = {"i": ("-", "n", 1), "j": 4}
    box = {"n": (1, math.inf), "i": (0, math.inf), "j": (0, 3)}
    assert never_negative(simplify(expr), axes, box) == never
