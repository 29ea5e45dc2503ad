"""Arguments of captured calls as expressions that yield them again."""

from __future__ import annotations

import collections
import enum
import functools
import math
from dataclasses import dataclass
from typing import Any

import pytest

from tirlens_worker.program.values_as_text import NoTextError, arguments_text, text_of


class Mode(enum.Enum):
    FAST = 1


@dataclass(frozen=True)
class Config:
    block: int
    stages: tuple[int, ...] = (1, 2)

    @staticmethod
    def relu(x: int) -> int:
        return max(x, 0)

    def total(self, more: int) -> int:
        return self.block + more


Point = collections.namedtuple("Point", ["x", "y"])


def relu(x: int) -> int:
    return max(x, 0)


@pytest.mark.parametrize(
    "value",
    [
        None, True, 7, -3, 1.5, math.inf, -math.inf, "float16", "a'\"\n", b"x", ..., (), (1,),
        [1, [2, (3,)]], {"a": (1, 2)}, {1, 2}, range(3), Mode.FAST, Config(128), Point(1, 2),
        relu, Config, Config.relu, functools.partial, math.exp, len, int,
    ],
)  # fmt: skip
def test_the_expression_yields_the_value(value: Any) -> None:
    names = dict(globals())
    assert eval(text_of(value, names), names) == value


def test_a_function_of_another_module_is_imported() -> None:
    text = text_of(math.exp, {})
    assert text == "__import__('math').exp"
    partial = functools.partial(math.pow, 2)
    assert eval(text_of(partial, {}))(3) == 8


def test_a_number_of_another_type_is_a_number() -> None:
    class Index:
        def __index__(self) -> int:
            return 5

    assert text_of(Index(), {}) == "5"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (lambda x: x, "a lambda"),
        (object(), "a object"),
        ([[[[[[[[1]]]]]]]], "a deep structure"),
        ("x" * 5000, "a long value"),
    ],
)
def test_a_value_without_text_is_named(value: Any, reason: str) -> None:
    with pytest.raises(NoTextError, match=f"op is {reason}"):
        arguments_text((), {"op": value}, {})


def scaled(factor: int) -> tuple[Any, Any, Any]:
    def times(x: int, more: int = 1) -> int:
        return x * factor + more

    def outer() -> Any:
        def times(x: int) -> int:
            return relu(x) - factor

        return times

    return times, outer(), lambda x: x + 100


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_local_function_is_its_code_with_what_it_encloses(index: int) -> None:
    function = scaled(7)[index]
    for names in (dict(globals()), globals()):
        assert eval(text_of(function, names), dict(names))(3) == function(3)


def test_a_local_function_that_encloses_another() -> None:
    twice = functools.partial(apply_twice(scaled(2)[0]))
    assert eval(text_of(twice, {}))(5) == twice(5) == 23


def apply_twice(function: Any) -> Any:
    return lambda x: function(function(x))


def test_a_method_is_that_of_its_object() -> None:
    names = dict(globals())
    assert eval(text_of(Config(64).total, names), names)(2) == 66


def test_a_local_function_that_encloses_an_object_has_no_text() -> None:
    with pytest.raises(NoTextError, match="a object"):
        text_of(apply_twice(object()), {})


def test_a_function_of_a_test_is_found_in_it() -> None:
    def inner() -> int:
        return 5

    assert eval(text_of(inner, {}))() == 5
