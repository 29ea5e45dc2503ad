"""What the worker patches outside of the frameworks, in this interpreter."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tirlens_worker.program import patches


def first() -> int:
    return 1


def second() -> int:
    return 2


def test_the_source_of_a_function_is_searched_once():
    searched: list[Any] = []

    def find(value: Any) -> tuple[list[str], int]:
        searched.append(value)
        return inspect.getsourcelines(value)

    module = SimpleNamespace(getsourcelines=find)
    patches.patch_source_lines(module)
    patched: Callable[[Any], tuple[list[str], int]] = module.getsourcelines
    for _ in range(3):
        for function in (first, second):
            assert patched(function) == inspect.getsourcelines(function)
        # A caller may change its list.
        patched(first)[0].clear()
    assert searched == [first, second]
