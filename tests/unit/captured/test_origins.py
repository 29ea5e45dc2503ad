"""The call in which a kernel is defined, from the frames of the program."""

from __future__ import annotations

import functools
from typing import Any

from tirlens_worker.capture import origins


def define() -> Any:
    """As a decorator of a framework does; this module stands for the user's."""
    return origins.enclosing_call(origins.caller())


@functools.cache
def factory(rows: int, dtype: str = "float16", *, flag: bool = False) -> Any:
    rows = int(rows)
    return define()


def around(size: int) -> Any:
    def inner() -> Any:
        return define()

    return inner()


def unwritable(op: Any) -> Any:
    return define()


class Owner:
    @staticmethod
    def make(rows: int) -> Any:
        return define()

    def method(self, rows: int) -> Any:
        return define()


def test_arguments_that_are_no_defaults() -> None:
    assert factory(4).text == "factory(rows=4)"
    assert factory(4, "float16", flag=True).text == "factory(rows=4, flag=True)"


def test_the_outermost_function_that_is_running() -> None:
    found = around(3)
    assert (found.function, found.text) == ("around", "around(size=3)")


def test_what_cannot_be_written_is_named() -> None:
    found = unwritable(object())
    assert (found.function, found.text, found.problem) == ("unwritable", None, "op is a object")


def test_methods() -> None:
    assert Owner.make(2).text == "Owner.make(rows=2)"
    assert Owner().method(2).problem == "a method of an object"


def test_the_call_of_what_a_call_returns() -> None:
    found = factory(4).then((128,), {"stages": 2}, {})
    assert found.text == "factory(rows=4)(128, stages=2)"
    assert factory(4).then((object(),), {}, {}).problem == "an argument is a object"
