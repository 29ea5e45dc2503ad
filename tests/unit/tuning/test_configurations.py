"""Axes as they are written, and the configurations that they span."""

from __future__ import annotations

import pytest

from tirlens.tuning import Axis, SpaceError, parse_axis, product
from tirlens.tuning.configurations import value_of


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("block_M=64,128,256", ["64", "128", "256"]),
        ("num_stages=2..4", ["2", "3", "4"]),
        ("M=1..16:x2", ["1", "2", "4", "8", "16"]),
        ("M=3..30:x3", ["3", "9", "27"]),
        ("K=32..128:+32", ["32", "64", "96", "128"]),
        ("K=32..100:+32", ["32", "64", "96"]),
        ("dtype='float16', 'bfloat16'", ["'float16'", "'bfloat16'"]),
        ("policy=T.GemmWarpPolicy.FullRow", ["T.GemmWarpPolicy.FullRow"]),
        ("flag=True,False,True", ["True", "False"]),
        ("threads=128", ["128"]),
    ],
)
def test_an_axis_has_the_values_that_are_written(text: str, values: list[str]) -> None:
    axis = parse_axis(text)
    assert axis.name == text.partition("=")[0]
    assert list(axis.values) == values


@pytest.mark.parametrize(
    "text",
    ["block_M", "=64", "block_M=", "2x=4", "a=1,,2", "a=f(", "a=4..2", "a=0..8:x2", "a=1..8:x1",
     "a=1..8:+0", "a=0..99999999"],
)  # fmt: skip
def test_what_is_no_axis_is_refused(text: str) -> None:
    with pytest.raises(SpaceError):
        parse_axis(text)


def test_a_product_has_each_combination_once_in_the_order_of_the_axes() -> None:
    axes = [Axis("m", ("64", "128")), Axis("s", ("2", "3"))]
    assert [tuple(one.values()) for one in product(axes)] == [
        ("64", "2"), ("64", "3"), ("128", "2"), ("128", "3"),
    ]  # fmt: skip


def test_parameters_without_an_axis_have_the_kernels_own_values() -> None:
    own = [{"m": "64", "t": "128"}, {"m": "128", "t": "128"}, {"m": "128", "t": "256"}]
    found = product([Axis("m", ("32",))], own)
    assert [dict(one) for one in found] == [{"m": "32", "t": "128"}, {"m": "32", "t": "256"}]


def test_too_many_configurations_are_refused() -> None:
    axes = [Axis(name, tuple(map(str, range(200)))) for name in "abc"]
    with pytest.raises(SpaceError, match="8,000,000"):
        product(axes)


def test_a_parameter_with_two_axes_is_refused() -> None:
    with pytest.raises(SpaceError, match="m is given twice"):
        product([Axis("m", ("1",)), Axis("m", ("2",))])


@pytest.mark.parametrize(
    ("text", "value"),
    [("64", 64), ("-1", -1), ("'fp16'", "fp16"), ("None", None), ("True", True), ("0.5", 0.5),
     ("T.float16", "T.float16"), ("(1, 2)", "(1, 2)")],
)  # fmt: skip
def test_a_value_in_json(text: str, value: object) -> None:
    assert value_of(text) == value
