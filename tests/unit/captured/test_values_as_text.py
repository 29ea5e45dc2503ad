"""Arguments of captured calls as expressions that yield them again."""

from __future__ import annotations

import collections
import enum
import functools
import math
from dataclasses import dataclass
from typing import Any

import pytest

from tirlens_worker.capture.values_as_text import NoTextError, arguments_text, text_of


class Mode(enum.Enum):
    FAST = 1


@dataclass(frozen=True)
class Config:
    block: int
    stages: tuple[int, ...] = (1, 2)

    @staticmethod
    def relu(x: int) -> int:
        return max(x, 0)


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


def test_a_local_function_has_no_text() -> None:
    def inner() -> None: ...

    with pytest.raises(NoTextError, match="the local function"):
        text_of(inner, {})
